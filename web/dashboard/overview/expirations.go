package overview

import (
	"context"
	"strconv"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/overview"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

const (
	boardRows     = 25
	longBoardRows = 100
	// boardScanned is how many of the next messages to expire are searched for those of a
	// bucket or a fate, and boardFresh how long this list is reused.
	boardScanned = 2000
	boardFresh   = time.Second
)

// Expirations returns the page of messages that expire next.
func Expirations(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	only := boardFilter{fate: pages.OneOf(at.Query.Get("fate"), "dead", "lost"), bucket: rangeIndex(at.Query.Get("within"))}
	rows := boardRows
	if at.Query.Get("top") == strconv.Itoa(longBoardRows) {
		rows = longBoardRows
	}
	var (
		spans []engine.HorizonSpan
		parts int
		next  []engine.Row
		gone  []recent.EventRecord
		dead  map[engine.Key]bool
	)
	s, err := p.Read(ctx, func(r broker.Reader) error {
		_, entities := r.Totals()
		var at []engine.Instant
		at, parts = edges(r.Now, entities)
		spans = r.ExpiryHistogram("", at)
		if only.all() {
			next = r.Expiring(rows)
		} else {
			next = only.matching(r, pages.State[expiryCache](p).nextExpiring(r, p.Broker.Epoch()), rows)
		}
		gone, dead = p.Events.ExpiredSince(r.Now-engine.Instant(recent.ExpiredWithin/time.Millisecond)), map[engine.Key]bool{}
		for _, t := range gone {
			row, err := r.Message(t.Key)
			dead[t.Key] = err == nil && row.Path.IsDeadLetter()
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	m := overview.Expirations{
		Shell: p.LiveShell(ctx, at, s, locale.T(ctx, "expirations.title")),
		Horizon: horizon(ctx, spans, parts, func(key string) string {
			if at.Query.Get("within") == key {
				key = "" // a second click shows all again
			}
			return p.URL(at.WithQuery("within", key, "top", ""))
		}),
		Fate:         only.fate,
		Recent:       recent.ExpiredWithin,
		ExpiredCount: p.Events.Sum(s.Now, int(recent.ExpiredWithin/time.Second), recent.RateExpired),
	}
	if only.bucket >= 0 {
		m.Within = horizonRanges[only.bucket].key
	}
	m.All = only.count(m.Horizon)
	for _, d := range expiringRows(p, next, s.Now) {
		d.Actions = d.Href
		m.Board = append(m.Board, d)
	}
	if len(next) == boardRows && m.All > boardRows && rows == boardRows {
		m.More = p.URL(at.WithQuery("top", strconv.Itoa(longBoardRows)))
	}
	m.Lede = expirationsLede(ctx, m.Horizon, next, s.Now)
	for _, t := range gone {
		m.Expired = append(m.Expired, expiredRow(p, t, dead[t.Key], s.Now))
	}
	return pages.Refreshing{Page: m, Every: time.Second}, s.Event, nil
}

// A boardFilter is the filter of the expiry board.
type boardFilter struct {
	fate   string // "dead", "lost"; empty means both
	bucket int    // index of the bucket of the horizon; -1 means all
}

func (c boardFilter) all() bool { return c.fate == "" && c.bucket < 0 }

// matching returns up to `most` of the messages in `all` that the filter selects and that still
// exist, in the same order.
func (c boardFilter) matching(r broker.Reader, all []expiringMessage, most int) (out []engine.Row) {
	from, upto := engine.Instant(0), engine.Forever
	if c.bucket > 0 {
		from = r.Now.Add(horizonRanges[c.bucket-1].limit)
	}
	if c.bucket >= 0 && horizonRanges[c.bucket].limit != 0 {
		upto = r.Now.Add(horizonRanges[c.bucket].limit)
	}
	for _, e := range all {
		if len(out) == most || e.at >= upto {
			break
		}
		if e.at < from || c.fate != "" && (c.fate == "dead") != e.keepsDead {
			continue
		}
		if row, err := r.Message(e.key); err == nil && row.Expires == e.at && row.DeadLettersOnExpiry == e.keepsDead {
			out = append(out, row)
		}
	}
	return out
}

// expiringMessage is a message that is going to expire.
type expiringMessage struct {
	key       engine.Key
	at        engine.Instant
	keepsDead bool
}

// An expiryCache caches the next messages to expire for a second, for all viewers. The zero value is
// ready to use.
type expiryCache struct {
	mu       sync.Mutex
	messages []expiringMessage // guarded by mu; the slice's contents do not change
	readAt   engine.Instant    // guarded by mu; zero if never read
	epoch    uint64            // guarded by mu
}

func (b *expiryCache) nextExpiring(r broker.Reader, epoch uint64) []expiringMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.readAt != 0 && b.epoch == epoch && r.Now.Sub(b.readAt).Abs() < boardFresh {
		return b.messages
	}
	rows := r.Expiring(boardScanned)
	b.messages, b.readAt, b.epoch = make([]expiringMessage, len(rows)), r.Now, epoch
	for i, row := range rows {
		b.messages[i] = expiringMessage{row.Message.Key, row.Expires, row.DeadLettersOnExpiry}
	}
	return b.messages
}

// count returns how many messages the filter selects, by the counts of the horizon.
func (c boardFilter) count(h component.ExpiryHorizon) (n int) {
	for i, b := range h.Buckets {
		if c.bucket >= 0 && c.bucket != i {
			continue
		}
		if c.fate != "lost" {
			n += b.Dead
		}
		if c.fate != "dead" {
			n += b.Lost
		}
	}
	return n
}

func expirationsLede(ctx context.Context, h component.ExpiryHorizon, next []engine.Row, now engine.Instant) []component.Text {
	if len(next) == 0 {
		return []component.Text{pages.StrongText(locale.T(ctx, "expirations.lede.none"))}
	}
	within := func(n int) string {
		dead, lost := expiringInFirst(h, n)
		return locale.Number(ctx, dead+lost)
	}
	clock := pages.TTLClock(next[0], now)
	clock.As = component.Plenty
	return []component.Text{
		pages.StrongText(locale.T(ctx, "expirations.lede.next") + " "), {Clock: &clock, Strong: true},
		pages.PlainText(" · " + locale.T(ctx, "expirations.lede.within", locale.Args{"Ten": within(1), "Minute": within(2), "Five": within(3)})),
	}
}

// expiredRow returns the row of a message that has just expired. If `dead` is true, the message is
// still in the dead-letter subqueue, and the row links to it there.
func expiredRow(p *pages.Pages, t recent.EventRecord, dead bool, now engine.Instant) overview.ExpiredRow {
	e := overview.ExpiredRow{
		Key: t.ID(), Subject: t.Name, Entity: pages.DisplayPath(t.Path), Href: p.MessageURL(t.Key),
		At: t.At.Time(), Now: now.Time(),
	}
	if t.Kind == engine.EventDeadLettered {
		e.Fate.To = pages.DisplayPath(t.To)
	}
	if dead {
		e.DeadHref = e.Href
	}
	return e
}

// expiringRow returns a message on the expiry board. It is never in a topic: messages that wait
// there are scheduled, and their time to live starts later.
func expiringRow(p *pages.Pages, r engine.Row, now engine.Instant) component.ExpiringMessage {
	return component.ExpiringMessage{
		Key: pages.KeyText(r.Message.Key), Href: p.MessageURL(r.Message.Key),
		Clock: pages.TTLClock(r, now), Subject: recent.ShortName(r.Content, r.Message.Seq), ID: pages.SecondaryID(r.Content),
		Entity: pages.DisplayPath(r.Path), EntityURL: p.EntityURL(engine.Queue, r.Path), Fate: pages.Fate(r.Path, r.DeadLettersOnExpiry),
		Tries: int(r.Message.DeliveryCount), Max: int(r.MaxDeliveries),
	}
}

func expiringRows(p *pages.Pages, rows []engine.Row, now engine.Instant) []component.ExpiringMessage {
	out := make([]component.ExpiringMessage, 0, len(rows))
	for _, r := range rows {
		out = append(out, expiringRow(p, r, now))
	}
	return out
}
