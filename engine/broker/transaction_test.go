package broker_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

func (w *world) declare() *broker.Transaction {
	w.Helper()
	tx, err := w.BeginTransaction(w.Context(), "teller")
	if err != nil {
		w.Fatal(err)
	}
	return tx
}

// gives adds messages to a transaction.
func (w *world) gives(tx *broker.Transaction, to engine.Path, texts ...string) {
	w.Helper()
	var out []broker.Outgoing
	for _, s := range texts {
		out = append(out, broker.Outgoing{Content: engine.Content{MessageID: s}, Body: []byte(s)})
	}
	if err := tx.Send(w.Context(), to, out); err != nil {
		w.Fatal(err)
	}
}

func (w *world) settles(tx *broker.Transaction, d broker.Received, o engine.Outcome) {
	w.Helper()
	errs, err := tx.Settle(w.Context(), engine.Settlement{Token: d.Token(), Outcome: o})
	if err = errors.Join(append(errs, err)...); err != nil {
		w.Fatal(err)
	}
}

// bodies receives and deletes all messages and returns their bodies.
func (w *world) bodies(p engine.Path) (texts []string) {
	w.Helper()
	for _, r := range w.ReceiveMessages(broker.ReceiveRequest{Path: p, Max: 100, Mode: engine.ReceiveAndDelete}) {
		texts = append(texts, text(w.T, r))
	}
	return texts
}

