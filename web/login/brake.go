package login

import (
	"net/netip"
	"sync"
	"time"
)

// A brake lets each key try a few times at once, then once every so often. The memory
// that it takes is bounded: beyond mostKept keys, the one that has rested longest is
// forgotten.
type brake struct {
	burst int           // tries at once
	every time.Duration // for one more

	mu   sync.Mutex
	kept map[string]time.Time // when the key has all its tries again; guarded by mu
}

const mostKept = 4096

// try takes one of a key's tries, or says how long there is none.
func (b *brake) try(key string, now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	full := b.kept[key]
	if full.Before(now) {
		full = now
	}
	full = full.Add(b.every)
	if wait := full.Sub(now) - time.Duration(b.burst)*b.every; wait > 0 {
		return wait
	}
	if _, ok := b.kept[key]; !ok && len(b.kept) >= mostKept {
		b.forget(now)
	}
	if b.kept == nil {
		b.kept = map[string]time.Time{}
	}
	b.kept[key] = full
	return 0
}

// back gives a try back: it was a good one.
func (b *brake) back(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if full, ok := b.kept[key]; ok {
		b.kept[key] = full.Add(-b.every)
	}
}

// forget makes room: of those that have all their tries, else of the nearest to it.
// The caller holds mu.
func (b *brake) forget(now time.Time) {
	least, first := "", time.Time{}
	for key, full := range b.kept {
		if !full.After(now) {
			delete(b.kept, key)
		} else if first.IsZero() || full.Before(first) {
			least, first = key, full
		}
	}
	if len(b.kept) >= mostKept {
		delete(b.kept, least)
	}
}

// place is the key of an address: of IPv6, the network that somebody is given whole.
func place(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap()
	if ip.Is4() {
		return ip.String()
	}
	net, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return net.String()
}
