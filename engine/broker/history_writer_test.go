package broker_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// comparedEvent is the part of a stored event that tests compare.
type comparedEvent struct {
	Epoch, N uint64
	Kind     string
	Count    int64
}

func comparedEvents(rows []engine.HistoryEvent) (out []comparedEvent) {
	for _, e := range rows {
		out = append(out, comparedEvent{e.Epoch, e.N, e.Kind.String(), e.Count})
	}
	return out
}

func (w *world) expectRows(h *historian, what string, want []comparedEvent) {
	w.Helper()
	if diff := gocmp.Diff(want, comparedEvents(h.rows())); diff != "" {
		w.Fatalf("%s: %s", what, diff)
	}
}

func (w *world) refused(err error) {
	w.Helper()
	if !errors.Is(err, engine.ErrBusy) {
		w.Fatalf("got %v", err)
	}
}

func (w *world) trySend() error {
	_, err := w.Send(w.Context(), "q", []broker.Outgoing{{}}, "test")
	return err
}

// Operators' actions are in the history when they are acknowledged, under their number in the
// log. Other events follow a second later, except renewals. The last event is the stop.
func TestHistoryIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := startHistory(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.expectRows(h, "at once", []comparedEvent{{1, 2, "entity-created", 0}})
		w.send("q", "a")
		got := w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})
		if _, err := w.RenewLock(t.Context(), got[0].Token(), "", "test"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.RenewLockFor(t.Context(), got[0].Message.Key, "operator"); err != nil {
			t.Fatal(err)
		}
		early := []comparedEvent{{1, 2, "entity-created", 0}, {1, 6, "renewed", 0}}
		w.expectRows(h, "still at once", early)
		time.Sleep(999 * time.Millisecond)
		w.expectRows(h, "in less than a second", early)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		all := []comparedEvent{{1, 1, "started", 0}, {1, 2, "entity-created", 0}, {1, 3, "sent", 0}, {1, 4, "locked", 0}, {1, 6, "renewed", 0}}
		w.expectRows(h, "after a second", all)
		for _, e := range h.rows() {
			for _, l := range w.Events().Recent(100) {
				if l.N == e.N && (l.Kind != e.Kind || l.At != e.At) {
					t.Errorf("number %d is %v in the log and %v in the history", e.N, l.Kind, e.Kind)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		w.expectRows(h, "at the end", append(all, comparedEvent{1, 7, "stopped", 0}))
	})
}

// The event of a message's removal keeps the sender's content, cut to 4 KiB at the end of a
// field.
func TestHistoryKeepsEventsThatLeaveTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := startHistory(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		large := engine.Content{MessageID: "large", Subject: strings.Repeat("s", 4000), ReplyTo: strings.Repeat("r", 100), CorrelationID: "c"}
		out := []broker.Outgoing{{Content: large}, {Content: engine.Content{MessageID: "b"}}, {Content: engine.Content{MessageID: "c"}}}
		w.SendMessages("q", out...)
		w.ReceiveMessages(broker.ReceiveRequest{Path: "q", Mode: engine.ReceiveAndDelete})
		got := w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})
		if errs, err := w.Settle(t.Context(), engine.Settlement{Token: got[0].Token()}); err != nil || errs[0] != nil {
			t.Fatal(err, errs)
		}
		var key engine.Key
		err := w.Read(t.Context(), func(r broker.Reader) error {
			rows, err := r.Browse(engine.Browse{Path: "q", Limit: 1})
			key = rows[0].Message.Key
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Extend(t.Context(), key, engine.At(time.Now().Add(time.Hour)), "operator"), w.DeleteMessage(t.Context(), key, "operator")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		ids := map[string]string{}
		for _, e := range h.rows() {
			if len(e.Content) > 4<<10 {
				t.Errorf("%d bytes with %v", len(e.Content), e.Kind)
			}
			if e.Message.Key == 0 {
				continue
			}
			c, err := e.Content.Content()
			if err != nil {
				t.Error(err)
			}
			ids[e.Kind.String()] += c.MessageID + c.CorrelationID + ","
		}
		want := map[string]string{"sent": ",,,", "locked": ",", "received": "largec,", "completed": "b,", "extended": ",", "deleted": "c,"}
		if diff := gocmp.Diff(want, ids); diff != "" {
			t.Error(diff)
		}
	})
}

