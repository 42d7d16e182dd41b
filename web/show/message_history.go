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
	// maxMessageEvents is how many events of one message are read, the latest ones.
	maxMessageEvents = 500
	// maxGaps is how many gaps of the history a message's timeline can show.
	maxGaps = 10
	// maxHistoryReads bounds how often the history is read to find the event that removed a message,
	// maxMessageEvents events at a time.
	maxHistoryReads = 20
)

// A messageHistory is the recorded past of a message.
type messageHistory struct {
	events    []eventRecord // oldest first, including gaps of the history
	last      engine.Event  // the message's own final event; its Kind is zero if none is recorded
	truncated bool          // there were earlier events
	failed    bool          // the history could not be read
}

// liveHistory returns the history of a message that still exists. A live page renders every
// second: it reads the history only now and then, and in between adds new events from memory.
func (p *Pages) liveHistory(ctx context.Context, k engine.Key) messageHistory {
	if view.ClocksFrozen(ctx) {
		if c, ok := State[historyCache](p).get(k); ok {
			return c.withNewer(p.events.messageEvents(k))
		}
	}
	c := p.messageHistory(ctx, k)
	State[historyCache](p).put(k, c)
	return c
}

// withNewer adds events that happened after c was read.
func (c messageHistory) withNewer(past []eventRecord) messageHistory {
	c.events = slices.Clone(c.events)
	for _, t := range past {
		if !slices.ContainsFunc(c.events, t.same) {
			c.events = append(c.events, t)
		}
	}
	slices.SortStableFunc(c.events, eventRecord.compare)
	return c
}

const (
	historyCacheTime   = 10 * time.Second
	maxCachedHistories = 128 // histories
)

// historyCache caches recently read histories. It is safe for concurrent use.
type historyCache struct {
	mu        sync.Mutex
	histories map[engine.Key]cachedHistory
}

type cachedHistory struct {
	messageHistory
	at time.Time
}

func (l *historyCache) get(k engine.Key) (messageHistory, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.histories[k]
	return c.messageHistory, ok && time.Since(c.at) < historyCacheTime
}

func (l *historyCache) put(k engine.Key, c messageHistory) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.histories) >= maxCachedHistories { // all of them would expire soon anyway
		clear(l.histories)
	}
	if l.histories == nil {
		l.histories = map[engine.Key]cachedHistory{}
	}
	l.histories[k] = cachedHistory{c, time.Now()}
}

// messageHistory combines the history and this process's memory of a message; either may lack
// events. An event in both appears once.
func (p *Pages) messageHistory(ctx context.Context, k engine.Key) (c messageHistory) {
	c.events = p.events.messageEvents(k)
	last, left := p.events.removal(k)
	if c.last = last; !p.b.HasHistory() {
		return c
	}
	events, err := p.b.History(ctx, engine.HistoryQuery{Key: k, Limit: maxMessageEvents})
	if err != nil {
		p.events.log.WarnContext(ctx, "the history of a message cannot be read", "err", err)
		c.failed = true
		return c
	}
	c.truncated = len(events) == maxMessageEvents
	for _, e := range events {
		t := recordOf(e.Event)
		if t.epoch = p.events.formerEpoch(e.Epoch); !slices.ContainsFunc(c.events, t.same) {
			c.events = append(c.events, t)
		}
		if !left && removesMessage(e.Kind) {
			last, left = e.Event, true
		}
	}
	c.last = last
	c.events = append(c.events, p.historyGaps(ctx, c.events)...)
	slices.SortStableFunc(c.events, eventRecord.compare)
	return c
}

// historyGaps returns the gaps of the history between the first and the last event of a life.
func (p *Pages) historyGaps(ctx context.Context, life []eventRecord) (gaps []eventRecord) {
	if len(life) == 0 {
		return nil
	}
	q := engine.HistoryQuery{
		Kinds: []engine.EventKind{engine.EventGap}, Limit: maxGaps,
		From: slices.MinFunc(life, eventRecord.compare).at, Until: slices.MaxFunc(life, eventRecord.compare).at + 1,
	}
	if !removesMessage(slices.MaxFunc(life, eventRecord.compare).kind) {
		q.Until = 0 // more may have happened since
	}
	events, err := p.b.History(ctx, q)
	if err != nil {
		p.events.log.WarnContext(ctx, "the gaps of the history cannot be read", "err", err)
	}
	for _, e := range events {
		t := recordOf(e.Event)
		t.epoch = p.events.formerEpoch(e.Epoch)
		gaps = append(gaps, t)
	}
	return gaps
}

