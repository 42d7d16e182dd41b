package broker

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"cmp"

	"golang.org/x/sync/semaphore"

	"mayfly/engine"
)

// Options are how a broker runs. The zero value is right for a laptop.
type Options struct {
	Name       string         // of the namespace, for people; zero: "default"
	Limits     *engine.Limits // zero: engine.DefaultLimits
	Logger     *slog.Logger   // zero: slog.Default
	Events     int            // events kept for readers; zero: 16384
	InboxOps   int            // operations that may wait for their turn; zero: 4096
	InboxBytes int64          // bytes of messages that may wait; zero: 64 MiB
	CacheBytes int64          // of bodies kept in memory; zero: 32 MiB
	SoftDelay  time.Duration  // how long locks and last uses may wait for a commit; zero: 500 ms
	Unswept    bool           // for tests: nothing happens before somebody asks for it
}

func (o Options) limits() engine.Limits {
	if o.Limits == nil {
		return engine.DefaultLimits()
	}
	return *o.Limits
}

const (
	sweepWork     = 2048 // changes that one turn makes for nobody in particular
	sweepBeside   = 48   // the same while callers are about, so that none waits long for a commit
	aboutFor      = 100 * time.Millisecond
	drainOps      = 1024             // operations of one turn
	probeEvery    = time.Second      // attempts to write while read-only
	reopenEvery   = time.Second      // attempts to open the store again
	closePatience = 10 * time.Second // for the last commit
)

// A Broker serves one namespace. Its methods are safe for concurrent use.
type Broker struct {
	o      Options
	limits engine.Limits
	log    *slog.Logger
	open   func(context.Context) (engine.Store, error)

	inbox  chan *op
	room   *semaphore.Weighted // bytes of operations in flight
	stop   context.CancelFunc
	done   chan struct{} // closed when run has returned
	err    error         // why; read after done
	events *Log
	bodies *cache
	clock  *clock // run moves it on

	// Owned by run.
	ns        *engine.Namespace
	receivers map[engine.LinkID]*receiver
	softSince engine.Instant // when the oldest soft change was made; zero: there is none
	askedAt   engine.Instant // when somebody last asked for something
	probeAt   engine.Instant // when to try writing again, while read-only
	probeSize int            // how much to try with

	store  atomic.Pointer[opened]
	link   atomic.Uint64
	health atomic.Pointer[Health]
	taken  pins
}

// opened is a store with the identities of its epoch.
type opened struct {
	engine.Store
	keys *engine.Keys
}

// Health is what operators should know; the zero value is all well.
type Health struct {
	ReadOnly   string        // why nothing can be written; empty: it can
	Reopening  string        // why the store is being opened again; empty: it is open
	ClockAhead time.Duration // how far the last commit's instant lay ahead of the system's clock at start, if that was too far to believe
}

// Open loads everything from the store and starts to serve. open is called
// again whenever a commit failed in a way that leaves its outcome unknown; the
// broker closes what it opened.
func Open(ctx context.Context, open func(context.Context) (engine.Store, error), o Options) (*Broker, error) {
	b := &Broker{
		o: o, limits: o.limits(), log: cmp.Or(o.Logger, slog.Default()), open: open,
		inbox:     make(chan *op, cmp.Or(o.InboxOps, 4096)),
		room:      semaphore.NewWeighted(cmp.Or(o.InboxBytes, 64<<20)),
		done:      make(chan struct{}),
		events:    newLog(cmp.Or(o.Events, 16384)),
		bodies:    newCache(cmp.Or(o.CacheBytes, 32<<20)),
		receivers: map[engine.LinkID]*receiver{},
	}
	b.health.Store(&Health{})
	if err := b.load(ctx); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stop = stop
	go func() { // ends with Close, which waits for done
		b.run(running)
		close(b.done)
		b.refuseOps()
	}()
	return b, nil
}

// load opens the store and reads it whole.
func (b *Broker) load(ctx context.Context) error {
	store, err := b.open(ctx)
	if err != nil {
		return err
	}
	keys := engine.NewKeys(store.Epoch())
	ns := engine.New(engine.Options{Limits: b.limits, Keys: keys, Nonce: nonce})
	var recorded engine.Instant
	for r, err := range store.Load(ctx) {
		if err == nil {
			if c, ok := r.(engine.Clock); ok {
				recorded = c.Now
			}
			err = ns.Restore(r)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("load the namespace: %w", err), store.Close())
		}
	}
	if b.clock == nil {
		var ahead time.Duration
		if b.clock, ahead = startClock(recorded); ahead > 0 {
			b.log.Warn("the last commit lies ahead of the system clock; the system clock is used", "ahead", ahead)
			b.update(func(h *Health) { h.ClockAhead = ahead })
		}
	}
	ns.Restored(b.clock.now())
	b.ns = ns
	b.store.Store(&opened{store, keys})
	return nil
}

