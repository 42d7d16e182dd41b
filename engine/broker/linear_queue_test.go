package broker_test

import (
	"math/rand/v2"
	"slices"
	"sync"

	"mayfly/engine"
)

// A desk is one queue, with the locks and deferred messages that its clients share.
type desk struct {
	path     engine.Path
	sessions bool

	mu    sync.Mutex
	keys  []key // of messages that are locked, as far as clients know
	spent []key // keys that have been used to settle
	aside []aside
	holds []*hold
}

// A key is a lock on a received message, with its token. An aside is a deferred message.
type (
	key struct {
		token engine.LockToken
		got   got
		spot  spot
		id    string // of the session
	}
	aside struct {
		seq  engine.Seq
		spot spot
		id   string // of the session
	}
)

func (d *desk) at(s spot) engine.Path {
	if s == inDead {
		return d.path + "/$DeadLetterQueue"
	}
	return d.path
}

// pick removes a random one of the elements that satisfy fits from all, if there is one.
func pick[T any](d *desk, rnd *rand.Rand, all *[]T, fits func(T) bool) (one T, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var able []int
	for i, x := range *all {
		if fits(x) {
			able = append(able, i)
		}
	}
	if len(able) == 0 {
		return one, false
	}
	i := able[rnd.IntN(len(able))]
	one = (*all)[i]
	*all = slices.Delete(*all, i, i+1)
	return one, true
}

func keep[T any](d *desk, all *[]T, x ...T) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*all = append(*all, x...)
	if n := len(*all) - 12; n > 0 {
		*all = slices.Delete(*all, 0, n)
	}
}

func any1[T any](T) bool { return true }
