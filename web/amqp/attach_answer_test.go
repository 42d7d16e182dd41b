package amqp_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// everySource and everyTarget are termini with all fields set that may go with an
// address.
func everySource(address string) *wire.Source {
	return &wire.Source{
		Address: wire.Some(address), Durable: wire.Some[uint32](2), ExpiryPolicy: wire.Some("never"), Timeout: wire.Some[uint32](60),
		DistributionMode: wire.Some("move"), Filter: value.Properties{{Name: "x:unknown", Value: value.OfString("v")}},
		DefaultOutcome: wire.Modified{DeliveryFailed: true}, Outcomes: []string{"amqp:accepted:list", "amqp:modified:list", "x:outcome"},
		Capabilities: []string{"queue", "shared"},
	}
}

func everyTarget(address string) *wire.Target {
	return &wire.Target{
		Address: wire.Some(address), Durable: wire.Some[uint32](1), ExpiryPolicy: wire.Some("connection-close"), Timeout: wire.Some[uint32](60),
		Capabilities: []string{"topic"},
	}
}

// LOCK-15: the answer to an attach contains what is in force. The client's own terminus
// comes back as it was sent, and the server's contains what is supported.
func TestAttachAnswer(t *testing.T) {
	receives := amqptest.ReceiverAttach(0, "q")
	sends := amqptest.SenderAttach(0, "q")
	ours := func(address string) *wire.Source {
		return &wire.Source{
			Address: wire.Some(address), ExpiryPolicy: wire.Some("link-detach"), DistributionMode: wire.Some("move"),
			Outcomes: []string{"amqp:accepted:list", "amqp:modified:list"},
		}
	}
	target := func(address string) *wire.Target {
		return &wire.Target{Address: wire.Some(address), ExpiryPolicy: wire.Some("link-detach")}
	}
	for name, tc := range map[string]struct {
		ask  func(a *wire.Attach)
		of   wire.Attach
		want func(a *wire.Attach) // how the answer differs from ask
	}{
		"a receiver that asks for nothing": {func(*wire.Attach) {}, receives, func(*wire.Attach) {}},
		"a sender that asks for nothing":   {func(*wire.Attach) {}, sends, func(*wire.Attach) {}},
		"a receiver's source":              {func(a *wire.Attach) { a.Source = everySource("/Q") }, receives, func(a *wire.Attach) { a.Source = ours("/Q") }},
		"a receiver's own target":          {func(a *wire.Attach) { a.Target = everyTarget("me") }, receives, func(*wire.Attach) {}},
		"a sender's target":                {func(a *wire.Attach) { a.Target = everyTarget("Q") }, sends, func(a *wire.Attach) { a.Target = target("Q") }},
		"a sender's own source":            {func(a *wire.Attach) { a.Source = everySource("me") }, sends, func(*wire.Attach) {}},
		"a distribution mode there is not": {func(a *wire.Attach) { a.Source.DistributionMode = wire.Some("x:third") }, receives, func(a *wire.Attach) { a.Source.DistributionMode = wire.Some("move") }},
		"a receiver's modes": {
			func(a *wire.Attach) {
				a.SenderSettleMode, a.ReceiverSettleMode = wire.Some(wire.SenderUnsettled), wire.Some(wire.ReceiverSecond)
			}, receives, func(*wire.Attach) {},
		},
		"a receiver that deletes": {
			func(a *wire.Attach) {
				a.SenderSettleMode, a.ReceiverSettleMode = wire.Some(wire.SenderSettled), wire.Some(wire.ReceiverFirst)
			}, receives, func(*wire.Attach) {},
		},
		"a sender's modes": {
			func(a *wire.Attach) {
				a.SenderSettleMode, a.ReceiverSettleMode = wire.Some(wire.SenderUnsettled), wire.Some(wire.ReceiverSecond)
			}, sends, func(a *wire.Attach) { a.ReceiverSettleMode = wire.Some(wire.ReceiverFirst) },
		},
		"capabilities and properties": {
			func(a *wire.Attach) {
				a.OfferedCapabilities, a.DesiredCapabilities = []string{"x:one"}, []string{"x:two"}
				a.Properties = value.Properties{{Name: "com.microsoft:timeout", Value: value.OfUInt(1)}, {Name: "x:third", Value: value.OfInt(3)}}
				a.IncompleteUnsettled = true
			}, receives, func(a *wire.Attach) {
				a.OfferedCapabilities, a.DesiredCapabilities, a.IncompleteUnsettled = nil, nil, false
			},
		},
		"requests to $management": {
			func(a *wire.Attach) {
				a.Target, a.ReceiverSettleMode = everyTarget("q/$management"), wire.Some(wire.ReceiverSecond)
			}, sends, func(a *wire.Attach) {
				a.Target, a.ReceiverSettleMode = target("q/$management"), wire.Some(wire.ReceiverFirst)
			},
		},
		"answers of $management": {func(a *wire.Attach) { a.Source = everySource("q/$management") }, receives, func(a *wire.Attach) { a.Source = ours("q/$management") }},
		"answers are settled": {
			func(a *wire.Attach) {
				a.Source, a.SenderSettleMode = &wire.Source{Address: wire.Some("q/$management")}, wire.Some(wire.SenderUnsettled)
			}, receives, func(a *wire.Attach) { a.SenderSettleMode = wire.Some(wire.SenderSettled) },
		},
		"answers of $cbs": {func(a *wire.Attach) { a.Source = everySource("$cbs") }, receives, func(a *wire.Attach) { a.Source = ours("$cbs") }},
		"transactions": {
			func(a *wire.Attach) {
				a.Target, a.Coordinator, a.ReceiverSettleMode = nil, &wire.Coordinator{Capabilities: []string{"amqp:local-transactions", "amqp:distributed-transactions"}}, wire.Some(wire.ReceiverSecond)
			}, sends, func(a *wire.Attach) {
				a.Coordinator = &wire.Coordinator{Capabilities: []string{"amqp:local-transactions", "amqp:multi-txns-per-ssn", "amqp:multi-ssns-per-txn"}}
				a.ReceiverSettleMode = wire.Some(wire.ReceiverFirst)
			},
		},
		"a session": {
			func(a *wire.Attach) {
				a.Source = everySource("s")
				a.Source.Filter = append(a.Source.Filter, value.Property{Name: "com.microsoft:session-filter", Value: value.OfString("one")})
			}, receives, func(a *wire.Attach) {
				a.Source = ours("s")
				a.Source.Filter = value.Properties{{Name: "com.microsoft:session-filter", Value: value.OfString("one")}}
			},
		},
	} {
		t.Run("LOCK-15 "+name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{})
				w.b.CreateQueue("s", engine.Config{RequiresSession: true})
				c := w.client()
				asked := copied(tc.of)
				tc.ask(&asked)
				got := *c.Attach(0, asked)
				want := copied(tc.of)
				tc.ask(&want)
				tc.want(&want)
				want.Role = !want.Role
				// The server's own properties have other tests.
				got.Properties, want.Properties = nil, nil
				got.InitialDeliveryCount, want.InitialDeliveryCount = wire.Opt[uint32]{}, wire.Opt[uint32]{}
				got.MaxMessageSize, want.MaxMessageSize = wire.Opt[uint64]{}, wire.Opt[uint64]{}
				if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b value.Value) bool { return a.Equal(b) })); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// copied returns an attach with termini that may be changed.
