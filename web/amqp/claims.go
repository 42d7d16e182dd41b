package amqp

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"time"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
	"mayfly/web/auth/sas"
)

// authorization has the tokens and keys of a client, and the rights of the links that depend on
// them. The connection's mutex guards it. If tokens are not enforced, it stays empty.
type authorization struct {
	plain      sas.Credential            // of SASL PLAIN: a rule's name and key; set before the connection runs
	hasPlain   bool                      // plain is set; set before the connection runs
	tokens     map[string]sas.Credential // by audience, in the form of sas.PathOf
	linkRights map[linkPath]linkRight
	timer      *time.Timer // fires when the first link right expires

	valid         bool        // the client has sent a valid token or key; see checkAttachAllowed
	validUntil    time.Time   // the latest expiry of those; zero means never
	tokenDeadline *time.Timer // closes the connection if the client sends no valid token in time; nil once it has
}

// linkPath is a link and a path to which it needs a right. A link that sends via another entity
// needs a right to two paths.
type linkPath struct {
	link
	path string
}

// A linkRight is a right that a link needs, and the time until which the client has it.
type linkRight struct {
	s      *session
	handle uint32
	path   string
	right  engine.Rights
	expiry time.Time // zero means never
}

// maxTokens is the maximum number of audiences for which a connection may have tokens.
const maxTokens = 10_000

// maxPlainSize is the maximum size, in bytes, of a SASL PLAIN response. No access rule has a longer
// name and key, and both are kept until the connection ends.
const maxPlainSize = 4 << 10

// recordPlainKey records the name and key of a rule that a client sends in SASL PLAIN (RFC 4616).
// They are checked when they are used, because they may be those of any entity's rule.
func (c *conn) recordPlainKey(choice *wire.Init) {
	if parts := bytes.Split(choice.InitialResponse, []byte{0}); choice.Mechanism == "PLAIN" && len(parts) == 3 && len(parts[1]) > 0 && len(choice.InitialResponse) <= maxPlainSize {
		c.saslRule, c.saslKey = string(parts[1]), string(parts[2])
		c.authorization.plain, c.authorization.hasPlain = sas.KeyCredential(c.saslRule, c.saslKey), true
	}
}

// recordToken records a token, and extends the rights of the links that it covers. Called with mu
// held.
func (c *conn) recordToken(path string, claim sas.Credential, rights engine.Rights) error {
	if c.s.policy != sas.Enforce {
		return nil
	}
	cl := &c.authorization
	if cl.tokens == nil {
		cl.tokens = map[string]sas.Credential{}
	}
	if _, again := cl.tokens[path]; !again && len(cl.tokens) >= maxTokens {
		maps.DeleteFunc(cl.tokens, func(_ string, s sas.Credential) bool { return isExpired(s.Expires(), time.Now()) })
		if len(cl.tokens) >= maxTokens {
			return engine.Refuse(engine.ErrQuota, "The connection has sent too many tokens.")
		}
	}
	cl.tokens[path] = claim
	for l, g := range cl.linkRights {
		if claim.Covers(g.path) && rights.Has(g.right) {
			g.expiry = later(g.expiry, claim.Expires())
			cl.linkRights[l] = g
		}
	}
	c.scheduleExpiry()
	return nil
}

