package broker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// A box is a Sink that records its calls.
type box struct {
	mu       sync.Mutex
	calls    []string
	got      []engine.Delivery
	accepted []engine.SessionAccepted
	ended    []error
}

func (x *box) Accepted(a engine.SessionAccepted) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.accepted = append(x.accepted, a)
	x.calls = append(x.calls, "accepted "+a.ID)
}

func (x *box) Delivered(d engine.Delivery) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.got = append(x.got, d)
	x.calls = append(x.calls, fmt.Sprint("#", d.Message.Seq))
}

func (x *box) Ended(why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = append(x.ended, why)
	x.calls = append(x.calls, "ended")
}

func (x *box) say(what string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.calls = append(x.calls, what)
}

// answered returns a callback that records `what` and, if the operation failed, its error.
func (x *box) answered(what string) func(error) {
	return func(err error) {
		if err != nil {
			what = fmt.Sprint(what, ": ", err)
		}
		x.say(what)
	}
}

// heard waits until all goroutines are idle and returns the calls since the last time.
func (x *box) heard() []string {
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	out := x.calls
	x.calls = nil
	return out
}

func (w *world) attach(in broker.AttachRequest) (*broker.Link, *box) {
	w.Helper()
	x := &box{}
	l, err := w.Attach(w.Context(), in, x)
	if err != nil {
		w.Fatal(err)
	}
	return l, x
}

func (w *world) hears(x *box, what string, want ...string) {
	w.Helper()
	if got := x.heard(); !slices.Equal(got, want) {
		w.Fatalf("%s: heard %q, want %q", what, got, want)
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// A link gets messages up to its credit, in order, then those that it has new credit for, and
// nothing once its credit is taken back (LOCK-14).
func TestLinkTakesWhatItHasCreditFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.send("q", "a", "b", "c")
		l, x := w.attach(broker.AttachRequest{Path: "q", Client: "c"})
		w.hears(x, "without credit")
		w.must(l.AddCredit(t.Context(), 2, x.answered("credit")))
		w.hears(x, "with credit for two", "credit", "#1", "#2")
		w.must(l.AddCredit(t.Context(), 3, x.answered("credit")))
		w.must(l.Drain(t.Context(), x.answered("drained")))
		w.hears(x, "drained", "credit", "#3", "drained")
		w.send("q", "d", "e")
		w.hears(x, "after a drain")
		if d := x.got[0]; d.Deleted || d.Link != l.ID() {
			t.Errorf("got %+v", d)
		}
		body, err := w.DeliveryBody(t.Context(), x.got[1])
		w.must(err)
		if b, err := io.ReadAll(body); err != nil || string(b) != "b" {
			t.Errorf("the body is %q, %v", b, err)
		}
		w.must(body.Close())
		for _, d := range x.got {
			w.ReleaseBody(d)
		}

		w.must(l.AddCredit(t.Context(), 5, x.answered("credit")))
		w.hears(x, "again", "credit", "#4", "#5")
		w.must(l.WithdrawCredit(t.Context(), 2, func(n int, err error) { x.answered(fmt.Sprint("took ", n))(err) }))
		w.must(l.WithdrawCredit(t.Context(), 7, func(n int, err error) { x.answered(fmt.Sprint("took ", n))(err) }))
		w.hears(x, "withdrawn", "took 2", "took 1")
		w.send("q", "f")
		w.hears(x, "after all was withdrawn")
		w.must(l.Detach(t.Context(), engine.DetachedByClient))
		w.must(l.AddCredit(t.Context(), 1, func(err error) { x.say(fmt.Sprint(errors.Is(err, engine.ErrNotFound))) }))
		w.hears(x, "credit of one that was detached", "true")
	})
}

// A drain waits for all ready messages, even if one turn does not deliver that many.
func TestLinkDrainsWhatOneTurnDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		const many = 10_000 // more than two turns deliver
		for range many / 1000 {
			w.send("q", make([]string, 1000)...)
		}
		l, x := w.attach(broker.AttachRequest{Path: "q"})
		w.must(l.AddCredit(t.Context(), many+1, x.answered("credit")))
		w.must(l.Drain(t.Context(), x.answered("drained")))
		got := x.heard()
		if n := len(got); n != many+2 || got[0] != "credit" || got[n-1] != "drained" {
			t.Fatalf("the sink had %d calls, the last of them %q", n, got[n-1])
		}
	})
}

