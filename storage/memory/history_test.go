package memory

import (
	"testing"

	"mayfly/engine"
)

// TestHistoryIsBounded checks that the oldest routine events are dropped when the history has more
// than maxRoutineEvents of them, and that audit events are kept.
func TestHistoryIsBounded(t *testing.T) {
	var s Store
	if err := s.Commit(t.Context(), &engine.Batch{Hard: true, Audit: []engine.Event{{N: 1, At: 1, Audit: true}}}); err != nil {
		t.Fatal(err)
	}
	const n = 3 * maxRoutineEvents
	for i := range n {
		if err := s.AppendEvents(t.Context(), []engine.Event{{N: uint64(2 + i), At: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(s.records.history.rows); got <= maxRoutineEvents || got > maxRoutineEvents+maxRoutineEvents/10+1 {
		t.Errorf("%d events are kept", got)
	}
	if first := s.records.history.rows[0]; !first.Audit {
		t.Error("an audit event was dropped")
	}
	if last := s.records.history.rows[len(s.records.history.rows)-1]; last.N != n+1 {
		t.Errorf("the latest event is %d", last.N)
	}
}

// TestForgetAudit checks that a history that is trimmed to few bytes drops audit events too.
func TestForgetAudit(t *testing.T) {
	var s Store
	for i := range uint64(10) {
		if err := s.AppendEvents(t.Context(), []engine.Event{{N: 1 + i, At: 1, Audit: i < 5}}); err != nil {
			t.Fatal(err)
		}
	}
	one := s.records.history.rows[0].bytes
	for _, tc := range []struct {
		most int64
		want int
	}{{6 * one, 6}, {5*one - 1, 4}, {1, 0}} {
		if err := s.TrimEvents(t.Context(), 0, tc.most); err != nil {
			t.Fatal(err)
		}
		if got := len(s.records.history.rows); got > tc.want || got < tc.want-1 {
			t.Errorf("%d events are left of %d bytes; want %d", got, tc.most, tc.want)
		}
	}
	if h := s.records.history; h.bytes != 0 || h.routine != 0 {
		t.Errorf("an empty history has %d bytes and %d events", h.bytes, h.routine)
	}
}
