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
	"mayfly/web/figures"
	"mayfly/web/past"
)

// How much is remembered of what happened since the start.
const (
	lifeEntries  = 50_000 // of all messages together
	tickerLines  = 50
	linesASecond = 20
	expiredLines = 25 // messages whose time ran out
	goneMessages = 2_000
	goneBytes    = 8 << 20

	sampleEvery = 10 * time.Second
	samples     = 60 // ten minutes of them
)

// Recent remembers a little of what happened, by following the broker's events:
// rates, the ticker, what expired, who deleted itself, the lives of messages, and
// which of them no subscription took.
// What a former process left in the history comes before that, see remind. It is
// bounded in memory and safe for concurrent use.
type Recent struct {
	b      *broker.Broker
	log    *slog.Logger
	stop   context.CancelFunc
	wg     sync.WaitGroup
	epoch  uint64         // the first one of this process
	began  engine.Instant // when it was started
	seeded chan struct{}  // closed when there is no more to learn of the time before

	reopened chan engine.Instant // when the broker has lost its ledgers

	figures *figures.Recorder

	mu       sync.Mutex     // guards all below
	followed broker.Reached // what was noted
	lost     uint64         // events that came and went too fast

	all     *pulse
	depths  map[string]*tide // of entities, by folded path
	gauges  [gaugeKinds]gauge
	lines   []line          // newest last
	second  second          // the latest
	expiry  []trace         // newest last
	yard    churchyard      // of what was deleted, or deleted itself
	made    map[string]bool // folded paths of entities created before the graves of former processes were known; nil after
	shaped  uint64          // number of the last event that made an entity, changed its description or took it away
	notable uint64          // number of the last event that is an operator's doing or the server's own

	ledgers map[engine.HolderID]ledger // of the time before known
	known   engine.Instant             // since when the broker's own ledgers are whole
	lives   lives
	gone    departedOnes
	strays  strays
}

// What is sampled rather than counted.
const (
	gaugeDead = iota
	gaugeLocked
	gaugeScheduled
	gaugeKinds
)

// A line is one line of the ticker: an event, or several alike.
type line struct {
	trace
	alike int
}

// A second is how many events it had that the ticker tells of.
type second struct {
	at       engine.Instant // in seconds
	events   int
	ofServer int // of those
	lines    int // that were made of them
}

// follow starts a Recent; Close ends it.
func follow(b *broker.Broker, log *slog.Logger) *Recent {
	ctx, stop := context.WithCancel(context.Background())
	r := &Recent{
		b: b, log: log, stop: stop, epoch: b.Epoch(), began: b.Clock(),
		seeded: make(chan struct{}), reopened: make(chan engine.Instant, 1), made: map[string]bool{},
		figures: figures.New(),
		all:     newPulse(1000, 600), depths: map[string]*tide{},
		lives: newLives(lifeEntries), gone: newDepartedOnes(),
	}
	for i := range r.gauges {
		r.gauges[i].most = samples
	}
	r.wg.Go(func() { r.follow(ctx) })
	r.wg.Go(func() { r.sample(ctx) })
	r.wg.Go(func() { r.remind(ctx) })
	return r
}

// close ends following and waits for it.
func (r *Recent) close() {
	r.stop()
	r.wg.Wait()
}

func (r *Recent) follow(ctx context.Context) {
	n, events := uint64(0), []engine.Event(nil)
	for {
		clear(events) // what they tell of may be large
		var lost uint64
		var err error
		events, lost, err = r.b.Events().Next(ctx, n, events)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, engine.ErrClosed) {
				r.log.Error("the history of pages stops", "err", err)
			}
			return
		}
		n = events[len(events)-1].N
		r.note(events, lost)
	}
}

