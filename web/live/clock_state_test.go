package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/views/view"
)

// TestPace: during a stream of changes every page is rendered five times a second, each at its
// own times. The first change after a quiet time is rendered at once, and pages without viewers
// are not rendered.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 8
		w := newWorld()
		began := make(chan string, 10_000)
		open := func(ctx context.Context, url string) (view.Page, uint64, error) {
			began <- url
			return w.open(ctx, url)
		}
		h := Open(Options{Open: open, Follow: w.follow, Greeting: w.hello})
		defer func() {
			if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		c := &client{wake: make(chan struct{}, 1), done: make(chan struct{}), views: map[string]*pageViewer{}}
		for i := range pages {
			url := fmt.Sprint("/", i)
			w.set(url, put("a", "1"))
			h.addViewer(c, url, 0)
		}
		// during makes an event happen at intervals, and returns when each page was opened.
		during := func(d, every time.Duration) map[string][]time.Time {
			at := map[string][]time.Time{}
			for end := time.Now().Add(d); time.Now().Before(end); {
				if every > 0 {
					w.set("/0", func(*sheet) {}, event(engine.EventSent, "orders", 1))
				}
				for step := time.Now().Add(max(every, time.Millisecond)); time.Now().Before(step); time.Sleep(time.Millisecond) {
					synctest.Wait()
					for len(began) > 0 {
						url := <-began
						at[url] = append(at[url], time.Now())
					}
				}
			}
			return at
		}
		during(time.Second, 0) // the snapshots
		if at := during(2*time.Second, 0); len(at) != 0 {
			t.Errorf("without events, %v were rendered", at)
		}

		w.set("/0", func(*sheet) {}, event(engine.EventSent, "orders", 1))
		if at := during(25*time.Millisecond, 0); len(at) != pages {
			t.Errorf("the first change was rendered on %d pages at once, want %d", len(at), pages)
		}
		during(time.Second, 0)

		together, late := map[time.Time]int{}, pages
		steady := during(20*time.Second, 10*time.Millisecond)
		for url, at := range steady {
			if time.Since(at[len(at)-1]) < 10*time.Millisecond { // the last change is on it
				late--
			}
			for i, a := range at {
				if i > 0 && (a.Sub(at[i-1]) < 200*time.Millisecond || a.Sub(at[i-1]) > 250*time.Millisecond) {
					t.Errorf("%s was rendered again after %v", url, a.Sub(at[i-1]))
				}
				if i >= len(at)/2 {
					together[a]++
				}
			}
		}
		if most := slices.Max(slices.Collect(maps.Values(together))); most > pages/2 {
			t.Errorf("after a while %d of %d pages are still rendered at one instant", most, pages)
		}
		last := during(250*time.Millisecond, 0)
		if len(last) < late {
			t.Errorf("the last change was rendered on %d more pages, want %d", len(last), late)
		}
		for url, at := range last {
			if rest := at[0].Sub(steady[url][len(steady[url])-1]); rest > 250*time.Millisecond {
				t.Errorf("%s was rendered the last time after %v", url, rest)
			}
		}

		h.pause(c)
		if at := during(2*time.Second, 10*time.Millisecond); len(at) != 0 {
			t.Errorf("without viewers, %d pages were rendered", len(at))
		}
		h.mu.Lock()
		for _, s := range c.views {
			h.endView(s)
		}
		h.mu.Unlock()
	})
}

// TestSocketsWriteAFewAtATime: of many sockets that have frames to write a few do so at once,
// every one does so within a moment, and none waits when the hub closes.
func TestSocketsWriteAFewAtATime(t *testing.T) {
	for _, tc := range []struct {
		sockets, together int
		closes            bool
	}{
		{1, 1, false}, {8, 8, false}, {9, 8, false}, {100, 8, false}, {500, 31, false}, {500, 500, true},
	} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := make([]*client, tc.sockets)
				for i := range all {
					all[i] = &client{wake: make(chan struct{}, 1)}
				}
				ctx, stop := context.WithCancel(t.Context())
				if tc.closes {
					stop()
				}
				defer stop()
				go new(Hub).wakeClients(ctx, all) // ends below, or the bubble does not
				most, woken := 0, 0
				for began := time.Now(); time.Since(began) < 20*time.Millisecond; time.Sleep(time.Millisecond / 2) {
					synctest.Wait()
					now := 0
					for _, c := range all {
						now += len(c.wake)
						if len(c.wake) > 0 {
							<-c.wake
						}
					}
					most, woken = max(most, now), woken+now
				}
				if most != tc.together || woken != tc.sockets {
					t.Errorf("%d sockets write, %d of them at once", woken, most)
				}
			})
		})
	}
}
