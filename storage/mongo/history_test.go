package mongo

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
)

// A strict server refuses documents that are too large, as MongoDB does.
type strict struct{ server }

func (s strict) Apply(ctx context.Context, in collection, changes []change) error {
	for _, c := range changes {
		if err := fits(c.doc); err != nil {
			return err
		}
	}
	return s.server.Apply(ctx, in, changes)
}

// The deletion of the largest possible topic is applied although its event, with all rules, is
// larger than a document may be.
func TestAnEventThatIsTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := openOn(t.Context(), strict{new(toy)}, nil, timed(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		e := engine.Event{N: 1, At: 1, Kind: engine.EventEntityDeleted, Audit: true, Path: "topic", Rules: make([]engine.Rule, 10_000)}
		for i := range e.Rules {
			e.Rules[i] = engine.Rule{Subscription: 1, Action: strings.Repeat("a", 2048)}
		}
		if err := s.Commit(t.Context(), &engine.Batch{Hard: true, Now: 1, Audit: []engine.Event{e}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * applyEvery)
		synctest.Wait()
		if s.unapplied.commits != 0 {
			t.Error("the commit was not applied")
		}
		for e, err := range s.QueryEvents(t.Context(), engine.HistoryQuery{}) {
			if err != nil || e.Path != "topic" || e.Kind != engine.EventEntityDeleted {
				t.Errorf("the history has %v, %v", e, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The store removes events before the TTL index would, so that its count of their bytes stays
// right.
func TestForgetComesBeforeTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keep = 10 * time.Minute
		db := new(toy)
		s, err := openOn(t.Context(), db, nil, timed(Options{HistoryRetention: keep}))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.TrimEvents(t.Context(), 0, 1<<40); err != nil { // the store counts the bytes from here on
			t.Fatal(err)
		}
		for n := uint64(1); n < 30; n++ {
			if err := s.AppendEvents(t.Context(), []engine.Event{{N: n, At: engine.At(time.Now())}}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(keep/10 + time.Second)
			db.purge(time.Now())
			if err := s.TrimEvents(t.Context(), engine.At(time.Now().Add(-keep)), 1<<40); err != nil {
				t.Fatal(err)
			}
		}
		counted := s.historyBytes
		s.historyBytes = -1
		if err := s.TrimEvents(t.Context(), 0, 1<<40); err != nil {
			t.Fatal(err)
		}
		if counted != s.historyBytes {
			t.Errorf("the events have %d bytes, and %d are counted", s.historyBytes, counted)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