// Sends and settlements of one goroutine are executed in the order of its calls, many
// in one commit.
func TestSubmittedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		l, x := w.attach(broker.AttachRequest{Path: "q"})
		until := make(chan struct{})
		w.store.holds(until)
		for i := range 300 {
			err := w.SubmitSend(t.Context(), "q", []broker.Outgoing{{Body: fmt.Append(nil, i)}}, "me", func(seqs []engine.Seq, err error) {
				x.say(fmt.Sprint(seqs, err))
			})
			w.must(err)
		}
		close(until)
		before := len(w.store.batches())
		for i, s := range x.heard() {
			if want := fmt.Sprintf("[%d] <nil>", i+1); s != want {
				t.Fatalf("answer %d is %q, want %q", i, s, want)
			}
		}
		if n := len(w.store.batches()) - before; n > 3 {
			t.Errorf("%d commits for operations submitted together", n)
		}
		w.must(l.AddCredit(t.Context(), 300, x.answered("credit")))
		x.heard()
		for i, d := range x.got {
			s := engine.Settlement{Token: d.Token(), Outcome: engine.Complete}
			if i == 7 {
				s.Token = engine.LockToken{}
			}
			w.must(w.SubmitSettle(t.Context(), []engine.Settlement{s}, func(each []error, err error) {
				x.say(fmt.Sprint(i, errors.Is(each[0], engine.ErrLockLost), err))
			}))
		}
		for i, s := range x.heard() {
			if want := fmt.Sprint(i, i == 7, error(nil)); s != want {
				t.Fatalf("answer %d is %q, want %q", i, s, want)
			}
		}
		if err := w.SubmitSend(t.Context(), "q", []broker.Outgoing{{Content: engine.Content{MessageID: string(make([]byte, 200))}}}, "me", nil); !errors.Is(err, engine.ErrArgument) {
			t.Errorf("a message that no entity accepts: %v", err)
		}
	})
}

// A link's sink gets the reason why the link ended, unless the client detached it.
func TestLinkEnds(t *testing.T) {
	ends := map[string]struct {
		how  func(w *world, l *broker.Link)
		want error
	}{
		"its entity goes":    {func(w *world, _ *broker.Link) { w.must(w.Delete(w.Context(), "q", broker.Unconfirmed, "me")) }, engine.ErrNotFound},
		"the broker closes":  {func(w *world, _ *broker.Link) { w.must(w.Close()) }, engine.ErrClosed},
		"the store is lost":  {func(w *world, _ *broker.Link) { w.store.breaks(errors.New("the cable"), false); w.refused(w.trySend()) }, engine.ErrBusy},
		"the client goes":    {func(w *world, l *broker.Link) { w.must(l.Detach(w.Context(), engine.DetachedByClient)) }, nil},
		"the client is lost": {func(w *world, l *broker.Link) { w.must(l.Detach(w.Context(), engine.DetachedLost)) }, nil},
	}
	for name, tc := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, broker.Options{})
				w.CreateQueue("q", engine.Config{})
				l, x := w.attach(broker.AttachRequest{Path: "q"})
				w.must(l.AddCredit(t.Context(), 1, x.answered("credit")))
				x.heard()
				tc.how(w, l)
				x.heard()
				w.store.breaks(nil, false)
				time.Sleep(5 * time.Second)
				if tc.want == nil && len(x.ended) != 0 || tc.want != nil && (len(x.ended) != 1 || !errors.Is(x.ended[0], tc.want)) {
					t.Fatalf("ended with %v", x.ended)
				}
				if tc.want == nil {
					w.send("q", "a")
					w.hears(x, "afterwards")
				}
			})
		})
	}
}

