package show

import (
	"testing"

	"mayfly/engine"
)

// What was read lately is not read again, and knows what has happened since.
func TestLatelyRead(t *testing.T) {
	var l chronicles
	if _, ok := l.get(7); ok {
		t.Error("nothing was read and is there")
	}
	read := chronicle{past: []trace{{epoch: 1, n: 5, at: 10, kind: engine.EventSent}}, cut: true}
	l.put(7, read)
	got, ok := l.get(7)
	if !ok || len(got.past) != 1 || !got.cut {
		t.Fatalf("what was read: %v, %v", got, ok)
	}
	since := got.with([]trace{{epoch: 1, n: 5, at: 10}, {n: 3, at: 20, kind: engine.EventLocked}})
	if len(since.past) != 2 || since.past[1].kind != engine.EventLocked || !since.cut {
		t.Errorf("with what has happened since: %+v", since)
	}
	if len(read.past) != 1 {
		t.Error("what was read has changed")
	}
	for k := engine.Key(100); k < 100+2*latelyMost; k++ {
		l.put(k, chronicle{})
	}
	if n := len(l.read); n > latelyMost {
		t.Errorf("%d are kept", n)
	}
}
