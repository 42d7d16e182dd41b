package broker

import (
	"context"

	"mayfly/engine"
)

// Sessions lists ids as clients do (SES-12); changedSince zero means those with
// messages or state. It looks at them in slices, so that others go on meanwhile.
func (b *Broker) Sessions(ctx context.Context, p engine.Path, changedSince engine.Instant, skip, top int) ([]string, error) {
	list := engine.SessionList{Path: p, ChangedSince: changedSince, Skip: skip, Top: top}
	for !list.Done {
		var err error
		before := list
		list, err = do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.SessionList, error) {
			next := before
			err := ns.ListSessions(now, &next, listSlice)
			return next, err
		})
		if err != nil {
			return nil, err
		}
	}
	return list.IDs, nil
}

// listSlice is how many sessions a list looks at in one turn.
const listSlice = 1000

// PeekSession browses one session as a client does (PEEK-5).
func (b *Broker) PeekSession(ctx context.Context, p engine.Path, id string, from engine.Seq, count int, client string) ([]engine.Row, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) ([]engine.Row, error) {
		return ns.PeekSession(now, p, id, from, count, client)
	})
}

// BreakSession ends a session's lock as if it had run out now (OPS-6).
func (b *Broker) BreakSession(ctx context.Context, p engine.Path, id, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.BreakSession(now, p, id, actor) })
}

// SetStateFor sets a session's state whoever holds it; nil clears it.
func (b *Broker) SetStateFor(ctx context.Context, p engine.Path, id string, state *string, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		return ns.SetStateFor(now, p, id, state, actor)
	})
}

// SetStateIf is SetStateFor unless the state is another by now than the one with
// this tag, which is engine.ErrChanged.
func (b *Broker) SetStateIf(ctx context.Context, p engine.Path, id string, seen engine.StateTag, state *string, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		return ns.SetStateIf(now, p, id, seen, state, actor)
	})
}

// SessionRows lists sessions by their ids, from one on.
func (r Reader) SessionRows(p engine.Path, from string, limit int) ([]engine.SessionRow, error) {
	return r.ns.SessionRows(p, from, limit)
}

// NextSessions lists the sessions that can be had, the next one first.
func (r Reader) NextSessions(p engine.Path, limit int) ([]string, error) {
	return r.ns.NextSessions(p, limit)
}

// SessionRow is one session's; not ok if nothing is known of it.
func (r Reader) SessionRow(p engine.Path, id string) (row engine.SessionRow, ok bool, err error) {
	return r.ns.SessionRow(p, id)
}

// StateOf is a session's state; not set if it has none.
func (r Reader) StateOf(p engine.Path, id string) (state string, set bool, err error) {
	return r.ns.StateOf(p, id)
}
