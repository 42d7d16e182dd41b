package show

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

const (
	boardRows   = 25
	boardLonger = 100
	// boardScanned is how many of the next messages are looked at to find those
	// of a span or a fate, and boardFresh how long those are looked for again
	// among the same ones.
	boardScanned = 2000
	boardFresh   = time.Second
	justExpired  = 5 * time.Minute
)

func (p *Pages) expirations(ctx context.Context, at Place) (view.Page, uint64, error) {
	only := choice{fate: oneOf(at.Query.Get("fate"), "dead", "lost"), bucket: stretchCalled(at.Query.Get("within"))}
	rows := boardRows
	if at.Query.Get("top") == strconv.Itoa(boardLonger) {
		rows = boardLonger
	}
	var (
		spans []engine.Span
		parts int
		next  []engine.Row
		gone  []trace
		dead  map[engine.Key]bool
	)
	s, err := p.look(ctx, func(r broker.Reader) error {
		_, entities := r.Totals()
		var at []engine.Instant
		at, parts = edges(r.Now, entities)
		spans = r.Horizon("", at)
		if only.all() {
			next = r.Expiring(rows)
		} else {
			next = only.of(r, p.board.soonest(r, p.b.Epoch()), rows)
		}
		gone, dead = p.recent.ranOut(r.Now-engine.Instant(justExpired/time.Millisecond)), map[engine.Key]bool{}
		for _, t := range gone {
			row, err := r.Message(t.key)
			dead[t.key] = err == nil && row.Path.IsDeadLetter()
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	m := page.Expirations{
		Shell: p.shell(ctx, at, s, locale.T(ctx, "expirations.title")),
		Horizon: horizon(ctx, spans, parts, func(key string) string {
			if at.Query.Get("within") == key {
				key = "" // a second click shows all again
			}
			return p.URL(at.with("within", key, "top", ""))
		}),
		Fate:   only.fate,
		Recent: justExpired,
		Passed: p.recent.sum(s.now, int(justExpired/time.Second), metExpired),
	}
	if only.bucket >= 0 {
		m.Within = stretches[only.bucket].key
	}
	m.All = only.count(m.Horizon)
	for _, d := range p.departures(next, s.now) {
		d.Actions = d.Href
		m.Board = append(m.Board, d)
	}
	if len(next) == boardRows && m.All > boardRows && rows == boardRows {
		m.More = p.URL(at.with("top", strconv.Itoa(boardLonger)))
	}
	m.Lede = expirationsLede(ctx, m.Horizon, next, s.now)
	for _, t := range gone {
		m.Gone = append(m.Gone, p.justExpired(t, dead[t.key], s.now))
	}
	return Refreshing{m, time.Second}, s.n, nil
}

// A choice is which messages a board shows.
type choice struct {
	fate   string // "dead", "lost"; empty: both
	bucket int    // of the horizon; -1: all
}

func (c choice) all() bool { return c.fate == "" && c.bucket < 0 }

// of picks from what expires soonest, in that order, what is still there.
func (c choice) of(r broker.Reader, all []expiring, most int) (out []engine.Row) {
	from, upto := engine.Instant(0), engine.Forever
	if c.bucket > 0 {
		from = r.Now.Add(stretches[c.bucket-1].upto)
	}
	if c.bucket >= 0 && stretches[c.bucket].upto != 0 {
		upto = r.Now.Add(stretches[c.bucket].upto)
	}
	for _, e := range all {
		if len(out) == most || e.at >= upto {
			break
		}
		if e.at < from || c.fate != "" && (c.fate == "dead") != e.keepsDead {
			continue
		}
		if row, err := r.Message(e.key); err == nil && row.Expires == e.at && row.KeepsDead == e.keepsDead {
			out = append(out, row)
		}
	}
	return out
}

// expiring is a message whose time runs out.
type expiring struct {
	key       engine.Key
	at        engine.Instant
	keepsDead bool
}

// A board keeps for a second what expires soonest, whoever looks. Its zero value
// is ready.
type board struct {
	mu    sync.Mutex
	next  []expiring     // guarded by mu; what is in it does not change
	seen  engine.Instant // guarded by mu; zero: never
	epoch uint64         // guarded by mu
}

func (b *board) soonest(r broker.Reader, epoch uint64) []expiring {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen != 0 && b.epoch == epoch && r.Now.Sub(b.seen).Abs() < boardFresh {
		return b.next
	}
	rows := r.Expiring(boardScanned)
	b.next, b.seen, b.epoch = make([]expiring, len(rows)), r.Now, epoch
	for i, row := range rows {
		b.next[i] = expiring{row.Message.Key, row.Expires, row.KeepsDead}
	}
	return b.next
}

// count is how many messages the choice admits.
func (c choice) count(h component.Horizon) (n int) {
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

func expirationsLede(ctx context.Context, h component.Horizon, next []engine.Row, now engine.Instant) []component.Text {
	if len(next) == 0 {
		return []component.Text{strong(locale.T(ctx, "expirations.lede.none"))}
	}
	within := func(n int) string {
		dead, lost := ending(h, n)
		return locale.Number(ctx, dead+lost)
	}
	clock := ttlClock(next[0], now)
	clock.As = component.Plenty
	return []component.Text{
		strong(locale.T(ctx, "expirations.lede.next") + " "), {Clock: &clock, Strong: true},
		say(" · " + locale.T(ctx, "expirations.lede.within", locale.Args{"Ten": within(1), "Minute": within(2), "Five": within(3)})),
	}
}

// justExpired is a message that ran out a moment ago; dead: it is a dead letter still.
func (p *Pages) justExpired(t trace, dead bool, now engine.Instant) page.Expired {
	e := page.Expired{
		Key: t.id(), Subject: t.name, Entity: Shown(t.path), Href: p.MessageURL(t.key),
		At: t.at.Time(), Now: now.Time(),
	}
	if t.kind == engine.EventDeadLettered {
		e.Fate.To = Shown(t.to)
	}
	if dead {
		e.DeadHref = e.Href
	}
	return e
}

// oneOf is s if it is one of the words there are, else empty.
func oneOf(s string, words ...string) string {
	if slices.Contains(words, s) {
		return s
	}
	return ""
}
