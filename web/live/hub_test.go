package live

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mayfly/engine"
)

const page = "/n/default/q/orders"

func wantParts(t *testing.T, got heard, want parts) {
	t.Helper()
	want.T, want.Topic = "parts", page
	if diff := cmp.Diff(want, got.parts, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("frame (-want +got):\n%s", diff)
	}
}

func TestChangesFollowASnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.set(page, func(s *sheet) { s.sum = "2"; put("7", "<b>a</b>")(s); put("8", "<b>b</b>")(s) })
	_, server := serveHub(t, w, nil)
	tab := dial(t, server, nil)

	tab.send("sub", page, 0)
	wantParts(t, tab.next(), parts{
		Full: true, Slots: map[string]string{"sum": "2"},
		Lists: map[string]listPart{"rows": {Order: []string{"7", "8"}, Put: map[string]string{"7": "<b>a</b>", "8": "<b>b</b>"}}},
	})

	w.set(page, put("8", "<b>B</b>"), event(engine.EventLocked, "orders", 8))
	wantParts(t, tab.next(), parts{N: 1, Lists: map[string]listPart{"rows": {Order: []string{"7", "8"}, Put: map[string]string{"8": "<b>B</b>"}}}})

	w.set(page, drop("7"), event(engine.EventExpired, "Orders", 7))
	wantParts(t, tab.next(), parts{N: 2, Lists: map[string]listPart{"rows": {Order: []string{"8"}, Gone: map[string]string{"7": "expired"}}}})

	w.set(page, func(s *sheet) { s.sum = "1" }, event(engine.EventSent, "elsewhere", 9), event(engine.EventDeadLettered, "orders/$DeadLetterQueue", 10))
	wantParts(t, tab.next(), parts{N: 4, Slots: map[string]string{"sum": "1"}})

	w.set(page, drop("8"), event(engine.EventEntityUpdated, "orders", 0))
	wantParts(t, tab.next(), parts{N: 5, Lists: map[string]listPart{"rows": {Gone: map[string]string{"8": "left"}}}})
}

func TestSubscribersShareARendering(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.set(page, put("1", "a"))
	_, server := serveHub(t, w, nil)
	tabs := []*tab{dial(t, server, nil), dial(t, server, nil), dial(t, server, nil)}
	for _, tab := range tabs {
		tab.send("sub", page, 0)
		tab.next()
	}
	before := w.openings(page)
	w.set(page, put("1", "b"), event(engine.EventRenewed, "orders", 1))
	for _, tab := range tabs {
		wantParts(t, tab.next(), parts{N: 1, Lists: map[string]listPart{"rows": {Order: []string{"1"}, Put: map[string]string{"1": "b"}}}})
	}
	if n := w.openings(page) - before; n != 1 {
		t.Errorf("one event opened the page %d times for three subscribers", n)
	}
}

func TestNothingIsRenderedUnwatched(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.set(page, put("1", "a"))
	h, server := serveHub(t, w, nil)
	tab := dial(t, server, nil)
	tab.send("sub", page, 0)
	tab.next()

	// Events of other entities leave the page clean.
	w.set(page, func(*sheet) {}, event(engine.EventSent, "elsewhere", 2), event(engine.EventSent, "prices/Subscriptions/eu", 3))
	h.departures.waitFor(t.Context(), 2)
	h.markEvents(nil) // the marking of the earlier events has ended
	h.mu.Lock()
	for _, p := range h.pages {
		if p.dirty {
			t.Error("an event elsewhere made the page dirty")
		}
	}
	h.mu.Unlock()

	tab.send("unsub", page, 0)
	tab.acted()
	before := w.openings(page)
	w.set(page, put("1", "b"), event(engine.EventRenewed, "orders", 1))
	h.departures.waitFor(t.Context(), 3)
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := w.openings(page) - before; n != 0 || len(h.pages) != 0 || len(h.watched) != 0 {
		t.Errorf("after unsub: %d openings, %d pages, %d watched paths", n, len(h.pages), len(h.watched))
	}
}

func TestEventsThatAPageWatches(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		watches []string
		event   engine.Event
	}{
		"a subscription's event concerns its topic":      {[]string{"prices"}, event(engine.EventSent, "Prices/Subscriptions/eu", 1)},
		"its dead-letter queue's too":                    {[]string{"prices/subscriptions/eu"}, event(engine.EventCompleted, "prices/Subscriptions/EU/$DeadLetterQueue", 1)},
		"where a message goes":                           {[]string{"late"}, engine.Event{Kind: engine.EventMoved, Path: "orders", To: "late", Message: engine.Message{Key: 1}}},
		"nil watches everything, entities made just now": {nil, engine.Event{Kind: engine.EventEntityCreated, Path: "new"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.set(page, func(s *sheet) { s.watches = tc.watches })
			_, server := serveHub(t, w, nil)
			tab := dial(t, server, nil)
			tab.send("sub", page, 0)
			tab.next()
			w.set(page, func(s *sheet) { s.sum = "changed" }, tc.event)
			wantParts(t, tab.next(), parts{N: 1, Slots: map[string]string{"sum": "changed"}})
		})
	}
}

