package job

import (
	"log/slog"
	"slices"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
)

// TestUndoInParts checks that nextSlice returns each message of an undo record once, if the record
// has more messages than it may return at a time, as when memory is full.
func TestUndoInParts(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	b := brokertest.Open(t, broker.Options{})
	j, err := Open(t.Context(), b.Broker, log)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for _, q := range []engine.Path{"q", "other"} {
		b.CreateQueue(q, engine.Config{})
	}
	if _, err := b.Send(t.Context(), "q", make([]broker.Outgoing, 300), "test"); err != nil {
		t.Fatal(err)
	}
	did, err := j.Start(t.Context(), Plan{Kind: Move, To: "other", Paths: []engine.Path{"q"}}, broker.Unconfirmed, "test")
	if err != nil {
		t.Fatal(err)
	}
	if did, err = j.Wait(t.Context(), did.ID); err != nil {
		t.Fatal(err)
	}
	var parts []int
	seen := map[engine.Key]bool{}
	is := Job{Plan: Plan{Kind: Undo, UndoOf: did.ID}}
	for {
		todo, err := j.nextSlice(t.Context(), nil, is, 100)
		if err != nil {
			t.Fatal(err)
		}
		if todo.last || len(parts) > 10 {
			break
		}
		for _, d := range todo.operations {
			seen[d.Target.Key] = true
		}
		parts, is.Cursor = append(parts, len(todo.operations)), todo.next
	}
	if want := []int{100, 100, 56, 44}; !slices.Equal(parts, want) || len(seen) != 300 {
		t.Errorf("slices of %v with %d messages; want %v with 300", parts, len(seen), want)
	}
}
