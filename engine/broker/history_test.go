package broker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

func (w *world) look(q engine.HistoryQuery) []engine.HistoryEvent {
	w.Helper()
	got, err := w.History(w.Context(), q)
	if err != nil {
		w.Fatal(err)
	}
	return got
}

// A history query returns all published events, each once, newest first, however many of them are
// already in the store.
func TestHistoryIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := startHistory(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		check := func(what string) {
			t.Helper()
			want := w.Events().Recent(1000)
			slices.Reverse(want)
			got := w.look(engine.HistoryQuery{Limit: 1000})
			if len(got) != len(want) {
				t.Fatalf("%s: %d events, want %d", what, len(got), len(want))
			}
			for i, e := range got {
				if e.N != want[i].N || e.Kind != want[i].Kind || e.Content != "" {
					t.Fatalf("%s: at %d there is number %d, %v, with %d bytes; want number %d", what, i, e.N, e.Kind, len(e.Content), want[i].N)
				}
			}
			for at, rest := (engine.HistoryCursor{}), got; len(rest) > 0; { // page by page
				some := w.look(engine.HistoryQuery{Limit: 7, Before: at})
				if n := min(7, len(rest)); len(some) != n || some[n-1].Cursor() != rest[n-1].Cursor() {
					t.Fatalf("%s: a page of %d with %d left has another end", what, len(some), len(rest))
				}
				at, rest = some[len(some)-1].Cursor(), rest[len(some):]
			}
		}
		for i := range 30 {
			w.send("q", "a", "b")
			w.CreateQueue(engine.Path(fmt.Sprint("new", i)), engine.Config{})
			check("just now")
			time.Sleep(150 * time.Millisecond)
			check("a little later")
		}
		h.fails(errors.New("no"), true)
		w.send("q", "c")
		time.Sleep(2 * time.Second)
		w.send("q", "d")
		check("while a hand-over fails that did not")
		h.works()
		time.Sleep(2 * time.Second)
		h.fails(errors.New("no"), false)
		w.send("q", "e")
		time.Sleep(2 * time.Second)
		w.send("q", "f")
		check("while a hand-over fails")
		h.works()
		time.Sleep(time.Minute)
		check("in the end")

		if got := w.look(engine.HistoryQuery{}); len(got) != 100 && len(got) != len(w.Events().Recent(1000)) {
			t.Errorf("%d without a limit", len(got))
		}
		if got := w.look(engine.HistoryQuery{Kinds: []engine.EventKind{engine.EventStarted}}); len(got) != 1 || got[0].Reason != "epoch 1" {
			t.Errorf("got %+v", got)
		}
	})
}

// If committed events are not visible in the store yet, a history query gets them from the log,
// each once.
func TestHistoryOfAStoreThatLags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := startHistory(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		h.history.Lock()
		kept := h.history.rows
		h.history.rows = nil
		h.history.Unlock()
		for _, tc := range []struct {
			after time.Duration
			want  int
		}{{0, 1}, {9 * time.Second, 1}, {2 * time.Second, 0}} {
			time.Sleep(tc.after)
			if got := w.look(engine.HistoryQuery{Audit: true}); len(got) != tc.want || len(got) == 1 && (got[0].N != 2 || got[0].Epoch != 1) {
				t.Fatalf("%v later: %+v", tc.after, got)
			}
		}
		h.history.Lock()
		h.history.rows = kept
		h.history.Unlock()
		if got := w.look(engine.HistoryQuery{Audit: true}); len(got) != 1 {
			t.Fatalf("got %+v", got)
		}
	})
}

// The history across a reopening contains every event once.
func TestQueryAcrossAReopen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := startHistory(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		time.Sleep(2 * time.Second)
		h.fails(errors.New("the cable was pulled"), true)
		w.send("q", "a")
		time.Sleep(2 * time.Second)
		w.store.breaks(errors.New("the cable was pulled"), false)
		w.store.goes(true, nil)
		w.refused(w.trySend())
		synctest.Wait()
		_, err := w.History(t.Context(), engine.HistoryQuery{})
		w.refused(err)
		w.store.goes(false, nil)
		w.store.breaks(nil, false)
		time.Sleep(time.Second)
		synctest.Wait()
		for range 2 {
			got := w.look(engine.HistoryQuery{})
			if k := kinds(events(got)); !slices.Equal(k, []string{"reopened", "sent", "entity-created", "started"}) {
				t.Fatalf("got %v", k)
			}
			if got[0].Epoch != 3 || got[2].Epoch != 1 {
				t.Errorf("epochs %d and %d", got[0].Epoch, got[2].Epoch)
			}
			h.works()
			time.Sleep(10 * time.Second)
		}
	})
}

func TestHistoryIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		if _, err := w.History(t.Context(), engine.HistoryQuery{}); w.HasHistory() || !errors.Is(err, engine.ErrNotImplemented) {
			t.Errorf("without a history: %v", err)
		}
		p, h := startHistory(t, broker.Options{})
		for _, limit := range []int{-1, 10_001} {
			if _, err := p.History(t.Context(), engine.HistoryQuery{Limit: limit}); !p.HasHistory() || !errors.Is(err, engine.ErrOutOfRange) {
				t.Errorf("%d: %v", limit, err)
			}
		}
		blind := errors.New("a bad sector")
		h.history.blind = blind
		if _, err := p.History(t.Context(), engine.HistoryQuery{}); !errors.Is(err, blind) {
			t.Errorf("got %v", err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.History(t.Context(), engine.HistoryQuery{}); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}

// If the store cannot be read, readers get engine.ErrBusy, whatever the store's error is. A reader
// whose context has ended, or that reads a message that does not exist, gets that error instead.
func TestReadsOfAStoreThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := startHistory(t, broker.Options{CacheBytes: 1})
		w.CreateQueue("q", engine.Config{})
		w.send("q", "a")
		var row engine.Row
		err := w.Read(t.Context(), func(r broker.Reader) error {
			rows, err := r.Browse(engine.Browse{Path: "q", Limit: 1})
			row = rows[0]
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		for _, why := range []error{errors.New("a bad sector"), engine.ErrFenced, context.Canceled, context.DeadlineExceeded, engine.ErrMessageNotFound} {
			h.history.blind = why
			for _, ctx := range []context.Context{t.Context(), gone} {
				w.store.unreadable, w.store.unreadErr = 1, why
				_, body := w.Body(ctx, row.Message.Content, row.Content.BodySize())
				_, historyErr := w.History(ctx, engine.HistoryQuery{})
				for what, err := range map[string]error{"a body": body, "the history": historyErr} {
					r, refused := errors.AsType[*engine.Refusal](err)
					answered := refused && r.Text == "The store does not answer; nothing was done." && errors.Is(err, engine.ErrBusy)
					if want := ctx != gone && !errors.Is(why, engine.ErrMessageNotFound); answered != want || !errors.Is(err, why) {
						t.Errorf("%s, %v, of which %v: got %v", what, why, ctx.Err(), err)
					}
				}
			}
		}
	})
}