func TestAGapInTheLogMarksEverything(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.set(page, put("1", "a"))
	_, server := serveHub(t, w, nil)
	tab := dial(t, server, nil)
	tab.send("sub", page, 0)
	tab.next()
	w.set(page, func(s *sheet) { s.sum = "x"; w.lost = 12 })
	wantParts(t, tab.next(), parts{Slots: map[string]string{"sum": "x"}})
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.set(page, put("1", "a"))
	h, server := serveHub(t, w, nil)
	tab := dial(t, server, nil)
	tab.send("sub", page, 0)
	tab.next()
	tab.send("pause", "", 0)
	tab.acted()

	before := w.openings(page)
	w.set(page, put("2", "b"), event(engine.EventSent, "orders", 2))
	w.set(page, drop("1"), event(engine.EventCompleted, "orders", 1))
	h.departures.waitFor(t.Context(), 2)
	tab.acted() // and no other frame came
	if n := w.openings(page) - before; n != 0 {
		t.Errorf("a page whose only watcher has paused was opened %d times", n)
	}

	tab.send("resume", "", 0)
	wantParts(t, tab.next(), parts{N: 2, Full: true, Slots: map[string]string{"sum": ""},
		Lists: map[string]listPart{"rows": {Order: []string{"2"}, Put: map[string]string{"2": "b"}}}})
}

func TestACutLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.set(page, put("1", "a"), event(engine.EventSent, "orders", 1))
	w.set(page, put("2", "b"), event(engine.EventSent, "orders", 2))
	h, server := serveHub(t, w, nil)
	tab := dial(t, server, nil)
	tab.send("sub", page, 2)
	f := tab.next()
	h.Disconnect()
	if _, err := tab.hear(); err == nil {
		t.Fatal("the socket is still open after Cut")
	}

	w.set(page, drop("1"), event(engine.EventDeadLettered, "orders", 1))
	w.set(page, put("3", "c"), event(engine.EventSent, "orders", 3))
	h.departures.waitFor(t.Context(), 4)
	tab = dial(t, server, nil)
	tab.send("sub", page, f.parts.N)
	wantParts(t, tab.next(), parts{N: 4, Full: true, Slots: map[string]string{"sum": ""}, Lists: map[string]listPart{"rows": {
		Order: []string{"2", "3"}, Put: map[string]string{"2": "b", "3": "c"}, Gone: map[string]string{"1": "dead-lettered"},
	}}})
	w.set(page, put("3", "C"), event(engine.EventRenewed, "orders", 3))
	wantParts(t, tab.next(), parts{N: 5, Lists: map[string]listPart{"rows": {Order: []string{"2", "3"}, Put: map[string]string{"3": "C"}}}})
}

// TestASnapshotIsNeverOlderThanThePage: a browser that subscribes while the page is being rendered
// does not get that rendering, because its own page may be newer.
func TestASnapshotIsNeverOlderThanThePage(t *testing.T) {
	t.Parallel()
	w := newWorld()
	held := make(chan struct{})
	w.set(page, func(s *sheet) { s.sum = "old"; s.wait = held })
	_, server := serveHub(t, w, nil)
	early, late := dial(t, server, nil), dial(t, server, nil)
	early.send("sub", page, 0)
	early.acted()
	for w.openings(page) == 0 { // until the rendering has begun
		early.acted()
	}
	late.send("sub", page, 1)
	late.acted()
	w.set(page, func(s *sheet) { s.wait = nil })
	close(held)
	early.next()
	late.next()
	if n := w.openings(page); n != 2 {
		t.Errorf("the page was opened %d times; the second reader's snapshot needs a rendering of its own", n)
	}
}

func TestAPageThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.set("/broken", func(s *sheet) { s.panics = true })
	w.set("/twice", func(s *sheet) { s.order = []string{"1", "1"} })
	w.set(page, func(*sheet) {})
	h, server := serveHub(t, w, nil)
	tab := dial(t, server, nil)
	for _, url := range []string{"/missing", "/broken", "/twice", "//elsewhere/x", "https://elsewhere/x", ""} {
		tab.send("sub", url, 0)
		if f := tab.next(); f.control.T != "error" || f.control.Topic != url || f.control.Text == "" {
			t.Errorf("sub %q: %+v, want an error frame", url, f)
		}
	}

	// The page fails while it is open, and works again later.
	tab.send("sub", page, 0)
	tab.next()
	w.set(page, func(s *sheet) { s.err = engine.ErrNotFound }, event(engine.EventEntityAutoDeleted, "orders", 0))
	if f := tab.next(); f.control.T != "error" || f.control.Text != engine.ErrNotFound.Error() {
		t.Errorf("a page whose entity was deleted: %+v", f)
	}
	h.mu.Lock()
	if len(h.pages) != 0 {
		t.Errorf("%d failed pages are left", len(h.pages))
	}
	h.mu.Unlock()
	w.set(page, func(s *sheet) { s.err = nil })
	tab.send("sub", page, 1)
	if f := tab.next(); !f.parts.Full {
		t.Errorf("subscribed again: %+v, want a snapshot", f)
	}
}

