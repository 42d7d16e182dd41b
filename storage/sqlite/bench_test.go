package sqlite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
	"mayfly/storage/sqlite"
)

// These benchmarks run the lives of messages against the store: a batch of new messages with
// bodies of 1 KiB (hard), the same messages locked (soft), and the oldest deleted with their
// contents and bodies (hard). For comparison in the same run, BenchmarkLoop does the same
// inserts and deletes on two bare tables, and BenchmarkAppend only writes and flushes the
// bytes.
//
//	go test ./storage/sqlite -run '^$' -bench 'Lives|Loop|Append'
//	MAYFLY_BENCH_STORED=1000000 go test ./storage/sqlite -run '^$' -bench 'Lives|Load' -benchtime 2s

// storedVar names the variable with the number of messages that are stored before. The default
// is eight batches.
const storedVar = "MAYFLY_BENCH_STORED"

var batchSizes = []int{1, 16, 256, 1024}

// A life creates the batches of one queue.
type life struct {
	bytes     []byte
	next, old engine.Key // the next key to store, and the oldest that is stored
}

const benchHolder = 7

func newLife() *life {
	l := &life{bytes: make([]byte, 1<<20+2048), next: 1 << 40, old: 1 << 40}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range l.bytes {
		l.bytes[i] = byte(r.Uint32())
	}
	return l
}

func (l *life) message(k engine.Key) engine.Message {
	return engine.Message{
		Key: k, Content: k, Subqueue: benchHolder, Seq: engine.Seq(k - 1<<40), EnqueuedSeq: engine.Seq(k - 1<<40),
		EnqueuedAt: 1_784_000_000_000, ExpiresAt: 1_784_000_060_000,
	}
}

func (l *life) body(k engine.Key) []byte {
	at := int(k*40503) & (1<<20 - 1)
	return l.bytes[at : at+1024]
}

func (l *life) puts(n int) *engine.Batch {
	b := &engine.Batch{Hard: true, Now: 1_784_000_000_000, Meters: []engine.Meter{{Subqueue: benchHolder, NextSeq: engine.Seq(l.next)}}}
	for range n {
		k := l.next
		l.next++
		c := engine.Content{MessageID: fmt.Sprintf("%032x", uint64(k)), ContentType: "application/json", BodySize: 1024, TTL: time.Minute}
		b.Messages = append(b.Messages, l.message(k))
		b.Contents = append(b.Contents, engine.StoredContent{Key: k, Content: c.Pack()})
		b.Bodies = append(b.Bodies, engine.Body{Key: k, Bytes: l.body(k)})
	}
	return b
}

func (l *life) locks(n int) *engine.Batch {
	b := &engine.Batch{Now: 1_784_000_000_001}
	for i := range engine.Key(n) {
		m := l.message(l.old + i)
		m.LockedUntil, m.Nonce = 1_784_000_060_000, uint64(m.Key)*0x9e3779b97f4a7c15
		b.Messages = append(b.Messages, m)
	}
	return b
}

func (l *life) deletes(n int) *engine.Batch {
	b := &engine.Batch{Hard: true, Now: 1_784_000_000_002}
	for range n {
		b.DropMessages = append(b.DropMessages, l.old)
		b.DropContents = append(b.DropContents, engine.DroppedContent{Key: l.old, HasBody: true})
		l.old++
	}
	return b
}

func openBench(b *testing.B) (*sqlite.Store, string) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "store")
	s, err := sqlite.Open(b.Context(), path, sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	must(b, s.Commit(b.Context(), &engine.Batch{Hard: true, Now: 1,
		Entities: []engine.Entity{{ID: benchHolder, Kind: engine.Queue, Path: "bench"}}}))
	return s, path
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}

func stored() int {
	n, err := strconv.Atoi(os.Getenv(storedVar))
	if err != nil {
		return 0
	}
	return n
}

func fill(b *testing.B, s engine.Store, l *life, n int) {
	b.Helper()
	for ; n > 0; n -= 1024 {
		must(b, s.Commit(b.Context(), l.puts(min(n, 1024))))
	}
}