// If there are more events than the history accepts in a second, it drops routine events before
// rare ones, and records a gap.
func TestHistoryUnderOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := startHistory(t, broker.Options{HistoryRate: 10, Limits: roomy()})
		w.CreateQueue("q", engine.Config{})
		many := make([]string, 3000)
		w.send("q", many...)
		synctest.Wait()
		if err := w.receiveAndKill(5); err != nil {
			t.Fatal(err)
		}
		w.send("q", many...)
		synctest.Wait()
		w.CreateQueue("after", engine.Config{})
		time.Sleep(3 * time.Second)
		w.send("q", "later")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		count := map[string]int64{}
		for _, e := range h.rows() {
			count[e.Kind.String()] += max(1, e.Count)
		}
		want := map[string]int64{"started": 1, "entity-created": 2, "sent": 11, "dead-lettered": 5, "gap": 5995} // 6001 were sent, 5 locked
		if diff := gocmp.Diff(want, count); diff != "" {
			t.Error(diff)
		}
		if n := h.asked(); n > 5 {
			t.Errorf("AppendEvents was called %d times", n)
		}
	})
}

func (w *world) receiveAndKill(n int) error {
	var all []engine.Settlement
	for _, d := range w.ReceiveMessages(broker.ReceiveRequest{Path: "q", Max: n}) {
		all = append(all, engine.Settlement{Token: d.Token(), Outcome: engine.DeadLetter})
	}
	errs, err := w.Settle(w.Context(), all...)
	return errors.Join(append(errs, err)...)
}

// A failing history delays no operation. It gets the same batch again, and the events that the
// log drops meanwhile become an exact gap.
func TestHistoryFails(t *testing.T) {
	for name, kept := range map[string]bool{"kept": true, "not kept": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, h := startHistory(t, broker.Options{Events: 8})
				w.CreateQueue("q", engine.Config{})
				time.Sleep(2 * time.Second)
				h.fails(errors.New("no"), kept)
				w.send("q", "a", "b") // 3, 4
				time.Sleep(3 * time.Second)
				for range 10 { // 5 … 14, of which 7 … 14 are still in the log at the end
					w.send("q", "c")
				}
				time.Sleep(3 * time.Second)
				h.works()
				time.Sleep(3 * time.Second)
				synctest.Wait()
				want := []comparedEvent{{1, 1, "started", 0}, {1, 2, "entity-created", 0}, {1, 3, "sent", 0}, {1, 4, "sent", 0}, {1, 6, "gap", 2}}
				for n := uint64(7); n <= 14; n++ {
					want = append(want, comparedEvent{1, n, "sent", 0})
				}
				w.expectRows(h, "in the end", want)
			})
		})
	}
}

// However many events are waiting, a failed batch is retried once a second.
func TestHistoryFailsWithMuchToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := startHistory(t, broker.Options{Limits: roomy(), HistoryRate: 1 << 20})
		w.CreateQueue("q", engine.Config{})
		h.fails(errors.New("no"), false)
		w.send("q", make([]string, 5000)...)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := h.asked(); n != 11 { // the first try is immediate
			t.Errorf("AppendEvents was called %d times in ten seconds", n)
		}
		h.works()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n := len(h.rows()); n != 5002 {
			t.Errorf("%d are remembered", n)
		}
	})
}

// A batch that the history never accepts becomes a gap, so that later events can be stored.
func TestHistoryGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := startHistory(t, broker.Options{})
		h.fails(errors.New("no"), false)
		w.CreateQueue("q", engine.Config{})
		w.send("q", "a", "b")
		time.Sleep(45 * time.Second)
		w.send("q", "c")
		h.works()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		w.expectRows(h, "in the end", []comparedEvent{{1, 2, "entity-created", 0}, {1, 4, "gap", 3}, {1, 5, "sent", 0}})
	})
}

