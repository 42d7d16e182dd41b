package brokertest

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
)

// A Broker is a broker.Broker whose additional methods fail the test instead of returning errors.
type Broker struct {
	*broker.Broker
	t testing.TB

	// CloseFails means that the test expects an error when the broker is closed, for instance
	// because another server owns the namespace.
	CloseFails bool
}

// Open opens a broker on a new store in memory.
func Open(t testing.TB, o broker.Options) *Broker {
	t.Helper()
	return OpenOn(t, new(memory.Store), o)
}

// OpenOn opens a broker on a store. After a failure the broker opens the same store again.
func OpenOn(t testing.TB, store engine.Store, o broker.Options) *Broker {
	t.Helper()
	return OpenWith(t, func(context.Context) (engine.Store, error) { return store, nil }, o)
}

// OpenWith opens a broker on the store that open returns.
func OpenWith(t testing.TB, open func(context.Context) (engine.Store, error), o broker.Options) *Broker {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	opened, err := broker.Open(t.Context(), open, o)
	if err != nil {
		t.Fatal(err)
	}
	b := &Broker{Broker: opened, t: t}
	t.Cleanup(func() {
		if err := b.Close(); err != nil && !b.CloseFails {
			t.Errorf("close the broker: %v", err)
		}
	})
	return b
}

// For returns the same broker, which reports failures to t, a subtest.
func (b *Broker) For(t testing.TB) *Broker { return &Broker{Broker: b.Broker, t: t} }

func (b *Broker) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// CreateEntity creates an entity.
func (b *Broker) CreateEntity(kind engine.EntityKind, path engine.Path, c engine.Config) {
	b.t.Helper()
	_, err := b.Create(b.t.Context(), kind, path, c, "test")
	b.must(err)
}

// CreateQueue creates a queue.
func (b *Broker) CreateQueue(path engine.Path, c engine.Config) {
	b.t.Helper()
	b.CreateEntity(engine.Queue, path, c)
}

// SendMessages sends messages, a thousand at a time.
func (b *Broker) SendMessages(to engine.Path, messages ...broker.Outgoing) {
	b.t.Helper()
	for part := range slices.Chunk(messages, 1000) {
		_, err := b.Send(b.t.Context(), to, part, "test")
		b.must(err)
	}
}

// SendContents sends messages that share a body.
func (b *Broker) SendContents(to engine.Path, body string, contents ...engine.Content) {
	b.t.Helper()
	var out []broker.Outgoing
	for _, c := range contents {
		out = append(out, broker.Outgoing{Content: c, Body: []byte(body)})
	}
	b.SendMessages(to, out...)
}

// ReceiveMessages receives messages. The result may be empty.
func (b *Broker) ReceiveMessages(in broker.ReceiveRequest) []broker.Received {
	b.t.Helper()
	got, err := b.Receive(b.t.Context(), in)
	b.must(err)
	return got
}

// SettleMessage settles a received message.
func (b *Broker) SettleMessage(s engine.Settlement) {
	b.t.Helper()
	errs, err := b.Settle(b.t.Context(), s)
	b.must(err)
	b.must(errs[0])
}

// State returns the state of an entity or subqueue.
func (b *Broker) State(path engine.Path) (e engine.EntityState) {
	b.t.Helper()
	b.must(b.Read(b.t.Context(), func(r broker.Reader) (err error) {
		e, err = r.State(path)
		return err
	}))
	return e
}

// Counts returns the counts of an entity or subqueue.
func (b *Broker) Counts(path engine.Path) engine.Counts {
	b.t.Helper()
	return b.State(path).Counts
}

// Rows returns the messages of an entity or subqueue, and checks the engine's invariants.
func (b *Broker) Rows(path engine.Path) []engine.Row {
	b.t.Helper()
	return b.RowsOf(path, engine.ClassAll)
}

// RowsOf is Rows for the messages of a class.
func (b *Broker) RowsOf(path engine.Path, class engine.Class) (rows []engine.Row) {
	b.t.Helper()
	b.must(b.Read(b.t.Context(), func(r broker.Reader) (err error) {
		if err = r.Check(); err == nil { // not Fatal: inside Read it would block the broker
			rows, err = r.Browse(engine.Browse{Path: path, Class: class, From: 1, Limit: 1 << 20})
		}
		return err
	}))
	return rows
}
