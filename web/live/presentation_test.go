package live

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/web/auth"
	"mayfly/web/presentation"
)

// command sends c.
func (b *tab) command(c command) {
	b.t.Helper()
	if err := b.conn.WriteJSON(c); err != nil {
		b.t.Fatalf("send %+v: %v", c, err)
	}
}

// waitForState waits until the browser gets this state.
func (b *tab) waitForState(want presentation.State) {
	b.t.Helper()
	var got presentation.State
	for range 10 { // older states may come first
		f := b.next()
		if f.control.T != "talk" || f.control.Presentation == nil {
			b.t.Fatalf("received %+v, want the presentation's state", f)
		}
		if got = *f.control.Presentation; got == want {
			return
		}
	}
	b.t.Fatalf("the last state (-want +got):\n%s", cmp.Diff(want, got))
}

// TestAPresentationIsFollowed: followers get the presenter's page, whichever namespace's socket they
// have, also if they come late or have paused their page.
func TestAPresentationIsFollowed(t *testing.T) {
	t.Parallel()
	var registry presentation.Registry
	withRegistry := func(o *Options) {
		o.Presentations = &registry
		o.Followable = func(url string) (string, error) {
			if !strings.HasPrefix(url, "/") || strings.HasSuffix(url, "/edit") {
				return "", errors.New("a form")
			}
			return strings.ToLower(url), nil
		}
	}
	_, one := serveHub(t, newWorld(), withRegistry)
	_, other := serveHub(t, newWorld(), withRegistry)
	key := presentation.NewKey()
	id, err := presentation.ID(key)
	if err != nil {
		t.Fatal(err)
	}
	ana, bob := dial(t, one, nil), dial(t, other, nil)
	bob.send("follow", id, 0)
	bob.waitForState(presentation.State{ID: id, Followers: 1})
	ana.command(command{Op: "present", Topic: key, Name: "Ana", Page: "/A", Beside: "/M/1"})
	is := presentation.State{ID: id, Location: presentation.Location{Page: "/a", SidePanel: "/m/1"}, Name: "Ana", Started: true, PresenterHere: true, Followers: 1}
	ana.waitForState(is)
	bob.waitForState(is)
	bob.send("pause", "", 0)
	ana.command(command{Op: "present", Topic: key, Name: "Ana", Page: "/edit", Beside: ""})
	is.Elsewhere = true
	bob.waitForState(is)
	is.Elsewhere = false
	ana.command(command{Op: "present", Topic: key, Name: "Ana", Page: "/b"})
	is.Location = presentation.Location{Page: "/b"}
	bob.waitForState(is)
	late := dial(t, one, nil)
	late.send("follow", id, 0)
	is.Followers = 2
	late.waitForState(is)
	ana.waitForState(is)
	late.send("unfollow", "", 0)
	is.Followers = 1
	ana.waitForState(is)
	late.send("follow", id, 0)
	is.Followers = 2
	ana.waitForState(is)
	_ = late.conn.Close()
	is.Followers = 1
	ana.waitForState(is) // a follower that has left is not counted
	registry.Stop(key)
	over := presentation.State{ID: id, Followers: 1}
	ana.waitForState(over)
	bob.waitForState(over)
}

// TestForbiddenPresenters: presenting requires the key, and is refused to clients that may only
// look.
func TestForbiddenPresenters(t *testing.T) {
	t.Parallel()
	var registry presentation.Registry
	_, server := serveHub(t, newWorld(), func(o *Options) {
		o.Presentations, o.PresentingDenied = &registry, func(r *http.Request) bool { return r.Header.Get("X-Mute") != "" }
	})
	key := presentation.NewKey()
	id, err := presentation.ID(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		header http.Header
		key    string
	}{
		"by the id":       {nil, id},
		"without a key":   {nil, ""},
		"may only look":   {http.Header{"X-Mute": {"1"}}, key},
		"a key too short": {nil, key[:20]},
	} {
		tab := dial(t, server, tc.header)
		tab.command(command{Op: "present", Topic: tc.key, Page: "/evil"})
		if f := tab.next(); f.control.T != "talk" || f.control.Presentation != nil || f.control.Text == "" {
			t.Errorf("%s: received %+v, want a refusal", name, f)
		}
		tab.send("follow", strings.Repeat("x", 1000), 0) // not the id of a presentation: no frame is sent
		tab.acted()
	}
	if is := registry.State(id); is.Started {
		t.Errorf("the presentation has begun: %+v", is)
	}
}

// TestNoPresentations: a hub without a Registry refuses to present, and ignores a command to
// follow.
func TestNoPresentations(t *testing.T) {
	t.Parallel()
	_, server := serveHub(t, newWorld(), nil)
	tab := dial(t, server, nil)
	tab.send("follow", "x", 0)
	tab.command(command{Op: "present", Topic: presentation.NewKey(), Page: "/a"})
	if f := tab.next(); f.control.T != "talk" || f.control.Text == "" {
		t.Errorf("received %+v, want a refusal", f)
	}
}

