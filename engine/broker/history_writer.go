package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"mayfly/engine"
)

const (
	gatherInterval   = time.Second // how long events wait for others before they are handed over
	maxHistoryBatch  = 1000        // events handed over at once
	maxEventsScanned = 4096        // events examined at once, while the log is locked
	pruneInterval    = time.Minute
	maxTries         = 30              // attempts to hand over one batch while the store accepts other writes
	finishTimeout    = 5 * time.Second // for the last hand-over, when the broker is closed
)

// A historyWriter hands events to the store's history in the background, about once a second; the
// owner waits for it only at the end.
//
// An engine.EventGap counts the events that are missing from the history. It is created here and
// not published; its number and its instant are those of the last missing event. There are gaps
// when more than Options.HistoryRate events happen in a second: then routine events, which
// every message has, are left out before rarer ones such as dead-lettering. And there are gaps
// when the history cannot be written for so long that the log drops events.
//
// INVARIANT: an event has one number in the log, in a batch's audit and in the history. The
// log's numbers continue when the store is reopened, so a number identifies one event as long as
// the broker runs. The history adds the epoch of the store that received the event: of an audited
// event at its commit, of others when they were handed over. An epoch belongs to one broker, so
// number and epoch together are unique. (A batch with an unknown outcome may have stored its audit
// with a number that the log assigns again, but then in a later epoch.)
type historyWriter struct {
	b           *Broker
	stop        context.CancelFunc // ends handing over
	stopPruning context.CancelFunc // ends prune
	wg          sync.WaitGroup

	mu           sync.Mutex
	batch        []engine.Event // taken from the log and not handed over yet, in order
	gap          gap            // missing events that are not handed over yet
	triedStore   *openStore     // the store that failed to accept batch, which then does not change; nil if none
	tries        int            // failed attempts to hand over batch
	second       time.Time      // when the present second began
	routineCount int            // routine events of this second
	otherCount   int            // other events of this second
}

// history returns the store's history, nil if it has none.
func (o *openStore) history() engine.History {
	h, _ := o.Store.(engine.History)
	return h
}

// startHistoryWriter starts a historyWriter with the next event; waitUntilWritten ends it.
func startHistoryWriter(ctx context.Context, b *Broker) *historyWriter {
	f := &historyWriter{b: b}
	var run, forget context.Context
	run, f.stop = context.WithCancel(ctx)
	forget, f.stopPruning = context.WithCancel(run)
	b.events.startCursor()
	f.wg.Go(func() { f.run(run) })
	f.wg.Go(func() { f.prune(forget) })
	return f
}

// waitUntilWritten waits until the remaining events are handed over, for finishTimeout at most, and
// ends the goroutines. If f.stop was called before, the remaining events are not handed over. The
// caller closes the log first.
func (f *historyWriter) waitUntilWritten() {
	f.stopPruning()
	late := time.AfterFunc(finishTimeout, f.stop)
	defer late.Stop()
	f.wg.Wait()
	f.stop()
}

func (f *historyWriter) run(ctx context.Context) {
	for ctx.Err() == nil {
		if f.empty() {
			select {
			case <-f.b.events.waitFor(1):
			case <-ctx.Done():
				return
			}
		}
		more, closed := f.gather(ctx)
		if err := f.writeBatch(ctx); closed && (err != nil || !more) {
			return
		}
	}
}

// empty reports whether all events and gaps that were taken from the log have been handed over.
func (f *historyWriter) empty() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.batch) == 0 && f.gap.count == 0
}

// gather collects events until the batch is full, gatherInterval has passed, or the log is closed.
// more reports whether the log has further events, closed whether the log is closed or ctx has
// ended.
func (f *historyWriter) gather(ctx context.Context) (more, closed bool) {
	late := time.NewTimer(gatherInterval)
	defer late.Stop()
	for {
		next := uint64(maxHistoryBatch)
		if f.full() {
			next = math.MaxUint64 / 2 // only the end of the log cuts the pause short
		}
		select {
		case <-f.b.events.waitFor(next):
			if more, closed = f.takeEvents(); closed || f.full() {
				return more, closed
			}
		case <-late.C:
			return f.takeEvents()
		case <-ctx.Done():
			return false, true
		}
	}
}

// full reports whether the batch is complete, or has failed and waits for another try.
func (f *historyWriter) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.batch) >= maxHistoryBatch || f.triedStore != nil
}

// takeEvents adds the log's events to the batch. It reports the same as gather.
func (f *historyWriter) takeEvents() (more, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	most := maxEventsScanned
	if f.triedStore != nil || len(f.batch) >= maxHistoryBatch {
		most = 0
	}
	if now := time.Now(); now.Sub(f.second) >= time.Second {
		f.second, f.routineCount, f.otherCount = now, 0, 0
	}
	missed, more, closed := f.b.events.takeNext(most, f.addIfRecorded)
	f.gap.add(missed)
	return more, closed
}