// nonce is random, so that a lock token cannot be guessed from another.
func nonce() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return binary.BigEndian.Uint64(b[:])
}

// Close stops taking operations, commits what is left and closes the store.
func (b *Broker) Close() error {
	b.stop()
	<-b.done
	return b.err
}

// Done is closed when the broker has ended.
func (b *Broker) Done() <-chan struct{} { return b.done }

// Name is the namespace's.
func (b *Broker) Name() string { return cmp.Or(b.o.Name, "default") }

// Limits are the namespace's.
func (b *Broker) Limits() engine.Limits { return b.limits }

// Epoch is the store's present one.
func (b *Broker) Epoch() uint64 { return b.store.Load().Epoch() }

// Events is the log of what happens.
func (b *Broker) Events() *Log { return b.events }

// Health tells what keeps the broker from working as it should.
func (b *Broker) Health() Health { return *b.health.Load() }

func (b *Broker) update(change func(*Health)) {
	h := *b.health.Load()
	change(&h)
	b.health.Store(&h)
}

// run is the owner of the namespace until ctx ends.
func (b *Broker) run(ctx context.Context) {
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	// Close lets a commit that is under way end in peace, for a while.
	commits, hurry := context.WithCancel(context.WithoutCancel(ctx))
	defer hurry()
	calm := context.AfterFunc(ctx, func() { time.AfterFunc(closePatience, hurry) })
	defer calm()
	for {
		var ops []*op
		lost := b.store.Load().Lost() // of the store that is open now
		select {
		case <-ctx.Done():
			b.shutDown(context.WithoutCancel(ctx))
			return
		case <-lost:
			b.giveUp(nil, engine.ErrFenced)
			return
		case <-alarm.C:
		case o := <-b.inbox:
			ops = b.drain(o)
		}
		switch err := b.turn(commits, ops); {
		case errors.Is(err, engine.ErrFenced):
			b.giveUp(ops, err)
			return
		case err != nil:
			b.abandon(ops, err)
			if !b.reopen(ctx, err) {
				b.events.close()
				b.err = fmt.Errorf("the store was not opened again: %w", err)
				return
			}
		}
		alarm.Reset(b.pause())
	}
}

// drain takes what has piled up, in order.
func (b *Broker) drain(first *op) []*op {
	ops := []*op{first}
	for len(ops) < drainOps {
		select {
		case o := <-b.inbox:
			ops = append(ops, o)
		default:
			return ops
		}
	}
	return ops
}

// turn applies operations and due work and makes them durable before anybody
// hears of them. An error means that the outcome in the store is unknown.
func (b *Broker) turn(ctx context.Context, ops []*op) error {
	now := b.clock.now()
	for _, p := range b.taken.take() {
		b.ns.Taken(p)
	}
	if b.Health().ReadOnly != "" {
		return b.readOnlyTurn(ctx, now, ops)
	}
	for _, o := range ops {
		o.err = o.step(b.ns, now)
	}
	if !b.o.Unswept {
		b.ns.Sweep(now, b.slice(now, len(ops) > 0))
	}
	b.ns.Match(now)
	hard, soft := b.ns.Pending()
	if soft && b.softSince == 0 {
		b.softSince = now
	}
	fx := b.ns.Flush(now, hard || soft && now.Sub(b.softSince) >= b.softDelay())
	if fx.Batch != nil && !fx.Batch.Empty() {
		switch err := b.store.Load().Commit(ctx, fx.Batch); {
		case errors.Is(err, engine.ErrUnwritable):
			return b.goReadOnly(ctx, now, ops, fx.Batch, err)
		case err != nil:
			return err
		}
		b.bodies.keep(fx.Batch.Bodies)
	}
	if fx.Batch != nil {
		b.softSince = 0
	}
	b.ns.Seal(fx.Batch != nil)
	b.answer(ops, fx)
	return nil
}

