package rest

import (
	"fmt"
	"net/http"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/auth/sas"
	"mayfly/web/connlimit"
	"mayfly/web/rest/atom"
)

// authorization is the header with the token for the request itself.
const authorization = "Authorization"

// TokenHeaders returns the headers that may contain tokens.
func TokenHeaders() []string {
	return []string{authorization, atom.ForwardToken, atom.DeadLetterToken}
}

// authorize checks that the token in r's Authorization header grants the right want on an entity.
// path is the path of the request.
func (a authorizer) authorize(r *http.Request, entity engine.Path, path string, want engine.Rights) (sas.Access, error) {
	return a.authorizeBy(authorization, r, entity, path, want)
}

// An authorizer checks the tokens of requests to a namespace.
type authorizer struct {
	broker *broker.Broker
	names  func(*http.Request) sas.Names // as in Options
}

func (a authorizer) namesFor(r *http.Request) sas.Names {
	if a.names == nil {
		return sas.Names{Namespace: a.broker.Name(), Own: true}
	}
	return a.names(r)
}

// authorizeBy is like authorize, but for the token in another header.
func (a authorizer) authorizeBy(header string, r *http.Request, entity engine.Path, path string, want engine.Rights) (sas.Access, error) {
	claim, err := sas.ParseHeader(r.Header.Get(header), a.namesFor(r))
	if err != nil {
		return sas.Access{}, err
	}
	access, err := sas.LookUpEntityAccess(r.Context(), a.broker, entity, path)
	if err == nil {
		err = access.Allow(claim, want)
	}
	if err == nil {
		connlimit.FromContext(r.Context()).Authenticated()
	}
	return access, err
}

// Manager returns an error unless r has the right to manage the whole namespace. Handlers
// outside of this package use it. With sas.Accept every request has the right. names is
// as in Options.
func Manager(b *broker.Broker, p sas.Policy, names func(*http.Request) sas.Names, r *http.Request) error {
	if p != sas.Enforce {
		return nil
	}
	_, err := authorizer{b, names}.authorize(r, "", "", engine.ManageRight)
	return err
}

func (d *handler) authorizer() authorizer { return authorizer{d.broker, d.names} }

// authorizeMessages authorizes a request that sends or receives messages.
func (d *handler) authorizeMessages(r *http.Request, t address) error {
	if d.policy != sas.Enforce {
		return nil
	}
	want := engine.ListenRight
	if t.kind == messages {
		want = engine.SendRight
	}
	_, err := d.authorizer().authorize(r, t.path, sas.PathTo(r.URL.Path), want)
	return err
}

// authorizeManagement returns an error unless the request has the right to manage its entity. If
// the token is valid but lacks that right, a GET of a queue or topic that does not exist is
// answered with 404, because clients test in this way whether it exists (sdk-demands 47).
func (d *handler) authorizeManagement(r *http.Request, w atom.Request) error {
	access, err := d.authorizer().authorize(r, w.Path(), sas.PathTo(r.URL.Path), engine.ManageRight)
	switch {
	case err == nil, !sas.IsRefused(err):
		return err
	case !sas.LacksRight(err):
		return &unauthorizedError{err.Error()}
	case w.Action == atom.Get && w.Kind == atom.Entity && !access.Exists: // an entity created since the check above stays hidden
		return engine.Refuse(engine.ErrNotFound, "The messaging entity '%s' could not be found.", w.Path())
	}
	return &unauthorizedError{missingRightText(w, r)}
}

// authorizeForward checks that a request may forward messages to an entity, either by the token in
// header or by the request's own.
func (d *handler) authorizeForward(r *http.Request, header string, to engine.Path) error {
	var err error
	for _, h := range []string{header, authorization} {
		if _, err = d.authorizer().authorizeBy(h, r, to, sas.PathTo(string(to)), engine.SendRight); err == nil || !sas.IsRefused(err) {
			return err
		}
	}
	return &unauthorizedError{fmt.Sprintf("Authorization failed for specified action: Manage,EntityWrite. Forwarding to '%s' requires the right to send there, by a token in the header %s.", to, header)}
}

// missingRightText returns the text by which clients recognise a missing right (sdk-demands 45,
// 46).
func missingRightText(w atom.Request, r *http.Request) string {
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

// operation returns Service Bus' name of an operation on a subscription or rule.
func operation(w atom.Request) string {
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

// unauthorizedError is an error whose text is sent to the client unchanged.
type unauthorizedError struct{ text string }

func (e *unauthorizedError) Error() string { return e.text }

// Status returns the HTTP status.
func (e *unauthorizedError) Status() int { return http.StatusUnauthorized }
