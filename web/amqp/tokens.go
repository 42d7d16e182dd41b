package amqp

import (
	"context"
	"strings"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
	"mayfly/web/sas"
)

// token takes a token of a client. They are looked at one after another, beside
// the connection's own work.
func (r *requests) token(m *request) {
	if !r.wait(m, r.checkToken) {
		r.answerToken(m, &engine.Refusal{Kind: engine.ErrBusy, Text: "Too many tokens wait for their answers."})
	}
}

// checkToken judges a token, and admits it in what is to be done about it.
func (r *requests) checkToken(m *request) func() {
	ctx, cancel := context.WithTimeout(r.s.c.ctx, patience)
	defer cancel()
	path, claim, rights, err := r.s.c.judge(ctx, m)
	return func() {
		if err == nil {
			err = r.s.c.admit(path, claim, rights)
		}
		r.answerToken(m, err)
	}
}

// judge says what a token allows where it is for. A missing entity is told of
// whether or not tokens are asked for: some clients hear of it in no other way
// (sdk-demands 1).
func (c *conn) judge(ctx context.Context, m *request) (path string, claim sas.Claim, rights engine.Rights, err error) {
	operation, _ := m.about.Lookup("operation")
	if name, _ := operation.Str(); name != "put-token" {
		return "", claim, 0, &engine.Refusal{Kind: engine.ErrNotImplemented, Text: "There is no operation '" + name + "' at $cbs."}
	}
	audience, _ := m.about.Lookup("name")
	name, _ := audience.Str()
	path = sas.PathOf(name)
	place, err := sas.Look(ctx, c.b, path)
	if err == nil && c.s.policy == sas.Enforce {
		if claim, err = tokenIn(m.body); err == nil {
			rights, err = claim.Rights(path, place.Rules, place.Now)
		}
	}
	if err == nil && !place.There {
		if _, rest, ok := strings.Cut(name, "://"); ok {
			_, name, _ = strings.Cut(rest, "/")
		}
		err = &engine.Refusal{Kind: engine.ErrNotFound, SubCode: 40400, Text: "The messaging entity '" + name + "' could not be found."}
	}
	return path, claim, rights, err
}

// tokenIn is the token in the body of a put-token. Its type is not looked at:
// some clients call a signature a "jwt" (sdk-demands 6).
func tokenIn(body []byte) (sas.Claim, error) {
	v, err := wire.ParseOne(body)
	if err != nil {
		return sas.Claim{}, err //nolint:wrapcheck // a ProtocolError
	}
	text, _ := v.Str()
	return sas.Shown(text)
}

func (r *requests) answerToken(m *request, err error) {
	about := value.Properties{{Name: "status-code", Value: value.OfInt(202)}, {Name: "status-description", Value: value.OfString("Accepted")}}
	if err != nil {
		e, status := told(err)
		name, _ := m.about.Lookup("name")
		audience, _ := name.Str()
		r.s.c.refused(audience, e)
		about = value.Properties{
			{Name: "status-code", Value: value.OfInt(status)},
			{Name: "status-description", Value: value.OfString(r.s.c.tracking(e.Condition, e.Description))},
			{Name: "error-condition", Value: value.OfSymbol(string(e.Condition))},
		}
	}
	r.answer(m, about, nil)
}
