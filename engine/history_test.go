package engine

import "testing"

func TestPastPlace(t *testing.T) {
	inOrder := []PastPlace{
		{}, {At: 5, Epoch: 2, N: 9}, {At: 7, Epoch: 1, N: 1}, {At: 7, Epoch: 1, N: 2}, {At: 7, Epoch: 2, N: 1}, {At: 8},
	}
	for i, p := range inOrder {
		for j, q := range inOrder {
			if got, want := p.Before(q), i < j; got != want {
				t.Errorf("%+v before %+v: %v", p, q, got)
			}
		}
	}
	e := PastEvent{Epoch: 3, Event: Event{N: 4, At: 5}}
	if got, want := e.Place(), (PastPlace{At: 5, Epoch: 3, N: 4}); got != want {
		t.Errorf("%+v", got)
	}
}

func TestPastQuery(t *testing.T) {
	e := PastEvent{Epoch: 2, Event: Event{
		N: 10, At: 1000, Kind: EventMoved, Audit: true, Path: "Orders/$DeadLetterQueue", To: "prices/Subscriptions/eu", Message: Message{Key: 7},
	}}
	for name, tc := range map[string]struct {
		q    PastQuery
		want bool
	}{
		"anything":                 {PastQuery{}, true},
		"its key":                  {PastQuery{Key: 7}, true},
		"another key":              {PastQuery{Key: 8}, false},
		"its place":                {PastQuery{Path: "orders/$deadletterqueue"}, true},
		"its entity":               {PastQuery{Path: "orders"}, true},
		"where it went":            {PastQuery{Path: "prices/subscriptions/EU"}, true},
		"the topic where it went":  {PastQuery{Path: "Prices"}, true},
		"a name that begins alike": {PastQuery{Path: "order"}, false},
		"more than its place":      {PastQuery{Path: "orders/$DeadLetterQueue/x"}, false},
		"its kind":                 {PastQuery{Kinds: []EventKind{EventSent, EventMoved}}, true},
		"other kinds":              {PastQuery{Kinds: []EventKind{EventSent, EventPurged}}, false},
		"audit":                    {PastQuery{Audit: true}, true},
		"from its instant":         {PastQuery{From: 1000}, true},
		"from a moment later":      {PastQuery{From: 1001}, false},
		"until its instant":        {PastQuery{Until: 1000}, false},
		"until a moment later":     {PastQuery{Until: 1001}, true},
		"before itself":            {PastQuery{Before: e.Place()}, false},
		"before the next one":      {PastQuery{Before: PastPlace{At: 1000, Epoch: 2, N: 11}}, true},
		"before the one before":    {PastQuery{Before: PastPlace{At: 1000, Epoch: 2, N: 9}}, false},
		"all but one":              {PastQuery{Key: 7, Path: "orders", Kinds: []EventKind{EventMoved}, Audit: true, From: 1, Until: 1000}, false},
		"limited":                  {PastQuery{Limit: 1}, true},
	} {
		if got := tc.q.Match(e); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	client := e
	client.Audit = false
	if (PastQuery{Audit: true}).Match(client) {
		t.Error("what a client did is picked as an operator's doing")
	}
	if (PastQuery{Path: "q"}).Match(PastEvent{}) {
		t.Error("an event of the server, which has no path, is picked as an entity's")
	}
}
