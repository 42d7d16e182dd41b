package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mayfly/cmd/mayfly/server"
	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage"
)

// BenchmarkFigures measures the broker on the embedded store, and prints one table with the
// target of each figure:
//
//	go test ./cmd/mayfly/e2e -run '^$' -bench Figures -benchtime 1x -timeout 30m
//
// Ratios are measured in one run on one machine; absolute numbers depend on the machine.
// MAYFLY_FIGURES_MESSAGES replaces the number of one million.
func BenchmarkFigures(b *testing.B) {
	var t table
	depth := 1_000_000
	if n, err := strconv.Atoi(os.Getenv("MAYFLY_FIGURES_MESSAGES")); err == nil {
		depth = n
	}
	for _, size := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("life/batch=%d", size), func(b *testing.B) { t.life(b, size) })
	}
	b.Run("depth", func(b *testing.B) { t.depth(b, depth) })
	b.Run("lag", t.lag)
	b.Run("storm", func(b *testing.B) { t.storm(b, depth) })
	b.Run("large", t.large)
	b.Run("idle", t.idle)
	fmt.Println()
	for _, row := range t.rows {
		fmt.Println(row)
	}
}

type table struct{ rows []string }

func (t *table) row(b *testing.B, what, bar, figure string) {
	b.Helper()
	if t.rows == nil {
		t.rows = []string{"| what | bar | figure |", "| --- | --- | --- |"}
	}
	t.rows = append(t.rows, fmt.Sprintf("| %s | %s | %s |", what, bar, figure))
}

// bench is a broker with an embedded store in its own folder.
type bench struct {
	*testing.B
	*broker.Broker
	path string
}

