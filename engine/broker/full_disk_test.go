package broker_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// TestFullDiskTakesDeletions uses a store that accepts only what needs no room: messages can be
// received, completed, deleted and purged, entities can be deleted, messages expire, and the
// store drops their contents. Sends are refused with the reason.
func TestFullDiskTakesDeletions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{LockDuration: 10 * time.Second})
		w.CreateQueue("gone", engine.Config{})
		w.CreateQueue("purged", engine.Config{})
		w.CreateQueue("short", engine.Config{DefaultMessageTimeToLive: time.Minute})
		w.send("q", "a", "b", "c", "d")
		w.send("gone", "a", "b")
		w.send("purged", "a", "b", "c")
		w.send("short", "a")
		w.store.tightens(fmt.Errorf("%w: the disk is full", engine.ErrUnwritable))
		refused := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, engine.ErrBusy) || !strings.Contains(err.Error(), "the disk is full") {
				t.Errorf("%s: %v; want ErrBusy and the reason", what, err)
			}
		}
		_, err := w.Send(t.Context(), "q", []broker.Outgoing{{Body: []byte("e")}}, "test")
		refused("the first send", err)
		before := len(w.store.batches())

		got := w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})
		if _, err := w.Settle(t.Context(), engine.Settlement{Token: got[0].Token(), Outcome: engine.Complete}); err != nil {
			t.Errorf("Settle: %v", err)
		}
		w.ReceiveMessages(broker.ReceiveRequest{Path: "q", Mode: engine.ReceiveAndDelete})
		w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})
		time.Sleep(15 * time.Second) // the lock expires
		left := w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})
		if err := errors.Join(w.BreakLock(t.Context(), left[0].Message.Key, "test"), w.DeleteMessage(t.Context(), left[0].Message.Key, "test")); err != nil {
			t.Errorf("DeleteOne: %v", err)
		}
		if did, err := w.Purge(t.Context(), "purged", []engine.Class{engine.ClassActive}, broker.Unconfirmed, "test"); err != nil || did.Removed != 3 {
			t.Errorf("Purge: %+v, %v", did, err)
		}
		if err := w.Delete(t.Context(), "gone", broker.Unconfirmed, "test"); err != nil {
			t.Errorf("Delete: %v", err)
		}
		_, err = w.Send(t.Context(), "q", []broker.Outgoing{{Body: []byte("e")}}, "test")
		refused("another send", err)
		_, err = w.Create(t.Context(), engine.Queue, "new", engine.Config{}, "test")
		refused("Create", err)
		time.Sleep(time.Minute) // the message in short expires, and its content is dropped
		synctest.Wait()

		dropped := 0
		for _, b := range w.store.batches()[before:] {
			if b.NeedsNoSpace() {
				dropped += len(b.DropContents)
			}
		}
		if want := 3 + 2 + 3 + 1; dropped != want {
			t.Errorf("%d contents were dropped; want %d", dropped, want)
		}
		if w.Health().ReadOnly == "" {
			t.Error("health does not report that the store refuses sends")
		}
		w.store.tightens(nil)
		time.Sleep(2 * time.Second)
		w.send("q", "f")
		if h := w.Health(); h != (broker.Health{}) {
			t.Errorf("health is %+v", h)
		}
		if c := w.Counts("q"); c.Active != 2 {
			t.Errorf("%+v", c)
		}
	})
}

// TestReasonChanges uses a store that cannot be written for one reason after another. The
// reported reason is the current one, whether the store finds it by itself or at a write.
func TestReasonChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.store.breaks(fmt.Errorf("%w: the disk is full", engine.ErrUnwritable), false)
		says := func(reason string) {
			t.Helper()
			_, err := w.Send(t.Context(), "q", []broker.Outgoing{{Body: []byte("a")}}, "test")
			if !errors.Is(err, engine.ErrBusy) || !strings.Contains(err.Error(), reason) {
				t.Errorf("a send: %v; want ErrBusy and %q", err, reason)
			}
			if got := w.Health().ReadOnly; got != reason {
				t.Errorf("health is %q; want %q", got, reason)
			}
		}
		says("the disk is full")
		w.store.breaks(fmt.Errorf("%w: the file was moved", engine.ErrUnwritable), false)
		time.Sleep(2 * time.Second)
		says("the file was moved")
		w.store.breaks(fmt.Errorf("%w: the file was deleted", engine.ErrUnwritable), false)
		w.store.troubles <- fmt.Errorf("%w: the file was deleted", engine.ErrUnwritable)
		says("the file was deleted")
		w.store.breaks(nil, false)
		time.Sleep(2 * time.Second)
		w.send("q", "a")
	})
}
