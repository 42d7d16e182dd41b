package broker_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// The server's own events are published like any other, without a gap in their numbers.
func TestServerEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.store.breaks(fmt.Errorf("%w: the disk is full", engine.ErrUnwritable), false)
		if _, err := w.Send(t.Context(), "q", []broker.Outgoing{{}}, ""); !errors.Is(err, engine.ErrBusy) {
			t.Fatalf("got %v", err)
		}
		w.store.breaks(nil, false)
		time.Sleep(2 * time.Second)
		w.store.breaks(errors.New("the cable was pulled"), false)
		if _, err := w.Send(t.Context(), "q", []broker.Outgoing{{}}, ""); !errors.Is(err, engine.ErrBusy) {
			t.Fatalf("got %v", err)
		}
		w.store.breaks(nil, false)
		synctest.Wait()
		w.send("q", "a")
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		type auditEntry struct {
			N            uint64
			Kind, Reason string
		}
		var got []auditEntry
		for _, e := range w.Events().Recent(100) {
			got = append(got, auditEntry{e.N, e.Kind.String(), e.Reason})
			if e.At == 0 {
				t.Errorf("event %v has no time", e.Kind)
			}
		}
		want := []auditEntry{
			{1, "started", "epoch 1"}, {2, "entity-created", ""}, {3, "read-only", "the disk is full"},
			{4, "writable", "the disk is full"}, {5, "reopened", "the cable was pulled"}, {6, "sent", ""}, {7, "stopped", ""},
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// A read returns the number of the last event it includes, even in the very turn in which the
// store turns out to be full, or to work again.
func TestTheNumberOfALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.store.hold = make(chan struct{})
		sent := make(chan error, 2)
		send := func() {
			_, err := w.Send(t.Context(), "q", []broker.Outgoing{{}}, "")
			sent <- err
		}
		looked := make(chan uint64, 1)
		look := func() { // checks that the reader's messages are those of the events up to its number
			var r broker.Reader
			var there int64
			err := w.Read(t.Context(), func(at broker.Reader) error {
				s, err := at.State("q")
				r, there = at, s.Counts.Active
				return err
			})
			if err != nil {
				t.Error(err)
			}
			count := int64(0)
			for _, e := range w.Events().Recent(100) {
				if e.Kind == engine.EventSent && e.N <= r.N {
					count++
				}
			}
			if count != there || r.N > w.Events().Last() {
				t.Errorf("%d messages at %d of %v", there, r.N, kinds(w.Events().Recent(100)))
			}
			looked <- r.N
		}
		together := func() { // a commit keeps the owner's goroutine busy until both requests are in the inbox
			go send()
			synctest.Wait()
			go send()
			synctest.Wait()
			go look()
			synctest.Wait()
			close(w.store.hold)
			<-looked
			w.store.hold = nil
		}
		together()
		if err := errors.Join(<-sent, <-sent); err != nil {
			t.Fatal(err)
		}
		w.store.hold = make(chan struct{})
		w.store.breaks(engine.ErrUnwritable, false)
		together()
		if err := <-sent; !errors.Is(err, engine.ErrBusy) {
			t.Fatalf("got %v", err)
		}
		if err := <-sent; !errors.Is(err, engine.ErrBusy) {
			t.Fatalf("got %v", err)
		}
		w.store.breaks(nil, false)
		time.Sleep(999 * time.Millisecond)
		for range 10 { // one of these reads is in the turn of the probe
			go look()
			<-looked
			time.Sleep(200 * time.Microsecond)
		}
		if h := w.Health(); h.ReadOnly != "" {
			t.Errorf("it is still read-only: %+v", h)
		}
	})
}

// The duration of a commit is reported while it hangs, and for a while afterwards.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.store.hold = make(chan struct{})
		sent := make(chan error, 1)
		go func() {
			_, err := w.Send(t.Context(), "q", []broker.Outgoing{{}}, "")
			sent <- err
		}()
		for _, tc := range []struct{ after, want time.Duration }{
			{time.Second, 0}, {time.Millisecond, 1001 * time.Millisecond}, {9 * time.Second, 10001 * time.Millisecond},
		} {
			time.Sleep(tc.after)
			if got := w.Health().Slow; got != tc.want {
				t.Errorf("%v later the slow commit is %v; want %v", tc.after, got, tc.want)
			}
		}
		close(w.store.hold)
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		w.store.hold = nil
		time.Sleep(59 * time.Second)
		if got := w.Health().Slow; got != 10001*time.Millisecond {
			t.Errorf("59 s after it ended: %v", got)
		}
		time.Sleep(time.Second)
		if got := w.Health(); got != (broker.Health{}) {
			t.Errorf("a minute after the commit ended: %+v", got)
		}
	})
}

// When a server opens a namespace whose previous owner had a clock that was a little ahead, the
// namespace's time does not go back.
func TestTimeDoesNotGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.store.breaks(errors.New("the cable was pulled"), false)
		w.store.goes(true, nil)
		w.refused(w.trySend())
		theirs := engine.At(time.Now().Add(40 * time.Second))
		if err := w.store.Store.Commit(t.Context(), &engine.Batch{Hard: true, Now: theirs}); err != nil {
			t.Fatal(err)
		}
		w.store.goes(false, nil)
		w.store.breaks(nil, false)
		time.Sleep(2 * time.Second)
		if now, err := w.Now(t.Context()); err != nil || now < theirs {
			t.Errorf("the time is %v, and was %v; %v", now, theirs, err)
		}
		w.send("q", "a")
		time.Sleep(time.Minute)
		if now, err := w.Now(t.Context()); err != nil || now != engine.At(time.Now()) {
			t.Errorf("in the end the time is %v; %v", now, err)
		}
	})
}
