package engine

import (
	"runtime"
	"strconv"
	"testing"
	"time"
)

const windowOfIDs = 1_000_000

// fillWindow makes e remember a million ids, spread over nine tenths of its window.
func fillWindow(ns *Namespace, e *entity) (now Instant) {
	for i := range windowOfIDs {
		now = 1_000_000 + Instant(i)*540_000/windowOfIDs
		ns.rememberID(now, e, DigestOf(strconv.Itoa(i)))
		if i%1000 == 999 {
			ns.Flush(now, true)
			ns.Seal(true)
		}
	}
	return now
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkDuplicates measures a window of a million MessageIds.
func BenchmarkDuplicates(b *testing.B) {
	b.Run("memory", func(b *testing.B) {
		for b.Loop() {
			ns, e := detecting(b, 10*time.Minute)
			ns.Flush(1, true)
			ns.Seal(true)
			before := liveHeap()
			fillWindow(ns, e)
			b.ReportMetric(float64(liveHeap()-before)/windowOfIDs, "B/id")
			runtime.KeepAlive(ns)
		}
	})
	b.Run("remember", func(b *testing.B) {
		for b.Loop() {
			ns, e := detecting(b, 10*time.Minute)
			fillWindow(ns, e)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/windowOfIDs, "ns/id")
	})
	ns, e := detecting(b, 10*time.Minute)
	now := fillWindow(ns, e)
	known, unknown := make([]Digest, 4096), make([]Digest, 4096)
	for i := range known {
		known[i], unknown[i] = DigestOf(strconv.Itoa(i*(windowOfIDs/len(known)))), DigestOf("new "+strconv.Itoa(i))
	}
	for name, digests := range map[string][]Digest{"look at one that is known": known, "look at one that is not": unknown} {
		b.Run(name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				e.isDuplicate(now, digests[i%len(digests)])
				i++
			}
		})
	}
	b.Run("digest", func(b *testing.B) {
		for b.Loop() {
			DigestOf("8f14e45f-ceea-467f-a9b5-3f1c1d2e4a6b")
		}
	})
	for _, each := range []int{1000, 1} {
		b.Run("restore records of "+strconv.Itoa(each), func(b *testing.B) {
			var records []SeenIDs
			for i := 0; i < windowOfIDs; i += each {
				r := SeenIDs{Subqueue: e.ID, N: uint64(i + 1), At: 1_000_000 + Instant(i)*540_000/windowOfIDs}
				for j := range each {
					r.Digests = append(r.Digests, DigestOf(strconv.Itoa(i+j)))
				}
				records = append(records, r)
			}
			for b.Loop() {
				ns := New(Options{Limits: DefaultLimits(), Keys: NewKeys(2)})
				if err := ns.Restore(e.Entity); err != nil {
					b.Fatal(err)
				}
				for _, r := range records {
					if err := ns.Restore(r); err != nil {
						b.Fatal(err)
					}
				}
				ns.Restored(now)
			}
		})
	}
}
