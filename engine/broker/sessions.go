package broker

import (
	"context"

	"mayfly/engine"
)

// SessionIDs lists session ids, as the clients' operation does (SES-12). If changedSince is zero, it
// lists the sessions with messages or state. It works in slices, so that other operations continue
// in between.
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

// sessionSlice is how many sessions SessionIDs examines in one turn.
const sessionSlice = 1000

// PeekSession browses one session as a client does (PEEK-5).
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

// SetSessionStateIf is SetSessionStateAt if the state still has this tag; else the error is
// engine.ErrChanged.
func (b *Broker) SetSessionStateIf(ctx context.Context, p engine.Path, id string, seen engine.SessionStateTag, state *string, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		return ns.SetSessionStateIf(now, p, id, seen, state, actor)
	})
}

// SessionRows lists sessions in the order of their ids, starting with from.
func (r Reader) SessionRows(p engine.Path, from string, limit int) ([]engine.SessionRow, error) {
	return r.ns.SessionRows(p, from, limit)
}

// AvailableSessions lists the available sessions, the next one first.
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