// sample looks at the counts once in a while.
func (r *Recent) sample(ctx context.Context) {
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

func (r *Recent) measure(c engine.Counts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gauges[gaugeDead].add(float64(c.DeadLetter))
	r.gauges[gaugeLocked].add(float64(c.Locked + c.DeadLocked))
	r.gauges[gaugeScheduled].add(float64(c.Scheduled))
}

func (r *Recent) note(events []engine.Event, lost uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lost > 0 {
		r.figures.Lose(lost)
	}
	if r.lost += lost; lost > 0 { // one of them may have been of an entity
		r.shaped = events[len(events)-1].N
	}
	for _, e := range events {
		r.noteOne(e)
	}
	r.followed.Set(events[len(events)-1].N)
}

func (r *Recent) noteOne(e engine.Event) {
	t := traceOf(e)
	if past.IsNotable(e) {
		r.notable = e.N
	}
	if m, ok := meterOf(e); ok {
		r.all.add(e.At, m)
	}
	r.figures.Note(e)
	r.ebb(e)
	if expired(e) {
		if e.Kind == engine.EventDeadLettered {
			r.all.add(e.At, metExpired)
		}
		r.expiry = append(trimmed(r.expiry, expiredLines), t.named(e))
	}
	switch e.Kind {
	case engine.EventEntityCreated, engine.EventEntityUpdated, engine.EventEntityDeleted, engine.EventEntityAutoDeleted, engine.EventReopened:
		r.shaped = e.N
	}
	switch e.Kind {
	case engine.EventEntityAutoDeleted, engine.EventEntityDeleted:
		r.yard.bury(engine.PastEvent{Epoch: r.b.Epoch(), Event: e})
		delete(r.depths, e.Path.Fold())
	case engine.EventUnmatched:
		r.strays.add(strayOf(e))
	case engine.EventReopened:
		r.figures.Lose(0)
		select {
		case <-r.reopened: // the later counts
		default:
		}
		r.reopened <- e.At // nobody else sends
	case engine.EventEntityCreated:
		r.yard.open(func(g engine.PastEvent) bool { return g.Path.Fold() == e.Path.Fold() })
		if r.made != nil {
			r.made[e.Path.Fold()] = true
		}
	}
	if e.Message.Key != 0 {
		r.lives.add(t)
		if departed(e.Kind) {
			r.gone.add(e)
		}
	}
	r.say(t.named(e))
}

// ebb keeps how the depth of queues and subscriptions changes.
func (r *Recent) ebb(e engine.Event) {
	if by := net(e); by != 0 {
		r.turn(e.Path.Entity(), e.At, by)
	}
	if e.Kind == engine.EventMoved || e.Kind == engine.EventForwarded {
		r.turn(e.To, e.At, 1)
	}
}

func (r *Recent) turn(path engine.Path, at engine.Instant, by int64) {
	p := path.Fold()
	if r.depths[p] == nil {
		r.depths[p] = &tide{}
	}
	r.depths[p].add(at, by)
}

// say puts an event in the ticker, together with those like it of the same
// second. Nobody reads more than linesASecond: what comes after those is counted.
func (r *Recent) say(t trace) {
	switch t.kind {
	case engine.EventRenewed, engine.EventSessionRenewed, engine.EventLocked, engine.EventReleased: // too much for too little
		return
	}
	if at := t.at / 1000; at != r.second.at {
		r.second = second{at: at}
	}
	r.second.events++
	if t.ofServer() {
		r.second.ofServer++
	}
	for i := len(r.lines) - 1; i >= max(0, len(r.lines)-tickerLines) && r.lines[i].at/1000 == t.at/1000; i-- {
		l := &r.lines[i]
		if t.key != 0 && l.kind == t.kind && l.path == t.path && l.to == t.to && l.reason == t.reason {
			l.alike++
			return
		}
	}
	if r.second.lines == linesASecond {
		return
	}
	r.second.lines++
	r.lines = append(trimmed(r.lines, tickerLines), line{t, 1})
}

// trimmed makes room for one more in s, of which the latest are kept: at least
// most of them with the new one, and less than twice as many, so that not every
// new one has the others moved.
func trimmed[T any](s []T, most int) []T {
	if len(s) < 2*most {
		return s
	}
	kept := copy(s, s[len(s)-most+1:])
	clear(s[kept:])
	return s[:kept]
}

// latest are the last ones of s, most at most.
func latest[T any](s []T, most int) []T { return s[max(0, len(s)-most):] }

// reach waits until event n was noted, so that a page that says it knows it
// does, and until what happened before the start is known. What does not come in
// a second is not waited for.
func (r *Recent) reach(ctx context.Context, n uint64) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	select {
	case <-r.seeded:
		r.followed.Wait(ctx, n)
	case <-ctx.Done():
	}
}

// ticker is the latest lines, newest first and so many at most, and how many events of
// the latest second are not among them; within the namespace, none of what is of the
// server.
func (r *Recent) ticker(within bool, most int) (lines []line, more int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	more = r.second.events
	if within {
		more -= r.second.ofServer
	}
	for _, l := range slices.Backward(latest(r.lines, tickerLines)) {
		if len(lines) == most {
			break
		}
		if within && l.ofServer() {
			continue
		}
		lines = append(lines, l)
		if l.at/1000 == r.second.at {
			more -= l.alike
		}
	}
	return lines, max(0, more) // what is left of a process before is not counted
}

// ranOut is what expired at or after an instant, newest first.
func (r *Recent) ranOut(since engine.Instant) (out []trace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range slices.Backward(latest(r.expiry, expiredLines)) {
		if t.at < since {
			break
		}
		out = append(out, t)
	}
	return out
}

// sum is how many of m there were in the last seconds, of ten minutes at most.
func (r *Recent) sum(now engine.Instant, seconds int, m meter) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.sum(now, seconds, m)
}

// line is how m went in the last ten minutes.
func (r *Recent) line(now engine.Instant, m meter) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.line(now, 10, m)
}

// depth is how the number of messages in an entity went, of which there are n
// now; nil if nothing happened to them.
func (r *Recent) depth(now engine.Instant, path engine.Path, n int64) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.depths[path.Fold()]; t != nil {
		return t.line(now, n)
	}
	return nil
}

// gauge is what a sampled number was, oldest first.
func (r *Recent) gauge(kind int) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.gauges[kind].values)
}

// life is what is known of a message, oldest first.
func (r *Recent) life(k engine.Key) []trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lives.of(k)
}

// sharing is what is known of an instant about messages that have a content.
func (r *Recent) sharing(content engine.Key, at engine.Instant) []trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lives.sharing(content, at)
}

// lastNotable is the number of the last event since the start that is an
// operator's doing or the server's own.
func (r *Recent) lastNotable() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.notable
}

// lastShaped is the number of the last event since the start that made an
// entity, changed its description or took it away.
func (r *Recent) lastShaped() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shaped
}

// departure is the event with which a message went, if it is remembered.
func (r *Recent) departure(k engine.Key) (engine.Event, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gone.get(k)
}
