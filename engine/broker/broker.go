package broker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"mayfly/engine"
)

// Options are how a broker runs. The zero value is right for a laptop.
type Options struct {
	Name       string         // of the namespace, for people; zero: "default"
	Limits     *engine.Limits // zero: engine.DefaultLimits
	Logger     *slog.Logger   // zero: slog.Default
	Events     int            // events kept for readers; zero: 16384
	EventBytes int64          // of contents in them; zero: 32 MiB
	InboxOps   int            // operations that may wait for their turn; zero: 4096
	InboxBytes int64          // bytes of messages that may wait; zero: 64 MiB
	CacheBytes int64          // of bodies kept in memory; zero: 32 MiB
	SoftDelay  time.Duration  // how long locks and last uses may wait for a commit; zero: 500 ms
	EagerLocks bool           // every commit has the locks taken before it, also those that SoftDelay lets wait
	Unswept    bool           // for tests: nothing happens before somebody asks for it
	Machine    *Machine       // the clock; zero: the system's, which nobody can turn

	HistoryFor   time.Duration // how long a history keeps events; zero: a week; negative: no bound
	HistoryBytes int64         // how much room it may take; zero: 256 MiB; negative: no bound
	HistoryRate  int           // events a second that it is given at the most, of what every message does and of the rest; zero: 1000
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
	clock  timepiece // run moves it on; set by Open
	past   *follower // nil if the store is no engine.History; set by Open

	// Owned by run.
	ns        *engine.Namespace
	links     map[engine.LinkID]Sink // receivers that have not ended
	lapsed    lapses                 // those that have, and stay
	later     []*op                  // whose steps said errNotYet
	softSince engine.Instant         // when the oldest soft change was made; zero: there is none
	askedAt   engine.Instant         // when somebody last asked for something
	probeAt   engine.Instant         // when to try writing again, while read-only
	probeSize int                    // how much to try with

	store  atomic.Pointer[opened]
	link   atomic.Uint64
	health atomic.Pointer[Health]
	pace   pace
	took   durations // of commits
	taken  pins
	stir   chan struct{} // holds one token while there is something for who keeps the vigil
}

// opened is a store with what belongs to its epoch.
type opened struct {
	engine.Store
	keys  *engine.Keys
	rules *engine.Rulebook
	epoch uint64
	from  uint64 // number of the last event before this epoch
}

// Open loads everything from the store and starts to serve. open is called
// again whenever a commit failed in a way that leaves its outcome unknown; the
// broker closes what it opened. An error of the first call is returned as it
// is; an *engine.OwnedError of a later one ends the broker.
func Open(ctx context.Context, open func(context.Context) (engine.Store, error), o Options) (*Broker, error) {
	b := &Broker{
		o: o, limits: o.limits(), log: cmp.Or(o.Logger, slog.Default()), open: open,
		inbox:  make(chan *op, cmp.Or(o.InboxOps, 4096)),
		room:   semaphore.NewWeighted(cmp.Or(o.InboxBytes, 64<<20)),
		done:   make(chan struct{}),
		events: newLog(cmp.Or(o.Events, 16384), cmp.Or(o.EventBytes, 32<<20)),
		bodies: newCache(cmp.Or(o.CacheBytes, 32<<20)),
		links:  map[engine.LinkID]Sink{},
		stir:   make(chan struct{}, 1),
	}
	b.health.Store(&Health{})
	if b.clock = newClock(); o.Machine != nil {
		b.clock = o.Machine
	}
	if err := b.load(ctx); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stop = stop
	if b.store.Load().history() != nil {
		b.past = follow(context.WithoutCancel(ctx), b)
	}
	b.announce(engine.EventStarted, fmt.Sprintf("epoch %d", b.Epoch()))
	go func() { // ends with Close, which waits for done
		b.run(running)
		close(b.done)
		b.refuseOps(b.closed())
	}()
	return b, nil
}

// load opens the store and reads it whole.
func (b *Broker) load(ctx context.Context) error {
	store, err := b.open(ctx)
	if err != nil {
		return err
	}
	keys, rules := engine.NewKeys(store.Epoch()), &engine.Rulebook{}
	ns := engine.New(engine.Options{Limits: b.limits, Keys: keys, Nonce: nonce, Rules: rules})
	recorded, err := restore(ctx, ns, store)
	if err != nil { // closed no earlier: Close waits for those who read
		return errors.Join(fmt.Errorf("load the namespace: %w", err), store.Close())
	}
	if ahead := b.clock.follow(recorded); ahead > 0 {
		b.log.Warn("the last commit lies ahead of the system clock; the system clock is used", "ahead", ahead)
		b.update(func(h *Health) { h.ClockAhead = ahead })
	}
	ns.Restored(b.clock.now())
	b.ns = ns
	b.store.Store(&opened{Store: store, keys: keys, rules: rules, epoch: store.Epoch(), from: b.events.Last()})
	b.stirred()
	return nil
}

// restore has ns take in what the store remembers, and returns its clock.
func restore(ctx context.Context, ns *engine.Namespace, store engine.Store) (recorded engine.Instant, err error) {
	for r, err := range store.Load(ctx) {
		if err != nil {
			return recorded, err
		}
		if c, ok := r.(engine.Clock); ok {
			recorded = c.Now
		}
		if err := ns.Restore(r); err != nil {
			return recorded, err
		}
	}
	return recorded, nil
}

// nonce is random, so that a lock token cannot be guessed from another.
func nonce() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return binary.BigEndian.Uint64(b[:])
}

// closed is what callers are told when the broker has ended; read it after done.
func (b *Broker) closed() error {
	if errors.Is(b.err, engine.ErrFenced) {
		return errElsewhere
	}
	return engine.ErrClosed
}

// Done is closed when the broker has ended.
func (b *Broker) Done() <-chan struct{} { return b.done }

// Name is the namespace's.
func (b *Broker) Name() string { return cmp.Or(b.o.Name, "default") }

// Limits are the namespace's.
func (b *Broker) Limits() engine.Limits { return b.limits }

// Epoch is the store's present one.
func (b *Broker) Epoch() uint64 { return b.store.Load().epoch }

// Events is the log of what happens.
func (b *Broker) Events() *Log { return b.events }

// run is the owner of the namespace until ctx ends.
func (b *Broker) run(ctx context.Context) {
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	turned := b.clock.turned()
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
			b.giveUp(b.later, engine.ErrFenced)
			return
		case <-alarm.C:
		case <-turned:
			b.stirred()
		case o := <-b.inbox:
			ops = b.drain(o)
		}
		ops, b.later = slices.Concat(b.later, ops), nil
		switch err := b.turn(commits, ops); {
		case errors.Is(err, engine.ErrFenced):
			b.giveUp(ops, err)
			return
		case err != nil:
			b.abandon(ops, err)
			if again := b.reopen(ctx, err); again != nil {
				b.leave(again)
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

// pause is how long the loop may sleep.
func (b *Broker) pause() time.Duration {
	now := b.clock.now()
	next := b.probeAt
	if len(b.later) > 0 {
		next = now
	}
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
	return min(max(0, b.clock.wait(next)), time.Hour)
}
