package amqp

import (
	"bytes"
	"context"
	"maps"
	"time"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
	"mayfly/web/sas"
)

// claims are what a client has shown that it may, and what of its links hangs on
// that. They are guarded by the connection's mutex. Where tokens are not asked
// for, they stay empty.
type claims struct {
	plain  sas.Claim            // of SASL PLAIN: a rule's name and key; set before the connection runs
	shown  map[string]sas.Claim // by audience, as sas.PathOf has it
	guards map[guarded]guard
	timer  *time.Timer // at the end of the first guard's time
}

// guarded is a link and one of the paths that it needs a right to: a sender by way
// of an entity has two.
type guarded struct {
	link
	path string
}

// A guard is why a link may be there.
type guard struct {
	s      *session
	handle uint32
	path   string
	right  engine.Rights
	until  time.Time // zero: as long as it likes
}

// mostClaims is for how many audiences a connection may have shown tokens.
const mostClaims = 10_000

// takePlain notes what a client says of itself in SASL PLAIN (RFC 4616): the name
// of a rule and its key, which may be for whatever the rule is. Whether they are
// right is asked when something is to be done.
func (c *conn) takePlain(choice *wire.Init) {
	if parts := bytes.Split(choice.InitialResponse, []byte{0}); choice.Mechanism == "PLAIN" && len(parts) == 3 && len(parts[1]) > 0 {
		c.rule, c.key = string(parts[1]), string(parts[2])
		c.claims.plain = sas.OfKey(c.rule, c.key)
	}
}

// admit keeps what a client has shown, and gives the links that it is for as much
// time as it has. Called with mu held.
func (c *conn) admit(path string, claim sas.Claim, rights engine.Rights) error {
	if c.s.policy != sas.Enforce {
		return nil
	}
	cl := &c.claims
	if cl.shown == nil {
		cl.shown = map[string]sas.Claim{}
	}
	if _, again := cl.shown[path]; !again && len(cl.shown) >= mostClaims {
		maps.DeleteFunc(cl.shown, func(_ string, s sas.Claim) bool { return outOfTime(s.Expires(), time.Now()) })
		if len(cl.shown) >= mostClaims {
			return &engine.Refusal{Kind: engine.ErrQuota, Text: "The connection has shown too many tokens."}
		}
	}
	cl.shown[path] = claim
	for l, g := range cl.guards {
		if claim.Covers(g.path) && rights.Has(g.right) {
			g.until = later(g.until, claim.Expires())
			cl.guards[l] = g
		}
	}
	c.watch()
	return nil
}

func outOfTime(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// later is the later of two ends, zero being none.
func later(a, b time.Time) time.Time {
	if a.IsZero() || b.IsZero() {
		return time.Time{}
	}
	if a.After(b) {
		return a
	}
	return b
}

// permit tells until when the client has a right at a path, zero being no end, or
// that it has not. It waits for the broker: call it without mu.
func (c *conn) permit(ctx context.Context, at engine.Path, want engine.Rights) (until time.Time, err error) {
	if c.s.policy != sas.Enforce {
		return time.Time{}, nil
	}
	path := sas.PathTo(string(at))
	c.mu.Lock()
	shown := []sas.Claim{c.claims.plain}
	for _, claim := range c.claims.shown {
		if claim.Covers(path) {
			shown = append(shown, claim)
		}
	}
	c.mu.Unlock()
	place, err := sas.Look(ctx, c.b, path)
	if err != nil {
		return time.Time{}, err //nolint:wrapcheck // the broker's
	}
	may := false
	for _, claim := range shown {
		switch {
		case place.Allow(claim, want) != nil:
		case may:
			until = later(until, claim.Expires())
		default:
			may, until = true, claim.Expires()
		}
	}
	if !may {
		return time.Time{}, sas.Lacking(want)
	}
	return until, nil
}

// guard ends a link when the client's right to it does. Called with mu held.
func (c *conn) guard(s *session, handle uint32, l link, at engine.Path, right engine.Rights, until time.Time) {
	if c.s.policy != sas.Enforce {
		return
	}
	cl := &c.claims
	if cl.guards == nil {
		cl.guards = map[guarded]guard{}
	}
	if len(cl.guards) > 3*c.links+16 { // links do not say when they go
		maps.DeleteFunc(cl.guards, func(l guarded, g guard) bool { return g.s.links[g.handle].link != l.link })
	}
	path := sas.PathTo(string(at))
	cl.guards[guarded{l, path}] = guard{s, handle, path, right, until}
	c.watch()
}

// watch sets the timer for the link whose time is over first. Called with mu
// held.
func (c *conn) watch() {
	cl := &c.claims
	var first time.Time
	for _, g := range cl.guards {
		if !g.until.IsZero() && (first.IsZero() || g.until.Before(first)) {
			first = g.until
		}
	}
	if cl.timer != nil {
		cl.timer.Stop()
	}
	if !first.IsZero() && c.ctx.Err() == nil {
		cl.timer = time.AfterFunc(time.Until(first), func() { c.mail.do(c.expire) })
	}
}

// expire ends the links whose time is over. Called with mu held.
func (c *conn) expire() {
	now := time.Now()
	for l, g := range c.claims.guards {
		there := g.s.links[g.handle].link == l.link
		if there && !outOfTime(g.until, now) {
			continue
		}
		delete(c.claims.guards, l)
		if there && g.s.live() {
			g.s.detach(g.handle, asError(sas.OutOfTime(g.until, now)))
		}
	}
	c.watch()
}

// forget stops the timer of a connection that is over.
func (c *conn) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.claims.timer != nil {
		c.claims.timer.Stop()
	}
}
