package broker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// say sends messages to a session.
func (w *world) say(to engine.Path, session string, texts ...string) {
	w.Helper()
	for _, s := range texts {
		w.SendMessages(to, broker.Outgoing{Content: engine.Content{SessionID: session}, Body: []byte(s)})
	}
}

func (w *world) accept(in broker.AcceptRequest) *broker.Session {
	w.Helper()
	in.Path = "q"
	s, err := w.AcceptSession(w.Context(), in)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// texts returns the bodies that a session's receiver gets.
func (w *world) texts(s *broker.Session, limit int, wait time.Duration) string {
	w.Helper()
	got, err := s.Receive(w.Context(), limit, wait)
	if err != nil {
		w.Fatal(err)
	}
	var all []string
	for _, r := range got {
		all = append(all, text(w.T, r))
	}
	return fmt.Sprint(all)
}

func (w *world) session(id string) engine.SessionRow {
	w.Helper()
	var row engine.SessionRow
	err := w.Read(w.Context(), func(r broker.Reader) (err error) {
		row, _, err = r.SessionRow("q", id)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return row
}

func in(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{RequiresSession: true, LockDuration: time.Minute})
		test(w)
	})
}

// SES-2, SES-8: two receivers that accept the next session get different sessions, and each
// receives only the messages of its own.
func TestSessionReceivers(t *testing.T) {
	in(t, func(w *world) {
		w.say("q", "a", "a1")
		w.say("q", "b", "b1")
		w.say("q", "a", "a2")
		a := w.accept(broker.AcceptRequest{Client: "first"})
		b := w.accept(broker.AcceptRequest{Client: "second"})
		if a.ID() != "a" || b.ID() != "b" || a.LockedUntil() != w.ClockTime().Add(time.Minute) {
			t.Fatalf("the receivers hold %q until %v and %q", a.ID(), a.LockedUntil(), b.ID())
		}
		if got := w.texts(a, 10, 0) + w.texts(b, 10, 0); got != "[a1 a2][b1]" {
			t.Fatalf("got %s", got)
		}
		if got := w.texts(b, 1, 0); got != "[]" {
			t.Fatalf("got %s", got)
		}
		if r := w.session("a"); r.Lock.By != "first" || r.Locked != 2 || !r.Attached {
			t.Fatalf("session a is %+v", r)
		}
		// A message that arrives while a receiver waits is delivered at once; the rest of the
		// receiver's credit is taken back.
		served := make(chan string)
		began := time.Now()
		go func() { served <- w.texts(b, 5, time.Hour) }()
		time.Sleep(20 * time.Second)
		w.say("q", "b", "b2")
		if got := <-served; got != "[b2]" || time.Since(began) != 20*time.Second {
			t.Fatalf("got %s after %v", got, time.Since(began))
		}
		w.say("q", "b", "b3")
		if r := w.session("b"); r.Active != 1 || r.Locked != 2 {
			t.Fatalf("session b is %+v", r)
		}
		if got := w.texts(b, 1, time.Second); got != "[b3]" {
			t.Fatalf("got %s", got)
		}
		if got := w.texts(b, 1, time.Second); got != "[]" || time.Since(began) != 21*time.Second {
			t.Fatalf("got %s after %v", got, time.Since(began))
		}
	})
}

// SES-3, SES-4, SES-17: a receiver that waits in vain gets an error when the time is up, and
// one that names a taken session gets it at once.
func TestSessionTimeouts(t *testing.T) {
	in(t, func(w *world) {
		began := time.Now()
		_, err := w.AcceptSession(w.Context(), broker.AcceptRequest{Path: "q"})
		if !errors.Is(err, engine.ErrTimeout) || time.Since(began) != 0 {
			t.Fatalf("got %v after %v", err, time.Since(began))
		}
		_, err = w.AcceptSession(w.Context(), broker.AcceptRequest{Path: "q", Wait: 3 * time.Second})
		if !errors.Is(err, engine.ErrTimeout) || time.Since(began) != 3*time.Second {
			t.Fatalf("got %v after %v", err, time.Since(began))
		}
		w.say("q", "s", "m") // no receiver keeps its lock
		s := w.accept(broker.AcceptRequest{Session: new("s")})
		_, err = w.AcceptSession(w.Context(), broker.AcceptRequest{Path: "q", Session: new("s"), Wait: time.Hour})
		if !errors.Is(err, engine.ErrSessionLocked) || !strings.Contains(err.Error(), "'s'") || time.Since(began) != 3*time.Second {
			t.Fatalf("got %v after %v", err, time.Since(began))
		}
		waiting := make(chan *broker.Session)
		go func() { waiting <- w.accept(broker.AcceptRequest{Wait: time.Hour}) }()
		time.Sleep(time.Second)
		if err := s.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		if next := <-waiting; next.ID() != "s" || w.texts(next, 1, 0) != "[m]" || time.Since(began) != 4*time.Second {
			t.Fatalf("got %q after %v", next.ID(), time.Since(began))
		}
		if _, err := w.AcceptSession(w.Context(), broker.AcceptRequest{Path: "nowhere"}); !errors.Is(err, engine.ErrNotFound) {
			t.Fatalf("got %v", err)
		}
	})
}

