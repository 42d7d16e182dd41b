package broker_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// A hold is a session that a receiver holds. Clients share it.
type hold struct {
	*broker.Session
	number int
	mode   engine.Mode
}

// errUntold marks an outcome as unknown although the caller got a definite error.
var errUntold = fmt.Errorf("%w: whether it was done is not known", engine.ErrBusy)

func (c *client) stepInSession(ctx context.Context, d *desk) answer {
	switch n := c.rnd.IntN(100); {
	case n < 8:
		return c.breakUp(ctx, d)
	case n < 11:
		return c.stateFor(ctx, d)
	}
	h, ok := pick(d, c.rnd, &d.holds, any1)
	if !ok || c.chance(15) {
		if ok {
			keep(d, &d.holds, h)
		}
		return c.accept(ctx, d)
	}
	if c.chance(30) || h.Err() == nil {
		keep(d, &d.holds, h)
	}
	switch n := c.rnd.IntN(100); {
	case n < 45:
		return c.receiveIn(ctx, d, h)
	case n < 57:
		return c.fetchIn(ctx, d, h)
	case n < 63:
		x := c.operationIn(keeping, d, h)
		_, err := h.Renew(ctx)
		return c.endsIn(x, err)
	case n < 70:
		return c.ask(ctx, d, h)
	case n < 80:
		x := c.operationIn(stating, d, h)
		var state *string
		state, x.text = c.state()
		if a := c.endsIn(x, h.SetState(ctx, state)); a != done || c.chance(30) {
			return a
		}
		return c.ask(ctx, d, h)
	case n < 94:
		x := c.operationIn(closing, d, h)
		err := h.Close(ctx)
		if errors.Is(err, broker.ErrSessionKept) {
			x.verb, err = leaving, nil
		}
		return c.ends(x, err)
	default:
		x := c.operationIn(leaving, d, h)
		return c.ends(x, h.Disconnect(ctx))
	}
}

func (c *client) ask(ctx context.Context, d *desk, h *hold) answer {
	x := c.operationIn(asking, d, h)
	state, set, err := h.State(ctx)
	if set {
		x.text = "=" + state
	}
	return c.endsIn(x, err)
}

// state returns a state to set, and its name in the model.
func (c *client) state() (*string, string) {
	if c.chance(25) {
		return nil, unset
	}
	s := strconv.Itoa(c.rnd.IntN(1000))
	return &s, "=" + s
}

// operationIn begins an operation of the receiver of a session.
func (c *client) operationIn(v verb, d *desk, h *hold) *operation {
	x := c.operation(v, d)
	x.spot, x.mode, x.session, x.handle, x.over = inQueue, h.mode, h.ID(), h.number, h.Err() != nil
	return x
}

// endsIn calls ends for an operation in a session. If the session had ended before, the error
// is ErrSessionEnded.
func (c *client) endsIn(x *operation, err error) answer {
	if err != nil && x.over {
		err = broker.ErrSessionEnded
	}
	return c.ends(x, err)
}

func (c *client) accept(ctx context.Context, d *desk) answer {
	in := broker.AcceptRequest{Path: d.path, Mode: c.mode()}
	x := c.operation(acceptingNext, d)
	if c.chance(40) {
		x.verb, x.session = accepting, sessionIDs[c.rnd.IntN(len(sessionIDs))]
		in.Session = &x.session
	}
	x.handle = int(c.handles.Add(1))
	s, err := c.AcceptSession(ctx, in)
	switch {
	case isOver(err): // only a session that was held can end with this error
		c.Errorf("AcceptSession returned %v", err)
	case err == nil:
		if x.verb == accepting && s.ID() != x.session {
			c.Errorf("asked for session %q, got %q", x.session, s.ID())
		}
		x.session = s.ID()
		keep(d, &d.holds, &hold{s, x.handle, in.Mode})
	}
	return c.ends(x, err)
}

func (c *client) receiveIn(ctx context.Context, d *desk, h *hold) answer {
	x := c.operationIn(receiving, d, h)
	x.most = c.few()
	all, err := h.Receive(ctx, x.most, 0)
	if errors.Is(err, engine.ErrNotFound) { // the receiver no longer exists: it was detached in the same turn
		err = broker.ErrSessionEnded
	}
	switch {
	case err == nil && h.Err() == nil:
		return c.took(d, x, all, x.session)
	case err == nil: // the session ended meanwhile; messages received and deleted arrived all the same
		x.most = len(all)
		return c.took(d, x, all, x.session)
	case x.over:
		x.verb, x.most = keeping, 0
		return c.endsIn(x, err)
	}
	ended := *x
	if ended.verb, ended.most = keeping, 0; c.answer(err) == refused { // the receive may have taken messages before
		c.ends(&ended, err)
		err = errUntold
	}
	return c.ends(x, err)
}

func (c *client) fetchIn(ctx context.Context, d *desk, h *hold) answer {
	all, seqs := c.numbers(d, inQueue, h.ID())
	if len(seqs) == 0 {
		return c.receiveIn(ctx, d, h)
	}
	x := c.operationIn(fetching, d, h)
	x.seqs, x.mode = seqs, c.mode()
	found, err := h.ReceiveDeferred(ctx, seqs, x.mode)
	if err != nil && (x.over || isOver(err)) {
		x.verb = keeping
	}
	if err != nil && x.over {
		err = broker.ErrSessionEnded
	}
	return c.fetched(d, x, all, found, err, x.session)
}

// isOver reports whether err means that the session is no longer held.
func isOver(err error) bool {
	return errors.Is(err, engine.ErrSessionLockLost) || errors.Is(err, broker.ErrSessionEnded)
}

func (c *client) breakUp(ctx context.Context, d *desk) answer {
	x := c.operation(breaking, d)
	x.session = sessionIDs[c.rnd.IntN(len(sessionIDs))]
	return c.ends(x, c.BreakSession(ctx, d.path, x.session, ""))
}

func (c *client) stateFor(ctx context.Context, d *desk) answer {
	x := c.operation(stating, d)
	x.session = sessionIDs[c.rnd.IntN(len(sessionIDs))]
	var state *string
	state, x.text = c.state()
	return c.ends(x, c.SetSessionStateAt(ctx, d.path, x.session, state, ""))
}
