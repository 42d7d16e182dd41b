package memory

import (
	"testing"

	"mayfly/engine"
)

// TestDroppedTakesNoRoom looks at what is held when nothing is.
func TestDroppedTakesNoRoom(t *testing.T) {
	var s Store
	for _, b := range []*engine.Batch{
		{
			Entities: []engine.Entity{{ID: 1, DeadLetterID: 2, TransferID: 3, Path: "a"}, {ID: 4, Path: "b"}},
			Rules:    []engine.Rule{{Subscription: 1, Name: "r"}}, Meters: []engine.Meter{{Holder: 1}},
			Sessions: []engine.Session{{Holder: 1, ID: "s"}, {Holder: 4, ID: "s"}},
			Seen:     []engine.Seen{{Holder: 1, N: 1}, {Holder: 4, N: 1}, {Holder: 4, N: 2}},
			Messages: []engine.Message{{Key: 1, Holder: 1}, {Key: 2, Holder: 3}},
		},
		{DropHolders: []engine.HolderID{1, 2, 3}, DropSessions: []engine.SessionID{{Holder: 4, ID: "s"}}, DropSeen: []engine.SeenThrough{{Holder: 4, N: 2}}},
	} {
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	h := &s.held
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
