package recent

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/history"
	"mayfly/engine/stats"
)

// Limits on the stored events since the start.
const (
	maxLifeEvents      = 50_000 // events of all messages together
	tickerCapacity     = 50
	maxLinesPerSecond  = 20
	expiredCapacity    = 25 // messages that expired
	maxRemovedMessages = 2_000
	maxRemovedBytes    = 8 << 20

	sampleEvery  = 10 * time.Second
	gaugeSamples = 60 // ten minutes of samples
)

// Events keeps recent events of the broker in memory: rates, the ticker, expired messages,
// automatic deletions, the events of messages, and messages that no subscription took. Events of
// earlier processes are read from the history, see loadHistory. Events is bounded in memory and
// safe for concurrent use.
type Events struct {
	b             *broker.Broker
	Log           *slog.Logger
	stop          context.CancelFunc
	wg            sync.WaitGroup
	epoch         uint64         // the first epoch of this process
	started       engine.Instant // when the process started
	historyLoaded chan struct{}  // closed when earlier events have been read, or none can be

	reopened chan engine.Instant // the instant when the broker lost its use histories

	Stats *stats.Recorder

	mu       sync.Mutex      // guards all below
	followed broker.Progress // the last event recorded
	lost     uint64          // number of events that were missed because they came too fast

	counter         *eventCounter
	depths          map[string]*depthHistory // depths of entities, by folded path
	gauges          [gaugeKinds]gauge
	lines           []TickerEntry   // newest last
	second          tickerSecond    // counts of the latest second
	expired         []EventRecord   // newest last
	deleted         deletedEntities // recently deleted entities
	created         map[string]bool // folded paths of entities created before the deletions of earlier processes were read; nil after
	lastEntityEvent uint64          // number of the last event that created, changed or deleted an entity
	lastServerEvent uint64          // number of the last event of an operator or of the server

	useHistories      map[engine.SubqueueID]useHistory // uses before usesCompleteFrom
	usesCompleteFrom  engine.Instant                   // the instant from which the broker's own use histories are complete
	messages          messageEvents
	removed           removedMessages
	unmatchedMessages unmatchedList
}

// Values that are sampled rather than counted.
const (
	GaugeDead = iota
	GaugeLocked
	GaugeScheduled
	gaugeKinds
)

// A TickerEntry is a line of the ticker: an event, or several similar ones.
type TickerEntry struct {
	EventRecord
	Similar int
}

// A tickerSecond counts the events of one second that the ticker shows.
type tickerSecond struct {
	at       engine.Instant // in seconds
	events   int
	ofServer int // events of the server among them
	lines    int // ticker lines made from them
}

// Start starts to record the events of a broker. Call Close when done.
func Start(b *broker.Broker, log *slog.Logger) *Events {
	ctx, stop := context.WithCancel(context.Background())
	r := &Events{
		b: b, Log: log, stop: stop, epoch: b.Epoch(), started: b.ClockTime(),
		historyLoaded: make(chan struct{}), reopened: make(chan engine.Instant, 1), created: map[string]bool{},
		Stats:   stats.New(),
		counter: newEventCounter(1000, 600), depths: map[string]*depthHistory{},
		messages: newMessageEvents(maxLifeEvents), removed: newRemovedMessages(),
	}
	for i := range r.gauges {
		r.gauges[i].limit = gaugeSamples
	}
	r.wg.Go(func() { r.follow(ctx) })
	r.wg.Go(func() { r.sample(ctx) })
	r.wg.Go(func() { r.loadHistory(ctx) })
	return r
}

// Close stops recording and waits until that has ended.
func (r *Events) Close() {
	r.stop()
	r.wg.Wait()
}

func (r *Events) follow(ctx context.Context) {
	n, events := uint64(0), []engine.Event(nil)
	for {
		clear(events) // the events may be large
		var lost uint64
		var err error
		events, lost, err = r.b.Events().Next(ctx, n, events)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, engine.ErrClosed) {
				r.Log.Error("pages no longer show new events in their history", "err", err)
			}
			return
		}
		n = events[len(events)-1].N
		r.add(events, lost)
	}
}

