package engine_test

import (
	"errors"
	"slices"

	"mayfly/engine"
)

// These are helpers of clocked for sessions.

var sessionful = engine.Config{RequiresSession: true, LockDuration: minute}

// say sends messages with these ids to a session.
func (c *clocked) say(p engine.Path, session string, ids ...string) {
	c.Helper()
	for _, id := range ids {
		c.send(p, engine.Content{MessageID: id, SessionID: session})
	}
}

// attachSession attaches a receiver with a session request.
func (c *clocked) attachSession(p engine.Path, want engine.SessionRequest, l engine.Link) (engine.LinkID, error) {
	c.Helper()
	c.links++
	l.ID, l.Path, l.Session, l.Client = c.links, p, want, "receiver"
	err := c.ns.Attach(c.now, l)
	if err == nil {
		c.open++
	}
	c.step()
	return l.ID, err
}

func named(id string) engine.SessionRequest {
	return engine.SessionRequest{Want: engine.NamedSession, ID: id}
}

var next = engine.SessionRequest{Want: engine.NextSession}

func (c *clocked) tryHold(p engine.Path, id string) (engine.LinkID, error) {
	c.Helper()
	return c.attachSession(p, named(id), engine.Link{})
}

// hold attaches a receiver to the session with this id, which must be available.
func (c *clocked) hold(p engine.Path, id string) engine.LinkID {
	c.Helper()
	l, err := c.tryHold(p, id)
	c.must(err)
	if a, ok := c.granted(l); !ok || a.ID != id || a.LockedUntil != c.now.Add(c.state(p).Config.LockTime()) {
		c.Fatalf("requested session %q, link %d got %+v", id, l, a)
	}
	return l
}

// wait requests the next session, and waits for it.
func (c *clocked) wait(p engine.Path) engine.LinkID {
	c.Helper()
	l, err := c.attachSession(p, next, engine.Link{})
	c.must(err)
	return l
}

// next requests the next available session, and returns an empty id if there is none.
func (c *clocked) next(p engine.Path) (l engine.LinkID, id string) {
	c.Helper()
	l, err := c.attachSession(p, next, engine.Link{NoWait: true})
	c.must(err)
	for {
		if a, ok := c.granted(l); ok {
			return l, a.ID
		}
		if e := c.end(l); e != nil {
			c.open--
			if !errors.Is(e.Err, engine.ErrTimeout) || e.Err.Error() != engine.NoSessionText {
				c.Fatalf("link %d, which requested the next session, ended with %v", l, e.Err)
			}
			return l, ""
		}
		c.step()
	}
}

func (c *clocked) granted(l engine.LinkID) (engine.SessionAccepted, bool) {
	i := slices.IndexFunc(c.given, func(a engine.SessionAccepted) bool { return a.Link == l })
	if i < 0 {
		return engine.SessionAccepted{}, false
	}
	return c.given[i], true
}

// end returns how the engine ended a link, or nil if it did not.
func (c *clocked) end(l engine.LinkID) *engine.LinkEnded {
	i := slices.IndexFunc(c.ended, func(e engine.LinkEnded) bool { return e.ID == l })
	if i < 0 {
		return nil
	}
	return &c.ended[i]
}

// wantEnded requires that a link was ended because its session was lost.
func (c *clocked) wantEnded(l engine.LinkID) {
	c.Helper()
	e := c.end(l)
	if e == nil {
		c.Fatalf("link %d was not ended", l)
	}
	c.wantSessionLost(e.Err)
}

// take receives one message in a session, which must exist.
func (c *clocked) take(l engine.LinkID) engine.Delivery {
	c.Helper()
	before := len(c.inbox)
	c.must(c.ns.Credit(c.now, l, 1))
	c.drain(l)
	for _, d := range c.inbox[before:] {
		if d.Link == l {
			return d
		}
	}
	c.Fatalf("there is no message for link %d", l)
	return engine.Delivery{}
}

// empty requires that there is no message in a session.
func (c *clocked) empty(l engine.LinkID) {
	c.Helper()
	before := len(c.inbox)
	c.must(c.ns.Credit(c.now, l, 1))
	c.drain(l)
	for _, d := range c.inbox[before:] {
		if d.Link == l {
			c.Fatalf("message %d %q was delivered to link %d", d.Message.Seq, d.Content.MessageID(), l)
		}
	}
}

func (c *clocked) drain(l engine.LinkID) {
	c.Helper()
	c.step()
	for !c.ns.Drain(c.now, l) {
		c.step()
	}
	c.step()
}

// lose detaches a session's link.
func (c *clocked) lose(l engine.LinkID, how engine.DetachReason) { c.Helper(); c.detach(l, how) }

// about returns the row of a session, or a zero row if the session does not exist.
func (c *clocked) about(p engine.Path, id string) engine.SessionRow {
	c.Helper()
	r, ok, err := c.ns.SessionRow(p, id)
	c.must(err)
	if ok != (r.ID == id) {
		c.Fatalf("session %q: %v, %+v", id, ok, r)
	}
	return r
}

func (c *clocked) wantSessionLost(err error) {
	c.Helper()
	if !errors.Is(err, engine.ErrSessionLockLost) || err.Error() != engine.SessionLockLostText {
		c.Fatalf("got %v; want the session's lock to be lost", err)
	}
}

// wantRefused requires exactly this error, and that nothing changed.
func (c *clocked) wantRefused(kind error, text string, step func() error) {
	c.Helper()
	c.refused(kind, func() error {
		err := step()
		if err != nil && err.Error() != text {
			c.Fatalf("the error is %q; want %q", err, text)
		}
		return err
	})
}

// count returns how often the deliveries of a message have failed.
func (c *clocked) count(p engine.Path, id string) uint32 {
	c.Helper()
	for _, r := range c.rows(p) {
		if r.Content.MessageID() == id {
			return r.Message.DeliveryCount
		}
	}
	c.Fatalf("there is no message %q in %s", id, p)
	return 0
}

func (c *clocked) setState(l engine.LinkID, text string) error {
	c.Helper()
	err := c.ns.SetSessionState(c.now, l, &text)
	c.step()
	return err
}

// wantState requires this state of a session, as its receiver reads it.
func (c *clocked) wantState(l engine.LinkID, text string, set bool) {
	c.Helper()
	have, ok, err := c.ns.SessionState(c.now, l)
	c.must(err)
	if have != text || ok != set {
		c.Fatalf("the state is %q, %v; want %q, %v", have, ok, text, set)
	}
	c.step()
}

// happened returns the session events so far, as text.
func (c *clocked) happened() (all []string) {
	for _, e := range c.events {
		if e.Session != "" {
			all = append(all, e.Kind.String()+" "+e.Session+" "+e.Actor+e.Reason)
		}
	}
	return all
}