func isExpired(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// later returns the later of two expiry times. A zero time means never.
func later(a, b time.Time) time.Time {
	if a.IsZero() || b.IsZero() {
		return time.Time{}
	}
	if a.After(b) {
		return a
	}
	return b
}

// checkRight returns the time until which the client has a right to an entity, or an error if it
// lacks the right. The zero time means forever. It waits for the broker: call it without mu.
func (c *conn) checkRight(ctx context.Context, at engine.Path, want engine.Rights) (until time.Time, err error) {
	if c.s.policy != sas.Enforce {
		return time.Time{}, nil
	}
	path := sas.PathTo(string(at))
	c.mu.Lock()
	shown := []sas.Credential{c.authorization.plain}
	for _, claim := range c.authorization.tokens {
		if claim.Covers(path) {
			shown = append(shown, claim)
		}
	}
	c.mu.Unlock()
	access, err := sas.LookUpAccess(ctx, c.b, path)
	if err != nil {
		return time.Time{}, err
	}
	may := false
	for _, claim := range shown {
		switch {
		case access.Allow(claim, want) != nil:
		case may:
			until = later(until, claim.Expires())
		default:
			may, until = true, claim.Expires()
		}
	}
	if !may {
		return time.Time{}, sas.MissingRight(want)
	}
	c.mu.Lock()
	c.markAuthorized(until)
	c.mu.Unlock()
	return until, nil
}

// detachAtExpiry detaches a link when the client's right to it expires. Called with mu held.
func (c *conn) detachAtExpiry(s *session, handle uint32, l link, at engine.Path, right engine.Rights, until time.Time) {
	if c.s.policy != sas.Enforce {
		return
	}
	cl := &c.authorization
	if cl.linkRights == nil {
		cl.linkRights = map[linkPath]linkRight{}
	}
	if len(cl.linkRights) > 3*c.links+16 { // links do not remove their rights when they end
		maps.DeleteFunc(cl.linkRights, func(l linkPath, g linkRight) bool { return g.s.links[g.handle].link != l.link })
	}
	path := sas.PathTo(string(at))
	cl.linkRights[linkPath{l, path}] = linkRight{s, handle, path, right, until}
	c.scheduleExpiry()
}

// scheduleExpiry sets the timer for the first link right that expires. Called with mu held.
func (c *conn) scheduleExpiry() {
	cl := &c.authorization
	var first time.Time
	for _, g := range cl.linkRights {
		if !g.expiry.IsZero() && (first.IsZero() || g.expiry.Before(first)) {
			first = g.expiry
		}
	}
	if cl.timer != nil {
		cl.timer.Stop()
	}
	if !first.IsZero() && c.ctx.Err() == nil {
		cl.timer = time.AfterFunc(time.Until(first), func() { c.mail.call(c.detachExpired) })
	}
}

// detachExpired detaches the links whose rights have expired. Called with mu held.
func (c *conn) detachExpired() {
	now := time.Now()
	for l, g := range c.authorization.linkRights {
		there := g.s.links[g.handle].link == l.link
		if there && !isExpired(g.expiry, now) {
			continue
		}
		delete(c.authorization.linkRights, l)
		if there && g.s.isOpen() {
			g.s.detach(g.handle, errorOf(sas.ExpiredError(g.expiry, now)))
		}
	}
	c.scheduleExpiry()
}

// stopTimers stops the timers of a connection that has ended.
func (c *conn) stopTimers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range []*time.Timer{c.authorization.timer, c.authorization.tokenDeadline, c.linkUsage.retry} {
		if t != nil {
			t.Stop()
		}
	}
}

// Where tokens are enforced, a connection whose client has shown no valid token or key may
// only attach links to $cbs, and is closed after tokenTimeout, as with the service. A token
// for any entity of the namespace counts, even if the entity does not exist. Expired and
// wrong tokens do not count.
//
// SASL PLAIN carries the name and key of a rule. A rule of the namespace counts as a token.
// A rule of an entity can only be checked once the client attaches a link to that entity.
// So a client that has sent any key may attach a few links to entities, each of which is
// authorized as usual, and one to the coordinator, which JMS clients attach first.
//
// A connection whose tokens have all expired remains open. Each link ends with its token, and the
// client attaches new links after it has shown another token. SDKs renew tokens in time, and a
// client that does not has already proved that it has keys.
const (
	tokenTimeout         = 20 * time.Second // from the open to the first valid token
	maxLinksWithoutToken = 16               // links of a connection without a valid token
	maxBytesWithoutToken = 256 << 10        // bytes of its incomplete messages and requests
)

