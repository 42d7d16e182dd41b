package presentation

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

// A guest counts the notifications of its participant.
type guest struct {
	n           atomic.Int64
	participant *Participant
}

func (g *guest) changed() { g.n.Add(1) }

// notified returns the number of notifications since the last call.
func (g *guest) notified() int64 { return g.n.Swap(0) }

func present(t *testing.T, h *Registry, key, name string) *guest {
	t.Helper()
	g := &guest{}
	var err error
	if g.participant, err = h.Present(key, name, g.changed); err != nil {
		t.Fatal(err)
	}
	return g
}

func follow(h *Registry, id string) *guest {
	g := &guest{}
	g.participant = h.Follow(id, g.changed)
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
	var h Registry
	key := NewKey()
	id := idOf(t, key)
	early := follow(&h, id)
	if diff := cmp.Diff(State{ID: id, Followers: 1}, early.participant.State()); diff != "" {
		t.Errorf("before the beginning (-want +got):\n%s", diff)
	}
	ana := present(t, &h, key, "Ana")
	if n := early.notified(); n != 1 {
		t.Errorf("an early follower was notified %d times of the beginning", n)
	}
	at := Location{Page: "/n/shop/q/orders", SidePanel: "/n/shop/m/7"}
	ana.participant.MoveTo(at)
	late := follow(&h, id)
	for name, g := range map[string]*guest{"early": early, "late": late, "presenter": ana} {
		want := State{ID: id, Location: at, Name: "Ana", Started: true, PresenterHere: true, Followers: 2}
		if diff := cmp.Diff(want, g.participant.State()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if e, l := early.notified(), late.notified(); e != 1 || l != 0 {
		t.Errorf("notified %d and %d times of the page, want 1 and 0", e, l)
	}
	ana.notified()
	ana.participant.MoveTo(at) // unchanged: no notification
	late.participant.Leave()
	late.participant.Leave()
	if e, a := early.notified(), ana.notified(); e != 0 || a != 1 || h.State(id).Followers != 1 {
		t.Errorf("after one has left: followers notified %d times, presenter %d, %d follow", e, a, h.State(id).Followers)
	}
}

func TestOnlyThePresenterLeads(t *testing.T) {
	t.Parallel()
	var h Registry
	key := NewKey()
	ana := present(t, &h, key, "")
	ana.participant.MoveTo(Location{Page: "/a"})
	eve := follow(&h, idOf(t, key))
	eve.participant.MoveTo(Location{Page: "/evil"})
	if got := h.State(idOf(t, key)).Page; got != "/a" {
		t.Errorf("a follower changed the page to %q", got)
	}
	for _, key := range []string{"", "x", idOf(t, key), key[:42], key + "A", key[:42] + "=", strings.Repeat("A", 1<<20)} {
		if _, err := h.Present(key, "", func() {}); !errors.Is(err, ErrKey) {
			t.Errorf("key %.50q: %v, want ErrKey", key, err)
		}
	}
	ana.participant.Leave()
	ana.participant.MoveTo(Location{Page: "/b"})
	if got := h.State(idOf(t, key)).Page; got != "/a" {
		t.Errorf("a participant that has left changed the page to %q", got)
	}
}

// If the presenter's next page opens within the grace period, followers are not notified. After
// it, followers learn that the presenter has left, and stay; much later the presentation ends.
func TestThePresenterLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h Registry
		key := NewKey()
		id := idOf(t, key)
		ana, bob := present(t, &h, key, "Ana"), follow(&h, id)
		ana.participant.MoveTo(Location{Page: "/a"})
		bob.notified()
		ana.participant.Leave()
		time.Sleep(presenterGrace - 1)
		if n := bob.notified(); !bob.participant.State().PresenterHere || n != 0 {
			t.Fatalf("within the grace period: %+v, notified %d times", bob.participant.State(), n)
		}
		ana = present(t, &h, key, "Ana")
		time.Sleep(2 * presenterGrace)
		if !bob.participant.State().PresenterHere {
			t.Fatal("a returned presenter is shown as absent")
		}
		second := present(t, &h, key, "Ana")
		ana.participant.Leave()
		time.Sleep(2 * presenterGrace)
		if !bob.participant.State().PresenterHere {
			t.Fatal("one of two pages was closed, and the presenter is shown as absent")
		}
		bob.notified()
		second.participant.Leave()
		time.Sleep(presenterGrace)
		synctest.Wait()
		want := State{ID: id, Location: Location{Page: "/a"}, Name: "Ana", Started: true, Followers: 1}
		if diff := cmp.Diff(want, bob.participant.State()); diff != "" || bob.notified() != 1 {
			t.Fatalf("not notified once, or (-want +got):\n%s", diff)
		}
		time.Sleep(absentLifetime)
		synctest.Wait()
		if diff := cmp.Diff(State{ID: id, Followers: 1}, bob.participant.State()); diff != "" || bob.notified() != 1 {
			t.Fatalf("not notified once, or (-want +got):\n%s", diff)
		}
	})
}

