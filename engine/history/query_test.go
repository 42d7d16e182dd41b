package history_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/engine/history"
	"mayfly/storage/memory"
)

// asks opens a broker on a store whose history contains these events.
func asks(t *testing.T, events []engine.Event) *broker.Broker {
	t.Helper()
	var s memory.Store
	for chunk := range slices.Chunk(events, 1000) {
		if err := s.AppendEvents(t.Context(), chunk); err != nil {
			t.Fatal(err)
		}
	}
	return brokertest.OpenOn(t, &s, broker.Options{}).Broker
}

// happened returns n pseudo-random events, in order and the same ones at each call.
func happened(n int) []engine.Event {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	events := make([]engine.Event, n)
	for i := range events {
		kind := engine.EventSent + engine.EventKind(r.IntN(int(engine.EventSceneRemoved)))
		events[i] = engine.Event{
			N: uint64(1000 + i), At: engine.Instant(1_000_000 + i/3), Kind: kind, Path: engine.Path(pick("orders", "Orders/$DeadLetterQueue", "prices/Subscriptions/eu", "prices", "pricesless")),
			Actor: pick("", "dashboard", "API 10.0.0.4"), Reason: pick("", "odd", "Poison", "saved the view late", "made the token ci"), Audit: r.IntN(3) == 0,
		}
		if kind >= engine.EventStarted && kind <= engine.EventGap {
			events[i].Path, events[i].Audit = "", false
		} else if kind < engine.EventEntityCreated {
			events[i].Message.Key = engine.Key(1 + r.IntN(20))
		}
	}
	return events
}

// picks reports whether a filter should select an event; it is an independent implementation.
func picks(f history.Filter, e engine.Event) bool {
	sys := e.Path == "" || e.Kind == engine.EventEntityAutoDeleted
	scope := map[history.Scope]bool{history.Notable: e.Audit || sys, history.Audit: e.Audit, history.System: sys, history.All: true}[f.Scope]
	within := f.Path == "" || strings.HasPrefix(strings.ToLower(string(e.Path))+"/", strings.ToLower(string(f.Path))+"/")
	words := strings.ToLower(e.Reason + "\x00" + e.Actor + "\x00" + string(e.Path))
	server := slices.ContainsFunc([]string{"namespace-", "scene-added", "scene-removed", "sign", "token-", "link-"}, func(s string) bool { return strings.HasPrefix(e.Kind.String(), s) })
	return scope && within && !(f.NamespaceOnly && server) && (f.Message == 0 || e.Message.Key == f.Message) && (f.Group == "" || history.GroupOf(e.Kind) == f.Group) &&
		strings.Contains(strings.ToLower(e.Actor), strings.ToLower(f.Actor)) && strings.Contains(words, strings.ToLower(f.Text)) &&
		e.At >= f.From && (f.Until == 0 || e.At < f.Until)
}

func TestQueryFindsMatchingEvents(t *testing.T) {
	events := happened(4000)
	b := asks(t, events)
	for _, scope := range history.Scopes() {
		for _, group := range history.Groups() {
			for _, rest := range []history.Filter{
				{}, {Path: "orders"}, {Path: "PRICES"}, {Actor: "dash"}, {Text: "POISON"}, {From: 1_000_300, Until: 1_000_400}, {Message: 7},
				{Path: "orders", Actor: "10.0", Text: "odd", From: 1_000_100}, {NamespaceOnly: true},
			} {
				f := rest
				f.Scope, f.Group, f.Until = scope, group, cmp.Or(f.Until, 2_000_000) // events of the broker itself are later
				var want, got []uint64
				for _, e := range slices.Backward(events) {
					if picks(f, e) {
						want = append(want, e.N)
					}
				}
				for part, again := (history.Page{}), true; again; again = part.Next != (engine.HistoryCursor{}) {
					var err error
					if part, err = history.Query(t.Context(), b, f, 77); err != nil {
						t.Fatal(err)
					}
					if len(part.Events) > 77 || len(part.Events) < 77 && part.Next != (engine.HistoryCursor{}) || part.Incomplete {
						t.Errorf("%+v: %d events, next %+v, short %v", f, len(part.Events), part.Next, part.Incomplete)
					}
					for _, e := range part.Events {
						got = append(got, e.N)
					}
					f.Before = part.Next
				}
				f.Before = engine.HistoryCursor{}
				if d := gocmp.Diff(want, got); d != "" {
					t.Fatalf("%+v (-want +got):\n%s", f, d)
				}
			}
		}
	}
}

// A search that finds little stops after a while, and can be continued from there.
func TestQueryIsContinued(t *testing.T) {
	const many = 25_000
	events := make([]engine.Event, many)
	for i := range events {
		events[i] = engine.Event{N: uint64(1 + i), At: engine.Instant(1 + i), Kind: engine.EventSent, Path: "orders", Actor: "worker"}
	}
	events[0].Actor, events[many-1].Actor = "odd", "odd"
	b := asks(t, events)
	f := history.Filter{Scope: history.All, Actor: "odd", Until: many + 1}
	for patience, times := range map[time.Duration]int{0: 3, 1: 50, time.Hour: 3} {
		f.Before = engine.HistoryCursor{}
		var found []uint64
		looks := 0
		for again := true; again; looks++ {
			part, err := history.QueryWithin(t.Context(), b, f, 10, patience)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range part.Events {
				found = append(found, e.N)
			}
			if again = part.Next != (engine.HistoryCursor{}); again != part.Incomplete {
				t.Errorf("query %d can be continued: %v, incomplete: %v", looks, again, part.Incomplete)
			}
			f.Before = part.Next
		}
		if d := gocmp.Diff([]uint64{many, 1}, found); d != "" || looks != times {
			t.Errorf("%d queries of %v (-want +got):\n%s", looks, patience, d)
		}
	}
}

// forgetful is a store without history.
type forgetful struct{ engine.Store }

func TestQueryWithoutHistory(t *testing.T) {
	b := brokertest.OpenOn(t, forgetful{new(memory.Store)}, broker.Options{})
	if part, err := history.Query(t.Context(), b.Broker, history.Filter{}, 10); err == nil || len(part.Events) > 0 {
		t.Errorf("got %+v, %v", part, err)
	}
}

// Every kind is in one group, so that filters by group do not miss a new kind.
func TestEveryKindHasItsGroup(t *testing.T) {
	for k := engine.EventSent; !strings.HasPrefix(k.String(), "event-"); k++ {
		if g := history.GroupOf(k); g == history.AnyGroup {
			t.Errorf("%s is in no group", k)
		}
	}
	if g := history.GroupOf(250); g != history.AnyGroup {
		t.Errorf("an unknown kind is in group %q", g)
	}
}

func ExampleFormatCursor() {
	text := history.FormatCursor(engine.HistoryCursor{At: 1784023452000, Epoch: 7, N: 48271})
	cursor, err := history.ParseCursor(text)
	fmt.Println(text, cursor, err)
	// Output: 1784023452000-7-48271 {1784023452000 7 48271} <nil>
}
