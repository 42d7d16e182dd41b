package broker

import (
	"sync/atomic"
	"time"
)

// Commits is a histogram of the durations of commits since the broker was opened.
type Commits struct {
	// Within[i] counts the commits that took at most CommitBounds()[i]. One more element, the
	// last, counts all commits.
	Within []uint64
	Total  time.Duration // the sum of all durations
}

// CommitBounds returns the bounds of Commits.Within, in rising order.
func CommitBounds() []time.Duration {
	return []time.Duration{
		100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
		time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
		100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 10 * time.Second,
	}
}

// Commits returns the histogram of commits. It does not wait for the owner.
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
	buckets [16]atomic.Uint64 // one for each bound, without those of the smaller bounds; the last is for durations above all bounds
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
