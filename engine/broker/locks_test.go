package broker_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// After a restart a lock that was never committed does not exist and does not count as a
// delivery. A committed lock remains, and counts when it expires (DEC-12).
func TestLocksAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.send("q", "a", "b")
		w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})
		time.Sleep(time.Second) // the first lock is durable
		w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})
		w.send("q", "c") // this commit does not make the second lock durable
		w.store.breaks(errors.New("power"), false)
		if _, err := w.Send(t.Context(), "q", []broker.Outgoing{{}}, "test"); !errors.Is(err, engine.ErrBusy) {
			t.Fatalf("got %v", err)
		}
		w.store.breaks(nil, false)
		synctest.Wait()
		if c := w.Counts("q"); c.Locked != 1 || c.Active != 2 {
			t.Fatalf("%+v", c)
		}
		got := w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})
		if len(got) != 1 || text(t, got[0]) != "b" || got[0].Message.DeliveryCount != 0 {
			t.Fatalf("%+v", got)
		}
		time.Sleep(time.Minute)
		got = w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})
		if len(got) != 1 || text(t, got[0]) != "a" || got[0].Message.DeliveryCount != 1 {
			t.Fatalf("%+v", got)
		}
	})
}

// DEC-12: a lock is durable after SoftDelay, however many other commits there were meanwhile.
func TestLocksDuringCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.send("q", "a")
		w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})
		for range 6 {
			w.send("q", "b")
			time.Sleep(100 * time.Millisecond)
		}
		w.store.breaks(errors.New("power"), false)
		if _, err := w.Send(t.Context(), "q", []broker.Outgoing{{}}, "test"); !errors.Is(err, engine.ErrBusy) {
			t.Fatalf("got %v", err)
		}
		w.store.breaks(nil, false)
		synctest.Wait()
		if c := w.Counts("q"); c.Locked != 1 || c.Active != 6 {
			t.Fatalf("%+v", c)
		}
	})
}
