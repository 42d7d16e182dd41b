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

// Options configure a broker. The zero value is right for a laptop.
type Options struct {
	Name        string         // of the namespace, for display; zero means "default"
	Limits      *engine.Limits // zero means engine.DefaultLimits
	Logger      *slog.Logger   // zero means slog.Default
	Events      int            // events kept for readers; zero means 16384
	EventBytes  int64          // bytes of contents in the events kept; zero means 32 MiB
	InboxOps    int            // operations that may wait for their turn; zero means 4096
	InboxBytes  int64          // bytes of messages that may wait; zero means 64 MiB
	CacheBytes  int64          // bytes of bodies kept in memory; zero means 32 MiB
	SoftDelay   time.Duration  // how long locks and last uses may wait for a commit; zero means 500 ms
	EagerLocks  bool           // each commit includes all earlier locks, regardless of SoftDelay
	NoSweep     bool           // for tests: nothing expires or is swept until a caller asks for it
	Memory      *engine.Memory // shared by all namespaces of the process; zero means no limit
	ManualClock *ManualClock   // the clock; zero means the system's, which cannot be adjusted

	HistoryFor   time.Duration // how long a history keeps events; zero means a week; negative means no bound
	HistoryBytes int64         // bytes that a history may use; zero means 256 MiB; negative means no bound
	HistoryRate  int           // events that a history keeps per second at most, counted separately for routine events and for others; zero means 1000
}

func (o Options) limits() engine.Limits {
	if o.Limits == nil {
		return engine.DefaultLimits()
	}
	return *o.Limits
}

const (
	sweepWork     = 2048 // changes by the sweep in one turn
	busySweepWork = 48   // the same while clients are active, so that none waits long for a commit
	busyFor       = 100 * time.Millisecond
	drainOps      = 1024             // operations applied in one turn
	probeEvery    = time.Second      // attempts to write while read-only
	reopenEvery   = time.Second      // attempts to open the store again
	closeTimeout  = 10 * time.Second // for the last commit
)

// A Broker serves one namespace. Its methods are safe for concurrent use.
type Broker struct {
	o      Options
	limits engine.Limits
	log    *slog.Logger
	open   func(context.Context) (engine.Store, error)

	inbox    chan *op
	inFlight *semaphore.Weighted // bytes of waiting operations
	stop     context.CancelFunc
	done     chan struct{} // closed when run has returned
	err      error         // why run ended; read after done
	events   *Log
	bodies   *bodyCache
	clock    clockSource    // run advances it; set by Open
	history  *historyWriter // nil if the store is no engine.History; set by Open

	// Owned by run.
	ns                  *engine.Namespace
	links               map[engine.LinkID]Sink // receivers that have not ended
	lossListeners       lossListeners          // receivers that stay registered although they lost their sessions
	postponed           []*op                  // operations whose steps returned errRunAgain
	memoryFullAnnounced bool                   // EventMemoryFull was announced, and EventMemoryFree not yet
	softSince           engine.Instant         // when the oldest uncommitted soft change was made; zero if there is none
	lastRequestAt       engine.Instant         // when a caller last submitted an operation
	probeAt             engine.Instant         // when to try writing again, while read-only
	probeSize           int                    // bytes that a probe writes
	freeSpaceAt         engine.Instant         // when to free room in the store, while read-only

	store         atomic.Pointer[openStore]
	memory        *engine.Memory // set by Open
	share         atomic.Pointer[engine.MemoryShare]
	link          atomic.Uint64
	health        atomic.Pointer[Health]
	commitTimer   commitTimer
	commitTimes   histogram
	releasedPins  pinList
	expiryChanged chan struct{} // holds one token while there is news for the expiry watch
}

// openStore is a store with the keys and rules of its epoch.
type openStore struct {
	engine.Store
	keys  *engine.Keys
	rules *engine.Rulebook
	epoch uint64
	from  uint64 // number of the last event before this epoch
}

// Open opens the store with `open`, loads everything from it and starts to serve. The broker closes
// the store, and calls `open` again after a commit whose outcome is unknown. If the first call of
// `open` fails, Open returns its error unchanged; an *engine.OwnedError of a later call ends the
// broker.
func Open(ctx context.Context, open func(context.Context) (engine.Store, error), o Options) (*Broker, error) {
	b := &Broker{
		o: o, limits: o.limits(), log: cmp.Or(o.Logger, slog.Default()), open: open,
		inbox:         make(chan *op, cmp.Or(o.InboxOps, 4096)),
		inFlight:      semaphore.NewWeighted(cmp.Or(o.InboxBytes, 64<<20)),
		done:          make(chan struct{}),
		events:        newLog(cmp.Or(o.Events, 16384), cmp.Or(o.EventBytes, 32<<20)),
		bodies:        newBodyCache(cmp.Or(o.CacheBytes, 32<<20)),
		links:         map[engine.LinkID]Sink{},
		expiryChanged: make(chan struct{}, 1),
		memory:        cmp.Or(o.Memory, new(engine.Memory)),
	}
	b.health.Store(&Health{})
	if b.clock = newSystemClock(); o.ManualClock != nil {
		b.clock = o.ManualClock
	}
	if err := b.load(ctx); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stop = stop
	if b.store.Load().history() != nil {
		b.history = startHistoryWriter(context.WithoutCancel(ctx), b)
	}
	b.announce(engine.EventStarted, fmt.Sprintf("epoch %d", b.Epoch()))
	go func() { // ends with Close, which waits for done
		b.run(running)
		b.releaseNamespace()
		close(b.done)
		b.refuseOps(b.closedError())
	}()
	return b, nil
}

