package message

import (
	"context"
	"slices"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
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

// A History is the recorded past of a message.
type History struct {
	events    []recent.EventRecord // oldest first, including gaps of the history
	last      engine.Event         // the message's own final event; its Kind is zero if none is recorded
	truncated bool                 // there were earlier events
	failed    bool                 // the history could not be read
}

// liveHistory returns the history of a message that still exists. A live page is rendered every
// second, so for a live page it reads the history only if the cached one has expired, and
// otherwise adds new events from memory to the cached one.
func liveHistory(ctx context.Context, p *pages.Pages, k engine.Key) History {
	if view.ClocksFrozen(ctx) {
		if c, ok := pages.State[historyCache](p).get(k); ok {
			return c.withNewer(p.Events.MessageEvents(k))
		}
	}
	c := historyOf(ctx, p, k)
	pages.State[historyCache](p).put(k, c)
	return c
}

// withNewer adds events that happened after c was read.
func (c History) withNewer(past []recent.EventRecord) History {
	c.events = slices.Clone(c.events)
	for _, t := range past {
		if !slices.ContainsFunc(c.events, t.Same) {
			c.events = append(c.events, t)
		}
	}
	slices.SortStableFunc(c.events, recent.EventRecord.Compare)
	return c
}

const (
	historyCacheTime   = 10 * time.Second
	maxCachedHistories = 128
)

// historyCache caches recently read histories. It is safe for concurrent use.
type historyCache struct {
	mu        sync.Mutex
	histories map[engine.Key]cachedHistory
}

type cachedHistory struct {
	History
	at time.Time
}

func (l *historyCache) get(k engine.Key) (History, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.histories[k]
	return c.History, ok && time.Since(c.at) < historyCacheTime
}

func (l *historyCache) put(k engine.Key, c History) {
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

// historyOf combines the events of a message in the history with those in memory, as either may
// lack some. An event in both appears once.
func historyOf(ctx context.Context, p *pages.Pages, k engine.Key) (c History) {
	c.events = p.Events.MessageEvents(k)
	last, left := p.Events.Removal(k)
	if c.last = last; !p.Broker.HasHistory() {
		return c
	}
	events, err := p.Broker.History(ctx, engine.HistoryQuery{Key: k, Limit: maxMessageEvents})
	if err != nil {
		p.Events.Log.WarnContext(ctx, "the history of a message cannot be read", "err", err)
		c.failed = true
		return c
	}
	c.truncated = len(events) == maxMessageEvents
	for _, e := range events {
		t := recent.RecordOf(e.Event)
		if t.Epoch = p.Events.FormerEpoch(e.Epoch); !slices.ContainsFunc(c.events, t.Same) {
			c.events = append(c.events, t)
		}
		if !left && recent.RemovesMessage(e.Kind) {
			last, left = e.Event, true
		}
	}
	c.last = last
	c.events = append(c.events, historyGaps(ctx, p, c.events)...)
	slices.SortStableFunc(c.events, recent.EventRecord.Compare)
	return c
}

// historyGaps returns the gaps of the history since a message's first event, until its removal if
// it has been removed.
func historyGaps(ctx context.Context, p *pages.Pages, life []recent.EventRecord) (gaps []recent.EventRecord) {
	if len(life) == 0 {
		return nil
	}
	q := engine.HistoryQuery{
		Kinds: []engine.EventKind{engine.EventGap}, Limit: maxGaps,
		From: slices.MinFunc(life, recent.EventRecord.Compare).At, Until: slices.MaxFunc(life, recent.EventRecord.Compare).At + 1,
	}
	if !recent.RemovesMessage(slices.MaxFunc(life, recent.EventRecord.Compare).Kind) {
		q.Until = 0 // gaps after the last event count, too
	}
	events, err := p.Broker.History(ctx, q)
	if err != nil {
		p.Events.Log.WarnContext(ctx, "the gaps of the history cannot be read", "err", err)
	}
	for _, e := range events {
		t := recent.RecordOf(e.Event)
		t.Epoch = p.Events.FormerEpoch(e.Epoch)
		gaps = append(gaps, t)
	}
	return gaps
}

// lastEvent returns the last recorded event of the message itself.
func (c History) lastEvent() recent.EventRecord {
	for _, t := range slices.Backward(c.events) {
		if t.Key != 0 {
			return t
		}
	}
	return recent.EventRecord{}
}

// removingEvent returns the purge or entity deletion that removed a message without a final event
// of its own. That is the first purge or deletion at the message's subqueue after the message's
// last recorded event. A purge with a filter may have left the message, however: if other purges
// or deletions follow it, it is unknown which one removed the message. In this case, and if there
// is no such event, the Kind of the result is zero.
func removingEvent(ctx context.Context, p *pages.Pages, final recent.EventRecord) recent.EventRecord {
	with, several := firstRemoval(ctx, p, final)
	if several && with.Kind == engine.EventPurged && with.Reason != "" {
		return recent.EventRecord{}
	}
	return with
}

// firstRemoval returns the first event that may have removed a message, and whether others may
// have removed it, too.
func firstRemoval(ctx context.Context, p *pages.Pages, final recent.EventRecord) (with recent.EventRecord, several bool) {
	if final.Key == 0 {
		return recent.EventRecord{}, false
	}
	place := final.Path
	if final.To != "" && final.Kind != engine.EventCopied { // only the copy went to final.To
		place = final.To
	}
	first := func(e engine.HistoryEvent) {
		t := recent.RecordOf(e.Event)
		t.Epoch = p.Events.FormerEpoch(e.Epoch)
		several = several || with.Kind != 0 && (t.Kind != with.Kind || t.Reason != with.Reason || t.Actor != with.Actor) // the events of one purge count once
		if with.Kind == 0 || t.Compare(with) < 0 {
			with = t
		}
	}
	if g, ok := p.Events.Deletion(place.Entity()); ok && g.At >= final.At {
		first(g)
	}
	if !p.Broker.HasHistory() {
		return with, several
	}
	q := engine.HistoryQuery{
		Path: place.Entity(), From: final.At, Limit: maxMessageEvents,
		Kinds: []engine.EventKind{engine.EventEntityDeleted, engine.EventEntityAutoDeleted, engine.EventPurged},
	}
	for range maxHistoryReads {
		events, err := p.Broker.History(ctx, q)
		if err != nil {
			p.Events.Log.WarnContext(ctx, "the end of a message cannot be read", "err", err)
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

// removesMessagesOf reports whether a purge, or the deletion of an entity, removed messages of the
// subqueue `place`.
func removesMessagesOf(place engine.Path, e engine.HistoryEvent) bool {
	if e.Kind == engine.EventPurged {
		return e.Path.Fold() == place.Fold() // a purge has the path of the subqueue
	}
	_, ok := recent.DeletionFor(place.Entity(), e)
	return ok
}
