package loglimit

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestRepeats: First reports true for a line once in repeatInterval. Lines are the same if their
// Client, Subject and the beginning of their Reason are.
func TestRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Repeats
		long := strings.Repeat("x", maxPart)
		line := Line{"192.0.2.7", "orders", long + "1"}
		if !r.First(line) || r.First(line) || r.First(Line{"192.0.2.7", "orders", long + "2"}) {
			t.Error("the first line was not written")
		}
		for _, other := range []Line{{"192.0.2.8", "orders", long}, {"192.0.2.7", "bills", long}, {"192.0.2.7", "orders", "y"}} {
			if !r.First(other) {
				t.Errorf("%v was treated as another line", other)
			}
		}
		time.Sleep(repeatInterval - 1)
		if r.First(line) {
			t.Error("a line was written again too early")
		}
		time.Sleep(time.Nanosecond)
		if !r.First(line) {
			t.Error("a line was not written again")
		}
		for i := range 3 * maxRepeats {
			r.First(Line{Client: fmt.Sprint(i)})
		}
		if len(r.last) > maxRepeats {
			t.Errorf("%d lines are remembered", len(r.last))
		}
	})
}
