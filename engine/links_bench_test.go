package engine_test

import (
	"fmt"
	"testing"

	"mayfly/engine"
)

// newAttached returns a bench whose limits allow n receivers.
func newAttached(b *testing.B, c engine.Config, n int) *bench {
	b.Helper()
	w := newBench(b, c)
	limits := w.ns.Limits()
	limits.AttachedReceivers = int64(n)
	w.ns = engine.New(engine.Options{Limits: limits, Keys: w.keys, Nonce: w.rand.Uint64})
	if _, err := w.ns.Create(w.now, engine.Queue, "q", c, ""); err != nil {
		b.Fatal(err)
	}
	return w
}

// attach attaches n receivers numbered from 1, each to its own session if there are sessions.
func (w *bench) attach(b *testing.B, n int, want engine.SessionWant) {
	b.Helper()
	for i := range n {
		l := engine.Link{ID: engine.LinkID(i + 1), Path: "q", Session: engine.SessionRequest{Want: want}}
		if want == engine.NamedSession {
			l.Session.ID = fmt.Sprint(i)
		}
		if err := w.ns.Attach(w.now, l); err != nil {
			b.Fatal(err)
		}
		if i%1000 == 0 {
			w.seal()
		}
	}
	w.seal()
}

// BenchmarkLoseSessions measures the expiry of 80,000 session locks.
func BenchmarkLoseSessions(b *testing.B) {
	const held = 80_000
	for b.Loop() {
		b.StopTimer()
		w := newAttached(b, engine.Config{RequiresSession: true, LockDuration: minute}, held)
		w.attach(b, held, engine.NamedSession)
		w.now = w.now.Add(minute)
		b.StartTimer()
		for more := true; more; {
			more = w.ns.Sweep(w.now, 2048)
			w.seal()
		}
	}
}

// BenchmarkIdleReceivers measures a receiver that receives one message after another, beside
// 20,000 attached receivers without credit.
func BenchmarkIdleReceivers(b *testing.B) {
	const idle = 20_000
	w := newAttached(b, engine.Config{}, idle)
	w.attach(b, idle, engine.NoSession)
	for b.Loop() {
		if err := w.ns.Credit(w.now, 1, 1); err != nil {
			b.Fatal(err)
		}
		w.ns.Match(w.now)
		w.seal()
		w.ns.Withdraw(w.now, 1, 1)
	}
}
