package show

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
	maxLifeEvents      = 50_000 // of all messages together
	tickerCapacity     = 50
	maxLinesPerSecond  = 20
	expiredCapacity    = 25 // messages that expired
	maxRemovedMessages = 2_000
	maxRemovedBytes    = 8 << 20

	sampleEvery  = 10 * time.Second
	gaugeSamples = 60 // ten minutes of them
)

// RecentEvents keeps recent events of the broker in memory: rates, the ticker, expired messages,
// automatic deletions, the events of messages, and messages that no subscription took. Events
// of earlier processes are read from the history, see loadHistory. It is bounded in memory and
// safe for concurrent use.
type RecentEvents struct {
	b             *broker.Broker
	log           *slog.Logger
	stop          context.CancelFunc
	wg            sync.WaitGroup
	epoch         uint64         // the first epoch of this process
	started       engine.Instant // when the process started
	historyLoaded chan struct{}  // closed when earlier events have been read, or none can be

	reopened chan engine.Instant // the instant when the broker lost its activity ledgers

	stats *stats.Recorder

	mu       sync.Mutex      // guards all below
	followed broker.Progress // the last event recorded
	lost     uint64          // events that were missed because they came too fast

	counter         *eventCounter
	depths          map[string]*depthHistory // of entities, by folded path
	gauges          [gaugeKinds]gauge
	lines           []tickerEntry   // newest last
	second          tickerSecond    // the latest second
	expired         []eventRecord   // newest last
	deleted         deletedEntities // deleted entities
	created         map[string]bool // folded paths of entities created before the deletions of earlier processes were read; nil after
	lastEntityEvent uint64          // number of the last event that created, changed or deleted an entity
	lastServerEvent uint64          // number of the last event of an operator or of the server

	useHistories      map[engine.SubqueueID]useHistory // uses from before known
	usesCompleteFrom  engine.Instant                   // the instant from which the broker's own ledgers are complete
	messages          messageEvents
	removed           removedMessages
	unmatchedMessages unmatchedList
}

// Values that are sampled rather than counted.
const (
	gaugeDead = iota
	gaugeLocked
	gaugeScheduled
	gaugeKinds
)

// A tickerEntry is a line of the ticker: an event, or several similar ones.
type tickerEntry struct {
	eventRecord
	similar int
}

// A tickerSecond counts the events of one second that the ticker shows.
type tickerSecond struct {
	at       engine.Instant // in seconds
	events   int
	ofServer int // of those
	lines    int // ticker lines made from them
}

// startRecent starts a RecentEvents. Call close when done.
func startRecent(b *broker.Broker, log *slog.Logger) *RecentEvents {
	ctx, stop := context.WithCancel(context.Background())
	r := &RecentEvents{
		b: b, log: log, stop: stop, epoch: b.Epoch(), started: b.ClockTime(),
		historyLoaded: make(chan struct{}), reopened: make(chan engine.Instant, 1), created: map[string]bool{},
		stats:   stats.New(),
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

// close stops recording and waits until that has ended.
func (r *RecentEvents) close() {
	r.stop()
	r.wg.Wait()
}

func (r *RecentEvents) follow(ctx context.Context) {
	n, events := uint64(0), []engine.Event(nil)
	for {
		clear(events) // the events may be large
		var lost uint64
		var err error
		events, lost, err = r.b.Events().Next(ctx, n, events)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, engine.ErrClosed) {
				r.log.Error("pages no longer show new events in their history", "err", err)
			}
			return
		}
		n = events[len(events)-1].N
		r.add(events, lost)
	}
}

