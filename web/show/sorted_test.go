package show_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/listing"
	"mayfly/engine/value"
	"mayfly/views/page"
)

// A list is sorted by a column, shown or not, and narrowed by a query, also below a view;
// it stands still then, and what is live on its page is the list's own (dashboard §3.2).
func TestListsAreSorted(t *testing.T) {
	within(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{})
		w.create(engine.Queue, "orders2", engine.Config{})
		w.send("orders2", engine.Content{Subject: "another place"})
		for i := range 120 {
			c := engine.Content{Subject: fmt.Sprintf("s%d", i%7), TTL: time.Duration(1000-i) * time.Hour}
			if i != 60 {
				c.Properties = value.Properties{{Name: "n", Value: value.OfString(fmt.Sprintf("%03d", (i*37)%120))}}
			}
			w.send("orders", c)
		}
		for range 3 { // dead letters are of another tab
			w.settle(w.receive("orders"), engine.DeadLetter, "Bad")
		}
		_, err := listing.Put(w.Context(), w.b, listing.View{Name: "by n", Columns: []listing.Column{listing.Prop("n")}}, "test")
		w.must(err)
		const list = "/n/default/q/orders"
		numbers := func(at string) (m page.Entity, got []int64) {
			t.Helper()
			m = as[page.Entity](w, at)
			for _, r := range m.Rows {
				got = append(got, r.Number)
			}
			return m, got
		}
		m, got := numbers(list)
		if m.Find.Still || m.Columns.Sort.By != listing.Seq || got[0] != 4 || m.Columns.Sort.Href[listing.Seq] != list+"?dir=desc" || m.Columns.Sort.Href["ttl"] != list+"?sort=ttl" || m.Columns.Sort.Href["prop.n"] != "" {
			t.Errorf("%v %+v", got, m.Columns.Sort)
		}
		m, got = numbers(list + "?dir=desc")
		if !m.Find.Still || got[0] != 120 || len(got) != 50 || m.Columns.Sort.Href[listing.Seq] != list || m.Pages.Next != list+"?dir=desc&page=2" || m.Shell.Live.URL != list || m.Pages.Note != "50 of 117 shown" {
			t.Errorf("%v %+v %+v", got, m.Pages, m.Shell.Live)
		}
		if m, got = numbers(list + "?dir=desc&page=3"); len(got) != 17 || got[16] != 4 || m.Pages.Next != "" || m.Pages.First != list+"?dir=desc" {
			t.Errorf("%v %+v", got, m.Pages)
		}
		if m, got = numbers(list + "?sort=ttl"); got[0] != 120 || got[49] != 71 || !m.Every.Shown || m.Every.Query != "" {
			t.Errorf("%v %+v", got, m.Every)
		}
		if _, got = numbers(list + "?sort=delivery"); got[0] != 4 || got[49] != 53 { // all alike: by number
			t.Errorf("what is alike is in the order %v", got)
		}
		m, got = numbers(list + "?sort=prop.n&view=by+n&dir=desc&page=3")
		if got[16] != 61 || m.Rows[15].Cells[0].Text != "000" && m.Rows[15].Cells[0].Text != "001" || m.Columns.Name != "by n" || m.Columns.Sort.Href["prop.n"] != list+"?sort=prop.n&view=by+n" {
			t.Errorf("%v %+v %+v", got, m.Rows[15].Cells, m.Columns.Sort)
		}
		m, got = numbers(list + "?q=subject%3As3&sort=seq&dir=desc")
		if len(got) != 17 || got[0] != 116 || m.Every.N != 17 || m.Every.Query != "subject:s3" || !m.Every.Shown || m.Find.Query != "subject:s3" {
			t.Errorf("%v %+v %+v", got, m.Every, m.Find)
		}
		var kept []string
		for _, f := range m.Find.Kept {
			kept = append(kept, f.Name+"="+f.Value)
		}
		if strings.Join(kept, "&") != "dir=desc&sort=seq" || m.Find.Plain != list {
			t.Errorf("it keeps %v", kept)
		}
		if m, got = numbers(list + "?tab=dead-letter&sort=subject&dir=desc"); fmt.Sprint(got) != "[3 2 1]" || m.Find.Plain != list+"?tab=dead-letter" || m.Rows[0].Edit == "" || m.Every.At != "orders/$DeadLetterQueue" {
			t.Errorf("%v %+v", got, m.Find)
		}
		if m, got = numbers(list + "?tab=deferred&sort=subject"); len(got) != 0 || !m.Find.Still {
			t.Errorf("%v", got)
		}
		for _, wrong := range []string{"?sort=json.a", "?sort=nothing", "?sort=", "?q=+"} {
			if m, got = numbers(list + wrong); m.Find.Still || len(got) != 50 {
				t.Errorf("%s: %v", wrong, m.Find)
			}
		}
		if m, got = numbers(list + "?q=color:red&dir=desc"); m.Find.Wrong == "" || m.Find.Still || got[0] != 4 {
			t.Errorf("%+v", m.Find)
		}
	})
}

// No more than so many messages are looked at, and the page says so.
func TestSortingEnds(t *testing.T) {
	within(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{})
		const all = 55_000
		for range all / 1000 {
			w.send("orders", make([]engine.Content, 1000)...)
		}
		m := as[page.Entity](w, "/n/default/q/orders?dir=desc")
		if first := m.Rows[0].Number; first < 50_000 || first >= all || !strings.HasSuffix(m.Find.Cut, " of 55,000 were looked at.") || m.Every.N != 0 || !m.Every.Shown {
			t.Errorf("it begins with %d: %q", first, m.Find.Cut)
		}
		if m = as[page.Entity](w, "/n/default/q/orders?q=seq:%3C100&dir=desc"); m.Rows[0].Number != 99 || m.Find.Cut == "" {
			t.Errorf("%q", m.Find.Cut)
		}
	})
}
