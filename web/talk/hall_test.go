package talk

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A guest counts how often it was told of a change, and looks.
type guest struct {
	n    atomic.Int64
	seat *Seat
}

func (g *guest) changed() { g.n.Add(1) }

// told is how often, since it was asked before.
func (g *guest) told() int64 { return g.n.Swap(0) }

func present(t *testing.T, h *Hall, key, name string) *guest {
	t.Helper()
	g := &guest{}
	var err error
	if g.seat, err = h.Speak(key, name, g.changed); err != nil {
		t.Fatal(err)
	}
	return g
}

func follow(h *Hall, id string) *guest {
	g := &guest{}
	g.seat = h.Follow(id, g.changed)
	return g
}

func idOf(t *testing.T, key string) string {
	t.Helper()
	id, err := ID(key)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestFollowersAreWhereThePresenterIs(t *testing.T) {
	t.Parallel()
	var h Hall
	key := NewKey()
	id := idOf(t, key)
	early := follow(&h, id)
	if diff := cmp.Diff(State{ID: id, Followers: 1}, early.seat.State()); diff != "" {
		t.Errorf("before it has begun (-want +got):\n%s", diff)
	}
	ana := present(t, &h, key, "Ana")
	if n := early.told(); n != 1 {
		t.Errorf("who was early was told %d times that it has begun", n)
	}
	at := Place{Page: "/n/shop/q/orders", Beside: "/n/shop/m/7"}
	ana.seat.At(at)
	late := follow(&h, id)
	for name, g := range map[string]*guest{"early": early, "late": late, "presenter": ana} {
		want := State{ID: id, Place: at, Name: "Ana", Begun: true, Here: true, Followers: 2}
		if diff := cmp.Diff(want, g.seat.State()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if e, l := early.told(), late.told(); e != 1 || l != 0 {
		t.Errorf("told %d and %d times of the page, want 1 and 0", e, l)
	}
	ana.told()
	ana.seat.At(at) // the same: nobody need be told
	late.seat.Leave()
	late.seat.Leave()
	if e, a := early.told(), ana.told(); e != 0 || a != 1 || h.State(id).Followers != 1 {
		t.Errorf("after one left: followers told %d times, presenter %d, %d follow", e, a, h.State(id).Followers)
	}
}

func TestOnlyThePresenterLeads(t *testing.T) {
	t.Parallel()
	var h Hall
	key := NewKey()
	ana := present(t, &h, key, "")
	ana.seat.At(Place{Page: "/a"})
	eve := follow(&h, idOf(t, key))
	eve.seat.At(Place{Page: "/evil"})
	if got := h.State(idOf(t, key)).Page; got != "/a" {
		t.Errorf("a follower led to %q", got)
	}
	for _, key := range []string{"", "x", idOf(t, key), key[:42], key + "A", key[:42] + "=", strings.Repeat("A", 1<<20)} {
		if _, err := h.Speak(key, "", func() {}); !errors.Is(err, ErrKey) {
			t.Errorf("key %.50q: %v, want ErrKey", key, err)
		}
	}
	ana.seat.Leave()
	ana.seat.At(Place{Page: "/b"})
	if got := h.State(idOf(t, key)).Page; got != "/a" {
		t.Errorf("a seat that was left led to %q", got)
	}
}

// A page gives way to the next within the grace, and nobody is told; then they are,
// and stay; a long time after it is over.
func TestThePresenterLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h Hall
		key := NewKey()
		id := idOf(t, key)
		ana, bob := present(t, &h, key, "Ana"), follow(&h, id)
		ana.seat.At(Place{Page: "/a"})
		bob.told()
		ana.seat.Leave()
		time.Sleep(grace - 1)
		if n := bob.told(); !bob.seat.State().Here || n != 0 {
			t.Fatalf("within the grace: %+v, told %d times", bob.seat.State(), n)
		}
		ana = present(t, &h, key, "Ana")
		time.Sleep(2 * grace)
		if !bob.seat.State().Here {
			t.Fatal("who came back is taken for gone")
		}
		second := present(t, &h, key, "Ana")
		ana.seat.Leave()
		time.Sleep(2 * grace)
		if !bob.seat.State().Here {
			t.Fatal("one of two pages was left, and the presenter is taken for gone")
		}
		bob.told()
		second.seat.Leave()
		time.Sleep(grace)
		synctest.Wait()
		want := State{ID: id, Place: Place{Page: "/a"}, Name: "Ana", Begun: true, Followers: 1}
		if diff := cmp.Diff(want, bob.seat.State()); diff != "" || bob.told() != 1 {
			t.Fatalf("not told once, or (-want +got):\n%s", diff)
		}
		time.Sleep(stay)
		synctest.Wait()
		if diff := cmp.Diff(State{ID: id, Followers: 1}, bob.seat.State()); diff != "" || bob.told() != 1 {
			t.Fatalf("not told once, or (-want +got):\n%s", diff)
		}
	})
}

