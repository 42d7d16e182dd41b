package amqp

import (
	"context"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// holder is the link of this connection that holds the session named in a call,
// in the broker. Of a client that says for which of its links it asks, it is that
// one: another may have the session that it has lost.
func (c *call) holder() (*broker.Link, error) {
	_, l, err := c.holding()
	return l, err
}

// holding is holder, and the link itself.
func (c *call) holding() (*outlet, *broker.Link, error) {
	id, ok, err := c.in.text("session-id")
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, nil, &engine.Refusal{Kind: engine.ErrArgument, Text: "The request has no session-id."}
	}
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	for _, s := range c.c.sessions {
		for _, l := range s.links {
			if c.link != "" && c.link != l.name.name {
				continue
			}
			if o, ok := l.link.(*outlet); ok && o.broker != nil && o.session.LockedUntil != 0 && o.session.ID == id && o.path.Fold() == c.path.Fold() {
				return o, o.broker, nil
			}
		}
	}
	return nil, nil, &engine.Refusal{Kind: engine.ErrSessionLockLost, Text: engine.SessionLockLostText}
}

func renewSessionLock(ctx context.Context, c *call) (done, error) {
	o, l, err := c.holding()
	if err != nil {
		return done{}, err
	}
	until, err := l.RenewSession(ctx)
	if err != nil {
		return done{}, err
	}
	c.c.mu.Lock()
	o.session.LockedUntil = until
	c.c.mu.Unlock()
	return result("expiration", timestamp(until)), nil
}

func setSessionState(ctx context.Context, c *call) (done, error) {
	l, err := c.holder()
	if err != nil {
		return done{}, err
	}
	v, _ := c.in.Lookup("session-state")
	if v.Kind() != value.Binary && v.Kind() != value.Null {
		return done{}, wrong("session-state", "binary or null")
	}
	var state *string
	if b, _ := v.Bytes(); len(b) > 0 { // an empty one is none
		s := string(b)
		state = &s
	}
	return done{}, l.SetSessionState(ctx, state)
}

func getSessionState(ctx context.Context, c *call) (done, error) {
	l, err := c.holder()
	if err != nil {
		return done{}, err
	}
	state, set, err := l.SessionState(ctx)
	if err != nil {
		return done{}, err
	}
	if err := c.makeRoom(ctx, int64(len(state))); err != nil {
		return done{}, err
	}
	var v value.Value
	if set {
		v = value.OfBinary([]byte(state))
	}
	return result("session-state", v), nil
}

func listSessions(ctx context.Context, c *call) (done, error) {
	since, err := c.in.moment("last-updated-time")
	if err != nil {
		return done{}, err
	}
	skip, err := c.in.number("skip", 0)
	if err != nil {
		return done{}, err
	}
	top, err := c.in.number("top", 100)
	if err != nil {
		return done{}, err
	}
	ids, err := c.b.Sessions(ctx, c.path, since, int(skip), int(min(top, 100)))
	if err != nil || len(ids) == 0 {
		return done{empty: true}, err
	}
	out := make([]value.Value, 0, len(ids))
	for _, id := range ids {
		out = append(out, value.OfString(id))
	}
	return done{body: wire.AppendMap(nil, value.Properties{
		{Name: "skip", Value: value.OfInt(int32(int(skip) + len(ids)))},
		{Name: "sessions-ids", Value: array(value.String, out)},
	})}, nil
}
