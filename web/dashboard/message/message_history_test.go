package message

import (
	"testing"

	"mayfly/engine"
	"mayfly/web/dashboard/recent"
)

// TestLatelyRead checks that historyCache returns a stored history, that withNewer appends later
// events to a copy of it and skips those it has, and that the number of cached histories is
// bounded.
func TestLatelyRead(t *testing.T) {
	var l historyCache
	if _, ok := l.get(7); ok {
		t.Error("a history was found before it was read")
	}
	read := History{events: []recent.EventRecord{{Epoch: 1, N: 5, At: 10, Kind: engine.EventSent}}, truncated: true}
	l.put(7, read)
	got, ok := l.get(7)
	if !ok || len(got.events) != 1 || !got.truncated {
		t.Fatalf("the history is %v, %v", got, ok)
	}
	since := got.withNewer([]recent.EventRecord{{Epoch: 1, N: 5, At: 10}, {N: 3, At: 20, Kind: engine.EventLocked}})
	if len(since.events) != 2 || since.events[1].Kind != engine.EventLocked || !since.truncated {
		t.Errorf("with later events: %+v", since)
	}
	if len(read.events) != 1 {
		t.Error("the cached history has changed")
	}
	for k := engine.Key(100); k < 100+2*maxCachedHistories; k++ {
		l.put(k, History{})
	}
	if n := len(l.histories); n > maxCachedHistories {
		t.Errorf("%d histories are kept", n)
	}
}
