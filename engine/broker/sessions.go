package broker

import (
	"context"

	"mayfly/engine"
)

// SessionIDs lists up to `top` session ids after skipping `skip` of them, as the clients' operation
// does (SES-12). It lists the sessions whose state was set after changedSince or, if that is zero,
// those with messages or state. It takes several turns, so that other operations run in between.
func (b *Broker) SessionIDs(ctx context.Context, p engine.Path, changedSince engine.Instant, skip, top int) ([]string, error) {
	list := engine.SessionList{Path: p, ChangedSince: changedSince, Skip: skip, Top: top}
	for !list.Done {
		var err error
		before := list
		list, err = do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.SessionList, error) {
			next := before
			err := ns.ListSessions(now, &next, sessionSlice)
			return next, err
		})
		if err != nil {
			return nil, err
		}
	}
	return list.IDs, nil
}

// sessionSlice is the number of sessions that SessionIDs examines in one turn.
const sessionSlice = 1000

// PeekSession is Peek for the messages of one session (PEEK-5).
func (b *Broker) PeekSession(ctx context.Context, p engine.Path, id string, from engine.Seq, count int, client string) ([]engine.Row, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) ([]engine.Row, error) {
		return ns.PeekSession(now, p, id, from, count, client)
	})
}

// BreakSession ends a session's lock as if it had run out now (OPS-6).
func (b *Broker) BreakSession(ctx context.Context, p engine.Path, id, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.BreakSession(now, p, id, actor) })
}

// SetSessionStateAt sets a session's state, even if a receiver holds it; nil clears it.
func (b *Broker) SetSessionStateAt(ctx context.Context, p engine.Path, id string, state *string, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		return ns.SetSessionStateAt(now, p, id, state, actor)
	})
}

// SetSessionStateIf is SetSessionStateAt, but returns engine.ErrChanged if the state no longer has
// the tag `seen`.
func (b *Broker) SetSessionStateIf(ctx context.Context, p engine.Path, id string, seen engine.SessionStateTag, state *string, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		return ns.SetSessionStateIf(now, p, id, seen, state, actor)
	})
}

// SessionRows lists up to limit sessions in the order of their ids, starting with id `from`.
func (r Reader) SessionRows(p engine.Path, from string, limit int) ([]engine.SessionRow, error) {
	return r.ns.SessionRows(p, from, limit)
}

// AvailableSessions lists the ids of up to limit sessions that receivers asking for the next
// session will get, in that order.
func (r Reader) AvailableSessions(p engine.Path, limit int) ([]string, error) {
	return r.ns.AvailableSessions(p, limit)
}

// SessionRow returns one session's row; ok is false if the session has no messages, lock or
// state.
func (r Reader) SessionRow(p engine.Path, id string) (row engine.SessionRow, ok bool, err error) {
	return r.ns.SessionRow(p, id)
}

// SessionStateAt returns a session's state; set is false if it has none.
func (r Reader) SessionStateAt(p engine.Path, id string) (state string, set bool, err error) {
	return r.ns.SessionStateAt(p, id)
}
