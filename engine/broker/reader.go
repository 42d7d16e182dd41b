package broker

import (
	"context"

	"mayfly/engine"
)

// A Reader reads the namespace as it is after the event with number N. It is valid only inside
// the function that Read calls.
type Reader struct {
	ns  *engine.Namespace
	N   uint64         // number of the last event that the reader sees
	Now engine.Instant // the time of the read
}

// Read calls `look` between two operations of a turn. `look` must be short, because all operations
// wait for it. Reading changes nothing and does not count as use (DEC-6). `look` is called again if
// the store refused the turn, so it must assign its results and not append to them.
func (b *Broker) Read(ctx context.Context, look func(Reader) error) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		return look(Reader{ns: ns, N: b.events.Last() + uint64(ns.Unpublished()), Now: now})
	})
}

// Check is engine.Namespace.Check, for tests: its time grows with the size of the namespace.
func (r Reader) Check() error { return r.ns.Check() }

// Browse lists messages of one subqueue in the order of their sequence numbers.
func (r Reader) Browse(q engine.Browse) ([]engine.Row, error) { return r.ns.Browse(q) }

// LockedBy lists the messages that a client has locked; all is false if there may be more.
func (r Reader) LockedBy(q engine.LockQuery) (rows []engine.Row, all bool) {
	return r.ns.LockedBy(r.Now, q)
}

// Message returns a message by its key.
func (r Reader) Message(k engine.Key) (engine.Row, error) { return r.ns.Message(k) }

// State returns one entity's state.
func (r Reader) State(p engine.Path) (engine.EntityState, error) { return r.ns.State(p) }

// States returns the states of all entities of a kind, or of all entities if kind is zero, by path.
func (r Reader) States(kind engine.EntityKind) []engine.EntityState { return r.ns.States(kind) }

// EntityNames returns all entities by path, without their state.
func (r Reader) EntityNames() []engine.EntityName { return r.ns.EntityNames() }

// MaxMessageSize is engine.Namespace.MaxMessageSize.
func (r Reader) MaxMessageSize(p engine.Path) (most int64, err error) { return r.ns.MaxMessageSize(p) }

// PreviewSend is engine.Namespace.PreviewSend at the reader's instant.
func (r Reader) PreviewSend(to engine.Path, all []engine.Submission, taken int64) ([]engine.SendPreview, error) {
	return r.ns.PreviewSend(r.Now, to, all, taken)
}

// EntityPage returns up to `top` entities of a kind, sorted by path, after skipping `skip` of them.
// For subscriptions, `topic` is the path of their topic; for other kinds it is empty.
func (r Reader) EntityPage(kind engine.EntityKind, topic engine.Path, skip, top int) ([]engine.EntityState, error) {
	return r.ns.EntityPage(kind, topic, skip, top)
}

// Subscriptions returns a topic's subscriptions, by path.
func (r Reader) Subscriptions(topic engine.Path) []engine.EntityState {
	return r.ns.Subscriptions(topic)
}

// IsDuplicate reports whether a message with this id, sent to a queue or topic now, would be dropped
// as a duplicate. It is checked before an operator moves the message there (OPS-1).
func (r Reader) IsDuplicate(p engine.Path, messageID string) (bool, error) {
	return r.ns.IsDuplicate(r.Now, p, messageID)
}

// Totals returns the counts of the whole namespace.
func (r Reader) Totals() (engine.Counts, int) { return r.ns.Totals() }

// SubqueuesWith returns the subqueues that have messages of a class.
func (r Reader) SubqueuesWith(c engine.Class) []engine.Subqueue { return r.ns.SubqueuesWith(c) }

// ExpiryHistogram counts the messages that expire before, between and after the given edges, which
// ascend. An empty path means all entities.
func (r Reader) ExpiryHistogram(p engine.Path, edges []engine.Instant) []engine.HorizonSpan {
	return r.ns.Horizon(p, edges)
}

// Expiring lists the next n messages to expire.
func (r Reader) Expiring(n int) []engine.Row { return r.ns.Expiring(n) }

// Deferred lists up to n deferred messages of all entities, by path and sequence number. It starts
// at subqueue `at` and sequence number `from`, or at the beginning if `at` is empty.
func (r Reader) Deferred(at engine.Path, from engine.Seq, n int) []engine.Row {
	return r.ns.Deferred(at, from, n)
}

// ClockTime returns the broker's time without waiting for the owner. It misses a jump of the
// system's clock that the owner has not noticed yet.
func (b *Broker) ClockTime() engine.Instant { return b.clock.approximate() }

// Now returns the broker's time, in a turn of its own.
func (b *Broker) Now(ctx context.Context) (now engine.Instant, err error) {
	err = b.Read(ctx, func(r Reader) error { now = r.Now; return nil })
	return now, err
}

// Upcoming returns when time will cause the next event of each kind.
func (r Reader) Upcoming() engine.Upcoming { return r.ns.Upcoming() }

// NextDue returns the time of the next change that time causes, zero if there is none. It is in the
// past while the owner is behind with due work.
func (r Reader) NextDue() engine.Instant { return r.ns.NextDue() }