// sample reads the counts at intervals.
func (r *RecentEvents) sample(ctx context.Context) {
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

func (r *RecentEvents) measure(c engine.Counts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gauges[gaugeDead].add(float64(c.DeadLetter))
	r.gauges[gaugeLocked].add(float64(c.Locked + c.DeadLocked))
	r.gauges[gaugeScheduled].add(float64(c.Scheduled))
}

func (r *RecentEvents) add(events []engine.Event, lost uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lost > 0 {
		r.stats.AddLost(lost)
	}
	if r.lost += lost; lost > 0 { // a missed event may have changed an entity
		r.lastEntityEvent = events[len(events)-1].N
	}
	for _, e := range events {
		r.addOne(e)
	}
	r.followed.Set(events[len(events)-1].N)
}

func (r *RecentEvents) addOne(e engine.Event) {
	t := recordOf(e)
	if history.IsNotable(e) {
		r.lastServerEvent = e.N
	}
	if m, ok := rateKindOf(e); ok {
		r.counter.add(e.At, m)
	}
	r.stats.Record(e)
	r.recordDepthChange(e)
	if expired(e) {
		if e.Kind == engine.EventDeadLettered {
			r.counter.add(e.At, rateExpired)
		}
		r.expired = append(trimmed(r.expired, expiredCapacity), t.withName(e))
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
		r.stats.AddLost(0)
		select {
		case <-r.reopened: // the later instant replaces it
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
		if removesMessage(e.Kind) {
			r.removed.add(e)
		}
	}
	r.addTickerLine(t.withName(e))
}

// recordDepthChange records how the depth of queues and subscriptions changes.
func (r *RecentEvents) recordDepthChange(e engine.Event) {
	if by := depthChange(e); by != 0 {
		r.addDepthChange(e.Path.Entity(), e.At, by)
	}
	if e.Kind == engine.EventMoved || e.Kind == engine.EventForwarded {
		r.addDepthChange(e.To, e.At, 1)
	}
}

func (r *RecentEvents) addDepthChange(path engine.Path, at engine.Instant, by int64) {
	p := path.Fold()
	if r.depths[p] == nil {
		r.depths[p] = &depthHistory{}
	}
	r.depths[p].add(at, by)
}

// addTickerLine adds an event to the ticker, merged with similar ones of the same second. After
// maxLinesPerSecond lines further events of that second are only counted.
func (r *RecentEvents) addTickerLine(t eventRecord) {
	switch t.kind {
	case engine.EventRenewed, engine.EventSessionRenewed, engine.EventLocked, engine.EventReleased: // too many to be useful
		return
	}
	if at := t.at / 1000; at != r.second.at {
		r.second = tickerSecond{at: at}
	}
	r.second.events++
	if t.kind.OfServer() {
		r.second.ofServer++
	}
	for i := len(r.lines) - 1; i >= max(0, len(r.lines)-tickerCapacity) && r.lines[i].at/1000 == t.at/1000; i-- {
		l := &r.lines[i]
		if t.key != 0 && l.kind == t.kind && l.path == t.path && l.to == t.to && l.reason == t.reason {
			l.similar++
			return
		}
	}
	if r.second.lines == maxLinesPerSecond {
		return
	}
	r.second.lines++
	r.lines = append(trimmed(r.lines, tickerCapacity), tickerEntry{t, 1})
}

// trimmed makes room for one more element in s, dropping the oldest. It keeps between most and
// twice as many, so that not every new element moves all others.
func trimmed[T any](s []T, most int) []T {
	if len(s) < 2*most {
		return s
	}
	kept := copy(s, s[len(s)-most+1:])
	clear(s[kept:])
	return s[:kept]
}

// latest returns the last elements of s, at most most.
func latest[T any](s []T, most int) []T { return s[max(0, len(s)-most):] }

// waitFor waits until event n is recorded, so that a page includes the events it claims to
// include, and until earlier events have been read. It waits for a second at most.
func (r *RecentEvents) waitFor(ctx context.Context, n uint64) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	select {
	case <-r.historyLoaded:
		r.followed.Wait(ctx, n)
	case <-ctx.Done():
	}
}

// ticker returns the latest lines, newest first, at most most, and how many events of the
// latest second they do not cover. With within set, events of the server are left out.
func (r *RecentEvents) ticker(within bool, most int) (lines []tickerEntry, more int) {
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
		if within && l.kind.OfServer() {
			continue
		}
		lines = append(lines, l)
		if l.at/1000 == r.second.at {
			more -= l.similar
		}
	}
	return lines, max(0, more) // events of an earlier process are not counted
}

// expiredSince returns the messages that expired at or after an instant, newest first.
func (r *RecentEvents) expiredSince(since engine.Instant) (out []eventRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range slices.Backward(latest(r.expired, expiredCapacity)) {
		if t.at < since {
			break
		}
		out = append(out, t)
	}
	return out
}

// sum returns the count of m in the last seconds, at most ten minutes.
func (r *RecentEvents) sum(now engine.Instant, seconds int, m rateKind) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counter.sum(now, seconds, m)
}

// line returns the counts of m over the last ten minutes.
func (r *RecentEvents) line(now engine.Instant, m rateKind) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counter.line(now, 10, m)
}

// depth returns the past numbers of messages in an entity that holds n now, or nil if it had no
// events.
func (r *RecentEvents) depth(now engine.Instant, path engine.Path, n int64) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.depths[path.Fold()]; t != nil {
		return t.line(now, n)
	}
	return nil
}

// gauge returns the samples of a number, oldest first.
func (r *RecentEvents) gauge(kind int) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.gauges[kind].values)
}

// messageEvents returns the recorded events of a message, oldest first.
func (r *RecentEvents) messageEvents(k engine.Key) []eventRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.messages.of(k)
}

// eventsWithContent returns the recorded events of an instant about messages with this content.
func (r *RecentEvents) eventsWithContent(content engine.Key, at engine.Instant) []eventRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.messages.eventsWithContent(content, at)
}

// lastServerEventNumber returns the number of the last event since the start of an operator or of the
// server.
func (r *RecentEvents) lastServerEventNumber() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastServerEvent
}

// lastEntityEventNumber returns the number of the last event since the start that created, changed or
// deleted an entity.
func (r *RecentEvents) lastEntityEventNumber() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastEntityEvent
}

// removal returns the event that removed a message, if it is still kept.
func (r *RecentEvents) removal(k engine.Key) (engine.Event, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.removed.get(k)
}
