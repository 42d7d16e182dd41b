package pages

import (
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/views/page/admin"
)

// A RateTracker computes rates from the counts at successive renderings of a page, so it measures
// nothing while the page has no viewers. The zero value is ready to use, and it is safe for
// concurrent use.
type RateTracker struct {
	mu     sync.Mutex
	counts map[string]rateCount
}

type rateCount struct {
	n    uint64
	at   engine.Instant
	rate admin.Rate
}

const (
	minRateInterval = time.Second      // least time between the two counts of a rate
	maxRateInterval = 10 * time.Second // age at which a count is too old to compute a rate from
	maxRateCounts   = 10_000           // number of counts that are kept
)

// Rate returns the growth per second of the count with the name `of`, which is `n` at the instant
// `now`. It is unknown if the last count is missing, too old or larger.
func (t *RateTracker) Rate(of string, n uint64, now engine.Instant) admin.Rate {
	t.mu.Lock()
	defer t.mu.Unlock()
	was, ok := t.counts[of]
	past := now.Sub(was.at)
	switch {
	case ok && past < minRateInterval && n >= was.n:
		return was.rate
	case ok && past <= maxRateInterval && n >= was.n:
		was.rate = admin.Rate{N: float64(n-was.n) / past.Seconds(), Known: true}
	default:
		was.rate = admin.Rate{}
	}
	was.n, was.at = n, now
	if t.counts == nil || len(t.counts) >= maxRateCounts {
		kept := map[string]rateCount{}
		for of, s := range t.counts {
			if now.Sub(s.at) <= maxRateInterval && len(kept) < maxRateCounts/2 {
				kept[of] = s
			}
		}
		t.counts = kept
	}
	t.counts[of] = was
	return was.rate
}
