package engine

import "testing"

func TestHistoryCursor(t *testing.T) {
	inOrder := []HistoryCursor{
		{}, {At: 5, Epoch: 2, N: 9}, {At: 7, Epoch: 1, N: 1}, {At: 7, Epoch: 1, N: 2}, {At: 7, Epoch: 2, N: 1}, {At: 8},
	}
	for i, p := range inOrder {
		for j, q := range inOrder {
			if got, want := p.Before(q), i < j; got != want {
				t.Errorf("%+v before %+v: %v", p, q, got)
			}
		}
	}
	e := HistoryEvent{Epoch: 3, Event: Event{N: 4, At: 5}}
	if got, want := e.Cursor(), (HistoryCursor{At: 5, Epoch: 3, N: 4}); got != want {
		t.Errorf("%+v", got)
	}
}

func TestHistoryQuery(t *testing.T) {
	e := HistoryEvent{Epoch: 2, Event: Event{
		N: 10, At: 1000, Kind: EventMoved, Audit: true, Path: "Orders/$DeadLetterQueue", To: "prices/Subscriptions/eu", Message: Message{Key: 7},
	}}
	for name, tc := range map[string]struct {
		q    HistoryQuery
		want bool
	}{
		"anything":                 {HistoryQuery{}, true},
		"its key":                  {HistoryQuery{Key: 7}, true},
		"another key":              {HistoryQuery{Key: 8}, false},
		"its place":                {HistoryQuery{Path: "orders/$deadletterqueue"}, true},
		"its entity":               {HistoryQuery{Path: "orders"}, true},
		"where it went":            {HistoryQuery{Path: "prices/subscriptions/EU"}, true},
		"the topic where it went":  {HistoryQuery{Path: "Prices"}, true},
		"a name that begins alike": {HistoryQuery{Path: "order"}, false},
		"more than its place":      {HistoryQuery{Path: "orders/$DeadLetterQueue/x"}, false},
		"its kind":                 {HistoryQuery{Kinds: []EventKind{EventSent, EventMoved}}, true},
		"other kinds":              {HistoryQuery{Kinds: []EventKind{EventSent, EventPurged}}, false},
		"audit":                    {HistoryQuery{Audit: true}, true},
		"from its instant":         {HistoryQuery{From: 1000}, true},
		"from a moment later":      {HistoryQuery{From: 1001}, false},
		"until its instant":        {HistoryQuery{Until: 1000}, false},
		"until a moment later":     {HistoryQuery{Until: 1001}, true},
		"before itself":            {HistoryQuery{Before: e.Cursor()}, false},
		"before the next one":      {HistoryQuery{Before: HistoryCursor{At: 1000, Epoch: 2, N: 11}}, true},
		"before the one before":    {HistoryQuery{Before: HistoryCursor{At: 1000, Epoch: 2, N: 9}}, false},
		"all but one":              {HistoryQuery{Key: 7, Path: "orders", Kinds: []EventKind{EventMoved}, Audit: true, From: 1, Until: 1000}, false},
		"limited":                  {HistoryQuery{Limit: 1}, true},
	} {
		if got := tc.q.Matches(e); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	client := e
	client.Audit = false
	if (HistoryQuery{Audit: true}).Matches(client) {
		t.Error("a client's action is selected as an operator's")
	}
	if (HistoryQuery{Path: "q"}).Matches(HistoryEvent{}) {
		t.Error("an event of the server, without a path, is selected as an entity's")
	}
}
