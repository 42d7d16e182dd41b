package broker_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// FWD-1, FWD-8: a receiver at the end of a chain gets messages at once. Messages that a full or
// closed destination refused follow within a second after it accepts them.
func TestForwardingWithoutHelp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("end", engine.Config{})
		w.CreateQueue("mid", engine.Config{ForwardTo: "end"})
		w.CreateQueue("start", engine.Config{ForwardTo: "mid", ForwardDeadLetteredMessagesTo: "end"})
		began := time.Now()
		served := make(chan []broker.Received)
		go func() { served <- w.ReceiveMessages(broker.ReceiveRequest{Path: "end", Wait: time.Minute}) }()
		synctest.Wait()
		w.send("start", "hello")
		if got := <-served; len(got) != 1 || text(t, got[0]) != "hello" || time.Since(began) != 0 || got[0].Message.Hops != 2 {
			t.Fatalf("got %+v after %v", got, time.Since(began))
		}
		status := func(p engine.Path, c engine.Config) {
			if _, err := w.Update(t.Context(), p, c, ""); err != nil {
				t.Fatal(err)
			}
		}
		status("mid", engine.Config{Status: engine.StatusDisabled})
		status("end", engine.Config{Status: engine.StatusDisabled})
		w.send("start", "dead")
		time.Sleep(5*time.Second + 300*time.Millisecond)
		if c := w.Counts("start"); c.DeadLetter != 1 {
			t.Fatalf("there are %+v", c)
		}
		status("end", engine.Config{})
		time.Sleep(699 * time.Millisecond)
		if c := w.Counts("start"); c.DeadLetter != 1 {
			t.Fatalf("a millisecond before the retry there are %+v", c)
		}
		time.Sleep(time.Millisecond)
		if got := w.ReceiveMessages(broker.ReceiveRequest{Path: "end"}); len(got) != 1 || text(t, got[0]) != "dead" {
			t.Fatalf("got %+v", got)
		}
	})
}

// FWD-14: large bodies, too, get into the transfer dead-letter queue, and are dropped when
// their message is refused.
func TestSendVia(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		w := start(t, broker.Options{})
		w.CreateQueue("via", engine.Config{})
		w.CreateQueue("dest", engine.Config{})
		large := strings.Repeat("x", 100<<10)
		via := func(to engine.Path) error {
			_, err := w.SendVia(ctx, "via", to, []broker.Outgoing{{Body: []byte(large)}}, "")
			return err
		}
		if err := via("dest"); err != nil {
			t.Fatal(err)
		}
		if got := w.ReceiveMessages(broker.ReceiveRequest{Path: "dest", Mode: engine.ReceiveAndDelete}); len(got) != 1 || text(t, got[0]) != large {
			t.Fatalf("got %d", len(got))
		}
		if err := via("nowhere"); !errors.Is(err, engine.ErrNotFound) {
			t.Fatal(err)
		}
		if _, err := w.Update(ctx, "dest", engine.Config{Status: engine.StatusDisabled}, ""); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := via("dest"); err != nil {
				t.Fatal(err)
			}
		}
		tdlq := engine.Path("via").Transfer()
		if got := w.ReceiveMessages(broker.ReceiveRequest{Path: tdlq, Mode: engine.ReceiveAndDelete}); len(got) != 1 || text(t, got[0]) != large {
			t.Fatalf("got %d", len(got))
		}
		classes := []engine.Class{engine.ClassActive}
		if _, err := w.Purge(ctx, tdlq, classes, 0, ""); !errors.Is(err, engine.ErrChanged) {
			t.Error(err)
		}
		if pg, err := w.Purge(ctx, tdlq, classes, 1, ""); err != nil || pg.Removed != 1 {
			t.Error(pg, err)
		}
		w.send("via", "small") // unused bodies are dropped with this commit
		dropped := 0
		for _, b := range w.store.batches() {
			dropped += len(b.DropContents)
		}
		if dropped != 4 {
			t.Errorf("%d of 4 large bodies were dropped", dropped)
		}
	})
}
