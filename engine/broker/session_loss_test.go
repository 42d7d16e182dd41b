package broker_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// A movedBox is a box that stays attached when it loses its session.
type movedBox struct{ box }

func (h *movedBox) SessionMoved() { h.say("succeeded") }

// A receiver that stays attached when its session's lock has expired is notified when another
// receiver gets the session, over any protocol, and at no other time (sdk-demands 8).
func TestFormerSessionReceiverIsNotified(t *testing.T) {
	const lock = 30 * time.Second
	s := engine.SessionRequest{Want: engine.NamedSession, ID: "s"}
	for name, tc := range map[string]struct {
		then func(w *world, l *broker.Link)
		want []string
	}{
		"by a receiver": {func(w *world, _ *broker.Link) { w.attach(broker.AttachRequest{Path: "Q", Session: s}) }, []string{"succeeded"}},
		"by who comes and goes": {func(w *world, _ *broker.Link) {
			_, err := w.AcceptSession(w.Context(), broker.AcceptRequest{Path: "q", Session: new("s")})
			w.must(err)
		}, []string{"succeeded"}},
		"by two":                 {func(w *world, _ *broker.Link) { w.takeTurns("s", lock) }, []string{"succeeded"}},
		"by nobody":              {func(*world, *broker.Link) { time.Sleep(time.Hour) }, nil},
		"not in another session": {func(w *world, _ *broker.Link) { w.takeTurns("r", lock) }, nil},
		"not once it is detached": {func(w *world, l *broker.Link) {
			w.must(l.Detach(w.Context(), engine.DetachedLost))
			w.takeTurns("s", lock)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, broker.Options{})
				w.CreateQueue("q", engine.Config{RequiresSession: true, LockDuration: lock})
				x := &movedBox{}
				l, err := w.Attach(t.Context(), broker.AttachRequest{Path: "q", Session: s}, x)
				w.must(err)
				w.hears(&x.box, "at first", "accepted s")
				time.Sleep(lock)
				w.hears(&x.box, "when its time is over", "ended")
				tc.then(w, l)
				w.hears(&x.box, "then", tc.want...)
			})
		})
	}
}

// When a session's lock expires and another receiver gets the session in the same turn, its
// former receiver is notified of both, in that order.
func TestFormerSessionReceiverIsNotifiedInTheSameTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{NoSweep: true})
		w.CreateQueue("q", engine.Config{RequiresSession: true, LockDuration: 30 * time.Second})
		in := broker.AttachRequest{Path: "q", Session: engine.SessionRequest{Want: engine.NamedSession, ID: "s"}}
		x := &movedBox{}
		_, err := w.Attach(t.Context(), in, x)
		w.must(err)
		time.Sleep(30 * time.Second)
		w.attach(in)
		w.hears(&x.box, "", "accepted s", "ended", "succeeded")
	})
}

// After a receiver's session lock has expired, another receiver accepts the session and loses it
// in the same turn. The first is notified that it was succeeded, the second only that it lost the
// session.
func TestReceiverThatLosesItsSessionInTheSameTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{RequiresSession: true, LockDuration: 30 * time.Second})
		w.CreateQueue("plain", engine.Config{})
		in := broker.AttachRequest{Path: "q", Session: engine.SessionRequest{Want: engine.NamedSession, ID: "s"}}
		x, y := &movedBox{}, &movedBox{}
		_, err := w.Attach(t.Context(), in, x)
		w.must(err)
		time.Sleep(30 * time.Second)
		w.hears(&x.box, "when its time is over", "accepted s", "ended")
		until := make(chan struct{})
		w.store.holds(until)
		var all sync.WaitGroup
		for _, do := range []func() error{
			func() error {
				_, err := w.Broker.Send(w.Context(), "plain", make([]broker.Outgoing, 1), "me")
				return err
			},
			func() error { _, err := w.Attach(w.Context(), in, y); return err },
			func() error { return w.BreakSession(w.Context(), "q", "s", "operator") },
		} {
			all.Go(func() {
				if err := do(); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		close(until)
		all.Wait()
		w.hears(&x.box, "the first", "succeeded")
		w.hears(&y.box, "the second", "accepted s", "ended")
	})
}

// takeTurns lets two receivers hold the session, one after the other, each until its lock expires.
func (w *world) takeTurns(id string, lock time.Duration) {
	w.Helper()
	for range 2 {
		w.attach(broker.AttachRequest{Path: "q", Session: engine.SessionRequest{Want: engine.NamedSession, ID: id}})
		time.Sleep(lock)
	}
}
