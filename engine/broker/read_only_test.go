package broker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// A read-only broker still answers reads while a receiver waits for messages whose delivery
// would need a write. A receiver whose context has ended gets no more messages.
func TestReadOnlyWhileAReceiverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{LockDuration: 10 * time.Second})
		w.send("q", "a")
		w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})
		waited := make(chan error)
		go func() {
			got, err := w.Receive(t.Context(), broker.ReceiveRequest{Path: "q", Mode: engine.ReceiveAndDelete, Wait: 30 * time.Second})
			waited <- errors.Join(err, fmt.Errorf("%d messages", len(got)))
		}()
		synctest.Wait()
		w.store.breaks(engine.ErrUnwritable, false)
		if _, err := w.Send(t.Context(), "q", []broker.Outgoing{{}}, ""); !errors.Is(err, engine.ErrBusy) {
			t.Fatalf("got %v", err)
		}
		time.Sleep(15 * time.Second) // the lock expires
		if _, err := w.Receive(t.Context(), broker.ReceiveRequest{Path: "q"}); !errors.Is(err, engine.ErrBusy) {
			t.Fatalf("got %v", err)
		}
		w.Counts("q")
		if err := <-waited; err.Error() != "0 messages" {
			t.Fatal(err)
		}
		w.store.breaks(nil, false)
		time.Sleep(2 * time.Second)
		if c := w.Counts("q"); c.Active != 1 {
			t.Fatalf("%+v", c)
		}
	})
}

// Close waits for a commit in progress, whose operations get their regular answers.
func TestCloseDuringACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.store.hold = make(chan struct{})
		sent, closed := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := w.Send(t.Context(), "q", []broker.Outgoing{{}}, "")
			sent <- err
		}()
		synctest.Wait()
		go func() { closed <- w.Close() }()
		synctest.Wait()
		close(w.store.hold)
		if err := <-sent; err != nil {
			t.Error(err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// A body that cannot be read does not hold back the other messages.
func TestBodyUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{CacheBytes: 1})
		w.CreateQueue("q", engine.Config{})
		w.send("q", "a", "b", "c")
		w.store.unreadable = 1
		got := w.ReceiveMessages(broker.ReceiveRequest{Path: "q", Max: 3})
		if len(got) != 2 || text(t, got[0]) != "b" || text(t, got[1]) != "c" {
			t.Fatalf("got %d messages", len(got))
		}
		time.Sleep(time.Minute)
		w.store.unreadable = 1
		if _, err := w.Receive(t.Context(), broker.ReceiveRequest{Path: "q"}); err == nil {
			t.Fatal("a receive returned neither messages nor an error")
		}
	})
}

func TestRestore(t *testing.T) {
	t.Run("OPS-9 description and rules, without messages", restoresDescriptions)
	t.Run("OPS-9 all or nothing", restoresAllOrNothing)
}

// restoresDescriptions checks that an entity that was deleted as idle is restored with its rules
// and without messages.
func restoresDescriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		w := start(t, broker.Options{})
		const sub = engine.Path("t/Subscriptions/s")
		topic := engine.Config{AutoDeleteOnIdle: 5 * time.Minute, UserMetadata: "mine"}
		if _, err := w.Create(ctx, engine.Topic, "t", topic, ""); err != nil {
			t.Fatal(err)
		}
		w.CreateEntity(engine.Subscription, sub, engine.Config{MaxDeliveryCount: 3})
		if err := w.AddRule(ctx, sub, engine.Rule{Name: "r"}, ""); err != nil {
			t.Fatal(err)
		}
		w.send("t", "a")
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		var gone engine.Event
		for _, e := range w.Events().Recent(100) {
			if e.Kind == engine.EventEntityAutoDeleted && e.Path == "t" {
				gone = e
			}
		}
		if err := w.Broker.RestoreEntity(ctx, gone, "somebody"); err != nil {
			t.Fatal(err)
		}
		if err := w.Read(ctx, func(r broker.Reader) error {
			for p, want := range map[engine.Path]engine.Config{"t": topic, sub: {MaxDeliveryCount: 3}} {
				s, err := r.State(p)
				if err != nil {
					return err
				}
				if !s.Config.Equal(want) || s.Counts != (engine.Counts{}) || len(s.Rules) != map[engine.Path]int{sub: 2}[p] {
					t.Errorf("restored, %s is %+v with %d rules and %+v", p, s.Config, len(s.Rules), s.Counts)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// restoresAllOrNothing checks that an entity that cannot be restored completely is not restored.
func restoresAllOrNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		w := start(t, broker.Options{})
		w.CreateQueue("target", engine.Config{})
		for _, e := range []struct {
			kind engine.EntityKind
			path engine.Path
			c    engine.Config
		}{{engine.Topic, "t", engine.Config{}}, {engine.Subscription, "t/Subscriptions/s", engine.Config{ForwardTo: "target"}}} {
			if _, err := w.Create(ctx, e.kind, e.path, e.c, ""); err != nil {
				t.Fatal(err)
			}
		}
		n := w.Events().Last()
		for _, p := range []engine.Path{"t", "target"} {
			if err := w.Delete(ctx, p, broker.Unconfirmed, ""); err != nil {
				t.Fatal(err)
			}
		}
		gone, _, err := w.Events().After(ctx, n)
		if err != nil || gone[0].Path != "t" {
			t.Fatal(gone, err)
		}
		if err := w.Broker.RestoreEntity(ctx, gone[0], ""); err == nil {
			t.Fatal("a subscription forwards to nowhere")
		}
		err = w.Read(ctx, func(r broker.Reader) error { _, err := r.State("t"); return err })
		if !errors.Is(err, engine.ErrNotFound) {
			t.Fatalf("got %v", err)
		}
		w.CreateQueue("target", engine.Config{})
		if err := w.Broker.RestoreEntity(ctx, gone[0], ""); err != nil {
			t.Fatal(err)
		}
	})
}

// A store that cannot be opened again does not keep the broker from closing.
func TestCloseWhileReopening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.store.breaks(errors.New("the cable was pulled"), false)
		w.store.goes(true, nil)
		if _, err := w.Send(t.Context(), "q", []broker.Outgoing{{}}, ""); !errors.Is(err, engine.ErrBusy) {
			t.Fatalf("got %v", err)
		}
		time.Sleep(time.Minute)
		before := len(w.store.batches())
		w.CloseFails = true
		if err := w.Close(); err == nil || errors.Is(err, engine.ErrFenced) {
			t.Fatalf("got %v", err)
		}
		if len(w.store.batches()) != before {
			t.Error("a refused operation was committed in the end")
		}
		if _, err := w.Send(context.Background(), "q", []broker.Outgoing{{}}, ""); !errors.Is(err, engine.ErrClosed) {
			t.Fatalf("got %v", err)
		}
	})
}