func openBench(b *testing.B, path string) *bench {
	b.Helper()
	limits := engine.DefaultLimits()
	limits.BatchSize, limits.MessageSize = 1<<40, 200<<20
	br, err := broker.Open(b.Context(), func(ctx context.Context) (engine.Store, error) {
		return storage.Open(ctx, "sqlite:"+path, storage.Options{Logger: slog.New(slog.DiscardHandler)})
	}, broker.Options{Limits: &limits, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	return &bench{b, br, path}
}

func newBench(b *testing.B) *bench {
	b.Helper()
	w := openBench(b, filepath.Join(b.TempDir(), "bench.db"))
	b.Cleanup(func() { w.must(w.Close()) })
	return w
}

func (w *bench) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *bench) pass(d time.Duration) { pass(w.B, d) }

// pass waits for d in real time, or fails the benchmark if its context ends first.
func pass(b *testing.B, d time.Duration) {
	b.Helper()
	select {
	case <-time.After(d):
	case <-b.Context().Done():
		b.Fatal(context.Cause(b.Context()))
	}
}

func (w *bench) queue(p engine.Path, c engine.Config) {
	w.Helper()
	c.MaxSizeInMegabytes = 80_000
	_, err := w.Create(w.Context(), engine.Queue, p, c, "")
	w.must(err)
}

var kib = []byte(strings.Repeat("0123456789abcdef", 64))

func outgoing(n int, ttl func() time.Duration) []broker.Outgoing {
	out := make([]broker.Outgoing, n)
	for i := range out {
		out[i] = broker.Outgoing{Content: engine.Content{MessageID: strconv.Itoa(i), Subject: "order.placed", TTL: ttl()}, Body: kib}
	}
	return out
}

func forGood() time.Duration { return 0 }

func (w *bench) fill(p engine.Path, n int, ttl func() time.Duration) {
	w.Helper()
	for ; n > 0; n -= 4000 {
		_, err := w.Send(w.Context(), p, outgoing(min(n, 4000), ttl), "")
		w.must(err)
	}
}

// lives sends, receives and completes n times size messages, and returns messages per second.
func (w *bench) lives(p engine.Path, size, n int) float64 {
	w.Helper()
	began := time.Now()
	for range n {
		_, err := w.Send(w.Context(), p, outgoing(size, forGood), "")
		w.must(err)
		got, err := w.Receive(w.Context(), broker.ReceiveRequest{Path: p, Max: size})
		w.must(err)
		done := make([]engine.Settlement, len(got))
		for i, d := range got {
			done[i] = engine.Settlement{Token: d.Token()}
		}
		errs, err := w.Settle(w.Context(), done...)
		w.must(err)
		for _, err := range errs {
			w.must(err)
		}
	}
	return float64(size*n) / time.Since(began).Seconds()
}

// rawLives does the same puts and deletes in the same batches on the store alone.
func rawLives(b *testing.B, size, n int) float64 {
	b.Helper()
	store, err := storage.Open(b.Context(), "sqlite:"+filepath.Join(b.TempDir(), "raw.db"), storage.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	keys := engine.NewKeys(store.Epoch())
	commit := func(batch *engine.Batch) {
		if err := store.Commit(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	now := engine.At(time.Now())
	queue := engine.Entity{ID: 1, DeadLetterID: 2, TransferID: 3, Kind: engine.Queue, Path: "q", CreatedAt: now, UpdatedAt: now}
	meter := engine.Meter{Subqueue: 1, NextSeq: 1, LastUsed: now}
	commit(&engine.Batch{Hard: true, Now: now, Entities: []engine.Entity{queue}, Meters: []engine.Meter{meter}})
	packed := engine.Content{MessageID: "1", Subject: "order.placed", BodySize: int64(len(kib)), Preview: engine.Preview(kib)}.Pack()
	began := time.Now()
	var gone []engine.DroppedContent
	for range n {
		put := &engine.Batch{Hard: true, Now: now, DropContents: gone}
		gone = nil
		for range size {
			k := keys.Next()
			put.Messages = append(put.Messages, engine.Message{Key: k, Content: k, Subqueue: 1, Seq: meter.NextSeq, EnqueuedSeq: meter.NextSeq, EnqueuedAt: now})
			put.Contents = append(put.Contents, engine.StoredContent{Key: k, Content: packed})
			put.Bodies = append(put.Bodies, engine.Body{Key: k, Bytes: kib})
			meter.NextSeq++
		}
		put.Meters = []engine.Meter{meter}
		commit(put)
		lock := &engine.Batch{Now: now, Messages: slices.Clone(put.Messages)}
		drop := &engine.Batch{Hard: true, Now: now}
		for i, m := range lock.Messages {
			lock.Messages[i].LockedUntil, lock.Messages[i].Nonce = now.Add(time.Minute), uint64(i)
			drop.DropMessages = append(drop.DropMessages, m.Key)
			gone = append(gone, engine.DroppedContent{Key: m.Key, HasBody: true})
		}
		commit(lock)
		commit(drop)
	}
	return float64(size*n) / time.Since(began).Seconds()
}

func (t *table) life(b *testing.B, size int) {
	w := newBench(b)
	w.queue("q", engine.Config{})
	rounds := max(3000/size, 60)
	var ratios, rates []float64
	for b.Loop() {
		for range 5 {
			raw := rawLives(b, size, rounds)
			ours := w.lives("q", size, rounds)
			ratios, rates = append(ratios, ours/raw), append(rates, ours)
		}
	}
	b.ReportMetric(median(ratios), "of-raw")
	b.ReportMetric(median(rates), "lives/s")
	t.row(b, fmt.Sprintf("send → receive → complete, 1 KiB, durable, batches of %d, against the raw store", size), "≥ 0.5",
		fmt.Sprintf("%.2f (%.0f/s)", median(ratios), median(rates)))
}

// depth measures the memory of a waiting message, the throughput of a queue with n messages
// relative to an empty one, and a start with the full queue.
func (t *table) depth(b *testing.B, n int) {
	path := filepath.Join(b.TempDir(), "deep.db")
	for b.Loop() {
		w := openBench(b, path)
		w.queue("empty", engine.Config{})
		w.queue("deep", engine.Config{})
		before := heap()
		w.fill("deep", n, mixed(time.Hour, 24*time.Hour))
		held := float64(heap()-before) / float64(n)
		text := len(engine.Content{MessageID: "1234", Subject: "order.placed", TTL: time.Hour, BodySize: 1024, Preview: engine.Preview(kib)}.Pack())
		t.row(b, "live heap per waiting message, without its strings", "≤ 256 B", fmt.Sprintf("%.0f B", held-float64(text)))
		var ratios []float64
		for range 7 {
			empty := w.lives("empty", 64, 60)
			ratios = append(ratios, w.lives("deep", 64, 60)/empty)
		}
		t.row(b, fmt.Sprintf("throughput at a depth of %d against an empty queue", n), "≥ 0.8", fmt.Sprintf("%.2f", median(ratios)))
		w.must(w.Close())
		runtime.GC()

		began := time.Now()
		w = openBench(b, path)
		t.row(b, fmt.Sprintf("start with %d messages, warm", n), "≤ 3 s", fmt.Sprintf("%.2f s", time.Since(began).Seconds()))
		w.must(w.Close())
		if evict(path) {
			began = time.Now()
			w = openBench(b, path)
			t.row(b, fmt.Sprintf("start with %d messages, cold page cache", n), "≤ 6 s", fmt.Sprintf("%.2f s", time.Since(began).Seconds()))
			w.must(w.Close())
		}
	}
}

// lag measures how long after its expiry a message becomes a dead letter, while 5,000 messages a
// second expire in random order.
func (t *table) lag(b *testing.B) {
	const perSecond, seconds = 5000, 10
	for b.Loop() {
		w := newBench(b)
		w.queue("q", engine.Config{DeadLetteringOnMessageExpiration: true})
		lags := w.watch(engine.EventDeadLettered, perSecond*seconds)
		w.fill("q", perSecond*seconds, mixed(6*time.Second, (6+seconds)*time.Second))
		got := <-lags
		t.row(b, "expiry to dead letter, 5,000/s, mixed TTLs: p50, p99, worst, earliest", "≤ 5 ms, ≤ 50 ms, never early",
			fmt.Sprintf("%v, %v, %v, %v", at(got, .5), at(got, .99), at(got, 1), at(got, 0)))
	}
}

// watch measures how long after their expiry messages are settled. It reads the events, which
// appear after the commit.
func (w *bench) watch(kind engine.EventKind, n int) <-chan []time.Duration {
	out := make(chan []time.Duration, 1)
	from := w.Events().Last()
	go func() { // ends with the n-th event, or with the benchmark
		var lags []time.Duration
		for len(lags) < n {
			events, lost, err := w.Events().After(w.Context(), from)
			if err != nil || lost > 0 {
				w.Errorf("the log: %d lost, %v", lost, err)
				break
			}
			now := time.Now()
			for _, e := range events {
				if e.Kind == kind {
					lags = append(lags, now.Sub(e.Message.ExpiresAt.Time()))
				}
				from = e.N
			}
		}
		slices.Sort(lags)
		out <- lags
	}()
	return out
}

// storm measures single sends to one queue while all n messages of another queue expire at once,
// relative to a quiet time.
func (t *table) storm(b *testing.B, n int) {
	for b.Loop() {
		w := newBench(b)
		w.queue("storm", engine.Config{DeadLetteringOnMessageExpiration: true})
		w.queue("calm", engine.Config{})
		quiet := w.senders(2 * time.Second)
		due := time.Now().Add(time.Duration(n/15_000+10) * time.Second)
		w.fill("storm", n, func() time.Duration { return time.Until(due) })
		if time.Now().After(due) {
			b.Fatal("filling took longer than the messages' time to live")
		}
		w.pass(time.Until(due) - 100*time.Millisecond)
		began := time.Now()
		during := w.senders(4 * time.Second)
		for w.active("storm") > 0 {
			w.pass(50 * time.Millisecond)
		}
		t.row(b, fmt.Sprintf("a storm of %d simultaneous expiries: senders' p99 against quiet", n), "≤ 5 ×",
			fmt.Sprintf("%.1f × (%v against %v; settled in %.1f s)", float64(at(during, .99))/float64(at(quiet, .99)), at(during, .99), at(quiet, .99), time.Since(began).Seconds()))
	}
}

func (w *bench) active(p engine.Path) (n int64) {
	w.must(w.Read(w.Context(), func(r broker.Reader) error {
		s, err := r.State(p)
		n = s.Counts.Active
		return err
	}))
	return n
}

// senders sends single messages by four callers for the time d, and returns the sorted latencies.
func (w *bench) senders(d time.Duration) []time.Duration {
	var mu sync.Mutex
	var all []time.Duration
	var wg sync.WaitGroup
	end := time.Now().Add(d)
	for range 4 {
		wg.Go(func() {
			for time.Now().Before(end) {
				began := time.Now()
				if _, err := w.Send(w.Context(), "calm", outgoing(1, forGood), ""); err != nil {
					w.Error(err)
					return
				}
				mu.Lock()
				all = append(all, time.Since(began))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(all)
	return all
}

// large sends bodies of 100 MB concurrently with small ones.
func (t *table) large(b *testing.B) {
	for b.Loop() {
		w := newBench(b)
		w.queue("calm", engine.Config{})
		w.queue("large", engine.Config{MaxMessageSizeInKilobytes: 102_400})
		quiet := w.senders(2 * time.Second)
		ctx, stop := context.WithCancel(w.Context())
		done := make(chan int, 1)
		go func() {
			n := 0
			for ctx.Err() == nil {
				out := []broker.Outgoing{{Reader: io.LimitReader(zeroes{}, 100_000_000)}}
				if _, err := w.Send(w.Context(), "large", out, ""); err != nil {
					w.Error(err)
					break
				}
				n++
			}
			done <- n
		}()
		during := w.senders(3 * time.Second)
		stop()
		t.row(b, "small sends' p99 beside messages of 100 MB, against quiet", "≤ 3 ×",
			fmt.Sprintf("%.1f × (%v against %v; %d of them)", float64(at(during, .99))/float64(at(quiet, .99)), at(during, .99), at(quiet, .99), <-done))
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { return len(p), nil }

// idle starts the program, and measures its memory, its CPU time over a minute without clients, and
// the time until it was ready.
func (t *table) idle(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("reads /proc")
	}
	for b.Loop() {
		dir := b.TempDir()
		bin := filepath.Join(dir, "mayfly")
		if out, err := exec.Command("go", "build", "-o", bin, "..").CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		began := time.Now()
		cmd := exec.Command(bin, "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--amqp", "127.0.0.1:0", "--store", "sqlite:"+filepath.Join(dir, "m.db"), "--ready-json")
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		var r server.Ready
		if err := json.NewDecoder(out).Decode(&r); err != nil {
			b.Fatal(err)
		}
		ready := time.Since(began)
		before := cpuTicks(b, cmd.Process.Pid)
		pass(b, time.Minute)
		share := float64(cpuTicks(b, cmd.Process.Pid)-before) / 100 / 60 * 100
		t.row(b, "idle server: resident, share of a core over a minute, ready after", "≤ 50 MB, < 0.2 %, ≤ 300 ms",
			fmt.Sprintf("%d MB, %.2f %%, %d ms", resident(b, cmd.Process.Pid)>>20, share, ready.Milliseconds()))
		if err := errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait()); err != nil {
			b.Error(err)
		}
	}
}

func cpuTicks(b *testing.B, pid int) (n int) {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	f := strings.Fields(rest)
	for _, s := range f[11:13] {
		t, err := strconv.Atoi(s)
		if err != nil {
			b.Fatal(err)
		}
		n += t
	}
	return n
}

func resident(b *testing.B, pid int) int {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		b.Fatal(err)
	}
	n, err := strconv.Atoi(strings.Fields(string(raw))[1])
	if err != nil {
		b.Fatal(err)
	}
	return n * os.Getpagesize()
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func mixed(least, most time.Duration) func() time.Duration {
	r := rand.New(rand.NewPCG(1, 2))
	return func() time.Duration { return least + time.Duration(r.Int64N(int64(most-least))) }
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

func at(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))].Round(10 * time.Microsecond)
}