// sample reads the counts at intervals.
func (r *Events) sample(ctx context.Context) {
	every := time.NewTicker(sampleEvery)
	defer every.Stop()
	first := true
	for {
		var c engine.Counts
		err := r.b.Read(ctx, func(look broker.Reader) error {
			c, _ = look.Totals()
			return nil
		})
		if err == nil {
			r.measure(c)
			if first {
				first = r.sampleAll(ctx) != nil
			} else {
				r.sampleTouched(ctx, c)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-r.b.Done():
			return
		case <-every.C:
		}
	}
}

func (r *Events) measure(c engine.Counts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gauges[GaugeDead].add(float64(c.DeadLetter))
	r.gauges[GaugeLocked].add(float64(c.Locked + c.DeadLocked))
	r.gauges[GaugeScheduled].add(float64(c.Scheduled))
}

func (r *Events) add(events []engine.Event, lost uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lost > 0 {
		r.Stats.AddLost(lost)
	}
	if r.lost += lost; lost > 0 { // a missed event may have changed an entity
		r.lastEntityEvent = events[len(events)-1].N
	}
	for _, e := range events {
		r.addOne(e)
	}
	r.followed.Set(events[len(events)-1].N)
}

func (r *Events) addOne(e engine.Event) {
	t := RecordOf(e)
	if history.IsNotable(e) {
		r.lastServerEvent = e.N
	}
	if m, ok := rateKindOf(e); ok {
		r.counter.add(e.At, m)
	}
	r.Stats.Record(e)
	r.recordDepthChange(e)
	if expired(e) {
		if e.Kind == engine.EventDeadLettered {
			r.counter.add(e.At, RateExpired)
		}
		r.expired = append(trimmed(r.expired, expiredCapacity), t.WithName(e))
	}
	switch e.Kind {
	case engine.EventEntityCreated, engine.EventEntityUpdated, engine.EventEntityDeleted, engine.EventEntityAutoDeleted, engine.EventReopened:
		r.lastEntityEvent = e.N
	}
	switch e.Kind {
	case engine.EventEntityAutoDeleted, engine.EventEntityDeleted:
		r.deleted.add(engine.HistoryEvent{Epoch: r.b.Epoch(), Event: e})
		delete(r.depths, e.Path.Fold())
	case engine.EventUnmatched:
		r.unmatchedMessages.add(unmatchedOf(e))
	case engine.EventReopened:
		r.Stats.AddLost(0)
		select {
		case <-r.reopened: // the later instant replaces an unread one
		default:
		}
		r.reopened <- e.At // this goroutine is the only sender
	case engine.EventEntityCreated:
		r.deleted.removeExisting(func(g engine.HistoryEvent) bool { return g.Path.Fold() == e.Path.Fold() })
		if r.created != nil {
			r.created[e.Path.Fold()] = true
		}
	}
	if e.Message.Key != 0 {
		r.messages.add(t)
		if RemovesMessage(e.Kind) {
			r.removed.add(e)
		}
	}
	r.addTickerLine(t.WithName(e))
}

// recordDepthChange records how the depth of queues and subscriptions changes.
func (r *Events) recordDepthChange(e engine.Event) {
	if by := depthChange(e); by != 0 {
		r.addDepthChange(e.Path.Entity(), e.At, by)
	}
	if e.Kind == engine.EventMoved || e.Kind == engine.EventForwarded {
		r.addDepthChange(e.To, e.At, 1)
	}
}

func (r *Events) addDepthChange(path engine.Path, at engine.Instant, by int64) {
	p := path.Fold()
	if r.depths[p] == nil {
		r.depths[p] = &depthHistory{}
	}
	r.depths[p].add(at, by)
}

// addTickerLine adds an event to the ticker, merged with similar ones of the same second. After
// maxLinesPerSecond lines further events of that second are only counted.
func (r *Events) addTickerLine(t EventRecord) {
	switch t.Kind {
	case engine.EventRenewed, engine.EventSessionRenewed, engine.EventLocked, engine.EventReleased: // too many to be useful
		return
	}
	if at := t.At / 1000; at != r.second.at {
		r.second = tickerSecond{at: at}
	}
	r.second.events++
	if t.Kind.OfServer() {
		r.second.ofServer++
	}
	for i := len(r.lines) - 1; i >= max(0, len(r.lines)-tickerCapacity) && r.lines[i].At/1000 == t.At/1000; i-- {
		l := &r.lines[i]
		if t.Key != 0 && l.Kind == t.Kind && l.Path == t.Path && l.To == t.To && l.Reason == t.Reason {
			l.Similar++
			return
		}
	}
	if r.second.lines == maxLinesPerSecond {
		return
	}
	r.second.lines++
	r.lines = append(trimmed(r.lines, tickerCapacity), TickerEntry{t, 1})
}

// trimmed returns s if it has fewer than 2*most elements, else only its last most-1 elements. It
// drops many elements at a time, so that not every append moves the others.
func trimmed[T any](s []T, most int) []T {
	if len(s) < 2*most {
		return s
	}
	kept := copy(s, s[len(s)-most+1:])
	clear(s[kept:])
	return s[:kept]
}

// latest returns the last n elements of s, or all of them if there are fewer.
func latest[T any](s []T, n int) []T { return s[max(0, len(s)-n):] }

// WaitFor waits until event n is recorded, so that a page includes the events it claims to
// include, and until earlier events have been read. It waits for a second at most.
func (r *Events) WaitFor(ctx context.Context, n uint64) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	select {
	case <-r.historyLoaded:
		r.followed.Wait(ctx, n)
	case <-ctx.Done():
	}
}