// slice is how much a turn may do that nobody asked for: a storm of due
// messages is settled in large slices when nobody else is there, and in small
// ones beside others.
func (b *Broker) slice(now engine.Instant, asked bool) int {
	if asked {
		b.askedAt = now
	}
	if b.askedAt != 0 && now.Sub(b.askedAt) < aboutFor {
		return sweepBeside
	}
	return sweepWork
}

func (b *Broker) softDelay() time.Duration { return cmp.Or(b.o.SoftDelay, 500*time.Millisecond) }

// answer tells everybody what became of their operations, then publishes.
func (b *Broker) answer(ops []*op, fx engine.Effects) {
	for _, o := range ops {
		b.finish(o, o.err)
	}
	b.deliver(fx)
	b.events.append(fx.Events)
}

func (b *Broker) finish(o *op, err error) {
	b.room.Release(o.size)
	o.done(err)
}

// abandon answers operations whose outcome nobody knows.
func (b *Broker) abandon(ops []*op, err error) {
	for _, o := range ops {
		b.finish(o, fmt.Errorf("the outcome is not known: %w: %w", engine.ErrBusy, err))
	}
}

// pause is how long the loop may sleep.
func (b *Broker) pause() time.Duration {
	now := b.clock.now()
	next := b.probeAt
	if next == 0 {
		if !b.o.Unswept {
			next = b.ns.NextDue()
		}
		if b.softSince != 0 {
			if soft := b.softSince.Add(b.softDelay()); next == 0 || soft < next {
				next = soft
			}
		}
	}
	if next == 0 {
		return time.Hour
	}
	return max(0, next.Sub(now))
}

// giveUp ends a broker that no longer owns its namespace: what it was about to
// decide is not so, and it must not open the store again.
func (b *Broker) giveUp(ops []*op, why error) {
	b.log.Error("the store is no longer ours; the broker ends", "err", why)
	for _, o := range ops {
		b.finish(o, fmt.Errorf("%w: %w", engine.ErrClosed, why))
	}
	b.refuseRest()
	b.events.close()
	b.err = errors.Join(why, b.store.Load().Close())
}

// refuseRest answers whoever waits.
func (b *Broker) refuseRest() {
	for id, r := range b.receivers {
		delete(b.receivers, id)
		r.end(engine.ErrClosed)
	}
	b.refuseOps()
}

// refuseOps answers what is in line. Anybody may call it when the owner has
// ended.
func (b *Broker) refuseOps() {
	for {
		select {
		case o := <-b.inbox:
			b.finish(o, engine.ErrClosed)
		default:
			return
		}
	}
}

// shutDown answers what has arrived, makes the rest durable and closes.
func (b *Broker) shutDown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closePatience)
	defer cancel()
	b.refuseRest()
	now := b.clock.now()
	if fx := b.ns.Flush(now, b.Health().ReadOnly == ""); fx.Batch != nil {
		fx.Batch.Hard = true
		if err := b.store.Load().Commit(ctx, fx.Batch); err != nil {
			b.err = fmt.Errorf("last commit: %w", err)
		}
	}
	b.events.close()
	if err := b.store.Load().Close(); err != nil {
		b.err = errors.Join(b.err, fmt.Errorf("close the store: %w", err))
	}
}

// reopen loads everything again. Until that works, operations are refused. It
// tells whether the store is open; it is not if ctx ended first.
func (b *Broker) reopen(ctx context.Context, why error) bool {
	b.log.Error("the store failed; loading everything again", "err", why)
	b.update(func(h *Health) { h.Reopening, h.ReadOnly = why.Error(), "" })
	for id, r := range b.receivers {
		delete(b.receivers, id)
		r.end(fmt.Errorf("%w: %w", engine.ErrBusy, why))
	}
	if err := b.store.Load().Close(); err != nil {
		b.log.Warn("closing the failed store", "err", err)
	}
	b.softSince, b.probeAt = 0, 0
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case o := <-b.inbox:
			b.finish(o, fmt.Errorf("the store is being opened again: %w", engine.ErrBusy))
		case <-again.C:
			err := b.load(ctx)
			if err == nil {
				b.update(func(h *Health) { h.Reopening = "" })
				return true
			}
			b.log.Error("opening the store again", "err", err)
			again.Reset(reopenEvery)
		}
	}
}

// pins are bodies that have been read, on their way to the owner.
type pins struct {
	mu   sync.Mutex
	list []engine.Pin
}

func (p *pins) add(pin engine.Pin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, pin)
}

func (p *pins) take() []engine.Pin {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.list
	p.list = nil
	return out
}