// SES-5, SES-6: the lock expires on time unless it is renewed. Then every method reports that,
// and the messages have failed once.
func TestSessionLost(t *testing.T) {
	in(t, func(w *world) {
		w.say("q", "s", "m")
		s := w.accept(broker.AcceptRequest{})
		w.texts(s, 1, 0)
		time.Sleep(59 * time.Second)
		until, err := s.Renew(w.Context())
		if err != nil || until != w.ClockTime().Add(time.Minute) || s.LockedUntil() != until {
			t.Fatalf("renewed until %v: %v", until, err)
		}
		failed := make(chan error)
		go func() {
			_, err := s.Receive(w.Context(), 1, time.Hour)
			failed <- err
		}()
		time.Sleep(time.Minute - time.Millisecond)
		if s.Err() != nil {
			t.Fatalf("a millisecond early: %v", s.Err())
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		select {
		case <-s.Done():
		default:
			t.Fatal("Done was not closed when the lock expired")
		}
		_, again := s.Receive(w.Context(), 1, time.Hour)
		_, renewed := s.Renew(w.Context())
		_, _, read := s.State(w.Context())
		_, fetched := s.ReceiveDeferred(w.Context(), []engine.Seq{1}, engine.PeekLock)
		for what, err := range map[string]error{
			"waiting": <-failed, "receiving": again, "renewing": renewed, "reading": read, "fetching": fetched,
			"writing": s.SetState(w.Context(), new("x")), "it": s.Err(),
		} {
			if !errors.Is(err, engine.ErrSessionLockLost) || err.Error() != engine.SessionLockLostText {
				t.Errorf("%s: %v", what, err)
			}
		}
		got, err := w.accept(broker.AcceptRequest{}).Receive(w.Context(), 1, 0)
		if err != nil || got[0].Message.DeliveryCount != 1 {
			t.Fatalf("got %+v: %v", got, err)
		}
		if err := s.Close(w.Context()); err != nil || w.session("s").Locked != 1 {
			t.Fatal("closing a lost session also closed another receiver's")
		}
	})
}

// SES-7, DEC-5: closing a session unlocks the session and its messages at once. If the receiver
// only disconnects, the lock lasts until it expires.
func TestSessionClosed(t *testing.T) {
	in(t, func(w *world) {
		w.say("q", "s", "m1", "m2")
		s := w.accept(broker.AcceptRequest{})
		w.texts(s, 1, 0)
		if err := s.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Receive(w.Context(), 1, time.Hour); !errors.Is(err, broker.ErrSessionEnded) || !errors.Is(s.Err(), broker.ErrSessionEnded) {
			t.Fatalf("got %v", err)
		}
		s = w.accept(broker.AcceptRequest{})
		if got := w.texts(s, 2, 0); got != "[m1 m2]" || w.session("s").Locked != 2 {
			t.Fatalf("got %s", got)
		}
		if err := s.Disconnect(w.Context()); err != nil {
			t.Fatal(err)
		}
		if r := w.session("s"); r.Attached || r.Locked != 2 {
			t.Fatalf("the session is %+v", r)
		}
		began := time.Now()
		got, err := w.accept(broker.AcceptRequest{Wait: time.Hour}).Receive(w.Context(), 2, 0)
		if err != nil || len(got) != 2 || got[0].Message.DeliveryCount != 1 || time.Since(began) != time.Minute {
			t.Fatalf("got %+v after %v: %v", got, time.Since(began), err)
		}
	})
}

// Closing a session while receivers wait in it ends their waits with ErrSessionEnded, and a later
// message is not locked.
func TestSessionClosedWhileReceiving(t *testing.T) {
	in(t, func(w *world) {
		s := w.accept(broker.AcceptRequest{Session: new("s")})
		failed := make(chan error)
		for range 2 { // the second waits for the first
			go func() {
				_, err := s.Receive(w.Context(), 1, time.Hour)
				failed <- err
			}()
		}
		synctest.Wait()
		if err := s.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := <-failed; !errors.Is(err, broker.ErrSessionEnded) {
				t.Fatalf("got %v", err)
			}
		}
		w.say("q", "s", "m")
		if r := w.session("s"); r.Active != 1 || r.LockedUntil != 0 {
			t.Fatalf("the session is %+v", r)
		}
	})
}