func TestStopTellsEverybody(t *testing.T) {
	t.Parallel()
	var h Hall
	key := NewKey()
	ana, bob := present(t, &h, key, "Ana"), follow(&h, idOf(t, key))
	ana.told()
	bob.told()
	h.Stop("no key")
	h.Stop(key)
	if a, b := ana.told(), bob.told(); a != 1 || b != 1 || bob.seat.State().Begun {
		t.Errorf("told %d and %d times, begun %v", a, b, bob.seat.State().Begun)
	}
	ana.seat.At(Place{Page: "/b"}) // does nothing any more
	ana.seat.Leave()
	if h.State(idOf(t, key)).Begun {
		t.Error("it began again")
	}
}

// There are so many talks at most; the one whose presenter is away longest gives way,
// and one that is held never does.
func TestTalksAreCapped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h Hall
		var all []*guest
		keys := make([]string, mostTalks)
		for i := range keys {
			keys[i] = NewKey()
			all = append(all, present(t, &h, keys[i], ""))
		}
		if _, err := h.Speak(NewKey(), "", func() {}); !errors.Is(err, ErrFull) {
			t.Fatalf("one too many: %v, want ErrFull", err)
		}
		all[7].seat.Leave() // and comes back: it is held again
		all[7] = present(t, &h, keys[7], "")
		time.Sleep(time.Minute)
		all[3].seat.Leave()
		time.Sleep(time.Minute)
		all[5].seat.Leave()
		last := present(t, &h, NewKey(), "")
		if h.State(idOf(t, keys[3])).Begun || !h.State(idOf(t, keys[5])).Begun || !h.State(idOf(t, keys[7])).Begun {
			t.Error("not the one that was away longest gave way")
		}
		if len(h.talks) != mostTalks {
			t.Errorf("%d talks", len(h.talks))
		}
		last.seat.Leave()
		for i, g := range all {
			if i != 3 && i != 5 {
				g.seat.Leave()
			}
		}
		time.Sleep(grace + stay)
		synctest.Wait()
		if len(h.talks) != 0 || len(h.seats) != 0 {
			t.Errorf("%d talks and %d audiences are left", len(h.talks), len(h.seats))
		}
	})
}

func TestName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"  Ana \n Sá ":            "Ana Sá",
		"\u202eevil\x00\xff":      "evil",
		strings.Repeat("é", 100):  strings.Repeat("é", longest),
		"\t":                      "",
		"小王":                      "小王",
		strings.Repeat("a ", 100): strings.TrimSpace(strings.Repeat("a ", longest/2)),
	} {
		if got := Name(text); got != want {
			t.Errorf("Name(%q) is %q, want %q", text, got, want)
		}
	}
}

// Everybody comes and goes at once; the race detector watches.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var h Hall
	key := NewKey()
	id := idOf(t, key)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s, err := h.Speak(key, "", func() { h.State(id) })
			if err != nil {
				t.Error(err)
				return
			}
			for n := range 50 {
				s.At(Place{Page: fmt.Sprint(i, n)})
			}
			s.Leave()
		})
		wg.Go(func() {
			for range 50 {
				s := h.Follow(id, func() { h.State(id) })
				s.State()
				s.Leave()
			}
		})
	}
	wg.Wait()
	if is := h.State(id); is.Followers != 0 || !is.Begun {
		t.Errorf("in the end: %+v", is)
	}
	h.Stop(key)
}

// TestLed: who follows may be shown where their presenter has been, and nowhere else, as
// long as the talk lasts.
func TestLed(t *testing.T) {
	t.Parallel()
	var h Hall
	key := NewKey()
	id := idOf(t, key)
	ana := present(t, &h, key, "Ana")
	present(t, &h, NewKey(), "Ben").seat.At(Place{Page: "/n/bens/queues"})
	ana.seat.At(Place{Page: "/n/Deadline-1/q/orders?tab=x"})
	ana.seat.At(Place{Page: "/n/default", Beside: "/n/beside%2D1/m/7"})
	ana.seat.At(Place{Page: "/scenes"})
	led := func(id string, want map[string]bool) {
		t.Helper()
		for namespace, want := range want {
			if got := h.Led(id, namespace); got != want {
				t.Errorf("led to %q: %t", namespace, got)
			}
		}
	}
	led(id, map[string]bool{"deadline-1": true, "DEADLINE-1": true, "default": true, "beside-1": true, "deadline-12": false, "bens": false, "scenes": false, "": false})
	led("", map[string]bool{"deadline-1": false, "": false})
	for i := range mostLed - 1 {
		ana.seat.At(Place{Page: fmt.Sprintf("/n/poison-%d", i)})
		ana.seat.At(Place{Page: "/n/default"})
	}
	led(id, map[string]bool{"deadline-1": false, "beside-1": false, "default": true, "poison-0": true})
	h.Stop(key)
	led(id, map[string]bool{"default": false})
}