func TestStopTellsEverybody(t *testing.T) {
	t.Parallel()
	var h Registry
	key := NewKey()
	ana, bob := present(t, &h, key, "Ana"), follow(&h, idOf(t, key))
	ana.notified()
	bob.notified()
	h.Stop("no key")
	h.Stop(key)
	if a, b := ana.notified(), bob.notified(); a != 1 || b != 1 || bob.participant.State().Started {
		t.Errorf("notified %d and %d times, begun %v", a, b, bob.participant.State().Started)
	}
	ana.participant.MoveTo(Location{Page: "/b"}) // has no effect any more
	ana.participant.Leave()
	if h.State(idOf(t, key)).Started {
		t.Error("the presentation began again")
	}
}

// The number of presentations is limited. The presentation whose presenter has been away longest
// is removed, but never one whose presenter is present.
func TestPresentationLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h Registry
		var all []*guest
		keys := make([]string, maxPresentations)
		for i := range keys {
			keys[i] = NewKey()
			all = append(all, present(t, &h, keys[i], ""))
		}
		if _, err := h.Present(NewKey(), "", func() {}); !errors.Is(err, ErrFull) {
			t.Fatalf("one presentation too many: %v, want ErrFull", err)
		}
		all[7].participant.Leave() // and returns: the presenter is present again
		all[7] = present(t, &h, keys[7], "")
		time.Sleep(time.Minute)
		all[3].participant.Leave()
		time.Sleep(time.Minute)
		all[5].participant.Leave()
		last := present(t, &h, NewKey(), "")
		if h.State(idOf(t, keys[3])).Started || !h.State(idOf(t, keys[5])).Started || !h.State(idOf(t, keys[7])).Started {
			t.Error("another presentation than the longest absent was removed")
		}
		if len(h.presentations) != maxPresentations {
			t.Errorf("got %d presentations", len(h.presentations))
		}
		last.participant.Leave()
		for i, g := range all {
			if i != 3 && i != 5 {
				g.participant.Leave()
			}
		}
		time.Sleep(presenterGrace + absentLifetime)
		synctest.Wait()
		if len(h.presentations) != 0 || len(h.participants) != 0 {
			t.Errorf("%d presentations and %d audiences are left", len(h.presentations), len(h.participants))
		}
	})
}

func TestName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"  Ana \n Sá ":            "Ana Sá",
		"\u202eevil\x00\xff":      "evil",
		strings.Repeat("é", 100):  strings.Repeat("é", maxName),
		"\t":                      "",
		"小王":                      "小王",
		strings.Repeat("a ", 100): strings.TrimSpace(strings.Repeat("a ", maxName/2)),
	} {
		if got := Name(text); got != want {
			t.Errorf("Name(%q) is %q, want %q", text, got, want)
		}
	}
}

// TestManyAtOnce lets many presenters and followers join and leave concurrently, for the race
// detector, and checks that no follower is left.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var h Registry
	key := NewKey()
	id := idOf(t, key)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s, err := h.Present(key, "", func() { h.State(id) })
			if err != nil {
				t.Error(err)
				return
			}
			for n := range 50 {
				s.MoveTo(Location{Page: fmt.Sprint(i, n)})
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
	if is := h.State(id); is.Followers != 0 || !is.Started {
		t.Errorf("at the end: %+v", is)
	}
	h.Stop(key)
}

// TestLed checks that followers may see the namespaces that their presenter has visited, and
// no others, as long as the presentation lasts.
func TestLed(t *testing.T) {
	t.Parallel()
	var h Registry
	key := NewKey()
	id := idOf(t, key)
	ana := present(t, &h, key, "Ana")
	present(t, &h, NewKey(), "Ben").participant.MoveTo(Location{Page: "/n/bens/queues"})
	ana.participant.MoveTo(Location{Page: "/n/Deadline-1/q/orders?tab=x"})
	ana.participant.MoveTo(Location{Page: "/n/default", SidePanel: "/n/beside%2D1/m/7"})
	ana.participant.MoveTo(Location{Page: "/scenes"})
	led := func(id string, want map[string]bool) {
		t.Helper()
		for namespace, want := range want {
			if got := h.HasVisited(id, namespace); got != want {
				t.Errorf("the namespace %q is allowed: %t", namespace, got)
			}
		}
	}
	led(id, map[string]bool{"deadline-1": true, "DEADLINE-1": true, "default": true, "beside-1": true, "deadline-12": false, "bens": false, "scenes": false, "": false})
	led("", map[string]bool{"deadline-1": false, "": false})
	for i := range maxVisited - 1 {
		ana.participant.MoveTo(Location{Page: fmt.Sprintf("/n/poison-%d", i)})
		ana.participant.MoveTo(Location{Page: "/n/default"})
	}
	led(id, map[string]bool{"deadline-1": false, "beside-1": false, "default": true, "poison-0": true})
	h.Stop(key)
	led(id, map[string]bool{"default": false})
}
