package amqp_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// TestDispositions checks the table of §5.2: the effect of each AMQP disposition on a
// message and its delivery count.
func TestDispositions(t *testing.T) {
	rejected := func(condition wire.Condition, info ...value.Property) wire.State {
		return wire.Rejected{Error: &wire.Error{Condition: condition, Description: "why", Info: info}}
	}
	property := func(name, text string) value.Property {
		return value.Property{Name: name, Value: value.OfString(text)}
	}
	for name, tc := range map[string]struct {
		state               wire.State // nil means the lock expires
		counts              engine.Counts
		deliveries          uint32
		reason, description string
	}{
		"§5.2 complete":              {state: wire.Accepted{}},
		"§5.2 abandon":               {state: wire.Modified{DeliveryFailed: true}, counts: engine.Counts{Active: 1}, deliveries: 1},
		"§5.2 abandon, nothing said": {state: wire.Modified{}, counts: engine.Counts{Active: 1}, deliveries: 1},
		"§5.2 defer":                 {state: wire.Modified{UndeliverableHere: true}, counts: engine.Counts{Deferred: 1}, deliveries: 1},
		"§5.2 dead-letter": {
			state:  rejected("com.microsoft:dead-letter", property("DeadLetterReason", "Poison"), property("DeadLetterErrorDescription", "too hot"), property("k", "v")),
			counts: engine.Counts{DeadLetter: 1}, reason: "Poison", description: "too hot",
		},
		"§5.2, §6.2#7 reject":                     {state: rejected("amqp:not-found"), counts: engine.Counts{DeadLetter: 1}, reason: "amqp:not-found", description: "why"},
		"§5.2, §6.2#7 reject without a condition": {state: wire.Rejected{}, counts: engine.Counts{DeadLetter: 1}},
		"§5.2 release":                            {state: wire.Released{}, counts: engine.Counts{Active: 1}},
		"§5.2 the lock expires":                   {counts: engine.Counts{Active: 1}, deliveries: 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.b.CreateQueue("q", engine.Config{LockDuration: time.Minute})
				w.send("q", "", "x")
				c := w.client()
				c.Attach(0, amqptest.ReceiverAttach(0, "q"))
				c.WriteFrames(0, flow(0, 1, nil))
				frames(c)
				if tc.state == nil {
					c.WriteFrames(0, &wire.Detach{Handle: 0, Closed: true})
					time.Sleep(time.Minute + time.Second)
				} else {
					c.WriteFrames(0, settles(0, wire.Opt[uint32]{}, tc.state))
				}
				synctest.Wait()
				var state engine.EntityState
				var rows, dead []engine.Row
				if err := w.b.Read(t.Context(), func(r broker.Reader) (err error) {
					if state, err = r.State("q"); err != nil {
						return err
					}
					if rows, err = r.Browse(engine.Browse{Path: "q", Limit: 10}); err != nil {
						return err
					}
					dead, err = r.Browse(engine.Browse{Path: "q/$DeadLetterQueue", Limit: 10})
					return err
				}); err != nil {
					t.Fatal(err)
				}
				if state.Counts != tc.counts {
					t.Errorf("the counts are %+v; want %+v", state.Counts, tc.counts)
				}
				for _, r := range append(rows, dead...) {
					if r.Message.DeliveryCount != tc.deliveries {
						t.Errorf("the delivery count is %d; want %d", r.Message.DeliveryCount, tc.deliveries)
					}
				}
				for _, r := range dead {
					if x := r.Message.Extra; x == nil || x.Reason != tc.reason || x.Description != tc.description {
						t.Errorf("the dead letter has %+v; want %q, %q", x, tc.reason, tc.description)
					}
				}
			})
		})
	}
}
