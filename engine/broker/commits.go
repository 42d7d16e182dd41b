package broker

import (
	"sync/atomic"
	"time"
)

// Commits says how long the commits since the broker was opened took.
type Commits struct {
	// Within has, for each of CommitBounds, how many took no longer; the last
	// one, beyond them, is all there were.
	Within []uint64
	Total  time.Duration
}

// CommitBounds are the bounds of Commits.Within, in rising order.
func CommitBounds() []time.Duration {
	return []time.Duration{
		100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
		time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
		100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 10 * time.Second,
	}
}

// Commits tells how long commits take. It waits for nobody.
func (b *Broker) Commits() Commits {
	out := Commits{Within: make([]uint64, len(b.took.n)), Total: time.Duration(b.took.total.Load())}
	sum := uint64(0)
	for i := range b.took.n {
		sum += b.took.n[i].Load()
		out.Within[i] = sum
	}
	return out
}

// durations count how long something took, by the bounds of Commits. Safe for
// concurrent use.
type durations struct {
	n     [16]atomic.Uint64 // of each bound those that no smaller one has, then those beyond all
	total atomic.Int64
}

func (d *durations) add(took time.Duration) {
	i := 0
	for _, bound := range CommitBounds() {
		if took <= bound {
			break
		}
		i++
	}
	d.n[i].Add(1)
	d.total.Add(int64(took))
}
