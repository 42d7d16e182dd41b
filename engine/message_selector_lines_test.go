package engine

import "testing"

// Delivering a message visits each selector's line once, however many receivers share the
// selector.
func TestSelectorLines(t *testing.T) {
	h := &subqueue{}
	for range 100 {
		for _, text := range []string{"", "a", "b"} {
			l := &link{subqueue: h}
			if text != "" {
				l.Selector = &MessageSelector{Text: text}
			}
			l.joinIndex()
			l.beginWaiting()
		}
	}
	q := h.waitingLines()
	if q.Len() != 3 || h.selecting != 200 {
		t.Errorf("%d lines, %d receivers with a selector", q.Len(), h.selecting)
	}
	for turn := int64(1); q.Len() > 0; turn++ { // one link of each line in turn
		l := (*q)[0].first()
		if l.waitTurn != turn {
			t.Fatalf("turn %d is before turn %d", l.waitTurn, turn)
		}
		l.stopWaiting()
		q.firstServed()
	}
}
