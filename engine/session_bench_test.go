package engine_test

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"

	"mayfly/engine"
)

const manySessions = 100_000

// say sends n messages to new sessions, whose names are numbers from `from` on.
func (w *bench) say(b *testing.B, from, n int) {
	b.Helper()
	batch := make([]engine.Submission, 0, min(n, 1000))
	for i := range n {
		s, err := engine.Submit(engine.Content{MessageID: strconv.Itoa(i), SessionID: "customer-" + strconv.Itoa(from+i)}, nil, 0, w.keys.Next(), w.ns.Limits())
		if err != nil {
			b.Fatal(err)
		}
		batch = append(batch, s)
		if len(batch) == cap(batch) || i == n-1 {
			if _, err := w.ns.Send(w.now, "q", batch, ""); err != nil {
				b.Fatal(err)
			}
			w.seal()
			batch = batch[:0]
		}
	}
}

// BenchmarkSessionHeap measures the memory that a session with one message takes in addition to
// the message's in a queue without sessions.
func BenchmarkSessionHeap(b *testing.B) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	fill := func(c engine.Config) float64 {
		before := heap()
		w := newBench(b, c)
		w.say(b, 0, manySessions)
		after := heap()
		runtime.KeepAlive(w)
		return float64(after-before) / manySessions
	}
	for b.Loop() {
		plain := fill(engine.Config{})
		b.ReportMetric(fill(engine.Config{RequiresSession: true})-plain, "B/session")
		b.ReportMetric(plain, "B/message")
	}
}

// BenchmarkSessions accepts the next session, receives its message, completes it and closes the
// session, among 100,000 sessions and with other receivers that wait idly in their own
// sessions. There is no store.
func BenchmarkSessions(b *testing.B) {
	for _, idle := range []int{0, 4000} {
		b.Run(fmt.Sprint("idle=", idle), func(b *testing.B) {
			w := newBench(b, engine.Config{RequiresSession: true, LockDuration: minute})
			w.say(b, 0, manySessions)
			link := engine.LinkID(0)
			attach := func(r engine.SessionRequest) {
				link++
				if err := w.ns.Attach(w.now, engine.Link{ID: link, Path: "q", Session: r}); err != nil {
					b.Fatal(err)
				}
				if err := w.ns.Credit(w.now, link, 1); err != nil {
					b.Fatal(err)
				}
			}
			for i := range idle {
				attach(engine.SessionRequest{Want: engine.NamedSession, ID: "idle-" + strconv.Itoa(i)})
			}
			w.ns.Match(w.now)
			w.seal()
			sent := manySessions
			for b.Loop() {
				w.say(b, sent, 1) // so that the number of sessions stays the same
				sent++
				attach(engine.SessionRequest{Want: engine.NextSession})
				w.ns.Match(w.now)
				fx := w.seal()
				if len(fx.Accepted) != 1 || len(fx.Deliveries) != 1 {
					b.Fatal("the receiver did not get its session and message at once")
				}
				w.ns.ReleaseBody(fx.Deliveries[0].Pin)
				if err := w.ns.Settle(w.now, engine.Settlement{Token: fx.Deliveries[0].Token()}); err != nil {
					b.Fatal(err)
				}
				w.ns.Detach(w.now, link, engine.DetachedByClient)
				w.seal()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sessions/s")
		})
	}
}