func TestTransaction(t *testing.T) {
	for _, unswept := range []bool{false, true} {
		run := func(name string, f func(w *world)) {
			t.Run(fmt.Sprintf("%s, unswept %t", name, unswept), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := start(t, broker.Options{NoSweep: unswept})
					w.CreateQueue("q", engine.Config{LockDuration: 5 * time.Minute})
					w.CreateQueue("r", engine.Config{})
					f(w)
				})
			})
		}
		run("TX-4 committed", func(w *world) {
			w.send("q", "in")
			d := w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})[0]
			tx := w.declare()
			w.gives(tx, "r", "out", "and on")
			w.settles(tx, d, engine.Complete)
			if c := w.Counts("r"); c != (engine.Counts{}) {
				w.Fatalf("before the commit there are %+v", c)
			}
			before := len(w.store.batches())
			seqs, err := tx.Commit(w.Context())
			if err != nil || !slices.Equal(seqs, []engine.Seq{1, 2}) {
				w.Fatalf("got %v, %v", seqs, err)
			}
			if n := len(w.store.batches()) - before; n != 1 { // all in one commit
				w.Errorf("it took %d commits", n)
			}
			if c := w.Counts("q"); c != (engine.Counts{}) {
				w.Errorf("there are %+v", c)
			}
			if got := w.bodies("r"); !slices.Equal(got, []string{"out", "and on"}) {
				w.Errorf("the bodies are %q", got)
			}
			if _, err := tx.Commit(w.Context()); !errors.Is(err, engine.ErrTransaction) {
				w.Errorf("committed twice: %v", err)
			}
		})
		run("TX-5 rolled back", func(w *world) {
			w.send("q", "in")
			d := w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})[0]
			tx := w.declare()
			w.gives(tx, "r", "out")
			w.settles(tx, d, engine.Abandon)
			if err := tx.Rollback(w.Context()); err != nil {
				w.Fatal(err)
			}
			if q, r := w.Counts("q"), w.Counts("r"); q != (engine.Counts{Locked: 1}) || r != (engine.Counts{}) {
				w.Errorf("there are %+v and %+v", q, r)
			}
			if err := tx.Rollback(w.Context()); !errors.Is(err, engine.ErrTransaction) {
				w.Errorf("rolled back twice: %v", err)
			}
		})
		run("TX-2", func(w *world) {
			tx, other, forgotten := w.declare(), w.declare(), w.declare()
			time.Sleep(10*time.Minute - time.Millisecond)
			w.gives(tx, "q", "a")
			w.gives(other, "q", "b")
			time.Sleep(2*time.Minute - time.Millisecond)
			if _, err := tx.Commit(w.Context()); err != nil {
				w.Error(err)
			}
			time.Sleep(time.Millisecond)
			if _, err := other.Commit(w.Context()); !errors.Is(err, engine.ErrTransaction) {
				w.Errorf("got %v", err)
			}
			if err := forgotten.Rollback(w.Context()); !errors.Is(err, engine.ErrTransaction) {
				w.Errorf("got %v", err)
			}
			if got := w.bodies("q"); !slices.Equal(got, []string{"a"}) {
				w.Errorf("the bodies are %q", got)
			}
		})
		run("TX-3, FWD-14", func(w *world) {
			w.send("q", "in")
			d := w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})[0]
			large := strings.Repeat("x", 100<<10)
			give := func(d broker.Received) *broker.Transaction {
				tx := w.declare()
				w.settles(tx, d, engine.Complete)
				if err := tx.SendVia(w.Context(), "q", "r", []broker.Outgoing{{Body: []byte(large)}, {Body: []byte("small")}}); err != nil {
					w.Fatal(err)
				}
				return tx
			}
			if err := give(d).Rollback(w.Context()); err != nil {
				w.Fatal(err)
			}
			tx := give(d)
			if _, err := w.Update(w.Context(), "r", engine.Config{Status: engine.StatusDisabled}, ""); err != nil {
				w.Fatal(err)
			}
			if seqs, err := tx.Commit(w.Context()); err != nil || !slices.Equal(seqs, []engine.Seq{2, 3}) {
				w.Fatalf("got %v, %v", seqs, err)
			}
			if got := w.bodies(engine.Path("q").Transfer()); !slices.Equal(got, []string{large, "small"}) {
				w.Errorf("there are %d", len(got))
			}
			if err := w.declare().SendVia(w.Context(), "q", "nowhere", []broker.Outgoing{{Body: []byte(large)}}); !errors.Is(err, engine.ErrNotFound) {
				w.Errorf("got %v", err)
			}
		})
		run("FILT-1", func(w *world) { // rules are evaluated at the commit, whatever they were when the message was sent in the transaction
			w.CreateEntity(engine.Topic, "t", engine.Config{})
			s := engine.Path("t/Subscriptions/s")
			rule := func(text string) []engine.Rule {
				return []engine.Rule{{Name: "r", Filter: engine.Filter{Kind: engine.SQLFilter, Text: text}}}
			}
			if _, err := w.CreateWithRules(w.Context(), engine.Subscription, s, engine.Config{}, rule("sys.MessageId = 'a'"), ""); err != nil {
				w.Fatal(err)
			}
			tx := w.declare()
			w.gives(tx, "r", "first")
			w.gives(tx, "t", "a", "b")
			w.gives(tx, "q", "between")
			w.gives(tx, "t", "b", "c")
			if err := w.ReplaceRule(w.Context(), s, rule("sys.MessageId = 'b'")[0], ""); err != nil {
				w.Fatal(err)
			}
			if seqs, err := tx.Commit(w.Context()); err != nil || !slices.Equal(seqs, []engine.Seq{1, 1, 2, 1, 3, 4}) {
				w.Fatalf("got %v, %v", seqs, err)
			}
			if got := w.bodies(s); !slices.Equal(got, []string{"b", "b"}) {
				w.Errorf("the bodies are %q", got)
			}
		})
		run("TX-1 receive", func(w *world) {
			w.send("q", "in")
			tx := w.declare()
			if _, err := tx.Receive(w.Context(), broker.ReceiveRequest{Path: "q"}); !errors.Is(err, engine.ErrNotAllowed) {
				w.Errorf("got %v", err)
			}
			if c := w.Counts("q"); c.Active != 1 {
				w.Errorf("there are %+v", c)
			}
		})
		run("refused", func(w *world) {
			tx := w.declare()
			if err := tx.Send(w.Context(), "nowhere", []broker.Outgoing{{}}); !errors.Is(err, engine.ErrNotFound) {
				w.Errorf("got %v", err)
			}
			errs, err := tx.Settle(w.Context(), engine.Settlement{})
			if err != nil || !errors.Is(errs[0], engine.ErrLockLost) {
				w.Errorf("got %v, %v", errs, err)
			}
			w.gives(tx, "q", "m")
			if err := w.Delete(w.Context(), "q", broker.Unconfirmed, ""); err != nil {
				w.Fatal(err)
			}
			if _, err := tx.Commit(w.Context()); !errors.Is(err, engine.ErrNotFound) || !errors.Is(err, engine.ErrRolledBack) || !strings.Contains(err.Error(), "operation 1 of 1 failed") {
				w.Errorf("got %v", err)
			}
		})
		run("closed", func(w *world) {
			tx := w.declare()
			w.gives(tx, "q", "m")
			if err := w.Close(); err != nil {
				w.Fatal(err)
			}
			_, commit := tx.Commit(w.Context())
			for name, err := range map[string]error{"commit": commit, "rollback": tx.Rollback(w.Context()), "send": tx.Send(w.Context(), "q", []broker.Outgoing{{}})} {
				if !errors.Is(err, engine.ErrClosed) {
					w.Errorf("%s: %v", name, err)
				}
			}
			if _, err := w.BeginTransaction(w.Context(), ""); !errors.Is(err, engine.ErrClosed) {
				w.Errorf("declare: %v", err)
			}
		})
	}
}