func copied(a wire.Attach) wire.Attach {
	if a.Source != nil {
		a.Source = new(*a.Source)
	}
	if a.Target != nil {
		a.Target = new(*a.Target)
	}
	return a
}

// LOCK-15: what a client asks for in properties does not come back, and the answer for a
// sending link contains the maximum size of a batch, whatever messages the entity accepts
// (§1.5).
func TestAttachProperties(t *testing.T) {
	premium, err := engine.Profile("premium")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, amqp.Options{}, broker.Options{Limits: &premium})
	w.b.CreateQueue("small", engine.Config{})
	w.b.CreateQueue("large", engine.Config{MaxMessageSizeInKilobytes: 100 << 10})
	c := w.client()
	for i, tc := range []struct {
		a           wire.Attach
		size, batch uint64
	}{
		{amqptest.SenderAttach(0, "small"), 1 << 20, 1 << 20},
		{amqptest.SenderAttach(1, "large"), 100 << 20, 1 << 20},
		{amqptest.ReceiverAttach(2, "small"), 102 << 20, 0}, // a reply of $management may be that large
		{amqptest.SenderAttach(3, "$cbs"), 1 << 20, 0},
	} {
		tc.a.Properties = value.Properties{{Name: "com.microsoft:timeout", Value: value.OfUInt(1)}}
		got := c.Attach(0, tc.a)
		var want value.Properties
		if tc.batch > 0 {
			want = value.Properties{{Name: "com.microsoft:max-message-batch-size", Value: value.OfULong(tc.batch)}}
		}
		if diff := cmp.Diff(want, got.Properties, cmp.Comparer(func(a, b value.Value) bool { return a.Equal(b) })); len(want)+len(got.Properties) > 0 && diff != "" {
			t.Error(i, diff)
		}
		if got.MaxMessageSize != wire.Some(tc.size) {
			t.Errorf("%d: messages of %d bytes are allowed, want %d", i, got.MaxMessageSize.Or(0), tc.size)
		}
	}
}