// TestAStuckFollowerDoesNotDelayOthers: a follower that reads nothing does not delay the presenter
// or the other followers, who get the latest state.
func TestAStuckFollowerDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	var registry presentation.Registry
	_, server := serveHub(t, newWorld(), func(o *Options) { o.Presentations, o.StallTimeout = &registry, time.Minute })
	key := presentation.NewKey()
	id, err := presentation.ID(key)
	if err != nil {
		t.Fatal(err)
	}
	stuck := dialNarrow(t, server)
	defer stuck.Close()
	if err := stuck.WriteJSON(command{Op: "follow", Topic: id}); err != nil { // it never reads anything
		t.Fatal(err)
	}
	ana, bob := dial(t, server, nil), dial(t, server, nil)
	bob.send("follow", id, 0)
	long := "/" + strings.Repeat("x", 3000)
	for range 500 { // more than socket buffers hold
		ana.command(command{Op: "present", Topic: key, Page: long})
		ana.command(command{Op: "present", Topic: key, Page: "/last"})
	}
	want := presentation.State{ID: id, Location: presentation.Location{Page: "/last"}, Started: true, PresenterHere: true, Followers: 2}
	for {
		if f := bob.next(); f.control.Presentation != nil && *f.control.Presentation == want {
			break
		}
	}
}

// TestLinkVisitorFollowsAPresentation: a link visitor follows within the link's namespace and to
// its scenes, and gets only the presentation's state on a socket of another namespace.
func TestLinkVisitorFollowsAPresentation(t *testing.T) {
	t.Parallel()
	var registry presentation.Registry
	w := newWorld()
	w.set("/n/default", func(*sheet) {})
	w.set("/n/shop", func(*sheet) {})
	h, server := serveHub(t, w, func(o *Options) {
		o.Presentations, o.HomeURL = &registry, "/n/default"
		o.SceneVisible = func(caller auth.Caller, name string) bool { return caller.Namespace == "shop" && name == "deadline-1" }
	})
	key := presentation.NewKey()
	id, err := presentation.ID(key)
	if err != nil {
		t.Fatal(err)
	}
	ana, bob := dial(t, server, nil), dial(t, server, http.Header{withinHeader: {"shop"}})
	bob.send("follow", id, 0)
	bob.waitForState(presentation.State{ID: id, Followers: 1})
	for page, shown := range map[string]bool{
		"/n/shop": true, "/n/SHOP/queues?q=a": true, "/n/shop?tab=x": true, "/n/shopping": false, "/n/default": false, "/scenes": false, "/n/deadline-1/q/orders": true, "/n/deadline-12": false, "/n/": false, "/shop": false,
	} {
		ana.command(command{Op: "present", Topic: key, Page: page})
		want := presentation.State{ID: id, Started: true, PresenterHere: true, Followers: 1, Elsewhere: !shown}
		if shown {
			want.Page = page
		}
		bob.waitForState(want)
	}
	ana.command(command{Op: "present", Topic: key, Page: "/n/shop", Beside: "/n/default/m/1"})
	bob.waitForState(presentation.State{ID: id, Started: true, PresenterHere: true, Followers: 1, Elsewhere: true})
	bob.send("sub", "/n/default", 0)
	if f := bob.next(); f.control.T != "error" || f.control.Topic != "/n/default" {
		t.Errorf("received %+v of another namespace", f)
	}
	h.Alert(7)
	bob.send("sub", "/n/shop", 0)
	if f := bob.next(); f.parts.Topic != "/n/shop" {
		t.Errorf("received %+v, want the page and nothing about alerts", f)
	}
}

// TestAPresentationThatHasEndedShowsNothingMore: when a presentation ends, a visitor who followed
// it to a scene sees no more of the scene, also on an open page.
func TestAPresentationThatHasEndedShowsNothingMore(t *testing.T) {
	t.Parallel()
	var registry presentation.Registry
	key := presentation.NewKey()
	id, err := presentation.ID(key)
	if err != nil {
		t.Fatal(err)
	}
	participant, err := registry.Present(key, "Ana", func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer participant.Leave()
	participant.MoveTo(presentation.Location{Page: "/n/deadline-1"})
	w := newWorld()
	w.set("/n/deadline-1", func(*sheet) {})
	_, server := serveHub(t, w, func(o *Options) {
		o.SceneVisible = func(_ auth.Caller, name string) bool { return registry.HasVisited(id, name) }
	})
	ana, bob := dial(t, server, nil), dial(t, server, http.Header{withinHeader: {"shop"}})
	for _, tab := range []*tab{ana, bob} {
		tab.send("sub", "/n/deadline-1", 0)
		if f := tab.next(); f.parts.Topic != "/n/deadline-1" {
			t.Fatalf("received %+v, want the page", f)
		}
	}
	changes := func() (ofAnas, ofBobs heard) {
		t.Helper()
		w.set("/n/deadline-1", put(fmt.Sprint(len(w.events)), "x"), event(engine.EventSent, "orders", 1))
		return ana.next(), bob.next()
	}
	if a, b := changes(); a.parts.T != "parts" || b.parts.T != "parts" {
		t.Errorf("received %+v and %+v for a change", a, b)
	}
	registry.Stop(key)
	if a, b := changes(); a.parts.T != "parts" || b.control.T != "error" || b.control.Topic != "/n/deadline-1" {
		t.Errorf("the presentation has ended, but received %+v and %+v", a, b)
	}
}
