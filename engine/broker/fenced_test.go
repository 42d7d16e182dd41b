package broker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
)

// expectFenced ends the test unless err says that another server may own the namespace.
func (w *world) expectFenced(what string, err error) {
	w.Helper()
	if !errors.Is(err, engine.ErrClosed) || !errors.Is(err, engine.ErrFenced) || !strings.Contains(err.Error(), "Another server may own") {
		w.Fatalf("%s: got %v", what, err)
	}
}

// ended waits until the broker ends by itself. It requires engine.ErrFenced, and that the store
// was opened `opens` times.
func (w *world) ended(opens int) {
	w.Helper()
	<-w.Done()
	w.CloseFails = true
	err := w.Close()
	if !errors.Is(err, engine.ErrFenced) || w.store.opens != opens {
		w.Fatalf("ended with %v after %d opens", err, w.store.opens)
	}
}

// Without a commit to confirm ownership, the broker gives no answers once the lease has passed:
// it reads, delivers, refuses and publishes nothing any more, and ends.
func TestNoAnswersWithoutALease(t *testing.T) {
	for name, try := range map[string]func(w *world, held engine.LockToken) error{
		"a look": func(w *world, _ engine.LockToken) error {
			return w.Read(w.Context(), func(r broker.Reader) error { _, err := r.State("q"); return err })
		},
		"a lock": func(w *world, _ engine.LockToken) error {
			got, err := w.Receive(w.Context(), broker.ReceiveRequest{Path: "q"})
			return errors.Join(err, none(got))
		},
		"no message": func(w *world, _ engine.LockToken) error {
			got, err := w.Receive(w.Context(), broker.ReceiveRequest{Path: "empty"})
			return errors.Join(err, none(got))
		},
		"a renewal": func(w *world, held engine.LockToken) error {
			_, err := w.RenewLock(w.Context(), held, "", "")
			return err
		},
		"a settlement that is refused": func(w *world, _ engine.LockToken) error {
			errs, err := w.Settle(w.Context(), engine.Settlement{})
			return errors.Join(append(errs, err)...)
		},
		"a refusal": func(w *world, _ engine.LockToken) error {
			_, err := w.Send(w.Context(), "nowhere", []broker.Outgoing{{}}, "")
			return err
		},
		"a deferred message": func(w *world, _ engine.LockToken) error {
			got, err := w.ReceiveDeferred(w.Context(), "q", []engine.Seq{2}, engine.PeekLock, "")
			return errors.Join(err, none(got))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, broker.Options{})
				w.CreateQueue("q", engine.Config{})
				w.CreateQueue("empty", engine.Config{})
				w.send("q", "locked", "deferred", "active")
				got := w.ReceiveMessages(broker.ReceiveRequest{Path: "q", Max: 2})
				if errs, err := w.Settle(t.Context(), engine.Settlement{Token: got[1].Token(), Outcome: engine.Defer}); err != nil || errs[0] != nil {
					t.Fatal(errs, err)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				last := w.Events().Last()
				w.store.loseLease()
				w.expectFenced(name, try(w, got[0].Token()))
				if n := w.Events().Last(); n != last {
					t.Errorf("events were published: %+v", w.Events().Recent(int(n-last)))
				}
				w.ended(1)
				_, err := w.Send(context.Background(), "q", []broker.Outgoing{{}}, "")
				w.expectFenced("after the end", err)
			})
		})
	}
}

func none(got []broker.Received) error {
	if len(got) > 0 {
		return fmt.Errorf("%d messages came", len(got))
	}
	return nil
}

// A soft commit does not confirm the lease, because a store may only have buffered it.
func TestASoftCommitConfirmsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.send("q", "a")
		w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})
		before := len(w.store.batches())
		w.store.loseLease()
		time.Sleep(time.Second)
		if all := w.store.batches(); len(all) != before+1 || all[before].Hard {
			t.Fatalf("%d commits; want one soft commit, of the lock", len(all)-before)
		}
		select {
		case <-w.Done():
			w.ended(1)
		default:
			t.Error("the broker still runs")
		}
	})
}

