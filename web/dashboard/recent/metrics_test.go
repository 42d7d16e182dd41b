package recent

import (
	"context"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/stats"
	"mayfly/storage/memory"
)

// TestSampleThatFails checks that an entity whose counts could not be read is sampled the next
// time, and then no more.
func TestSampleThatFails(t *testing.T) {
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return new(memory.Store), nil }, broker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Create(t.Context(), engine.Queue, "q", engine.Config{}, ""); err != nil {
		t.Fatal(err)
	}
	r := &Events{b: b, Stats: stats.New()}
	r.Stats.Record(engine.Event{Kind: engine.EventSent, Path: "q", Message: engine.Message{Key: 1}})
	gone, leave := context.WithCancel(t.Context())
	leave()
	r.sampleTouched(gone, engine.Counts{})
	r.sampleTouched(t.Context(), engine.Counts{Active: 1})
	if p := r.Stats.Points("q", stats.Hour, b.ClockTime()); !p[len(p)-1].Known {
		t.Error("the entity was not sampled")
	}
	if again := r.Stats.TakeDue(); len(again) != 0 {
		t.Errorf("%q are to be sampled again", again)
	}
}
