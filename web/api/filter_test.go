package api

import (
	"net/url"
	"strings"
	"testing"

	"mayfly/engine/broker"
)

// TestFilteredEntities: the filter is that of the lists' pages: a topic matches by the
// messages of its subscriptions, whichever kinds are requested.
func TestFilteredEntities(t *testing.T) {
	w := start(t, broker.Options{})
	for _, in := range []string{
		`{"kind":"queue","path":"orders"}`, `{"kind":"queue","path":"replies","properties":{"AutoDeleteOnIdle":"PT10M"}}`, `{"kind":"queue","path":"old","properties":{"Status":"Disabled"}}`,
		`{"kind":"topic","path":"Prices"}`, `{"kind":"subscription","path":"prices/Subscriptions/eu"}`, `{"kind":"topic","path":"prices-2"}`,
	} {
		w.want(201, "POST", "/entities", in, nil)
	}
	w.want(201, "POST", "/send/prices", `[{"body":"x","timeToLive":"1m"}]`, nil)
	w.want(201, "POST", "/send/orders", `[{"body":"x"},{"body":"y"}]`, nil)
	found := func(query url.Values) string {
		var out Entities
		w.want(200, "GET", "/entities?"+query.Encode(), "", &out)
		var paths []string
		for _, e := range out.Entities {
			paths = append(paths, e.Path)
		}
		return strings.Join(paths, " ")
	}
	for filter, want := range map[string]string{
		"":                               "old orders Prices prices-2 Prices/Subscriptions/eu replies",
		"PRICES":                         "Prices prices-2 Prices/Subscriptions/eu",
		"has:active":                     "orders Prices Prices/Subscriptions/eu",
		"active:>1":                      "orders",
		"expiring:<=1m":                  "Prices Prices/Subscriptions/eu",
		"temp:":                          "replies",
		"temp:<=10m -temp:<9m":           "replies",
		"status:disabled":                "old",
		"subscriptions:0 kind:topic":     "prices-2",
		"-has:messages -kind:topic":      "old replies",
		`name:"prices" kind:topic,QUEUE`: "Prices",
	} {
		if got := found(url.Values{"filter": {filter}}); got != want {
			t.Errorf("%q: got %s, want %s", filter, got, want)
		}
	}
	if got := found(url.Values{"filter": {"has:active"}, "kind": {"topic"}}); got != "Prices" {
		t.Errorf("topics with messages are %s", got)
	}
	var p Problem
	w.want(400, "GET", "/entities?filter=orders+stat:x", "", &p)
	if p.Code != "Argument" || p.Part != "filter" || p.Position == nil || *p.Position != 7 || !strings.Contains(p.Detail, `The key "stat" does not exist`) {
		t.Errorf("got %+v", p)
	}
}

// TestSuggest: suggestions come with the part of the text that they replace, in characters.
func TestSuggest(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"orders"}`, nil)
	w.want(201, "POST", "/send/orders", `[{"body":"{\"customer\":{\"id\":42}}","properties":{"region":"eu, west"}}]`, nil)
	ask := func(query url.Values) (out Suggestions) {
		w.want(200, "GET", "/suggest?"+query.Encode(), "", &out)
		return out
	}
	if s := ask(url.Values{"of": {"messages"}, "q": {"é -prop.region:x ab"}, "at": {"16"}}); s.From != 15 || s.To != 16 || len(s.Suggestions) != 0 {
		t.Errorf("got %+v", s)
	}
	s := ask(url.Values{"of": {"messages"}, "q": {"é -prop.region: ab"}, "at": {"15"}})
	if s.From != 15 || s.To != 15 || len(s.Suggestions) != 1 || s.Suggestions[0] != (Suggestion{`"eu, west"`, "value", ""}) {
		t.Errorf("got %+v", s)
	}
	if s := ask(url.Values{"of": {"entities"}, "q": {"-has:d"}}); s.From != 5 || s.To != 6 || len(s.Suggestions) != 2 {
		t.Errorf("got %+v", s)
	}
	if s := ask(url.Values{"of": {"entities"}, "q": {"ord"}}); len(s.Suggestions) != 1 || s.Suggestions[0] != (Suggestion{"orders", "entity", "queue"}) {
		t.Errorf("got %+v", s)
	}
	if s := ask(url.Values{"of": {"messages"}, "q": {""}}); len(s.Suggestions) == 0 {
		t.Error("an empty text has no suggestions")
	}
	for _, wrong := range []string{"q=x", "of=messages", "of=rules&q=x", "of=messages&q=x&at=-1", "of=messages&q=" + strings.Repeat("x", maxSuggestText+1)} {
		w.want(400, "GET", "/suggest?"+wrong, "", nil)
	}
}
