package password

import (
	"sync"
	"time"

	"mayfly/web/proxy"
)

// A throttle allows a key a burst of tries, then one in each interval. Its memory is bounded:
// beyond maxKeys keys, the one that is nearest to having all its tries again is forgotten.
type throttle struct {
	burst    int           // tries at once
	interval time.Duration // until one more

	mu     sync.Mutex
	fullAt map[string]time.Time // when the key has all its tries again; guarded by mu
}

const maxKeys = 4096

// try takes one of a key's tries and returns zero. If the key has none left, it returns how long to
// wait for the next.
func (b *throttle) try(key string, now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	full := b.fullAt[key]
	if full.Before(now) {
		full = now
	}
	full = full.Add(b.interval)
	if wait := full.Sub(now) - time.Duration(b.burst)*b.interval; wait > 0 {
		return wait
	}
	if _, ok := b.fullAt[key]; !ok && len(b.fullAt) >= maxKeys {
		b.evict(now)
	}
	if b.fullAt == nil {
		b.fullAt = map[string]time.Time{}
	}
	b.fullAt[key] = full
	return 0
}

// giveBack gives a try back after a successful sign-in.
func (b *throttle) giveBack(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if full, ok := b.fullAt[key]; ok {
		b.fullAt[key] = full.Add(-b.interval)
	}
}

// evict forgets the keys that have all their tries again or, if there are none, the key that will have
// them first. The caller holds mu.
func (b *throttle) evict(now time.Time) {
	least, first := "", time.Time{}
	for key, full := range b.fullAt {
		if !full.After(now) {
			delete(b.fullAt, key)
		} else if first.IsZero() || full.Before(first) {
			least, first = key, full
		}
	}
	if len(b.fullAt) >= maxKeys {
		delete(b.fullAt, least)
	}
}

// addressKey returns the key under which tries of an address are counted.
func addressKey(address string) string { return proxy.Network(address) }