// load opens the store and loads the namespace from it.
func (b *Broker) load(ctx context.Context) error {
	store, err := b.open(ctx)
	if err != nil {
		return err
	}
	keys, rules := engine.NewKeys(store.Epoch()), &engine.Rulebook{}
	inMemory, ok := store.(engine.InMemory)
	ns := engine.New(engine.Options{
		Limits: b.limits, Keys: keys, Nonce: nonce, Rules: rules, Memory: b.memory, InMemory: ok && inMemory.InMemory(),
	})
	recorded, err := restore(ctx, ns, store)
	if err != nil { // Close waits for readers, so it is called only after restore has read everything
		return errors.Join(fmt.Errorf("load the namespace: %w", err), store.Close())
	}
	if ahead := b.clock.startFrom(recorded); ahead > 0 {
		b.log.Warn("the last commit is ahead of the system clock; using the system clock", "ahead", ahead)
		b.updateHealth(func(h *Health) { h.ClockAhead = ahead })
	}
	ns.Restored(b.clock.now())
	b.ns = ns
	b.share.Store(ns.MemoryShare())
	b.countDamaged()
	b.store.Store(&openStore{Store: store, keys: keys, rules: rules, epoch: store.Epoch(), from: b.events.Last()})
	b.signalExpiryChanged()
	return nil
}

// restore loads the store's records into ns and returns the recorded clock.
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

// nonce returns a random number, so that a lock token cannot be guessed from another.
func nonce() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return binary.BigEndian.Uint64(b[:])
}

// closedError returns the error for callers of a broker that has ended. Call it after done.
func (b *Broker) closedError() error {
	if errors.Is(b.err, engine.ErrFenced) {
		return errNotOwner
	}
	return engine.ErrClosed
}

// Done returns a channel that is closed when the broker has ended.
func (b *Broker) Done() <-chan struct{} { return b.done }

// Name returns the namespace's name.
func (b *Broker) Name() string { return cmp.Or(b.o.Name, "default") }

// Limits returns the namespace's limits.
func (b *Broker) Limits() engine.Limits { return b.limits }

// Epoch returns the store's present epoch.
func (b *Broker) Epoch() uint64 { return b.store.Load().epoch }

// Events returns the log of events.
func (b *Broker) Events() *Log { return b.events }

// run is the owner of the namespace until ctx ends.
func (b *Broker) run(ctx context.Context) {
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	turned := b.clock.changed()
	// Close gives a running commit closeTimeout to end.
	commits, hurry := context.WithCancel(context.WithoutCancel(ctx))
	defer hurry()
	calm := context.AfterFunc(ctx, func() { time.AfterFunc(closeTimeout, hurry) })
	defer calm()
	for {
		var ops []*op
		lost := b.store.Load().Lost() // of the store that is open now
		select {
		case <-ctx.Done():
			b.shutDown(context.WithoutCancel(ctx))
			return
		case <-lost:
			b.endFenced(b.postponed, engine.ErrFenced)
			return
		case <-alarm.C:
		case <-turned:
			b.signalExpiryChanged()
		case why := <-b.storeTrouble():
			b.suspendWrites(why)
			alarm.Reset(b.sleepTime())
			continue
		case o := <-b.inbox:
			ops = b.drainInbox(o)
		}
		ops, b.postponed = slices.Concat(b.postponed, ops), nil
		switch err := b.turn(commits, ops); {
		case errors.Is(err, engine.ErrFenced):
			b.endFenced(ops, err)
			return
		case err != nil:
			b.answerUnknown(ops, err)
			if again := b.reopen(ctx, err); again != nil {
				b.endBroken(again)
				return
			}
		}
		b.announceMemory()
		alarm.Reset(b.sleepTime())
	}
}

// drainInbox takes the waiting operations, in order.
func (b *Broker) drainInbox(first *op) []*op {
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

// sweepBudget returns how many changes the sweep may make in one turn: many while no clients are
// active, so that many due messages are processed fast, and few while clients wait for their
// answers. asked means that the turn has operations; clients count as active for busyFor after such
// a turn.
func (b *Broker) sweepBudget(now engine.Instant, asked bool) int {
	if asked {
		b.lastRequestAt = now
	}
	if b.lastRequestAt != 0 && now.Sub(b.lastRequestAt) < busyFor {
		return busySweepWork
	}
	return sweepWork
}

func (b *Broker) softDelay() time.Duration { return cmp.Or(b.o.SoftDelay, 500*time.Millisecond) }

// sleepTime returns how long run may sleep until the next due work, at most an hour.
func (b *Broker) sleepTime() time.Duration {
	now := b.clock.now()
	next := b.probeAt
	if next != 0 && b.freeSpaceAt != 0 {
		next = min(next, b.freeSpaceAt)
	}
	if len(b.postponed) > 0 {
		next = now
	}
	if next == 0 {
		if !b.o.NoSweep {
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
	return min(max(0, b.clock.timeUntil(next)), time.Hour)
}
