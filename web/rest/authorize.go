package rest

import (
	"fmt"
	"net/http"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/rest/atom"
	"mayfly/web/sas"
)

// authorization is the header of a request's own token.
const authorization = "Authorization"

// authorize wants a right to an entity, shown in a request's Authorization header
// for the path of the request.
func authorize(b *broker.Broker, r *http.Request, entity engine.Path, path string, want engine.Rights) (sas.Place, error) {
	return authorizeBy(authorization, b, r, entity, path, want)
}

// authorizeBy is authorize by another header.
func authorizeBy(header string, b *broker.Broker, r *http.Request, entity engine.Path, path string, want engine.Rights) (sas.Place, error) {
	claim, err := sas.Shown(r.Header.Get(header))
	if err != nil {
		return sas.Place{}, err //nolint:wrapcheck // shown to the client as it is
	}
	place, err := sas.LookOf(r.Context(), b, entity, path)
	if err == nil {
		err = place.Allow(claim, want)
	}
	return place, err //nolint:wrapcheck // likewise
}

// Manager wants the right to manage all of the namespace, for what is beside the
// doors of this package. With sas.Accept everybody has it.
func Manager(b *broker.Broker, p sas.Policy, r *http.Request) error {
	if p != sas.Enforce {
		return nil
	}
	_, err := authorize(b, r, "", "", engine.ManageRight)
	return err
}

// permit decides about a request for messages.
func (d *door) permit(r *http.Request, t target) error {
	if d.policy != sas.Enforce {
		return nil
	}
	want := engine.ListenRight
	if t.kind == messages {
		want = engine.SendRight
	}
	_, err := authorize(d.broker, r, t.path, sas.PathTo(r.URL.Path), want)
	return err
}

// administer decides about a request of administration. A missing queue or topic
// is told of as such to whoever has any right there, for that is how clients tell
// whether it exists (sdk-demands 47).
func (d *door) administer(r *http.Request, w atom.Wish) error {
	place, err := authorize(d.broker, r, w.Path(), sas.PathTo(r.URL.Path), engine.ManageRight)
	switch {
	case err == nil, !sas.Refused(err):
		return err
	case !sas.Lacks(err):
		return &unauthorized{err.Error()}
	case w.Action == atom.Get && w.Kind == atom.Entity && !place.There: // and nobody is shown what is created meanwhile
		return &engine.Refusal{Kind: engine.ErrNotFound, SubCode: 40400, Text: fmt.Sprintf("The messaging entity '%s' could not be found.", w.Path())}
	}
	return &unauthorized{lacking(w, r)}
}

// forward decides whether a request may have messages sent on to an entity: by the
// token that clients add for that, or by its own.
func (d *door) forward(r *http.Request, header string, to engine.Path) error {
	var err error
	for _, h := range []string{header, authorization} {
		if _, err = authorizeBy(h, d.broker, r, to, sas.PathTo(string(to)), engine.SendRight); err == nil || !sas.Refused(err) {
			return err
		}
	}
	return &unauthorized{fmt.Sprintf("Authorization failed for specified action: Manage,EntityWrite. To forward to '%s' takes the right to send there, by a token in the header %s.", to, header)}
}

// lacking is what clients know the lack of a right by (sdk-demands 45, 46).
func lacking(w atom.Wish, r *http.Request) string {
	if w.Kind == atom.Subscription || w.Kind == atom.Rule {
		return fmt.Sprintf("401 SubCode=40100: Unauthorized : Unauthorized access for '%s' operation on endpoint 'sb://%s%s'.", operation(w), r.Host, r.URL.Path)
	}
	switch w.Action {
	case atom.Create, atom.Update:
		return "Authorization failed for specified action: Manage,EntityWrite."
	case atom.Delete:
		return "Authorization failed for specified action: Manage,EntityDelete."
	default:
		return "Manage,EntityRead claims required for this operation."
	}
}

// operation is Service Bus' name of what is done to a subscription or rule.
func operation(w atom.Wish) string {
	of := "Subscription"
	if w.Kind == atom.Rule {
		of = "Rule"
	}
	switch w.Action {
	case atom.List:
		return "Enumerate" + of + "s"
	case atom.Delete:
		return "Delete" + of
	case atom.Create, atom.Update:
		return "CreateOrUpdate" + of
	default:
		return "Get" + of
	}
}

// unauthorized is an error whose text a client reads as it is.
type unauthorized struct{ text string }

func (e *unauthorized) Error() string { return e.text }

// Status is that of HTTP.
func (e *unauthorized) Status() int { return http.StatusUnauthorized }
