package broker

import (
	"context"
	"sync/atomic"
	"time"

	"mayfly/engine"
)

// Health reports problems to operators; the zero value means that all is well.
type Health struct {
	ReadOnly   string        // why nothing can be written; empty if writes work
	Reopening  string        // why the store is being opened again; empty if it is open
	ClockAhead time.Duration // how far the last commit's instant lay ahead of the system's clock when the store was opened, if that was too far to trust
	Memory     Memory        // zero unless most of the limit is used
	Damaged    int           // messages that are damaged and not delivered
	Slow       time.Duration // how long the running commit has taken so far, or the last one took if it ended less than a minute ago; zero if at most a second
}

// Health returns the broker's present problems. It does not wait for the owner.
func (b *Broker) Health() Health {
	h := *b.health.Load()
	h.Slow = b.commitTimer.slow(time.Now())
	h.Memory = b.lowMemory()
	return h
}

// updateHealth changes the health, except Memory and Slow. Only the owner calls it.
func (b *Broker) updateHealth(change func(*Health)) {
	h := *b.health.Load()
	change(&h)
	b.health.Store(&h)
}

// commit commits to the open store and times it.
func (b *Broker) commit(ctx context.Context, batch *engine.Batch) error {
	end := b.commitTimer.start()
	began := time.Now()
	defer func() { b.commitTimes.add(time.Since(began)); end() }()
	return b.store.Load().Commit(ctx, batch)
}

const (
	slowAfter = time.Second // a commit that takes longer is slow
	slowFor   = time.Minute // how long Health reports a slow commit that has ended
)

// commitTimer finds slow commits. One goroutine times commits; any goroutine may call slow.
type commitTimer struct{ now, last atomic.Pointer[commitSpan] }

type commitSpan struct{ began, ended time.Time }

// start begins a commit; call the returned function when the commit has ended.
func (p *commitTimer) start() (end func()) {
	began := time.Now()
	p.now.Store(&commitSpan{began: began})
	return func() {
		p.last.Store(&commitSpan{began, time.Now()})
		p.now.Store(nil)
	}
}

func (p *commitTimer) slow(now time.Time) time.Duration {
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
