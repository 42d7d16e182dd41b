package show_test

import (
	"strings"
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

// Dead letters of one reason are told apart by the texts of their errors, in which
// ids and numbers do not count.
func TestDeathsByError(t *testing.T) {
	within(t, func(w *world) {
		const url = "/n/default/q/orders?tab=dead-letter"
		w.create(engine.Queue, "orders", engine.Config{})
		for _, text := range []string{"timeout after 100 ms", "timeout after 2.5 ms", "no such order", "timeout after 7 ms"} {
			w.send("orders", engine.Content{})
			errs, err := w.b.Settle(w.Context(), engine.Settlement{Token: w.receive("orders").Token(), Outcome: engine.DeadLetter, Reason: "Boom", Description: text})
			if err != nil || errs[0] != nil {
				t.Fatal(err, errs)
			}
		}
		look := func(url string) page.Entity { return w.open(url).(page.Entity) }
		if m := look(url); len(m.Errors) != 0 {
			t.Errorf("without a reason there are %+v", m.Errors)
		}
		m := look(url + "&reason=Boom")
		if len(m.Errors) != 2 || m.Errors[0].Reason != "timeout after # ms" || m.Errors[0].N != 3 || m.Errors[1].N != 1 {
			t.Fatalf("there are %+v", m.Errors)
		}
		if m := look(m.Errors[0].Href); len(m.Rows) != 3 || m.Error != "timeout after # ms" || len(m.Errors) != 2 {
			t.Errorf("of the first %d rows, %q of %+v", len(m.Rows), m.Error, m.Errors)
		}
		if m := look(m.Errors[1].Href); len(m.Rows) != 1 {
			t.Errorf("of the second %d rows", len(m.Rows))
		}
	})
}

func TestFolded(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"order 17 of 1,204.50 at 10:04": "order # of # at #",
		"c0ffee00-0000-4000-8000-00000000cafe is\n gone": "# is gone",
		"0xdeadBEEF, ccaa30b40a2586279a23, decade":       "#, #, decade",
	} {
		if got := show.Folded(text); got != want {
			t.Errorf("%q folds to %q, want %q", text, got, want)
		}
	}
	long := strings.Repeat("é", 10_000)
	if got := show.Folded(long); len(got) > 200 || show.Folded(long) != got {
		t.Errorf("a long one has %d bytes", len(got))
	}
}
