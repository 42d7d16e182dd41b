package dashboard_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
)

// TestSemantics checks the rules that concern the dashboard.
func TestSemantics(t *testing.T) {
	for name, show := range map[string]func(w *world){
		"IDLE-6 set in the form, at creation and later": func(w *world) {
			w.done("/n/default/queues", "name", "q", "AutoDeleteOnIdle", "5m")
			if got := w.b.State("q").Config.AutoDeleteOnIdle; got != 5*time.Minute {
				w.Errorf("created, AutoDeleteOnIdle is %v", got)
			}
			w.done("/n/default/q/q/edit", "AutoDeleteOnIdle", "10m")
			if got := w.b.State("q").Config.AutoDeleteOnIdle; got != 10*time.Minute {
				w.Errorf("changed, AutoDeleteOnIdle is %v", got)
			}
			w.see("/n/default/q/q")
			w.pass(10*time.Minute - time.Millisecond)
			w.b.State("q") // viewing does not count as use
			w.pass(time.Millisecond)
			if a := w.get("/n/default/q/q"); !strings.Contains(a.text, "deleted itself") {
				w.Errorf("the queue still exists: %d", a.status)
			}
		},
		"CNT-3, RT-6 the numbers are those of a peek": func(w *world) {
			w.b.CreateQueue("q", engine.Config{LockDuration: 5 * time.Minute})
			now, err := w.b.Now(w.Context())
			w.must(err)
			shown := func(active, locked, scheduled, deferred, dead int) {
				w.Helper()
				w.pass(time.Second)
				a := w.see("/n/default/q/q")
				rows, err := w.b.Peek(w.Context(), "q", 1, 250, "test")
				w.must(err)
				letters, err := w.b.Peek(w.Context(), "q/$DeadLetterQueue", 1, 250, "test")
				w.must(err)
				for slot, want := range map[string]int{
					"active": active, "locked": locked, "scheduled": scheduled, "deferred": deferred, "dead": dead, "total": len(rows) + len(letters),
				} {
					if got := a.Find("[data-slot=count-" + slot + "]").Text(); got != strconv.Itoa(want) {
						w.Errorf("%s is shown as %s, want %d", slot, got, want)
					}
				}
				if len(rows) != active+locked+scheduled+deferred || len(letters) != dead {
					w.Errorf("got %d and %d dead letters", len(rows), len(letters))
				}
			}
			shown(0, 0, 0, 0, 0)
			w.fill("q", engine.Content{}, engine.Content{}, engine.Content{}, engine.Content{}, engine.Content{ScheduledFor: now.Add(time.Hour)})
			shown(4, 0, 1, 0, 0)
			w.must(w.b.DeadLetterMessage(w.Context(), w.b.RowsOf("q", engine.ClassActive)[0].Message.Key, "", "", "test"))
			shown(3, 0, 1, 0, 1)
			_, at := w.done("/n/default/q/q/receive")
			shown(2, 1, 1, 0, 1)
			path, lock, _ := strings.Cut(at, "?lock=")
			w.done(path+"/defer", "lock", lock)
			shown(2, 0, 1, 1, 1)
		},
		"DLQ-23, OPS-1, OPS-2 which of both it does is said before": func(w *world) {
			orders(w)
			dead := w.first("orders/$DeadLetterQueue", engine.ClassAll)
			w.see(dead).wants(200, "Resubmit a copy")
			ask := w.see(dead + "/resubmit")
			ask.wants(200, "The dead letter is removed in the same step", "The dead letter stays where it is.")
			w.done(dead+"/resubmit", "how", "copy")
			if c := w.b.State("orders").Counts; c.DeadLetter != 1 || c.Active != 2 {
				w.Errorf("copied, got %+v", c)
			}
			w.done(dead+"/resubmit", "how", "move")
			if c := w.b.State("orders").Counts; c.DeadLetter != 0 || c.Active != 3 {
				w.Errorf("moved, got %+v", c)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { within(t, show) })
	}
}
