package route_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/search/columns"
	"mayfly/engine/value"
	"mayfly/views/page/entity"
)

// A list can be sorted by any column, shown or not, and filtered by a query, also in a view.
// It is not live then; what is live on its page belongs to the list itself (dashboard §3.2).
func TestListsAreSorted(t *testing.T) {
	isConfined(t, func(w *world) {
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
		for range 3 { // dead letters are on another tab
			w.settle(w.receive("orders"), engine.DeadLetter, "Bad")
		}
		_, err := columns.Put(w.Context(), w.b.Broker, columns.View{Name: "by n", Columns: []columns.Column{columns.Prop("n")}}, "test")
		w.must(err)
		const list = "/n/default/q/orders"
		numbers := func(at string) (m entity.Entity, got []int64) {
			t.Helper()
			m = as[entity.Entity](w, at)
			for _, r := range m.Rows {
				got = append(got, r.Number)
			}
			return m, got
		}
		m, got := numbers(list)
		if m.ListFilter.NotLive || m.Columns.Sort.By != columns.Seq || got[0] != 4 || m.Columns.Sort.Href[columns.Seq] != list+"?dir=desc" || m.Columns.Sort.Href["ttl"] != list+"?sort=ttl" || m.Columns.Sort.Href["prop.n"] != "" {
			t.Errorf("%v %+v", got, m.Columns.Sort)
		}
		m, got = numbers(list + "?dir=desc")
		if !m.ListFilter.NotLive || got[0] != 120 || len(got) != 50 || m.Columns.Sort.Href[columns.Seq] != list || m.Pages.Next != list+"?dir=desc&page=2" || m.Shell.Live.URL != list || m.Pages.Note != "50 of 117 shown" {
			t.Errorf("%v %+v %+v", got, m.Pages, m.Shell.Live)
		}
		if m, got = numbers(list + "?dir=desc&page=3"); len(got) != 17 || got[16] != 4 || m.Pages.Next != "" || m.Pages.First != list+"?dir=desc" {
			t.Errorf("%v %+v", got, m.Pages)
		}
		if m, got = numbers(list + "?sort=ttl"); got[0] != 120 || got[49] != 71 || !m.AllMatching.Shown || m.AllMatching.Query != "" {
			t.Errorf("%v %+v", got, m.AllMatching)
		}
		if _, got = numbers(list + "?sort=delivery"); got[0] != 4 || got[49] != 53 { // all equal: by sequence number
			t.Errorf("equal rows have the order %v", got)
		}
		m, got = numbers(list + "?sort=prop.n&view=by+n&dir=desc&page=3")
		if got[16] != 61 || m.Rows[15].Cells[0].Text != "000" && m.Rows[15].Cells[0].Text != "001" || m.Columns.Name != "by n" || m.Columns.Sort.Href["prop.n"] != list+"?sort=prop.n&view=by+n" {
			t.Errorf("%v %+v %+v", got, m.Rows[15].Cells, m.Columns.Sort)
		}
		m, got = numbers(list + "?q=subject%3As3&sort=seq&dir=desc")
		if len(got) != 17 || got[0] != 116 || m.AllMatching.Count != 17 || m.AllMatching.Query != "subject:s3" || !m.AllMatching.Shown || m.ListFilter.Query != "subject:s3" {
			t.Errorf("%v %+v %+v", got, m.AllMatching, m.ListFilter)
		}
		var kept []string
		for _, f := range m.ListFilter.Kept {
			kept = append(kept, f.Name+"="+f.Value)
		}
		if strings.Join(kept, "&") != "dir=desc&sort=seq" || m.ListFilter.UnfilteredURL != list {
			t.Errorf("the filter form keeps %v", kept)
		}
		if m, got = numbers(list + "?tab=dead-letter&sort=subject&dir=desc"); fmt.Sprint(got) != "[3 2 1]" || m.ListFilter.UnfilteredURL != list+"?tab=dead-letter" || m.Rows[0].Edit == "" || m.AllMatching.Path != "orders/$DeadLetterQueue" {
			t.Errorf("%v %+v", got, m.ListFilter)
		}
		if m, got = numbers(list + "?tab=deferred&sort=subject"); len(got) != 0 || !m.ListFilter.NotLive {
			t.Errorf("%v", got)
		}
		for _, wrong := range []string{"?sort=json.a", "?sort=nothing", "?sort=", "?q=+"} {
			if m, got = numbers(list + wrong); m.ListFilter.NotLive || len(got) != 50 {
				t.Errorf("%s: %v", wrong, m.ListFilter)
			}
		}
		if m, got = numbers(list + "?q=color:red&dir=desc"); m.ListFilter.Wrong == "" || m.ListFilter.NotLive || got[0] != 4 {
			t.Errorf("%+v", m.ListFilter)
		}
	})
}

// TestSortingEnds checks that sorting or filtering a list examines about 50,000 messages at most,
// and that the page then shows how many of the list's messages it examined.
func TestSortingEnds(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "orders", engine.Config{})
		const all = 55_000
		for range all / 1000 {
			w.send("orders", make([]engine.Content, 1000)...)
		}
		m := as[entity.Entity](w, "/n/default/q/orders?dir=desc")
		if first := m.Rows[0].Number; first < 50_000 || first >= all || !strings.HasSuffix(m.ListFilter.Incomplete, " of 55,000 were looked at.") || m.AllMatching.Count != 0 || !m.AllMatching.Shown {
			t.Errorf("the list begins with %d: %q", first, m.ListFilter.Incomplete)
		}
		if m = as[entity.Entity](w, "/n/default/q/orders?q=seq:%3C100&dir=desc"); m.Rows[0].Number != 99 || m.ListFilter.Incomplete == "" {
			t.Errorf("%q", m.ListFilter.Incomplete)
		}
	})
}
