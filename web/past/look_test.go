package past_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
	"mayfly/web/past"
)

// asks is a broker on a store that remembers these events.
func asks(t *testing.T, events []engine.Event) *broker.Broker {
	t.Helper()
	var s memory.Store
	for chunk := range slices.Chunk(events, 1000) {
		if err := s.Remember(t.Context(), chunk); err != nil {
			t.Fatal(err)
		}
	}
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return &s, nil }, broker.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// happened is a number of events, the same every time, lower numbers first.
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

// picks is what a filter is to pick, said another way.
func picks(f past.Filter, e engine.Event) bool {
	sys := e.Path == "" || e.Kind == engine.EventEntityAutoDeleted
	scope := map[past.Scope]bool{past.Notable: e.Audit || sys, past.Audit: e.Audit, past.System: sys, past.All: true}[f.Scope]
	within := f.Path == "" || strings.HasPrefix(strings.ToLower(string(e.Path))+"/", strings.ToLower(string(f.Path))+"/")
	words := strings.ToLower(e.Reason + "\x00" + e.Actor + "\x00" + string(e.Path))
	server := slices.ContainsFunc([]string{"namespace-", "scene-added", "scene-removed", "sign", "token-", "link-"}, func(s string) bool { return strings.HasPrefix(e.Kind.String(), s) }) ||
		e.Kind.String() == "settings-changed" && e.Reason != "saved the view late" // as older versions said it
	return scope && within && !(f.Within && server) && (f.Message == 0 || e.Message.Key == f.Message) && (f.Group == "" || past.GroupOf(e.Kind) == f.Group) &&
		strings.Contains(strings.ToLower(e.Actor), strings.ToLower(f.Actor)) && strings.Contains(words, strings.ToLower(f.Text)) &&
		e.At >= f.From && (f.Until == 0 || e.At < f.Until)
}

func TestLookFindsWhatIsAskedFor(t *testing.T) {
	events := happened(4000)
	b := asks(t, events)
	for _, scope := range past.Scopes() {
		for _, group := range past.Groups() {
			for _, rest := range []past.Filter{
				{}, {Path: "orders"}, {Path: "PRICES"}, {Actor: "dash"}, {Text: "POISON"}, {From: 1_000_300, Until: 1_000_400}, {Message: 7},
				{Path: "orders", Actor: "10.0", Text: "odd", From: 1_000_100}, {Within: true},
			} {
				f := rest
				f.Scope, f.Group, f.Until = scope, group, cmp.Or(f.Until, 2_000_000) // what the broker itself has done comes later
				var want, got []uint64
				for _, e := range slices.Backward(events) {
					if picks(f, e) {
						want = append(want, e.N)
					}
				}
				for part, again := (past.Part{}), true; again; again = part.Next != (engine.PastPlace{}) {
					var err error
					if part, err = past.Look(t.Context(), b, f, 77); err != nil {
						t.Fatal(err)
					}
					if len(part.Events) > 77 || len(part.Events) < 77 && part.Next != (engine.PastPlace{}) || part.Short {
						t.Errorf("%+v: %d events, next %+v, short %v", f, len(part.Events), part.Next, part.Short)
					}
					for _, e := range part.Events {
						got = append(got, e.N)
					}
					f.Before = part.Next
				}
				f.Before = engine.PastPlace{}
				if d := gocmp.Diff(want, got); d != "" {
					t.Fatalf("%+v (-want +got):\n%s", f, d)
				}
			}
		}
	}
}

// A search that finds little stops after a while, and goes on from there.
func TestLookStopsForBreath(t *testing.T) {
	const many = 25_000
	events := make([]engine.Event, many)
	for i := range events {
		events[i] = engine.Event{N: uint64(1 + i), At: engine.Instant(1 + i), Kind: engine.EventSent, Path: "orders", Actor: "worker"}
	}
	events[0].Actor, events[many-1].Actor = "odd", "odd"
	b := asks(t, events)
	f := past.Filter{Scope: past.All, Actor: "odd", Until: many + 1}
	for patience, times := range map[time.Duration]int{0: 3, 1: 50, time.Hour: 3} {
		f.Before = engine.PastPlace{}
		var found []uint64
		looks := 0
		for again := true; again; looks++ {
			part, err := past.LookFor(t.Context(), b, f, 10, patience)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range part.Events {
				found = append(found, e.N)
			}
			if again = part.Next != (engine.PastPlace{}); again != part.Short {
				t.Errorf("look %d goes on: %v, short: %v", looks, again, part.Short)
			}
			f.Before = part.Next
		}
		if d := gocmp.Diff([]uint64{many, 1}, found); d != "" || looks != times {
			t.Errorf("%d looks of %v (-want +got):\n%s", looks, patience, d)
		}
	}
}

// forgetful is a store without a history.
type forgetful struct{ engine.Store }

func TestLookWithoutHistory(t *testing.T) {
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return forgetful{new(memory.Store)}, nil }, broker.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if part, err := past.Look(t.Context(), b, past.Filter{}, 10); err == nil || len(part.Events) > 0 {
		t.Errorf("got %+v, %v", part, err)
	}
}

// Every kind is in one group: a new one is not to be missed by those who look.
func TestEveryKindHasItsGroup(t *testing.T) {
	for k := engine.EventSent; !strings.HasPrefix(k.String(), "event-"); k++ {
		if g := past.GroupOf(k); g == past.AnyGroup {
			t.Errorf("%s is in no group", k)
		}
	}
	if g := past.GroupOf(250); g != past.AnyGroup {
		t.Errorf("what nobody knows is in %q", g)
	}
}

func ExampleWritePlace() {
	text := past.WritePlace(engine.PastPlace{At: 1784023452000, Epoch: 7, N: 48271})
	place, err := past.ParsePlace(text)
	fmt.Println(text, place, err)
	// Output: 1784023452000-7-48271 {1784023452000 7 48271} <nil>
}
