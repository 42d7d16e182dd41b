package show

import (
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/views/page"
)

// A tempo turns counts into rates, from one look at them to the next: nothing is
// measured while nobody looks. Its zero value is ready, and it is safe for
// concurrent use.
type tempo struct {
	mu   sync.Mutex
	last map[string]tempoCount
}

type tempoCount struct {
	n    uint64
	at   engine.Instant
	rate page.Rate
}

const (
	tempoLeast = time.Second      // between the counts that a rate is made of
	tempoMost  = 10 * time.Second // after which a count is too old to be one of them
	tempoKept  = 10_000           // counts that are remembered
)

// rate is how fast what has come to n grows.
func (t *tempo) rate(of string, n uint64, now engine.Instant) page.Rate {
	t.mu.Lock()
	defer t.mu.Unlock()
	was, ok := t.last[of]
	past := now.Sub(was.at)
	switch {
	case ok && past < tempoLeast && n >= was.n:
		return was.rate
	case ok && past <= tempoMost && n >= was.n:
		was.rate = page.Rate{N: float64(n-was.n) / past.Seconds(), Known: true}
	default:
		was.rate = page.Rate{}
	}
	was.n, was.at = n, now
	if t.last == nil || len(t.last) >= tempoKept {
		kept := map[string]tempoCount{}
		for of, s := range t.last {
			if now.Sub(s.at) <= tempoMost && len(kept) < tempoKept/2 {
				kept[of] = s
			}
		}
		t.last = kept
	}
	t.last[of] = was
	return was.rate
}
