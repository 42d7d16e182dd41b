package story

import (
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/page/list"
	"mayfly/views/page/search"
)

func searchStories() []Story {
	return []Story{
		{Name: "search", Page: searched()},
		{Name: "search-first", Page: search.Search{Shell: searchShell(), More: moreTerms()}},
		{Name: "search-wrong", Page: search.Search{
			Shell: searchShell(), Query: "heartbeat color:red", More: moreTerms(),
			Wrong: `The key "color" does not exist. Choose from body, subject and others. To search for the text itself, put it in quotes. See character 11.`,
		}},
		{Name: "search-nothing", Page: search.Search{
			Shell: searchShell(), Query: "nobody", Chips: []page.SearchChip{{Term: "nobody", Without: home + "/search"}}, Progress: "scanned 0 of 0 · 0 hits",
		}},
	}
}

func searchShell() layout.Shell {
	s := shell("Search", layout.Search, "/search")
	s.Live = layout.Live{}
	return s
}

func moreTerms() (out []component.Choice) {
	for _, t := range []string{"state:dead", "in:orders", "prop.region:eu", `json.customer.id:42`, "age:>5m"} {
		out = append(out, component.Choice{Label: t, Href: home + "/search?q=" + t})
	}
	return out
}

func searched() search.Search {
	m := search.Search{
		Shell: searchShell(), Query: `-heartbeat json.customer.id:42`, More: moreTerms(), Continued: true,
		Chips:       []page.SearchChip{{Term: "-heartbeat", Without: home + "/search?q=json.customer.id%3A42"}, {Term: "json.customer.id:42", Without: home + "/search?q=-heartbeat"}},
		AllMatching: list.AllMatching{Query: "-heartbeat json.customer.id:42", Shown: true},
		Progress:    "scanned 12,400 of 50,000 · 31 hits", Cut: "Of 2 bodies only the first MB was looked at.", Next: home + "/search?after=12401%40orders&q=x&so=1.2.3",
	}
	for i, state := range []page.State{page.StateActive, page.StateLocked, page.StateDeadLetter, page.StateScheduled, page.StateDeferred} {
		r := list.MessageRow{
			Key: string(rune('1' + i)), Href: home + "/m/" + string(rune('1'+i)), State: state, Number: int64(1041 + i),
			Entity: "orders", EntityURL: home + "/q/orders", Subject: "order 17", ID: "o-17", At: at("10:00:00"), Clock: within(90e9, 300e9), Pills: []list.Pill{{Key: "customer.id", Value: "42"}},
		}
		if state == page.StateDeadLetter {
			r.Edit = r.Href + "/edit"
		}
		m.Hits = append(m.Hits, r)
	}
	return m
}