// A message that is being delivered to a session when the session is closed is unlocked again,
// and is not returned with an invalid token.
func TestSessionClosedWhileServed(t *testing.T) {
	in(t, func(w *world) {
		s := w.accept(broker.AcceptRequest{Session: new("s")})
		failed := make(chan error)
		go func() {
			got, err := s.Receive(w.Context(), 1, time.Hour)
			if len(got) > 0 {
				t.Errorf("got %s", text(t, got[0]))
			}
			failed <- err
		}()
		synctest.Wait()
		held := make(chan struct{})
		w.store.holds(held)
		go func() {
			out := []broker.Outgoing{{Content: engine.Content{SessionID: "s"}, Body: []byte("m")}}
			if _, err := w.Send(w.Context(), "q", out, ""); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		go func() {
			if err := s.Close(w.Context()); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		w.store.holds(nil)
		close(held)
		if err := <-failed; !errors.Is(err, broker.ErrSessionEnded) {
			t.Fatalf("got %v", err)
		}
		if c := w.Counts("q"); c != (engine.Counts{Active: 1}) {
			t.Fatalf("there is %+v", c)
		}
	})
}

// After the context of a waiting call has ended, nothing is locked for its caller. A delivery that
// is already being committed is still returned.
func TestSessionCancelled(t *testing.T) {
	in(t, func(w *world) {
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(w.Context())
		failed := make(chan error)
		go func() {
			_, err := w.AcceptSession(ctx, broker.AcceptRequest{Path: "q", Wait: time.Hour})
			failed <- err
		}()
		synctest.Wait()
		cancel(gone)
		if err := <-failed; !errors.Is(err, gone) {
			t.Fatalf("got %v", err)
		}
		w.say("q", "s", "m1")
		s := w.accept(broker.AcceptRequest{})
		w.texts(s, 1, 0)
		ctx, cancel = context.WithCancelCause(w.Context())
		go func() {
			_, err := s.Receive(ctx, 1, time.Hour)
			failed <- err
		}()
		synctest.Wait()
		cancel(gone)
		if err := <-failed; !errors.Is(err, gone) {
			t.Fatalf("got %v", err)
		}
		w.say("q", "s", "m2")
		if r := w.session("s"); r.Active != 1 || r.Locked != 1 {
			t.Fatalf("the session is %+v", r)
		}

		// The commit that delivers the message is under way when the caller leaves.
		w.say("q", "d", "m3")
		s = w.accept(broker.AcceptRequest{Session: new("d"), Mode: engine.ReceiveAndDelete})
		held := make(chan struct{})
		w.store.holds(held)
		ctx, cancel = context.WithCancelCause(w.Context())
		won := make(chan string)
		go func() {
			got, err := s.Receive(ctx, 1, time.Hour)
			if err != nil {
				won <- err.Error()
				return
			}
			won <- text(t, got[0])
		}()
		synctest.Wait()
		cancel(gone)
		synctest.Wait()
		w.store.holds(nil)
		close(held)
		if got := <-won; got != "m3" {
			t.Fatalf("got %q", got)
		}
	})
}

// If the context of an AcceptSession ends while the session is already being granted,
// AcceptSession returns the session.
func TestSessionGrantedWhileLeaving(t *testing.T) {
	in(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		won := make(chan *broker.Session)
		go func() {
			s, err := w.AcceptSession(ctx, broker.AcceptRequest{Path: "q", Wait: time.Hour})
			if err != nil {
				t.Errorf("got %v", err)
			}
			won <- s
		}()
		synctest.Wait()
		held := make(chan struct{})
		w.store.holds(held)
		go func() { // this commit grants the session
			out := []broker.Outgoing{{Content: engine.Content{SessionID: "s"}, Body: []byte("m")}}
			if _, err := w.Send(w.Context(), "q", out, ""); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		w.store.holds(nil)
		close(held)
		if s := <-won; s == nil || s.ID() != "s" || w.texts(s, 1, 0) != "[m]" {
			t.Fatalf("got %+v", s)
		}
	})
}

// The broker's methods set and read a session's state (SES-11), list sessions (SES-12), fetch
// deferred messages in a session (DEF-14), peek in a session (PEEK-5), and break its lock (OPS-6).
func TestSessionSteps(t *testing.T) {
	in(t, func(w *world) {
		ctx := w.Context()
		w.say("q", "s", "m1", "m2")
		w.say("q", "t", "m3")
		s := w.accept(broker.AcceptRequest{Session: new("s"), Mode: engine.PeekLock})
		if err := s.SetState(ctx, new("half way")); err != nil {
			t.Fatal(err)
		}
		if state, set, err := s.State(ctx); state != "half way" || !set || err != nil {
			t.Fatalf("the state is %q, %v: %v", state, set, err)
		}
		got, err := s.Receive(ctx, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		if errs, err := w.Settle(ctx, engine.Settlement{Token: got[0].Token(), Outcome: engine.Defer, Path: "q"}); err != nil || errs[0] != nil {
			t.Fatal(errs, err)
		}
		fetched, err := s.ReceiveDeferred(ctx, []engine.Seq{1}, engine.PeekLock)
		if err != nil || text(t, fetched[0]) != "m1" {
			t.Fatalf("fetched %v: %v", fetched, err)
		}
		if ids, err := w.SessionIDs(ctx, "q", 0, 1, 5); err != nil || fmt.Sprint(ids) != "[t]" {
			t.Fatalf("listed %v: %v", ids, err)
		}
		if rows, err := w.PeekSession(ctx, "q", "t", 0, 5, ""); err != nil || len(rows) != 1 || rows[0].Message.Seq != 3 {
			t.Fatalf("peeked %v: %v", rows, err)
		}
		if err := w.SetSessionStateAt(ctx, "q", "t", new("by hand"), "operator"); err != nil {
			t.Fatal(err)
		}
		err = w.Read(ctx, func(r broker.Reader) error {
			rows, err := r.SessionRows("q", "t", 5)
			state, set, err2 := r.SessionStateAt("q", "t")
			if len(rows) != 1 || rows[0].ID != "t" || state != "by hand" || !set {
				t.Errorf("there is %+v, %q", rows, state)
			}
			return errors.Join(err, err2)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.BreakSession(ctx, "q", "s", "operator"); err != nil {
			t.Fatal(err)
		}
		<-s.Done() // the session ends after BreakSession returns
		if !errors.Is(s.Err(), engine.ErrSessionLockLost) {
			t.Fatalf("it is %v", s.Err())
		}
		if errs, err := w.Settle(ctx, engine.Settlement{Token: fetched[0].Token(), Path: "q"}); err != nil || !errors.Is(errs[0], engine.ErrSessionLockLost) {
			t.Fatal(errs, err)
		}
	})
}

// A message that is received and deleted is returned, even if its session ended meanwhile.
func TestSessionDeletes(t *testing.T) {
	in(t, func(w *world) {
		w.say("q", "s", "m1", "m2")
		s := w.accept(broker.AcceptRequest{Mode: engine.ReceiveAndDelete})
		held := make(chan struct{})
		w.store.holds(held)
		won := make(chan string)
		go func() { won <- w.texts(s, 1, time.Hour) }()
		synctest.Wait()
		go func() {
			if err := s.Close(w.Context()); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		w.store.holds(nil)
		close(held)
		if got := <-won; got != "[m1]" {
			t.Fatalf("got %s", got)
		}
		if c := w.Counts("q"); c != (engine.Counts{Active: 1}) {
			t.Fatalf("there is %+v", c)
		}
	})
}

// The holder of a session is notified when the store fails or the broker is closed.
func TestSessionsEndWithTheBroker(t *testing.T) {
	in(t, func(w *world) {
		s := w.accept(broker.AcceptRequest{Session: new("s")})
		if err := s.SetState(w.Context(), new("kept")); err != nil {
			t.Fatal(err)
		}
		waits := make(chan error)
		go func() {
			_, err := w.AcceptSession(w.Context(), broker.AcceptRequest{Path: "q", Wait: time.Hour})
			waits <- err
		}()
		synctest.Wait()
		w.store.breaks(errors.New("the cable was pulled"), false)
		if _, err := w.Send(w.Context(), "q", []broker.Outgoing{{Content: engine.Content{SessionID: "s"}}}, ""); err == nil {
			t.Fatal("the send succeeded")
		}
		w.store.breaks(nil, false)
		synctest.Wait()
		<-s.Done()
		if err := <-waits; !errors.Is(s.Err(), engine.ErrBusy) || !errors.Is(err, engine.ErrBusy) {
			t.Fatalf("the session's error is %v, a waiting receiver got %v", s.Err(), err)
		}
		s = w.accept(broker.AcceptRequest{Session: new("s")}) // free again
		if state, set, err := s.State(w.Context()); state != "kept" || !set || err != nil {
			t.Fatalf("the state is %q, %v: %v", state, set, err)
		}
		receives := make(chan error)
		go func() {
			_, err := s.Receive(w.Context(), 1, time.Hour)
			receives <- err
		}()
		synctest.Wait()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-receives; !errors.Is(err, engine.ErrClosed) || !errors.Is(s.Err(), engine.ErrClosed) {
			t.Fatalf("got %v", err)
		}
		if err := s.Close(w.Context()); !errors.Is(err, engine.ErrClosed) {
			t.Fatalf("got %v", err)
		}
	})
}