// isAuthorized reports whether the client has a valid token or key, or needs none. Called
// with mu held.
func (c *conn) isAuthorized() bool {
	cl := &c.authorization
	return c.s.policy != sas.Enforce || cl.valid && !isExpired(cl.validUntil, time.Now())
}

// markAuthorized records that the client has shown a valid token or key. until is its expiry; zero
// means never. Called with mu held.
func (c *conn) markAuthorized(until time.Time) {
	cl := &c.authorization
	if cl.valid {
		until = later(cl.validUntil, until)
	}
	cl.valid, cl.validUntil = true, until
	if c.needsToken.Swap(false) {
		c.s.linkBudget.withoutToken.Add(-c.linkUsage.bytes)
		c.connLimit.Authenticated()
	}
	if cl.tokenDeadline != nil {
		cl.tokenDeadline.Stop()
		cl.tokenDeadline = nil
	}
}

// expectToken checks the key of SASL PLAIN. If the client has sent no valid key, it starts a timer
// that closes the connection unless the client sends a valid token in time. It waits for the
// broker: call it without mu, before the connection runs.
func (c *conn) expectToken() {
	if c.s.policy != sas.Enforce {
		return
	}
	c.needsToken.Store(true)
	known := false
	if c.authorization.hasPlain {
		ctx, cancel := context.WithTimeout(c.ctx, defaultTimeout)
		defer cancel()
		access, err := sas.LookUpAccess(ctx, c.b, "")
		if err == nil {
			_, err = c.authorization.plain.Rights("", access.Rules, access.Now)
		}
		known = err == nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known {
		c.markAuthorized(time.Time{})
		return
	}
	c.authorization.tokenDeadline = time.AfterFunc(tokenTimeout, func() { c.mail.call(c.closeUnauthorized) })
}

// closeUnauthorized closes the connection of a client that has shown no valid token or key
// in time. Called with mu held.
func (c *conn) closeUnauthorized() {
	if c.authorization.valid || c.state != running {
		return
	}
	why := &wire.Error{
		Condition:   wire.CondUnauthorizedAccess,
		Description: fmt.Sprintf("The client sent no valid token within %s of its open. Send a token to $cbs, or send the name and key of an access rule by SASL PLAIN.", tokenTimeout),
	}
	c.logClosed(why)
	c.close(why)
}

// checkAttachAllowed returns an error if the client may not attach a link to a node of this kind
// because it has not sent a valid token. Called with mu held.
func (c *conn) checkAttachAllowed(a *wire.Attach, kind nodeKind) error {
	if c.isAuthorized() {
		return nil
	}
	few, key := c.links < maxLinksWithoutToken, c.authorization.hasPlain
	switch {
	case kind == cbsNode && few, kind == entityNode && key && few:
		return nil
	case kind == coordinatorNode && key && !c.hasCoordinator():
		return nil
	}
	want := engine.ListenRight
	if a.Role == wire.RoleSender {
		want = engine.SendRight
	}
	return &withoutTokenError{sas.MissingRight(want)}
}

// hasCoordinator reports whether the connection has a link to a coordinator.
func (c *conn) hasCoordinator() bool {
	for _, s := range c.sessions {
		for _, l := range s.links {
			if _, ok := l.link.(*coordinator); ok {
				return true
			}
		}
	}
	return false
}

// A withoutTokenError reports a missing right on a connection without a valid token.
type withoutTokenError struct{ lacking error }

func (e *withoutTokenError) Error() string {
	return e.lacking.Error() + " The client has sent no valid token on this connection yet."
}

func (e *withoutTokenError) Unwrap() error { return e.lacking }

// errWithoutToken returns the error for a client without a valid token that sends more than
// maxBytesWithoutToken.
func errWithoutToken() error {
	return engine.Refuse(engine.ErrBusy, "The client sent too much before its first valid token.")
}
