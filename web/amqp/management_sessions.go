package amqp

import (
	"context"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// sessionHolder returns the broker's link, of this connection, that holds the session named in the
// call. If the call also names a link, only that link counts, because another one may hold a
// session that the named link has lost.
func (c *call) sessionHolder() (*broker.Link, error) {
	_, l, err := c.sessionHolderAndSender()
	return l, err
}

// sessionHolderAndSender returns the same link as sessionHolder, and its sender.
func (c *call) sessionHolderAndSender() (*sender, *broker.Link, error) {
	id, ok, err := c.arguments.id("session-id")
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, nil, engine.Refuse(engine.ErrArgument, "The request has no session-id.")
	}
	if o, l := c.findSessionSender(func(s engine.SessionAccepted) bool { return s.ID == id }); o != nil {
		return o, l, nil
	}
	return nil, nil, engine.Refuse(engine.ErrSessionLockLost, "%s", engine.SessionLockLostText)
}

// sessionLink returns the link that holds the session in which the call settles deliveries. The
// request names the session by session-id or, as Go's SDK does, only by the associated link. The
// result is zero if the request names no session, or if no such link holds it.
func (c *call) sessionLink() (engine.LinkID, error) {
	id, named, err := c.arguments.text("session-id")
	if err != nil || !named && c.linkName == "" {
		return 0, err
	}
	if o, l := c.findSessionSender(func(s engine.SessionAccepted) bool { return !named || s.ID == id }); o != nil {
		return l.ID(), nil
	}
	return 0, nil
}

// findSessionSender returns a link of the connection at the call's entity that holds a session for
// which `matches` returns true. If the call names a link, only that one counts. It returns nil if
// there is none.
func (c *call) findSessionSender(matches func(engine.SessionAccepted) bool) (*sender, *broker.Link) {
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	for _, s := range c.c.sessions {
		for _, l := range s.links {
			if c.linkName != "" && nameKey(c.linkName) != l.name.name {
				continue
			}
			if o, ok := l.link.(*sender); ok && o.brokerLink != nil && o.acceptedSession.LockedUntil != 0 && matches(o.acceptedSession) && o.path.Fold() == c.path.Fold() {
				return o, o.brokerLink
			}
		}
	}
	return nil, nil
}

func renewSessionLock(ctx context.Context, c *call) (callResult, error) {
	o, l, err := c.sessionHolderAndSender()
	if err != nil {
		return callResult{}, err
	}
	until, err := l.RenewSession(ctx)
	if err != nil {
		return callResult{}, err
	}
	c.c.mu.Lock()
	o.acceptedSession.LockedUntil = until
	c.c.mu.Unlock()
	return resultMap("expiration", timestamp(until)), nil
}

func setSessionState(ctx context.Context, c *call) (callResult, error) {
	l, err := c.sessionHolder()
	if err != nil {
		return callResult{}, err
	}
	v, _ := c.arguments.Lookup("session-state")
	if v.Kind() != value.Binary && v.Kind() != value.Null {
		return callResult{}, invalidArgument("session-state", "binary or null")
	}
	var state *string
	if b, _ := v.Bytes(); len(b) > 0 { // an empty state means no state
		s := string(b)
		state = &s
	}
	return callResult{}, l.SetSessionState(ctx, state)
}

func getSessionState(ctx context.Context, c *call) (callResult, error) {
	l, err := c.sessionHolder()
	if err != nil {
		return callResult{}, err
	}
	state, set, err := l.SessionState(ctx)
	if err != nil {
		return callResult{}, err
	}
	if err := c.reserveReplyBytes(ctx, int64(len(state))); err != nil {
		return callResult{}, err
	}
	var v value.Value
	if set {
		v = value.OfBinary([]byte(state))
	}
	return resultMap("session-state", v), nil
}

func listSessions(ctx context.Context, c *call) (callResult, error) {
	since, err := c.arguments.instant("last-updated-time")
	if err != nil {
		return callResult{}, err
	}
	skip, err := c.arguments.integer32("skip", 0)
	if err != nil {
		return callResult{}, err
	}
	top, err := c.arguments.integer32("top", 100)
	if err != nil {
		return callResult{}, err
	}
	ids, err := c.b.SessionIDs(ctx, c.path, since, int(skip), int(min(top, 100)))
	if err != nil || len(ids) == 0 {
		return callResult{noContent: true}, err
	}
	out := make([]value.Value, 0, len(ids))
	for _, id := range ids {
		out = append(out, value.OfString(id))
	}
	return callResult{body: wire.AppendMap(nil, value.Properties{
		{Name: "skip", Value: value.OfInt(int32(int(skip) + len(ids)))},
		{Name: "sessions-ids", Value: array(value.String, out)},
	})}, nil
}