// formerEpoch returns an epoch as traces store it: zero for epochs of this process, in which
// numbers continue when the store is opened again.
func (r *RecentEvents) formerEpoch(epoch uint64) uint64 {
	if epoch >= r.epoch {
		return 0
	}
	return epoch
}

// same reports whether two traces are of one event.
func (t eventRecord) same(o eventRecord) bool { return t.epoch == o.epoch && t.n == o.n }

// compare orders traces by time.
func (t eventRecord) compare(o eventRecord) int {
	place := func(t eventRecord) engine.HistoryCursor {
		epoch := t.epoch
		if epoch == 0 {
			epoch = 1 << 63 // after all former ones
		}
		return engine.HistoryCursor{At: t.at, Epoch: epoch, N: t.n}
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

// lastEvent returns the last recorded event of the message itself.
func (c messageHistory) lastEvent() eventRecord {
	for _, t := range slices.Backward(c.events) {
		if t.key != 0 {
			return t
		}
	}
	return eventRecord{}
}

// removingEvent returns the deletion of an entity or the purge that removed a message without a
// final event of its own: the first one at its subqueue after the message's last recorded
// event, because later ones found it gone. A purge with a filter may have spared the message,
// though: if others follow such a purge, it is unknown which one removed it. The kind is zero
// if there is none.
func (p *Pages) removingEvent(ctx context.Context, final eventRecord) eventRecord {
	with, several := p.firstRemoval(ctx, final)
	if several && with.kind == engine.EventPurged && with.reason != "" {
		return eventRecord{}
	}
	return with
}

// firstRemoval returns the first event that may have removed a message, and whether there are
// different ones.
func (p *Pages) firstRemoval(ctx context.Context, final eventRecord) (with eventRecord, several bool) {
	if final.key == 0 {
		return eventRecord{}, false
	}
	place := final.path
	if final.to != "" && final.kind != engine.EventCopied { // the copy went there, not the message
		place = final.to
	}
	first := func(e engine.HistoryEvent) {
		t := recordOf(e.Event)
		t.epoch = p.events.formerEpoch(e.Epoch)
		several = several || with.kind != 0 && (t.kind != with.kind || t.reason != with.reason || t.actor != with.actor) // not slices of one purge
		if with.kind == 0 || t.compare(with) < 0 {
			with = t
		}
	}
	if g, ok := p.events.deletion(place.Entity()); ok && g.At >= final.at {
		first(g)
	}
	if !p.b.HasHistory() {
		return with, several
	}
	q := engine.HistoryQuery{
		Path: place.Entity(), From: final.at, Limit: maxMessageEvents,
		Kinds: []engine.EventKind{engine.EventEntityDeleted, engine.EventEntityAutoDeleted, engine.EventPurged},
	}
	for range maxHistoryReads {
		events, err := p.b.History(ctx, q)
		if err != nil {
			p.events.log.WarnContext(ctx, "the end of a message cannot be read", "err", err)
			return with, several
		}
		for _, e := range events {
			if removesMessagesOf(place, e) {
				first(e)
			}
		}
		if len(events) < maxMessageEvents {
			break
		}
		q.Before = events[len(events)-1].Cursor()
	}
	return with, several
}

// removesMessagesOf reports whether a purge, or the deletion of an entity, removed the messages in place.
func removesMessagesOf(place engine.Path, e engine.HistoryEvent) bool {
	if e.Kind == engine.EventPurged {
		return e.Path.Fold() == place.Fold() // of dead letters, or of the other messages
	}
	_, ok := deletionFor(place.Entity(), e)
	return ok
}