// DLQ-20: a client resubmits a dead letter in a transaction whose commit fails. Whether or not the
// store had applied the commit, the message exists once.
func TestResubmittedOnce(t *testing.T) {
	for _, applied := range []bool{false, true} {
		t.Run(fmt.Sprintf("applied %t", applied), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, broker.Options{})
				w.CreateQueue("q", engine.Config{})
				w.send("q", "m")
				d := w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})[0]
				if _, err := w.Settle(t.Context(), engine.Settlement{Token: d.Token(), Outcome: engine.DeadLetter}); err != nil {
					t.Fatal(err)
				}
				d = w.ReceiveMessages(broker.ReceiveRequest{Path: "q/$DeadLetterQueue"})[0]
				tx, other := w.declare(), w.declare()
				w.gives(tx, "q", "m")
				w.settles(tx, d, engine.Complete)
				w.gives(other, "q", "lost")
				w.store.breaks(errors.New("the line is cut"), applied)
				if _, err := tx.Commit(t.Context()); !errors.Is(err, engine.ErrBusy) {
					t.Fatalf("got %v", err)
				}
				w.store.breaks(nil, false)
				time.Sleep(2 * time.Minute) // the store is opened again, and the lock, if it was stored, has expired
				for _, tx := range []*broker.Transaction{tx, other} {
					if _, err := tx.Commit(t.Context()); !errors.Is(err, engine.ErrTransaction) {
						t.Errorf("after that: %v", err)
					}
				}
				want := engine.Counts{DeadLetter: 1}
				if applied {
					want = engine.Counts{Active: 1}
				}
				if c := w.Counts("q"); c != want {
					t.Errorf("there are %+v; want %+v", c, want)
				}
			})
		})
	}
}

// A store that accepts no writes refuses the commit but does not end the transaction, which
// loses nothing, not even a staged body.
func TestTransactionWhileReadOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.send("q", "in")
		d := w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})[0]
		large := bytes.Repeat([]byte("x"), 100<<10)
		tx := w.declare()
		if err := tx.Send(t.Context(), "q", []broker.Outgoing{{Body: large}}); err != nil {
			t.Fatal(err)
		}
		w.settles(tx, d, engine.Complete)
		w.store.breaks(fmt.Errorf("%w: the disk is full", engine.ErrUnwritable), false)
		for range 3 {
			if _, err := tx.Commit(t.Context()); !errors.Is(err, engine.ErrBusy) || errors.Is(err, engine.ErrTransaction) || !strings.Contains(err.Error(), "the disk is full") {
				t.Fatalf("got %v", err)
			}
			if c := w.Counts("q"); c != (engine.Counts{Locked: 1}) {
				t.Fatalf("there are %+v", c)
			}
		}
		other := w.declare()
		w.gives(other, "q", "small") // adding to a transaction needs no write
		w.store.breaks(nil, false)
		time.Sleep(5 * time.Second)
		w.send("q", "between") // this commit also drops unused bodies
		time.Sleep(5 * time.Second)
		if _, err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.bodies("q"); len(got) != 3 || got[0] != "between" || got[1] != string(large) || got[2] != "small" {
			t.Errorf("there are %d", len(got))
		}
	})
}

// A body that was staged for a transaction is dropped when the transaction times out, even if
// its client has disconnected.
func TestTransactionForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		tx := w.declare()
		if err := tx.Send(t.Context(), "q", []broker.Outgoing{{Body: make([]byte, 100<<10)}}); err != nil {
			t.Fatal(err)
		}
		dropped := func() (n int) {
			for _, b := range w.store.batches() {
				n += len(b.DropContents)
			}
			return n
		}
		time.Sleep(2*time.Minute - time.Millisecond)
		if n := dropped(); n != 0 {
			t.Fatalf("%d bodies are dropped", n)
		}
		for range 3 { // it takes one more turn to be sure that no reader has the body
			time.Sleep(time.Second)
			w.Counts("q")
		}
		if n := dropped(); n != 1 {
			t.Fatalf("%d bodies are dropped", n)
		}
	})
}