func BenchmarkLives(b *testing.B) {
	run := func(b *testing.B, s *sqlite.Store, l *life, size int) {
		ctx := context.Background()
		var tm timing
		tm.start()
		for b.Loop() {
			put, lock := l.puts(size), l.locks(size)
			del := l.deletes(size)
			tm.hard(func() { must(b, s.Commit(ctx, put)) })
			must(b, s.Commit(ctx, lock))
			tm.hard(func() { must(b, s.Commit(ctx, del)) })
		}
		tm.report(b, size)
	}
	if n := stored(); n > 0 {
		s, _ := openBench(b)
		l := newLife()
		fill(b, s, l, n)
		for _, size := range batchSizes {
			b.Run(fmt.Sprintf("batch=%d/stored=%d", size, n), func(b *testing.B) { run(b, s, l, size) })
		}
		return
	}
	for _, size := range batchSizes {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			s, _ := openBench(b)
			l := newLife()
			fill(b, s, l, 8*size)
			run(b, s, l, size)
		})
	}
}

// BenchmarkLoop measures the least that SQLite needs for the same lives: a table of 200-byte
// headers and one of bodies.
func BenchmarkLoop(b *testing.B) {
	for _, size := range batchSizes {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			c, err := sqlite3.Open(filepath.Join(b.TempDir(), "loop"))
			must(b, err)
			defer c.Close()
			must(b, c.Exec(`PRAGMA page_size=16384; PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=4096; PRAGMA cache_size=-65536;
				CREATE TABLE header(id INTEGER PRIMARY KEY, hdr BLOB NOT NULL); CREATE TABLE body(id INTEGER PRIMARY KEY, body BLOB NOT NULL)`))
			prepare := func(sql string) *sqlite3.Stmt {
				st, _, err := c.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
				must(b, err)
				b.Cleanup(func() { st.Close() })
				return st
			}
			begin, end := prepare("BEGIN IMMEDIATE"), prepare("COMMIT")
			full, normal := prepare("PRAGMA synchronous=FULL"), prepare("PRAGMA synchronous=NORMAL")
			header, body := prepare("INSERT OR REPLACE INTO header VALUES (?,?)"), prepare("INSERT OR REPLACE INTO body VALUES (?,?)")
			update := prepare("UPDATE header SET hdr=?2 WHERE id=?1")
			dropHeader, dropBody := prepare("DELETE FROM header WHERE id=?"), prepare("DELETE FROM body WHERE id=?")
			exec := func(st *sqlite3.Stmt, id engine.Key, blob []byte) {
				must(b, st.BindInt64(1, int64(id)))
				if blob != nil {
					must(b, st.BindBlob(2, blob))
				}
				must(b, st.Exec())
			}
			l := newLife()
			round := func(del bool, hard func(func())) {
				hard(func() {
					must(b, full.Exec())
					must(b, begin.Exec())
					for range size {
						exec(header, l.next, l.body(l.next)[:200])
						exec(body, l.next, l.body(l.next))
						l.next++
					}
					must(b, end.Exec())
				})
				if !del {
					return
				}
				must(b, normal.Exec())
				must(b, begin.Exec())
				for i := range engine.Key(size) {
					exec(update, l.old+i, l.body(l.old)[:200])
				}
				must(b, end.Exec())
				hard(func() {
					must(b, full.Exec())
					must(b, begin.Exec())
					for range size {
						exec(dropHeader, l.old, nil)
						exec(dropBody, l.old, nil)
						l.old++
					}
					must(b, end.Exec())
				})
			}
			for range 8 {
				round(false, func(f func()) { f() })
			}
			var tm timing
			tm.start()
			for b.Loop() {
				round(true, tm.hard)
			}
			tm.report(b, size)
		})
	}
}

// BenchmarkAppend measures the disk alone: it writes and flushes the bytes of the inserts and
// of the deletes.
func BenchmarkAppend(b *testing.B) {
	for _, size := range batchSizes {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			f, err := os.Create(filepath.Join(b.TempDir(), "append"))
			must(b, err)
			defer f.Close()
			put, del := make([]byte, 1248*size), make([]byte, 24*size)
			var tm timing
			tm.start()
			for b.Loop() {
				for _, p := range [][]byte{put, del} {
					tm.hard(func() {
						_, err := f.Write(p)
						must(b, err)
						must(b, f.Sync())
					})
				}
			}
			tm.report(b, size)
		})
	}
}

