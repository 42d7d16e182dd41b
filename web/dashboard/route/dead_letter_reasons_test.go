package route_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/views/page/entity"
	"mayfly/views/page/search"
	"mayfly/web/dashboard/pages"
)

// Dead letters are summed up at most once a second; until then the page asks to be refreshed.
func TestDeathsAreSummedUpOnceASecond(t *testing.T) {
	isConfined(t, func(w *world) {
		const url = "/n/default/q/orders?tab=dead-letter"
		w.create(engine.Queue, "orders", engine.Config{})
		die := func(reason string, times int) {
			for range times {
				w.send("orders", engine.Content{})
				w.settle(w.receive("orders"), engine.DeadLetter, reason)
			}
		}
		look := func(url string, stale bool) entity.Entity {
			t.Helper()
			p := w.open(url)
			if r, ok := p.(pages.Refreshing); ok != stale {
				t.Errorf("rendered again: %v, want %v", ok, stale)
			} else if ok {
				p = r.Page
			}
			return p.(entity.Entity)
		}
		die("Poison", 501) // more than are read in one turn
		die("", 2)
		m := look(url, false)
		if len(m.Reasons) != 2 || m.Reasons[0].N != 501 || m.Reasons[1].N != 2 {
			t.Fatalf("the reasons are %+v", m.Reasons)
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

// TestGroupsEverywhere checks that a group of dead letters without a reason, from several queues,
// leaves out active messages, which have no reason either. A group whose reason is too long for a
// query offers no actions.
func TestGroupsEverywhere(t *testing.T) {
	isConfined(t, func(w *world) {
		for _, q := range []engine.Path{"a", "b"} {
			w.create(engine.Queue, q, engine.Config{})
			w.send(q, engine.Content{})
			w.settle(w.receive(q), engine.DeadLetter, "")
			w.send(q, engine.Content{}) // stays active
		}
		for _, reason := range []string{strings.Repeat("x", 3000), strings.Repeat("é", 900)} { // the first is too long for a query, the second for an address
			w.send("b", engine.Content{})
			w.settle(w.receive("b"), engine.DeadLetter, reason)
		}
		m := w.open("/n/default/dead-letters").(search.DeadLetterGroups)
		if len(m.Groups) != 3 || m.Groups[0].N != 2 || m.Groups[0].In != "a, b" || m.N != 4 {
			t.Fatalf("%+v", m.Groups)
		}
		g := m.Groups[0]
		if want := "/export?q=state%3Adead+reason%3A%22%22+error%3A%22%22"; !strings.HasSuffix(g.Export, want) || g.Sample == "" {
			t.Errorf("the export is %s, want %s", g.Export, want)
		}
		if m := w.searched(g.Href); len(m.Hits) != 2 || !strings.HasPrefix(m.Query, "state:dead ") {
			t.Errorf("%s finds %d", m.Query, len(m.Hits))
		}
		for _, g := range m.Groups[1:] {
			if g.Export+g.Resubmit+g.Delete != "" || g.In != "b" {
				t.Errorf("of a too long reason: %+v", g)
			}
		}
	})
}

// Dead letters of one reason are grouped by error text, ignoring ids and numbers.
func TestDeathsByError(t *testing.T) {
	isConfined(t, func(w *world) {
		const url = "/n/default/q/orders?tab=dead-letter"
		w.create(engine.Queue, "orders", engine.Config{})
		for _, text := range []string{"timeout after 100 ms", "timeout after 2.5 ms", "no such order", "timeout after 7 ms"} {
			w.send("orders", engine.Content{})
			errs, err := w.b.Settle(w.Context(), engine.Settlement{Token: w.receive("orders").Token(), Outcome: engine.DeadLetter, Reason: "Boom", Description: text})
			if err != nil || errs[0] != nil {
				t.Fatal(err, errs)
			}
		}
		look := func(url string) entity.Entity { return w.open(url).(entity.Entity) }
		if m := look(url); len(m.Errors) != 0 {
			t.Errorf("without a reason got %+v", m.Errors)
		}
		m := look(url + "&reason=Boom")
		if len(m.Errors) != 2 || m.Errors[0].Reason != "timeout after # ms" || m.Errors[0].N != 3 || m.Errors[1].N != 1 {
			t.Fatalf("got %+v", m.Errors)
		}
		if m := look(m.Errors[0].Href); len(m.Rows) != 3 || m.Error != "timeout after # ms" || len(m.Errors) != 2 {
			t.Errorf("of the first %d rows, %q of %+v", len(m.Rows), m.Error, m.Errors)
		}
		if m := look(m.Errors[1].Href); len(m.Rows) != 1 {
			t.Errorf("of the second %d rows", len(m.Rows))
		}
	})
}

// If there are more groups or subqueues than a page lists, the page shows how many it omits.
func TestGroupsThatAreLeftOut(t *testing.T) {
	isConfined(t, func(w *world) {
		die := func(q engine.Path, reason string) {
			w.send(q, engine.Content{})
			w.settle(w.receive(q), engine.DeadLetter, reason)
		}
		for i := range 25 {
			q := engine.Path(fmt.Sprintf("q%02d", i))
			w.create(engine.Queue, q, engine.Config{})
			die(q, "wide")
		}
		for i := range 103 {
			die("q00", fmt.Sprint("narrow ", i))
		}
		m := w.open("/n/default/dead-letters").(search.DeadLetterGroups)
		if len(m.Groups) != 100 || m.Left != 4 || m.Groups[0].In != "q00, q01, q02 and others" {
			t.Errorf("%d groups, %d left, the first in %q", len(m.Groups), m.Left, m.Groups[0].In)
		}
	})
}