// Across a reopening numbers continue, and pending events are handed over under the new epoch.
// No event is stored twice, whatever the former epoch's store had kept.
func TestHistoryAcrossAReopen(t *testing.T) {
	for name, kept := range map[string]bool{"kept": true, "not kept": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, h := startHistory(t, broker.Options{})
				w.CreateQueue("q", engine.Config{})
				time.Sleep(2 * time.Second)
				h.fails(errors.New("the cable was pulled"), kept)
				w.send("q", "a") // 3
				time.Sleep(2 * time.Second)
				w.send("q", "b") // 4
				w.store.breaks(errors.New("the cable was pulled"), true)
				if _, err := w.Create(t.Context(), engine.Queue, "doubtful", engine.Config{}, ""); !errors.Is(err, engine.ErrBusy) { // would be 5
					t.Fatalf("got %v", err)
				}
				w.store.breaks(nil, false)
				synctest.Wait()
				w.CreateQueue("later", engine.Config{}) // 6
				h.works()
				time.Sleep(3 * time.Second)
				synctest.Wait()
				third := comparedEvent{1, 3, "sent", 0}
				if !kept {
					third.Epoch = 2
				}
				w.expectRows(h, "in the end", []comparedEvent{ // the last four happened in one instant
					{1, 1, "started", 0}, {1, 2, "entity-created", 0}, third,
					{1, 5, "entity-created", 0}, {2, 4, "sent", 0}, {2, 5, "reopened", 0}, {2, 6, "entity-created", 0},
				})
			})
		})
	}
}

// A store that accepts no writes gets no history events either.
func TestHistoryReadOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := startHistory(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.send("q", "a")
		key := w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})[0].Message.Key
		time.Sleep(2 * time.Second)
		asked := h.asked()
		w.store.breaks(fmt.Errorf("%w: full", engine.ErrUnwritable), false)
		w.refused(w.trySend())
		time.Sleep(10 * time.Second)
		// An operator's action is either audited or not done.
		_, err := w.RenewLockFor(t.Context(), key, "operator")
		w.refused(err)
		if n := h.asked(); n != asked {
			t.Errorf("%d attempts", n-asked)
		}
		w.store.breaks(nil, false)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := kinds(events(h.rows())); !slices.Equal(got, []string{"started", "entity-created", "sent", "locked", "read-only", "writable"}) {
			t.Errorf("got %v", got)
		}
	})
}

func events(rows []engine.HistoryEvent) (out []engine.Event) {
	for _, e := range rows {
		out = append(out, e.Event)
	}
	return out
}

// A server that is fenced off writes nothing more into the history, and Close does not wait for
// a history that hangs.
func TestHistoryAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := startHistory(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.send("q", "a")
		w.store.loseLease()
		w.expectFenced("a look", w.Read(t.Context(), func(broker.Reader) error { return nil }))
		w.ended(1)
		w.expectRows(h, "fenced", []comparedEvent{{1, 2, "entity-created", 0}})
	})
	synctest.Test(t, func(t *testing.T) {
		w, h := startHistory(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		h.fails(errors.New("no"), false)
		began := time.Now()
		if err := w.Close(); err != nil || time.Since(began) > time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// The history is trimmed to its bounds once a minute.
func TestHistoryIsForgotten(t *testing.T) {
	for name, tc := range map[string]struct {
		o    broker.Options
		age  time.Duration // zero means any age
		most int64
	}{
		"default":  {broker.Options{}, 7 * 24 * time.Hour, 256 << 20},
		"bounds":   {broker.Options{HistoryFor: time.Hour, HistoryBytes: 1}, time.Hour, 1},
		"no bound": {broker.Options{HistoryFor: -1, HistoryBytes: -1}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, h := startHistory(t, tc.o)
				time.Sleep(2*time.Minute + time.Second)
				want := []forgotten{{0, tc.most}, {0, tc.most}}
				if tc.age > 0 {
					for i := range want {
						want[i].before = engine.At(time.Now().Add(-tc.age - time.Duration(1-i)*time.Minute - time.Second))
					}
				}
				h.history.Lock()
				defer h.history.Unlock()
				if !slices.Equal(h.history.forgets, want) {
					t.Errorf("got %v, want %v", h.history.forgets, want)
				}
			})
		})
	}
}