// A Sink is also notified of sessions: that a named session is accepted, at once; that the next
// session is accepted, when one is available; and why a session is lost (SES-2, SES-4, SES-6,
// SES-7).
func TestLinkWithASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{RequiresSession: true, LockDuration: 30 * time.Second})
		named := broker.AttachRequest{Path: "q", Session: engine.SessionRequest{Want: engine.NamedSession, ID: "s"}}
		l, x := w.attach(named)
		w.hears(x, "named", "accepted s")
		if want := engine.At(time.Now().Add(30 * time.Second)); x.accepted[0].LockedUntil != want {
			t.Errorf("locked until %v, want %v", x.accepted[0].LockedUntil, want)
		}
		if _, err := w.Attach(t.Context(), named, &box{}); !errors.Is(err, engine.ErrSessionLocked) {
			t.Errorf("accepting a session that is held: %v", err)
		}
		next, y := w.attach(broker.AttachRequest{Path: "q", Session: engine.SessionRequest{Want: engine.NextSession}})
		w.must(next.AddCredit(t.Context(), 5, y.answered("credit")))
		w.hears(y, "before there is one", "credit")
		out := []broker.Outgoing{{Content: engine.Content{SessionID: "r"}}, {Content: engine.Content{SessionID: "s"}}}
		w.SendMessages("q", out...)
		w.hears(y, "when there is one", "accepted r", "#1")
		w.hears(x, "without credit")
		w.must(l.AddCredit(t.Context(), 5, x.answered("credit")))
		w.hears(x, "with credit", "credit", "#2")
		w.must(next.Detach(t.Context(), engine.DetachedByClient))
		time.Sleep(30 * time.Second)
		w.hears(x, "when its time is over", "ended")
		if !errors.Is(x.ended[0], engine.ErrSessionLockLost) {
			t.Errorf("got %v", x.ended)
		}
	})
}

// A receiver that closes while the store accepts no writes is detached all the same. Its
// session stays locked until the lock expires (SES-7, DEC-5).
func TestLinkDetachesWhileReadOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{RequiresSession: true, LockDuration: 30 * time.Second})
		ofS := []broker.Outgoing{{Content: engine.Content{SessionID: "s"}}}
		send := func() error { _, err := w.Send(t.Context(), "q", ofS, "me"); return err }
		w.must(send())
		l, x := w.attach(broker.AttachRequest{Path: "q", Session: engine.SessionRequest{Want: engine.NextSession}})
		w.must(l.AddCredit(t.Context(), 5, x.answered("credit")))
		w.hears(x, "at first", "accepted s", "credit", "#1")
		held, err := w.AcceptSession(t.Context(), broker.AcceptRequest{Path: "q", Session: new("other")})
		w.must(err)
		w.store.breaks(fmt.Errorf("%w: full", engine.ErrUnwritable), false)
		w.refused(send())
		err = l.Detach(t.Context(), engine.DetachedByClient)
		if w.refused(err); !errors.Is(err, broker.ErrSessionKept) {
			t.Errorf("got %v", err)
		}
		w.must(held.Close(t.Context())) // detaching needs no write
		if err := held.Err(); !errors.Is(err, broker.ErrSessionEnded) {
			t.Errorf("after Close: %v", err)
		}
		w.store.breaks(nil, false)
		time.Sleep(5 * time.Second)
		w.must(send())
		w.hears(x, "after it has left")
		again := broker.AttachRequest{Path: "q", Session: engine.SessionRequest{Want: engine.NamedSession, ID: "s"}}
		if _, err := w.Attach(t.Context(), again, &box{}); !errors.Is(err, engine.ErrSessionLocked) {
			t.Errorf("before the session's lock expired: %v", err)
		}
		time.Sleep(30 * time.Second)
		l, y := w.attach(again)
		w.must(l.AddCredit(t.Context(), 5, y.answered("credit")))
		w.hears(y, "afterwards", "accepted s", "credit", "#1", "#2")
		if n := y.got[0].Message.DeliveryCount; n != 1 {
			t.Errorf("the first message has failed %d times", n)
		}
	})
}

// A caller whose context ends before there is room for its send gets an error, and its message is
// not sent.
func TestSubmitGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{InboxOps: 1})
		w.CreateQueue("q", engine.Config{})
		until := make(chan struct{})
		w.store.holds(until)
		x := &box{}
		sends := func(ctx context.Context) error {
			return w.SubmitSend(ctx, "q", []broker.Outgoing{{Body: make([]byte, 100_000)}}, "me", func(seqs []engine.Seq, err error) { x.say(fmt.Sprint(seqs, err)) })
		}
		w.must(sends(t.Context()))
		synctest.Wait() // the owner's goroutine waits for the store now
		w.must(sends(t.Context()))
		gone, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		failed := make(chan error, 1)
		go func() { failed <- sends(gone) }()
		time.Sleep(2 * time.Second)
		close(until)
		if err := <-failed; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		w.hears(x, "those that came in", "[1] <nil>", "[2] <nil>")
		if n := w.Counts("q").Active; n != 2 {
			t.Errorf("%d messages", n)
		}
	})
}
