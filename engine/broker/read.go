package broker

import (
	"context"

	"mayfly/engine"
)

// A Reader looks at the namespace as it is at one event number. It is good
// only inside the function that Read calls.
type Reader struct {
	ns  *engine.Namespace
	N   uint64         // number of the last event that what is seen includes
	Now engine.Instant // when it is seen
}

// Read calls look between two steps: keep it short, a page's worth. Looking
// changes nothing and does not count as use (DEC-6). look is called again if
// the store refused the turn it was part of, so let it assign and not append.
func (b *Broker) Read(ctx context.Context, look func(Reader) error) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		return look(Reader{ns: ns, N: b.events.Last() + uint64(ns.Unpublished()), Now: now})
	})
}

// Check is engine.Namespace.Check, for tests: it takes time in proportion to all
// there is.
func (r Reader) Check() error { return r.ns.Check() }

// Browse lists messages of one place by number.
func (r Reader) Browse(q engine.Browse) ([]engine.Row, error) { return r.ns.Browse(q) }

// Holding lists what a client has locked.
func (r Reader) Holding(q engine.Holding) (rows []engine.Row, all bool) {
	return r.ns.Holding(r.Now, q)
}

// Message is one message by its key.
func (r Reader) Message(k engine.Key) (engine.Row, error) { return r.ns.Message(k) }

// State is one entity's.
func (r Reader) State(p engine.Path) (engine.EntityState, error) { return r.ns.State(p) }

// States are all entities' of a kind, by path; kind zero means all.
func (r Reader) States(kind engine.EntityKind) []engine.EntityState { return r.ns.States(kind) }

// Names are all entities by path, without what is true of them.
func (r Reader) Names() []engine.Named { return r.ns.Names() }

// Sendable is engine.Namespace.Sendable.
func (r Reader) Sendable(p engine.Path) (most int64, err error) { return r.ns.Sendable(p) }

// Admit is engine.Namespace.Admit at the reader's instant.
func (r Reader) Admit(to engine.Path, all []engine.Submission, taken int64) ([]engine.Admission, error) {
	return r.ns.Admit(r.Now, to, all, taken)
}

// Page is some of the entities of a kind, by path; of subscriptions, those of
// topic, which is empty otherwise.
func (r Reader) Page(kind engine.EntityKind, topic engine.Path, skip, top int) ([]engine.EntityState, error) {
	return r.ns.Page(kind, topic, skip, top)
}

// Subscriptions are a topic's, by path.
func (r Reader) Subscriptions(topic engine.Path) []engine.EntityState {
	return r.ns.Subscriptions(topic)
}

// Seen tells whether a message with this id, sent to a queue or topic now, would
// be dropped as a duplicate: before an operator moves it there (OPS-1).
func (r Reader) Seen(p engine.Path, messageID string) (bool, error) {
	return r.ns.Seen(r.Now, p, messageID)
}

// Totals are the counts of the whole namespace.
func (r Reader) Totals() (engine.Counts, int) { return r.ns.Totals() }

// Rooms are the places that have messages of a class.
func (r Reader) Rooms(c engine.Class) []engine.Room { return r.ns.Rooms(c) }

// Horizon counts messages by when they expire; an empty path means all.
func (r Reader) Horizon(p engine.Path, edges []engine.Instant) []engine.Span {
	return r.ns.Horizon(p, edges)
}

// Expiring lists the next messages whose time runs out.
func (r Reader) Expiring(n int) []engine.Row { return r.ns.Expiring(n) }

// Deferred lists deferred messages over all entities, from a number at a place on.
func (r Reader) Deferred(at engine.Path, from engine.Seq, n int) []engine.Row {
	return r.ns.Deferred(at, from, n)
}

// Clock is the broker's clock at a glance: it waits for nobody, and has not
// noticed yet if the system's clock has just jumped forward.
func (b *Broker) Clock() engine.Instant { return b.clock.glance() }

// Now is the broker's clock, in a turn of its own.
func (b *Broker) Now(ctx context.Context) (now engine.Instant, err error) {
	err = b.Read(ctx, func(r Reader) error { now = r.Now; return nil })
	return now, err
}

// Upcoming is when the next thing of each kind happens by the passing of time.
func (r Reader) Upcoming() engine.Upcoming { return r.ns.Upcoming() }

// NextDue is when time next changes something; zero: never. It may have come
// already, while the owner goes through much that is due.
func (r Reader) NextDue() engine.Instant { return r.ns.NextDue() }