func TestAReopenedBrokerResets(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.set(page, put("1", "a"), event(engine.EventSent, "orders", 1), event(engine.EventSent, "orders", 2))
	_, server := serveHub(t, w, nil)
	tab := dial(t, server, nil)
	tab.send("sub", page, 2)
	tab.next()
	w.set(page, func(*sheet) { w.epoch, w.events, w.lost = 2, nil, 1 })
	if f := tab.next(); f.control.T != "reset" {
		t.Fatalf("after a new epoch: %+v, want reset", f)
	}
	tab.send("sub", page, 0)
	if f := tab.next(); !f.parts.Full {
		t.Fatalf("after reset: %+v, want a snapshot", f)
	}
	w.set(page, drop("1"), event(engine.EventCompleted, "orders", 1))
	wantParts(t, tab.next(), parts{N: 1, Lists: map[string]listPart{"rows": {Gone: map[string]string{"1": "completed"}}}})
}

func TestAPageThatRefreshes(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.set(page, func(s *sheet) { s.sum, s.every = "0", time.Millisecond })
	_, server := serveHub(t, w, nil)
	tab := dial(t, server, nil)
	tab.send("sub", page, 0)
	tab.next()
	for i := range 3 {
		w.set(page, func(s *sheet) { s.sum = fmt.Sprint(i + 1) }) // without an event
		wantParts(t, tab.next(), parts{Slots: map[string]string{"sum": fmt.Sprint(i + 1)}})
	}
}

func TestLargeSnapshotsComeInPieces(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.set(page, func(s *sheet) {
		for i := range 300 {
			put(fmt.Sprint(i), strings.Repeat("<i>", 300)+fmt.Sprint(i))(s)
		}
	})
	_, server := serveHub(t, w, nil)
	tab := dial(t, server, nil)
	tab.send("sub", page, 0)
	var m model
	for i := 0; len(m.rows) < 300; i++ {
		f := tab.next()
		if f.parts.Full != (i == 0) || f.raw > 64<<10 || len(f.parts.Lists["rows"].Order) != 300 {
			t.Fatalf("piece %d: full %v, %d bytes, %d keys", i, f.parts.Full, f.raw, len(f.parts.Lists["rows"].Order))
		}
		m.apply(f.parts)
		if f.parts.More != (len(m.rows) < 300) {
			t.Errorf("piece %d, after %d rows: more %v", i, len(m.rows), f.parts.More)
		}
	}
	for k, html := range m.rows {
		if !strings.HasSuffix(html, ">"+k) {
			t.Errorf("row %s is %q", k, html)
		}
	}
}

// TestFramesAddUpToThePage: a browser that applies the frames shows the page, however the
// frames of many changes were joined.
func TestFramesAddUpToThePage(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.set(page, func(*sheet) {})
	_, server := serveHub(t, w, nil)
	tab := dial(t, server, nil)
	tab.send("sub", page, 0)
	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		w.set(page, func(s *sheet) {
			s.sum = fmt.Sprint(random.IntN(3))
			key := fmt.Sprint(random.IntN(12))
			if random.IntN(3) == 0 {
				drop(key)(s)
			} else {
				put(key, fmt.Sprint(random.IntN(4)))(s)
			}
			random.Shuffle(len(s.order), func(i, j int) {
				if random.IntN(8) == 0 {
					s.order[i], s.order[j] = s.order[j], s.order[i]
				}
			})
		}, event(engine.EventExtended, "orders", 1))
		if random.IntN(20) == 0 {
			tab.send("sub", page, 0)
		}
	}
	w.set(page, func(s *sheet) { s.sum = "end" }, event(engine.EventExtended, "orders", 1))
	var m model
	for m.sum != "end" {
		f := tab.next()
		if m.rows == nil && !f.parts.Full {
			t.Fatalf("the first frame is not a snapshot: %+v", f)
		}
		m.apply(f.parts)
	}
	last := w.pages[page]
	if diff := cmp.Diff(model{"end", last.rows, last.order}, m, cmp.AllowUnexported(model{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

func TestCloseSaysGoodbyeAndWaits(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h, server := serveHub(t, w, nil)
	tab := dial(t, server, nil)
	closing := make(chan error)
	go func() { closing <- h.Close(context.Background()) }()
	if code := tab.closed(); code != closeGoingAway {
		t.Errorf("close code %d, want %d", code, closeGoingAway)
	}
	if err := <-closing; err != nil {
		t.Errorf("Close: %v", err)
	}
	if n := len(h.clients); n != 0 {
		t.Errorf("%d clients are left", n)
	}
}
