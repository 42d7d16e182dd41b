package broker_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// onFullDisk starts a broker whose store has become full and accepts only batches that free
// room. prepare runs before that.
func onFullDisk(t *testing.T, prepare func(w *world)) *world {
	t.Helper()
	w := start(t, broker.Options{CacheBytes: 1})
	w.CreateQueue("q", engine.Config{LockDuration: 10 * time.Second})
	prepare(w)
	w.store.tightens(fmt.Errorf("%w: the disk is full", engine.ErrUnwritable))
	if err := w.sendsMore(); !errors.Is(err, engine.ErrBusy) {
		t.Fatalf("the first send: %v", err)
	}
	return w
}

func (w *world) sendsMore() error {
	_, err := w.Send(w.Context(), "q", []broker.Outgoing{{Body: []byte("more")}}, "test")
	return err
}

// TestProbeWhileSpaceIsFreed completes messages all the time: the broker still tries to write
// once a second.
func TestProbeWhileSpaceIsFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onFullDisk(t, func(w *world) {
			for range 1000 {
				w.send("q", "a")
			}
		})
		w.store.breaks(nil, false) // the store accepts everything again, but the broker has not noticed
		var err error
		for range 600 {
			w.ReceiveMessages(broker.ReceiveRequest{Path: "q", Mode: engine.ReceiveAndDelete})
			time.Sleep(5 * time.Millisecond)
			if err = w.sendsMore(); err == nil {
				return
			}
		}
		t.Errorf("after three seconds: %v", err)
	})
}

// TestWaitingReceiverOnFullDisk waits for a message that another receiver holds: it is
// delivered when the holder abandons it, and when the lock expires.
func TestWaitingReceiverOnFullDisk(t *testing.T) {
	for name, free := range map[string]func(w *world, held broker.Received){
		"abandoned": func(w *world, held broker.Received) {
			if _, err := w.Settle(w.Context(), engine.Settlement{Token: held.Token(), Outcome: engine.Abandon}); err != nil {
				w.Error(err)
			}
		},
		"lock ran out": func(*world, broker.Received) { time.Sleep(12 * time.Second) },
	} {
		for _, mode := range []engine.Mode{engine.PeekLock, engine.ReceiveAndDelete} {
			t.Run(fmt.Sprint(name, " ", mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := onFullDisk(t, func(w *world) { w.send("q", "a") })
					held := w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})
					var got []broker.Received
					go func() {
						var err error
						if got, err = w.Receive(t.Context(), broker.ReceiveRequest{Path: "q", Mode: mode, Wait: time.Minute}); err != nil {
							t.Error(err)
						}
					}()
					synctest.Wait()
					free(w, held[0])
					synctest.Wait()
					if len(got) != 1 {
						t.Errorf("the receiver gets %d messages", len(got))
					}
				})
			})
		}
	}
}

// TestExpiryWhileCopiesWait lets messages expire on a full disk while a topic and a forwarding
// queue have copies to make: the copies wait until there is room.
func TestExpiryWhileCopiesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		subs := []engine.Path{"t/Subscriptions/a", "t/Subscriptions/b"}
		w := onFullDisk(t, func(w *world) {
			_, err := w.Create(t.Context(), engine.Topic, "t", engine.Config{}, "test")
			for _, s := range subs {
				_, e := w.Create(t.Context(), engine.Subscription, s, engine.Config{}, "test")
				err = errors.Join(err, e)
			}
			w.CreateQueue("short", engine.Config{DefaultMessageTimeToLive: time.Minute})
			w.CreateQueue("forwards", engine.Config{ForwardTo: "t"})
			w.send("short", "a", "b", "c")
			for _, to := range []engine.Path{"t", "forwards"} {
				due := w.ClockTime().Add(time.Minute)
				_, e := w.Send(t.Context(), to, []broker.Outgoing{{Content: engine.Content{ScheduledFor: due}, Body: []byte("s")}}, "test")
				err = errors.Join(err, e)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		before := len(w.store.batches())
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		dropped := 0
		for _, b := range w.store.batches()[before:] {
			if b.NeedsNoSpace() {
				dropped += len(b.DropMessages)
			}
		}
		if dropped != 3 {
			t.Errorf("%d messages are dropped; want 3", dropped)
		}
		for _, s := range subs {
			if c := w.Counts(s); c != (engine.Counts{}) {
				t.Errorf("%s: %+v", s, c)
			}
		}
		w.store.tightens(nil)
		time.Sleep(5 * time.Second)
		for _, s := range subs {
			if c := w.Counts(s); c.Active != 2 {
				t.Errorf("%s with room: %+v", s, c)
			}
		}
	})
}

// TestDamageOnFullDisk checks that, even while the disk is full, a message whose body cannot be
// read because of damage is counted as damaged.
func TestDamageOnFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onFullDisk(t, func(w *world) { w.send("q", "a") })
		var row engine.Row
		err := w.Read(t.Context(), func(r broker.Reader) error {
			rows, err := r.Browse(engine.Browse{Path: "q", From: 1, Limit: 1})
			row = rows[0]
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		w.store.unreadable, w.store.unreadErr = 1, engine.ErrDamaged
		if _, err := w.Body(t.Context(), row.Message.Content, row.Content.BodySize()); !errors.Is(err, engine.ErrDamaged) {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := w.Health().Damaged; n != 1 {
			t.Errorf("health has %d damaged messages; want 1", n)
		}
	})
}
