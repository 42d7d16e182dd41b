package show_test

import (
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/views/page"
	"mayfly/web/show"
)

// What dead letters died of is summed up once a second at most; until then the
// page says that it has to be rendered again.
func TestDeathsAreSummedUpOnceASecond(t *testing.T) {
	within(t, func(w *world) {
		const url = "/n/default/q/orders?tab=dead-letter"
		w.create(engine.Queue, "orders", engine.Config{})
		die := func(reason string, times int) {
			for range times {
				w.send("orders", engine.Content{})
				w.settle(w.receive("orders"), engine.DeadLetter, reason)
			}
		}
		look := func(url string, stale bool) page.Entity {
			t.Helper()
			p := w.open(url)
			if r, ok := p.(show.Refreshing); ok != stale {
				t.Errorf("rendered again: %v, want %v", ok, stale)
			} else if ok {
				p = r.Page
			}
			return p.(page.Entity)
		}
		die("Poison", 501) // more than are looked at in one turn
		die("", 2)
		m := look(url, false)
		if len(m.Reasons) != 2 || m.Reasons[0].N != 501 || m.Reasons[1].N != 2 {
			t.Fatalf("died of %+v", m.Reasons)
		}
		if m := look(url+"&reason=-", false); len(m.Rows) != 2 {
			t.Errorf("%d rows without a reason", len(m.Rows))
		}
		die("", 1)
		if m := look(url, true); m.Reasons[1].N != 2 || m.Counts.Dead != 504 {
			t.Errorf("within a second: %+v of %d", m.Reasons[1], m.Counts.Dead)
		}
		w.pass(time.Second)
		if m := look(url, false); m.Reasons[1].N != 3 {
			t.Errorf("a second later: %+v", m.Reasons[1])
		}
	})
}
