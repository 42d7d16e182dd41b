package show

import (
	"context"
	"slices"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/views/view"
)

const (
	// longestLife is how many events of one message are read; the latest.
	longestLife = 500
	// gapsShown is how many gaps of the history a life can show.
	gapsShown = 10
	// endsRead bounds how often the history is read for what a message went
	// with, longestLife events at a time.
	endsRead = 20
)

// A chronicle is what is known of a message's past.
type chronicle struct {
	past   []trace      // oldest first, gaps of the history among them
	last   engine.Event // with which it left; its Kind is zero if it has not, as far as known
	cut    bool         // there was more before
	broken bool         // the history could not be read
}

// living is the chronicle of a message that is there. Its page is made anew each
// second that somebody looks at it: the history is read once in a while, and in
// between memory tells what is new.
func (p *Pages) living(ctx context.Context, k engine.Key) chronicle {
	if view.IsStill(ctx) {
		if c, ok := p.lately.get(k); ok {
			return c.with(p.recent.life(k))
		}
	}
	c := p.chronicle(ctx, k)
	p.lately.put(k, c)
	return c
}

// with adds what has happened since c was read.
func (c chronicle) with(past []trace) chronicle {
	c.past = slices.Clone(c.past)
	for _, t := range past {
		if !slices.ContainsFunc(c.past, t.same) {
			c.past = append(c.past, t)
		}
	}
	slices.SortStableFunc(c.past, trace.compare)
	return c
}

const (
	latelyFor  = 10 * time.Second
	latelyMost = 128 // chronicles
)

// chronicles are those that were read lately. Safe for concurrent use.
type chronicles struct {
	mu   sync.Mutex
	read map[engine.Key]readChronicle
}

type readChronicle struct {
	chronicle
	at time.Time
}

func (l *chronicles) get(k engine.Key) (chronicle, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.read[k]
	return c.chronicle, ok && time.Since(c.at) < latelyFor
}

func (l *chronicles) put(k engine.Key, c chronicle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.read) >= latelyMost { // all are soon to be read again anyway
		clear(l.read)
	}
	if l.read == nil {
		l.read = map[engine.Key]readChronicle{}
	}
	l.read[k] = readChronicle{c, time.Now()}
}

// chronicle puts together what the history and the memory of this process know
// of a message: either may know less. An event that is in both is told once.
func (p *Pages) chronicle(ctx context.Context, k engine.Key) (c chronicle) {
	c.past = p.recent.life(k)
	last, left := p.recent.departure(k)
	if c.last = last; !p.b.HasHistory() {
		return c
	}
	events, err := p.b.Past(ctx, engine.PastQuery{Key: k, Limit: longestLife})
	if err != nil {
		p.recent.log.WarnContext(ctx, "the history of a message cannot be read", "err", err)
		c.broken = true
		return c
	}
	c.cut = len(events) == longestLife
	for _, e := range events {
		t := traceOf(e.Event)
		if t.epoch = p.recent.former(e.Epoch); !slices.ContainsFunc(c.past, t.same) {
			c.past = append(c.past, t)
		}
		if !left && departed(e.Kind) {
			last, left = e.Event, true
		}
	}
	c.last = last
	c.past = append(c.past, p.gaps(ctx, c.past)...)
	slices.SortStableFunc(c.past, trace.compare)
	return c
}

// gaps are what is missing from the history between the first and the last
// event of a life.
func (p *Pages) gaps(ctx context.Context, life []trace) (gaps []trace) {
	if len(life) == 0 {
		return nil
	}
	q := engine.PastQuery{
		Kinds: []engine.EventKind{engine.EventGap}, Limit: gapsShown,
		From: slices.MinFunc(life, trace.compare).at, Until: slices.MaxFunc(life, trace.compare).at + 1,
	}
	if !departed(slices.MaxFunc(life, trace.compare).kind) {
		q.Until = 0 // something may have happened since
	}
	events, err := p.b.Past(ctx, q)
	if err != nil {
		p.recent.log.WarnContext(ctx, "the gaps of the history cannot be read", "err", err)
	}
	for _, e := range events {
		t := traceOf(e.Event)
		t.epoch = p.recent.former(e.Epoch)
		gaps = append(gaps, t)
	}
	return gaps
}

// former is an epoch as traces have it: zero for those of this process, in which
// numbers go on when the store is opened again.
func (r *Recent) former(epoch uint64) uint64 {
	if epoch >= r.epoch {
		return 0
	}
	return epoch
}

// same tells whether two traces are of one event.
func (t trace) same(o trace) bool { return t.epoch == o.epoch && t.n == o.n }

// compare orders traces by when they happened.
func (t trace) compare(o trace) int {
	place := func(t trace) engine.PastPlace {
		epoch := t.epoch
		if epoch == 0 {
			epoch = 1 << 63 // after all former ones
		}
		return engine.PastPlace{At: t.at, Epoch: epoch, N: t.n}
	}
	switch {
	case place(t).Before(place(o)):
		return -1
	case place(o).Before(place(t)):
		return 1
	default:
		return 0
	}
}

// final is the last that is known to have happened to the message itself.
func (c chronicle) final() trace {
	for _, t := range slices.Backward(c.past) {
		if t.key != 0 {
			return t
		}
	}
	return trace{}
}

// wentWith is the event of an entity or of a purge with which a message went
// that has no last event of its own: the first of its place after the last that
// is known of it, for what came later found it gone. A purge by a filter may have
// left it there, though: then that is not known if anything came later. Its kind
// is zero if there is none.
func (p *Pages) wentWith(ctx context.Context, final trace) trace {
	with, several := p.firstEnd(ctx, final)
	if several && with.kind == engine.EventPurged && with.reason != "" {
		return trace{}
	}
	return with
}

// firstEnd is the first of the events with which a message may have gone, and
// whether there are others than it.
func (p *Pages) firstEnd(ctx context.Context, final trace) (with trace, several bool) {
	if final.key == 0 {
		return trace{}, false
	}
	place := final.path
	if final.to != "" && final.kind != engine.EventCopied { // the copy went there, not the message
		place = final.to
	}
	first := func(e engine.PastEvent) {
		t := traceOf(e.Event)
		t.epoch = p.recent.former(e.Epoch)
		several = several || with.kind != 0 && (t.kind != with.kind || t.reason != with.reason || t.actor != with.actor) // not slices of one purge
		if with.kind == 0 || t.compare(with) < 0 {
			with = t
		}
	}
	if g, ok := p.recent.grave(place.Entity()); ok && g.At >= final.at {
		first(g)
	}
	if !p.b.HasHistory() {
		return with, several
	}
	q := engine.PastQuery{
		Path: place.Entity(), From: final.at, Limit: longestLife,
		Kinds: []engine.EventKind{engine.EventEntityDeleted, engine.EventEntityAutoDeleted, engine.EventPurged},
	}
	for range endsRead {
		events, err := p.b.Past(ctx, q)
		if err != nil {
			p.recent.log.WarnContext(ctx, "the end of a message cannot be read", "err", err)
			return with, several
		}
		for _, e := range events {
			if took(place, e) {
				first(e)
			}
		}
		if len(events) < longestLife {
			break
		}
		q.Before = events[len(events)-1].Place()
	}
	return with, several
}

// took tells whether the end of an entity, or a purge, reached what was in place.
func took(place engine.Path, e engine.PastEvent) bool {
	if e.Kind == engine.EventPurged {
		return e.Path.Fold() == place.Fold() // of dead letters, or of the others
	}
	_, ok := liesIn(place.Entity(), e)
	return ok
}