// An operation that a hard commit made durable is acknowledged, however late.
func TestADurableAnswerIsGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.send("q", "a")
		got := w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})
		w.store.hold = make(chan struct{})
		settled := make(chan error, 1)
		go func() {
			errs, err := w.Settle(t.Context(), engine.Settlement{Token: got[0].Token()})
			settled <- errors.Join(append(errs, err)...)
		}()
		synctest.Wait()
		w.store.loseLease()
		close(w.store.hold)
		if err := <-settled; err != nil {
			t.Error(err)
		}
		w.expectFenced("the next look", w.Read(t.Context(), func(broker.Reader) error { return nil }))
		w.ended(1)
	})
}

// When a broker becomes read-only and then loses the namespace, each operation gets one answer.
func TestNoAnswersWithoutALeaseWhileReadOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.store.breaks(engine.ErrUnwritable, false)
		if _, err := w.Send(t.Context(), "q", []broker.Outgoing{{}}, ""); !errors.Is(err, engine.ErrBusy) {
			t.Fatalf("got %v", err)
		}
		w.store.loseLease()
		answers := make(chan error, 3)
		for range cap(answers) {
			go func() { answers <- w.Read(t.Context(), func(broker.Reader) error { return nil }) }()
		}
		for range cap(answers) {
			w.expectFenced("a look", <-answers)
		}
		w.ended(1)
	})
}

// A waiting receiver gets nothing from a server that may no longer be the owner, not even when
// its message arrives, because then the sender's commit fails.
func TestReceiverOfAServerThatIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		waited := make(chan error)
		go func() {
			got, err := w.Receive(t.Context(), broker.ReceiveRequest{Path: "q", Wait: time.Hour})
			waited <- errors.Join(err, none(got))
		}()
		synctest.Wait()
		w.store.loseLease()
		w.store.breaks(engine.ErrFenced, false)
		_, err := w.Send(t.Context(), "q", []broker.Outgoing{{}}, "")
		w.expectFenced("the sender", err)
		w.expectFenced("the receiver", <-waited)
		w.ended(1)
	})
}

// When the store fails and another server owns the namespace by the time the store could be
// opened again, the broker ends and names the owner.
func TestOwnedByAnotherOnReopen(t *testing.T) {
	other := &engine.OwnedError{Owner: engine.Owner{Dashboard: "http://other:8080", Epoch: 7}}
	for name, refusal := range map[string]error{
		"owned":  fmt.Errorf("open: %w", other),
		"fenced": fmt.Errorf("open: %w", engine.ErrFenced),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, broker.Options{})
				w.CreateQueue("q", engine.Config{})
				pulled := errors.New("the cable was pulled")
				w.store.breaks(pulled, false)
				w.store.goes(true, nil)
				if _, err := w.Send(t.Context(), "q", []broker.Outgoing{{}}, ""); !errors.Is(err, engine.ErrBusy) {
					t.Fatalf("got %v", err)
				}
				synctest.Wait()
				err := w.Read(t.Context(), func(broker.Reader) error { return nil })
				if !errors.Is(err, engine.ErrBusy) || !errors.Is(err, pulled) {
					t.Fatalf("while the store is opened again: %v", err)
				}
				w.store.goes(false, refusal)
				before := time.Now()
				w.ended(3)
				err = w.Close()
				if owned, ok := errors.AsType[*engine.OwnedError](err); ok != (name == "owned") || ok && owned.Owner != other.Owner {
					t.Errorf("the error that names the owner is %v", err)
				}
				if took := time.Since(before); took > time.Second {
					t.Errorf("it took %v", took)
				}
				w.expectFenced("a look", w.Read(t.Context(), func(broker.Reader) error { return nil }))
			})
		})
	}
}

// If another server owns the namespace at start, Open returns the store's error unchanged.
func TestOwnedByAnotherAtStart(t *testing.T) {
	want := &engine.OwnedError{Owner: engine.Owner{Host: "other"}}
	_, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return nil, want }, broker.Options{})
	if err != want { //nolint:errorlint // must be the same error
		t.Errorf("got %v", err)
	}
}

// A broker that loses the namespace ends even if it gets no request.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		if err := w.store.Store.(*memory.Store).Close(); err != nil { // closes Lost
			t.Fatal(err)
		}
		w.ended(1)
		if diff := gocmp.Diff([]string{"started", "entity-created"}, kinds(w.Events().Recent(10))); diff != "" {
			t.Error(diff)
		}
	})
}

func kinds(events []engine.Event) (names []string) {
	for _, e := range events {
		names = append(names, e.Kind.String())
	}
	return names
}
