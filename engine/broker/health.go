package broker

import (
	"context"
	"sync/atomic"
	"time"

	"mayfly/engine"
)

// Health is what operators should know; the zero value is all well.
type Health struct {
	ReadOnly   string        // why nothing can be written; empty: it can
	Reopening  string        // why the store is being opened again; empty: it is open
	ClockAhead time.Duration // how far the last commit's instant lay ahead of the system's clock when the store was opened, if that was too far to believe
	Slow       time.Duration // how long the commit under way takes, or the last one took if it ended within a minute; zero: no more than a second
}

// Health tells what keeps the broker from working as it should. It waits for
// nobody.
func (b *Broker) Health() Health {
	h := *b.health.Load()
	h.Slow = b.pace.slow(time.Now())
	return h
}

// update changes what Health says, but for Slow. Only the owner calls it.
func (b *Broker) update(change func(*Health)) {
	h := *b.health.Load()
	change(&h)
	b.health.Store(&h)
}

// commit is the open store's, with an eye on how long it takes.
func (b *Broker) commit(ctx context.Context, batch *engine.Batch) error {
	end := b.pace.time()
	began := time.Now()
	defer func() { b.took.add(time.Since(began)); end() }()
	return b.store.Load().Commit(ctx, batch) //nolint:wrapcheck // its errors are the store's contract
}

const (
	slowAfter = time.Second // a commit that takes longer is slow
	slowFor   = time.Minute // how long one that has ended is told of
)

// pace is how long commits take. One goroutine times them, anybody may ask.
type pace struct{ now, last atomic.Pointer[span] }

type span struct{ began, ended time.Time }

// time begins a commit; call what it returns when the commit has ended.
func (p *pace) time() (end func()) {
	began := time.Now()
	p.now.Store(&span{began: began})
	return func() {
		p.last.Store(&span{began, time.Now()})
		p.now.Store(nil)
	}
}

func (p *pace) slow(now time.Time) time.Duration {
	if s := p.now.Load(); s != nil {
		if d := now.Sub(s.began); d > slowAfter {
			return d
		}
	}
	if s := p.last.Load(); s != nil && now.Sub(s.ended) < slowFor {
		if d := s.ended.Sub(s.began); d > slowAfter {
			return d
		}
	}
	return 0
}