// Ticker returns up to `most` of the latest lines, newest first, and how many events of the latest
// second these lines do not cover. If `within` is true, it leaves out events of the server.
func (r *Events) Ticker(within bool, most int) (lines []TickerEntry, more int) { //nolint:revive // whether the viewer is confined to the namespace
	r.mu.Lock()
	defer r.mu.Unlock()
	more = r.second.events
	if within {
		more -= r.second.ofServer
	}
	for _, l := range slices.Backward(latest(r.lines, tickerCapacity)) {
		if len(lines) == most {
			break
		}
		if within && l.Kind.OfServer() {
			continue
		}
		lines = append(lines, l)
		if l.At/1000 == r.second.at {
			more -= l.Similar
		}
	}
	return lines, max(0, more) // events of an earlier process are not counted
}

// ExpiredSince returns the messages that expired at or after an instant, newest first.
func (r *Events) ExpiredSince(since engine.Instant) (out []EventRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range slices.Backward(latest(r.expired, expiredCapacity)) {
		if t.At < since {
			break
		}
		out = append(out, t)
	}
	return out
}

// Sum returns the number of events of kind m in the given number of last seconds, at most 600.
func (r *Events) Sum(now engine.Instant, seconds int, m RateKind) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counter.sum(now, seconds, m)
}

// Line returns the counts of events of kind m over the last ten minutes, for ten seconds each,
// oldest first.
func (r *Events) Line(now engine.Instant, m RateKind) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counter.line(now, 10, m)
}

// Depth returns the past numbers of messages in an entity that holds `n` messages at `now`, or nil
// if the entity has had no events.
func (r *Events) Depth(now engine.Instant, path engine.Path, n int64) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.depths[path.Fold()]; t != nil {
		return t.line(now, n)
	}
	return nil
}

// Gauge returns the samples of a number, oldest first.
func (r *Events) Gauge(kind int) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.gauges[kind].values)
}

// MessageEvents returns the recorded events of a message, oldest first.
func (r *Events) MessageEvents(k engine.Key) []EventRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.messages.of(k)
}

// EventsWithContent returns the recorded events of an instant about messages with this content.
func (r *Events) EventsWithContent(content engine.Key, at engine.Instant) []EventRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.messages.eventsWithContent(content, at)
}

// LastServerEventNumber returns the number of the last event of an operator or of the server
// since the start, or zero if there is none.
func (r *Events) LastServerEventNumber() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastServerEvent
}

// LastEntityEventNumber returns the number of the last event that created, changed or deleted an
// entity since the start, or zero if there is none.
func (r *Events) LastEntityEventNumber() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastEntityEvent
}

// Removal returns the event that removed a message, if it is still kept.
func (r *Events) Removal(k engine.Key) (engine.Event, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.removed.get(k)
}

// FormerEpoch returns an epoch as event records store it: zero for all epochs of this process,
// because event numbers continue when the store is opened again.
func (r *Events) FormerEpoch(epoch uint64) uint64 {
	if epoch >= r.epoch {
		return 0
	}
	return epoch
}
