package amqp

import (
	"context"
	"strings"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
	"mayfly/web/auth/sas"
)

// putToken handles a put-token. Tokens are checked one after the other, concurrently with
// the connection's other work.
func (r *requestLink) putToken(m *request) {
	if !r.enqueue(m, r.checkToken) {
		r.answerToken(m, engine.Refuse(engine.ErrBusy, "Too many tokens are waiting for answers."))
	}
}

// checkToken checks a token. The function that it returns records the token and answers
// the client.
func (r *requestLink) checkToken(m *request) func() {
	ctx, cancel := context.WithTimeout(r.s.c.ctx, defaultTimeout)
	defer cancel()
	path, claim, rights, err := r.s.c.evaluateToken(ctx, m)
	return func() {
		if rights != 0 {
			r.s.c.markAuthorized(claim.Expires())
		}
		if err == nil {
			err = r.s.c.recordToken(path, claim, rights)
		}
		r.answerToken(m, err)
	}
}

// evaluateToken returns the path for which a token is sent, the token's claim, and the rights that
// it grants there, which are zero if it is not valid. It returns an error for a missing entity even
// if tokens are not enforced, because some clients learn of it in no other way (sdk-demands 1).
func (c *conn) evaluateToken(ctx context.Context, m *request) (path string, claim sas.Credential, rights engine.Rights, err error) {
	operation, _ := m.applicationProperties.Lookup("operation")
	if name, _ := operation.Str(); name != "put-token" {
		return "", claim, 0, engine.Refuse(engine.ErrNotImplemented, "%s", "The operation '"+name+"' is not supported at $cbs.")
	}
	audience, _ := m.applicationProperties.Lookup("name")
	name, _ := audience.Str()
	path = sas.PathOf(name)
	access, err := sas.LookUpAccess(ctx, c.b, path)
	if err == nil && c.s.policy == sas.Enforce {
		if claim, err = parseToken(m.body, c.tokenHosts()); err == nil {
			rights, err = claim.Rights(path, access.Rules, access.Now)
		}
	}
	if err == nil && !access.Exists {
		if _, rest, ok := strings.Cut(name, "://"); ok {
			_, name, _ = strings.Cut(rest, "/")
		}
		err = engine.Refuse(engine.ErrNotFound, "%s", "The messaging entity '"+name+"' could not be found.")
	}
	return path, claim, rights, err
}

// parseToken returns the claim of the token in the body of a put-token. It ignores the
// token's type: some clients call a signature a "jwt" (sdk-demands 6).
func parseToken(body []byte, in sas.Names) (sas.Credential, error) {
	v, err := wire.ParseSingleValue(body)
	if err != nil {
		return sas.Credential{}, err
	}
	text, _ := v.Str()
	return sas.ParseHeader(text, in)
}

// tokenHosts returns the hosts that name the connection's namespace in a token.
func (c *conn) tokenHosts() sas.Names {
	s, at := c.s, c.namespace
	n := sas.Names{
		Namespace: c.b.Name(), Own: c.isOwn(), IsServer: s.names,
		IsOther: func(label string) bool { other := s.Find(label); return other != nil && other != at },
	}
	if c.forwarded != nil {
		return n.ForwardedFrom(c.forwarded.Own, c.forwarded.Hosts)
	}
	return n
}

// isOwn reports whether a host that has no namespace's name in it means the connection's namespace.
func (c *conn) isOwn() bool { return c.namespace == c.s.Namespace || c.portNamespace != "" }

func (r *requestLink) answerToken(m *request, err error) {
	about := value.Properties{{Name: "status-code", Value: value.OfInt(202)}, {Name: "status-description", Value: value.OfString("Accepted")}}
	if err != nil {
		e, status := errorAndStatus(err)
		name, _ := m.applicationProperties.Lookup("name")
		audience, _ := name.Str()
		r.s.c.logRefused(audience, e)
		about = value.Properties{
			{Name: "status-code", Value: value.OfInt(status)},
			{Name: "status-description", Value: value.OfString(r.s.c.appendTrackingID(e.Condition, e.Description))},
			{Name: "error-condition", Value: value.OfSymbol(string(e.Condition))},
		}
	}
	r.answer(m, about, nil, nil)
}