// addIfRecorded adds an event to the batch if the history records it and it is within the rate, and
// reports whether the batch is complete. Called with mu held.
func (f *historyWriter) addIfRecorded(e *engine.Event) (enough bool) {
	if !isRecorded(e) {
		return false
	}
	spent := &f.otherCount
	if isRoutine(e.Kind) {
		spent = &f.routineCount
	}
	if *spent >= cmp.Or(f.b.o.HistoryRate, 1000) {
		f.gap.add(gap{e.N, e.At, 1})
		return false
	}
	*spent++
	f.batch = append(f.batch, historyEvent(*e))
	return len(f.batch) >= maxHistoryBatch
}

var errStoreUnready = errors.New("the store is read-only or being reopened")

// writeBatch appends the batch to the history. If that fails, the next call tries the same batch
// again, since the history may have stored it and must be able to recognize it. After maxTries
// attempts, writeBatch replaces the batch with a gap.
func (f *historyWriter) writeBatch(ctx context.Context) error {
	if h := f.b.Health(); h.Reopening != "" || h.ReadOnly != "" {
		return errStoreUnready
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	store := f.b.store.Load()
	batch, tried := f.nextBatch()
	if len(batch) == 0 {
		return nil
	}
	err := f.append(ctx, store, tried, &batch)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		f.batch, f.triedStore, f.tries = nil, nil, 0
		return nil
	}
	if tried == nil {
		f.b.log.Warn("the history was not written; retrying every second", "err", err)
	}
	f.batch, f.triedStore = batch, store
	if f.tries++; f.tries >= maxTries {
		f.b.log.Error("events are missing from the history", "events", len(batch), "err", err)
		f.replaceByGap()
	}
	return err
}

// replaceByGap replaces the batch with a gap. Called with mu held.
func (f *historyWriter) replaceByGap() {
	var g gap
	for _, e := range f.batch {
		missing := int64(1)
		if e.Kind == engine.EventGap {
			missing = e.Count
		}
		g.add(gap{e.N, e.At, missing})
	}
	g.add(f.gap)
	f.gap, f.batch, f.triedStore, f.tries = g, nil, nil, 0
}

// nextBatch returns the batch to hand over now, including the gap.
func (f *historyWriter) nextBatch() (batch []engine.Event, tried *openStore) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if g := f.gap; f.triedStore == nil && g.count > 0 {
		at, _ := slices.BinarySearchFunc(f.batch, g.n, func(e engine.Event, n uint64) int { return cmp.Compare(e.N, n) })
		f.batch = slices.Insert(f.batch, at, engine.Event{N: g.n, Kind: engine.EventGap, At: g.at, Count: g.count})
		f.gap = gap{}
	}
	return slices.Clone(f.batch), f.triedStore
}

// append appends batch to the store's history. `tried` is the store that failed to accept the batch
// before, or nil. If it is not `store`, append removes from the batch the events that `tried` has
// stored all the same.
func (f *historyWriter) append(ctx context.Context, store, tried *openStore, batch *[]engine.Event) error {
	h := store.history()
	if h == nil {
		return errNoHistory
	}
	if tried != nil && tried != store {
		have := map[uint64]bool{}
		first, last := (*batch)[0].At, (*batch)[len(*batch)-1].At
		for e, err := range h.QueryEvents(ctx, engine.HistoryQuery{From: first, Until: last + 1}) {
			if err != nil {
				return fmt.Errorf("read the end of the history: %w", err)
			}
			have[e.N] = have[e.N] || e.Epoch == tried.epoch
		}
		*batch = slices.DeleteFunc(*batch, func(e engine.Event) bool { return have[e.N] })
	}
	if len(*batch) == 0 {
		return nil
	}
	return h.AppendEvents(ctx, *batch)
}

// prune keeps the history within its bounds.
func (f *historyWriter) prune(ctx context.Context) {
	every := time.NewTicker(pruneInterval)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		h := f.b.store.Load().history()
		if h == nil || f.b.Health().Reopening != "" {
			continue
		}
		before := engine.Instant(0)
		if age := cmp.Or(f.b.o.HistoryFor, 7*24*time.Hour); age > 0 {
			before = f.b.clock.approximate().Add(-age)
		}
		most := max(0, cmp.Or(f.b.o.HistoryBytes, 256<<20))
		if err := h.TrimEvents(ctx, before, most); err != nil && ctx.Err() == nil {
			f.b.log.Warn("the history was not shortened; retrying in a minute", "err", err)
		}
	}
}
