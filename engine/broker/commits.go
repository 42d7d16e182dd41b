package broker

import (
	"sync/atomic"
	"time"
)

// Commits holds how long the commits since the broker was opened took.
type Commits struct {
	// Within has, for each of CommitBounds, how many took no longer; one more element, the
	// last, counts all commits.
	Within []uint64
	Total  time.Duration
}

// CommitBounds returns the bounds of Commits.Within, in rising order.
func CommitBounds() []time.Duration {
	return []time.Duration{
		100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
		time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
		100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 10 * time.Second,
	}
}

// Commits returns how long commits took. It does not wait for the owner.
func (b *Broker) Commits() Commits {
	out := Commits{Within: make([]uint64, len(b.commitTimes.buckets)), Total: time.Duration(b.commitTimes.total.Load())}
	sum := uint64(0)
	for i := range b.commitTimes.buckets {
		sum += b.commitTimes.buckets[i].Load()
		out.Within[i] = sum
	}
	return out
}

// histogram counts durations in the buckets of CommitBounds. It is safe for concurrent use.
type histogram struct {
	buckets [16]atomic.Uint64 // for each bound those above the next smaller one, then those beyond all
	total   atomic.Int64
}

func (d *histogram) add(took time.Duration) {
	i := 0
	for _, bound := range CommitBounds() {
		if took <= bound {
			break
		}
		i++
	}
	d.buckets[i].Add(1)
	d.total.Add(int64(took))
}