// BenchmarkLoad opens a store and reads everything except bodies. "cold" reads from the disk,
// on systems that can drop the file from their cache on request.
func BenchmarkLoad(b *testing.B) {
	n := max(stored(), 20_000)
	s, path := openBench(b)
	fill(b, s, newLife(), n)
	must(b, s.Close())
	for _, cold := range []bool{false, true} {
		b.Run(fmt.Sprintf("stored=%d/cold=%v", n, cold), func(b *testing.B) { loads(b, path, n, cold) })
	}
}

func loads(b *testing.B, path string, n int, cold bool) {
	for b.Loop() {
		if cold {
			b.StopTimer()
			forget(b, path)
			b.StartTimer()
		}
		s, err := sqlite.Open(b.Context(), path, sqlite.Options{})
		must(b, err)
		got := 0
		for r, err := range s.Load(b.Context()) {
			must(b, err)
			if _, ok := r.(engine.Message); ok {
				got++
			}
		}
		must(b, s.Close())
		if got != n {
			b.Fatalf("%d messages", got)
		}
	}
}

// BenchmarkLoadSeen opens a store that remembers a million MessageIds, which were accepted in
// batches of several sizes, and reads them.
func BenchmarkLoadSeen(b *testing.B) {
	const ids = 1_000_000
	for _, together := range []int{1000, 16, 1} {
		b.Run(fmt.Sprintf("together=%d", together), func(b *testing.B) {
			s, path := openBench(b)
			for n := 0; n < ids/together; {
				batch := &engine.Batch{Hard: true, Now: 2}
				for range min(1+10_000/together, ids/together-n) {
					n++
					batch.Seen = append(batch.Seen, engine.SeenIDs{Subqueue: benchHolder, N: uint64(n), At: 1_784_000_000_000, Digests: make([]engine.Digest, together)})
				}
				must(b, s.Commit(b.Context(), batch))
			}
			must(b, s.Close())
			for b.Loop() {
				s, err := sqlite.Open(b.Context(), path, sqlite.Options{})
				must(b, err)
				got := 0
				for r, err := range s.Load(b.Context()) {
					must(b, err)
					if v, ok := r.(engine.SeenIDs); ok {
						got += len(v.Digests)
					}
				}
				must(b, s.Close())
				if got != ids {
					b.Fatalf("%d ids", got)
				}
			}
		})
	}
}

func BenchmarkBody(b *testing.B) {
	n := max(stored(), 20_000)
	s, _ := openBench(b)
	l := newLife()
	fill(b, s, l, n)
	for b.Loop() {
		r, err := s.Body(b.Context(), l.old+rand.N(l.next-l.old))
		must(b, err)
		must(b, r.Close())
	}
}

// A timing collects the durations of all hard commits and the total processor time.
type timing struct {
	took   []time.Duration
	began  time.Time
	cpu    time.Duration
	latest time.Time
}

func (t *timing) start() { t.began, t.cpu = time.Now(), processorTime() }

func (t *timing) hard(commit func()) {
	at := time.Now()
	commit()
	t.latest = time.Now()
	t.took = append(t.took, t.latest.Sub(at))
}

func (t *timing) report(b *testing.B, size int) {
	lives := float64(b.N * size)
	slices.Sort(t.took)
	us := func(q float64) float64 { return float64(t.took[int(q*float64(len(t.took)-1))].Microseconds()) }
	b.ReportMetric(lives/t.latest.Sub(t.began).Seconds(), "lives/s")
	b.ReportMetric(us(0.5), "p50-µs")
	b.ReportMetric(us(0.99), "p99-µs")
	b.ReportMetric(us(1), "max-µs")
	b.ReportMetric(float64((processorTime()-t.cpu).Microseconds())/lives, "cpu-µs/life")
	b.ReportMetric(0, "ns/op")
}
