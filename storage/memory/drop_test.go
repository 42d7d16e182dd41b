package memory

import (
	"testing"

	"mayfly/engine"
)

// TestDroppedTakesNoMemory checks that dropped records leave nothing in memory.
func TestDroppedTakesNoMemory(t *testing.T) {
	var s Store
	for _, b := range []*engine.Batch{
		{
			Entities: []engine.Entity{{ID: 1, DeadLetterID: 2, TransferID: 3, Path: "a"}, {ID: 4, Path: "b"}},
			Rules:    []engine.Rule{{Subscription: 1, Name: "r"}}, Meters: []engine.Meter{{Subqueue: 1}},
			Sessions: []engine.SessionRecord{{Subqueue: 1, ID: "s"}, {Subqueue: 4, ID: "s"}},
			Seen:     []engine.SeenIDs{{Subqueue: 1, N: 1}, {Subqueue: 4, N: 1}, {Subqueue: 4, N: 2}},
			Messages: []engine.Message{{Key: 1, Subqueue: 1}, {Key: 2, Subqueue: 3}},
		},
		{DropSubqueues: []engine.SubqueueID{1, 2, 3}, DropSessions: []engine.SessionID{{Subqueue: 4, ID: "s"}}, DropSeen: []engine.SeenIDsThrough{{Subqueue: 4, N: 2}}},
	} {
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	h := &s.records
	if n := len(h.entities); n != 1 {
		t.Errorf("there are %d entities", n)
	}
	for what, n := range map[string]int{
		"rules": len(h.rules), "meters": len(h.meters), "sessions": len(h.sessions), "seen": len(h.seen), "messages": len(h.messages),
	} {
		if n != 0 {
			t.Errorf("there are %d of %s", n, what)
		}
	}
}
