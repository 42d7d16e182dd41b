package route_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/views/page/search"
	"mayfly/web/dashboard/pages"
)

// searched returns the page of a search.
func (w *world) searched(at string) search.Search {
	w.Helper()
	p, _, err := w.pages.Open(w.Context(), at)
	w.must(err)
	m, ok := p.(search.Search)
	if !ok {
		w.Fatalf("%s is a %T", at, p)
	}
	return m
}

func found(m search.Search) (hits []string) {
	for _, h := range m.Hits {
		hits = append(hits, fmt.Sprintf("%s %d %s", h.Entity, h.Number, h.Subject))
	}
	return hits
}

func TestSearch(t *testing.T) {
	isConfined(t, func(w *world) {
		for _, name := range []engine.Path{"orders", "bills"} {
			w.create(engine.Queue, name, engine.Config{})
			for i := range 120 {
				w.send(name, engine.Content{Subject: fmt.Sprintf("%s-%d", name, i+1), Properties: value.Properties{{Name: "a region", Value: value.OfString("eu, west")}}})
			}
		}
		const search = "/n/default/search"
		m := w.searched(search + "?q=subject%3A*-7+in:orders")
		if got := found(m); !slices.Equal(got, []string{"orders 7 orders-7"}) || m.Next != "" || m.Progress != "scanned 120 of 120 · one hit" {
			t.Errorf("%q, %q, next %q", got, m.Progress, m.Next)
		}
		var terms []string
		for _, c := range m.Chips {
			terms = append(terms, c.Term+" "+c.Without)
		}
		if want := []string{"subject:*-7 " + search + "?q=in%3Aorders", "in:orders " + search + "?q=subject%3A%2A-7"}; !slices.Equal(terms, want) {
			t.Errorf("the chips are %q", terms)
		}

		// A search runs in batches, each of which shows the progress of the whole search.
		m = w.searched(search + "?q=seq:%3E0")
		var hits []string
		for portion := 1; ; portion++ {
			hits = append(hits, found(m)...)
			if want := fmt.Sprintf("scanned %d of 240 · %[1]d hits", min(50*portion, 240)); m.Progress != want {
				t.Errorf("batch %d: %s, want %s", portion, m.Progress, want)
			}
			if m.Continued != (portion > 1) {
				t.Errorf("batch %d: continues %v", portion, m.Continued)
			}
			if m.Next == "" || portion > 5 {
				break
			}
			m = w.searched(m.Next)
		}
		if slices.Sort(hits); len(slices.Compact(hits)) != 240 {
			t.Errorf("got %d hits in batches", len(hits))
		}

		// Suggested terms can be added to the query.
		m = w.searched(search + "?q=x")
		var proposed []string
		for _, c := range m.More {
			u, err := url.Parse(c.Href)
			if err != nil || u.Query().Get("q") != "x "+c.Label || w.searched(c.Href).Wrong != "" {
				t.Errorf("%s links to %s", c.Label, c.Href)
			}
			proposed = append(proposed, c.Label)
		}
		for _, want := range []string{"state:dead", "in:orders", "in:bills", `prop."a region":"eu, west"`, "age:>5m"} {
			if !slices.Contains(proposed, want) {
				t.Errorf("%s is missing in %q", want, proposed)
			}
		}
	})
}

func TestSearchOfNothing(t *testing.T) {
	isConfined(t, func(w *world) {
		const search = "/n/default/search"
		if m := w.searched(search); m.Progress != "" || m.Wrong != "" || len(m.More) == 0 {
			t.Errorf("%+v", m)
		}
		m := w.searched(search + "?q=red+state:asleep")
		if !strings.Contains(m.Wrong, "is not a value of state") || m.Query != "red state:asleep" || m.Progress != "" {
			t.Errorf("%+v", m)
		}
		if m := w.searched(search + "?q=red"); m.Progress != "scanned 0 of 0 · 0 hits" || m.Next != "" {
			t.Errorf("%+v", m)
		}
		for _, at := range []string{"?q=x&after=nowhere", "/more?q=x"} {
			if _, _, err := w.pages.Open(w.Context(), search+at); !errors.Is(err, pages.ErrPageNotFound) {
				t.Errorf("%s: %v", at, err)
			}
		}
		if topic, err := w.pages.Topic(search + "?q=x"); !errors.Is(err, pages.ErrPageNotFound) {
			t.Errorf("a search has the live topic %q", topic)
		}
	})
}
