package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
	"mayfly/storage"
)

// BenchmarkSearch searches many messages with bodies of 1 KB in a file. It measures the time to
// the first hit, the bytes of bodies read per second, and the latency of sends with and without
// a search. MAYFLY_SEARCH is the number of messages, by default 50,000.
func BenchmarkSearch(b *testing.B) {
	n := 50_000
	if v, err := strconv.Atoi(os.Getenv("MAYFLY_SEARCH")); err == nil {
		n = v
	}
	br := manyMessages(b, n)
	for name, text := range map[string]string{"rows": "subject:nobody", "bodies": "body:nobody", "json": "json.customer.id:-1", "common": "n*7"} {
		q, err := search.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			var first time.Duration
			var last broker.SearchProgress
			for b.Loop() {
				begin := time.Now()
				first = 0
				err := br.Search(b.Context(), broker.SearchRequest{Query: q}, func(g broker.SearchProgress) error {
					if len(g.Hits) > 0 && first == 0 {
						first = time.Since(begin)
					}
					last = g
					return nil
				})
				if err != nil || last.Scanned != int64(n) {
					b.Fatal(last, err)
				}
			}
			per := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(float64(n)/per, "messages/s")
			b.ReportMetric(float64(last.Bytes)/1e6/per, "MB/s")
			if first > 0 {
				b.ReportMetric(float64(first.Microseconds())/1e3, "ms-to-first")
			}
		})
	}
	q, err := search.Parse("body:nobody")
	if err != nil {
		b.Fatal(err)
	}
	for name, pace := range map[string]time.Duration{"senders": 0, "paced": 4 * time.Millisecond} {
		b.Run(name, func(b *testing.B) { besideSenders(b, br, q, pace) })
	}
}

// besideSenders compares four senders with a search running beside them and without one, in turn,
// and reports the latencies of their messages and how much the searches read. Each sender sends as
// fast as possible, or one message per `pace` if that is set.
func besideSenders(b *testing.B, br *broker.Broker, q *search.Query, pace time.Duration) {
	for b.Loop() {
		var alone, beside []time.Duration
		var read int64
		for range 6 { // alternating, because the machine's speed varies
			alone = append(alone, sendFor(b, br, 2*time.Second, pace)...)
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				for ctx.Err() == nil {
					var so int64
					if err := br.Search(ctx, broker.SearchRequest{Query: q}, func(g broker.SearchProgress) error { so = g.Bytes; return nil }); err != nil && ctx.Err() == nil {
						b.Error(err)
					}
					read += so
				}
			}()
			beside = append(beside, sendFor(b, br, 2*time.Second, pace)...)
			cancel()
			<-done
		}
		for _, at := range []struct {
			name string
			all  []time.Duration
		}{{"alone", alone}, {"beside", beside}} {
			slices.Sort(at.all)
			b.ReportMetric(float64(len(at.all))/12, at.name+"-sends/s")
			b.ReportMetric(float64(at.all[len(at.all)/2].Microseconds())/1e3, at.name+"-p50-ms")
			b.ReportMetric(float64(at.all[len(at.all)*99/100].Microseconds())/1e3, at.name+"-p99-ms")
		}
		b.ReportMetric(float64(read)/12e6, "beside-MB/s")
	}
}

// sendFor returns the latencies of the messages of four senders. A sender that is behind its pace
// does not wait, and a latency counts from when the message was due.
func sendFor(b *testing.B, br *broker.Broker, d, pace time.Duration) (all []time.Duration) {
	until := time.Now().Add(d)
	took := make(chan []time.Duration)
	var failed atomic.Pointer[error]
	for range 4 {
		go func() {
			var mine []time.Duration
			for begin := time.Now(); begin.Before(until); begin = begin.Add(pace) {
				if pace == 0 {
					begin = time.Now()
				}
				<-time.After(time.Until(begin))
				if _, err := br.Send(b.Context(), "sink", []broker.Outgoing{{Body: make([]byte, 1024)}}, ""); err != nil {
					failed.Store(&err)
					break
				}
				mine = append(mine, time.Since(begin))
			}
			took <- mine
		}()
	}
	for range 4 {
		all = append(all, <-took...)
	}
	if err := failed.Load(); err != nil {
		b.Fatal(*err)
	}
	return all
}

func manyMessages(b *testing.B, n int) *broker.Broker {
	limits := engine.DefaultLimits()
	limits.BatchSize = 1 << 30
	url := "sqlite:" + filepath.Join(b.TempDir(), "search.db")
	br, err := broker.Open(b.Context(), func(ctx context.Context) (engine.Store, error) { return storage.Open(ctx, url, storage.Options{}) }, broker.Options{Limits: &limits})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := br.Close(); err != nil {
			b.Error(err)
		}
	})
	for _, p := range []engine.Path{"many", "sink"} {
		if _, err := br.Create(b.Context(), engine.Queue, p, engine.Config{MaxSizeInMegabytes: 5120}, ""); err != nil {
			b.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < n; i += 1000 {
		var out []broker.Outgoing
		for j := range 1000 {
			body := fmt.Appendf(nil, `{"number":%d,"customer":{"id":%d,"name":"customer %x"},"text":"`, i+j, r.IntN(1000), r.Uint64())
			for len(body) < 1022 {
				body = append(body, "the quick brown fox jumps over the lazy dog "[r.IntN(44)])
			}
			out = append(out, broker.Outgoing{Content: engine.Content{Subject: fmt.Sprintf("number %d", i+j), MessageID: fmt.Sprintf("id-%d", i+j)}, Body: append(body, `"}`...)})
		}
		if _, err := br.Send(b.Context(), "many", out, ""); err != nil {
			b.Fatal(err)
		}
	}
	return br
}
