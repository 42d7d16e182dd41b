package engine_test

import (
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"time"

	"mayfly/engine"
)

// bench is a namespace with one queue "q", and with its own clock and keys.
type bench struct {
	ns   *engine.Namespace
	keys *engine.Keys
	now  engine.Instant
	rand *rand.Rand
}

func newBench(b *testing.B, c engine.Config) *bench {
	b.Helper()
	limits := engine.DefaultLimits()
	limits.EntitySize, limits.BatchSize = 0, 1<<40
	c.MaxSizeInMegabytes = 80_000
	w := &bench{keys: engine.NewKeys(1), now: 1_800_000_000_000, rand: rand.New(rand.NewPCG(1, 2))}
	w.ns = engine.New(engine.Options{Limits: limits, Keys: w.keys, Nonce: w.rand.Uint64})
	if _, err := w.ns.Create(w.now, engine.Queue, "q", c, ""); err != nil {
		b.Fatal(err)
	}
	return w
}

// seal flushes and seals, as if everything was committed.
func (w *bench) seal() engine.Effects {
	fx := w.ns.Flush(w.now, true)
	w.ns.Seal(true)
	return fx
}

func (w *bench) send(b *testing.B, n int, ttl func() time.Duration) {
	b.Helper()
	batch := make([]engine.Submission, n)
	for i := range batch {
		c := engine.Content{MessageID: strconv.Itoa(i), Subject: "order.placed", TTL: ttl()}
		s, err := engine.Submit(c, nil, 1024, w.keys.Next(), w.ns.Limits())
		if err != nil {
			b.Fatal(err)
		}
		s.Staged = false
		batch[i] = s
	}
	if _, err := w.ns.Send(w.now, "q", batch, ""); err != nil {
		b.Fatal(err)
	}
	w.seal()
}

// fill sends n messages with different times to live.
func (w *bench) fill(b *testing.B, n int) {
	b.Helper()
	for ; n > 0; n -= 1000 {
		w.send(b, min(n, 1000), w.mixed)
	}
}

func (w *bench) mixed() time.Duration {
	return time.Hour + time.Duration(w.rand.Int64N(int64(time.Hour)))
}

// BenchmarkLife measures sending, receiving and completing one message at a time, without a
// store.
func BenchmarkLife(b *testing.B) {
	for _, depth := range []int{0, 1_000_000} {
		b.Run("depth="+strconv.Itoa(depth), func(b *testing.B) {
			w := newBench(b, engine.Config{})
			w.fill(b, depth)
			if err := w.ns.Attach(w.now, engine.Link{ID: 1, Path: "q"}); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				w.send(b, 1, w.mixed)
				if err := w.ns.Credit(w.now, 1, 1); err != nil {
					b.Fatal(err)
				}
				w.ns.Match(w.now)
				fx := w.seal()
				w.ns.ReleaseBody(fx.Deliveries[0].Pin)
				if err := w.ns.Settle(w.now, engine.Settlement{Token: fx.Deliveries[0].Token()}); err != nil {
					b.Fatal(err)
				}
				w.seal()
			}
		})
	}
}

// BenchmarkExpire measures the move of expired messages to the dead-letter subqueue.
func BenchmarkExpire(b *testing.B) {
	w := newBench(b, engine.Config{DeadLetteringOnMessageExpiration: true})
	w.fill(b, b.N)
	w.now = w.now.Add(3 * time.Hour)
	b.ResetTimer()
	for w.ns.Sweep(w.now, 2048) {
		w.seal()
	}
	w.seal()
}

// BenchmarkHeap measures the memory of a waiting message, with bodies on disk.
func BenchmarkHeap(b *testing.B) {
	const n = 1_000_000
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := heap()
		w := newBench(b, engine.Config{})
		w.fill(b, n)
		after := heap()
		strings := n * len(engine.Content{MessageID: "000", Subject: "order.placed", TTL: time.Hour, BodySize: 1024}.Pack())
		b.ReportMetric(float64(after-before)/n, "B/message")
		b.ReportMetric(float64(int(after-before)-strings)/n, "B/message-without-strings")
		runtime.KeepAlive(w)
	}
}

// BenchmarkForwardChain sends messages to a queue from which they are forwarded four times, as
// many at a time as in a busy turn. The result is per message, with four hops each.
func BenchmarkForwardChain(b *testing.B) {
	w := newBench(b, engine.Config{})
	last := "q"
	for i := range 4 {
		next := strconv.Itoa(i)
		if _, err := w.ns.Create(w.now, engine.Queue, engine.Path(next), engine.Config{}, ""); err != nil {
			b.Fatal(err)
		}
		if _, err := w.ns.Update(w.now, engine.Path(last), engine.Config{ForwardTo: next}, ""); err != nil {
			b.Fatal(err)
		}
		last = next
	}
	const turn = 256
	sent := 0
	for b.Loop() {
		w.send(b, turn, w.mixed)
		for more := true; more; {
			more = w.ns.Sweep(w.now, 2048)
		}
		sent += turn
		w.seal()
		b.StopTimer() // so that the last queue does not grow without bound
		pg, err := w.ns.BeginPurge(w.now, engine.Path(last), []engine.Class{engine.ClassActive})
		for err == nil && !pg.Done {
			err = w.ns.PurgeSlice(w.now, &pg, turn, "")
		}
		if err != nil || pg.Removed != turn {
			b.Fatal(pg.Removed, err)
		}
		w.seal()
		b.StartTimer()
	}
	b.ReportMetric(float64(sent)/b.Elapsed().Seconds(), "messages/s")
}
