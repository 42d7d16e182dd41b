package show

import (
	"context"
	"slices"
	"strconv"
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
	// of a span or a fate.
	boardScanned = 2000
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
	)
	s, err := p.look(ctx, func(r broker.Reader) error {
		_, entities := r.Totals()
		var at []engine.Instant
		at, parts = edges(r.Now, entities)
		spans = r.Horizon("", at)
		if only.all() {
			next = r.Expiring(rows)
		} else {
			next = only.of(r.Expiring(boardScanned), r.Now, rows)
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
	for _, t := range p.recent.ranOut(s.now - engine.Instant(justExpired/time.Millisecond)) {
		m.Gone = append(m.Gone, p.justExpired(t, s.now))
	}
	return Refreshing{m, time.Second}, s.n, nil
}

// A choice is which messages a board shows.
type choice struct {
	fate   string // "dead", "lost"; empty: both
	bucket int    // of the horizon; -1: all
}

func (c choice) all() bool { return c.fate == "" && c.bucket < 0 }

// of picks from rows, which are sorted by their expiry.
func (c choice) of(rows []engine.Row, now engine.Instant, most int) (out []engine.Row) {
	from, upto := engine.Instant(0), engine.Forever
	if c.bucket > 0 {
		from = now.Add(stretches[c.bucket-1].upto)
	}
	if c.bucket >= 0 && stretches[c.bucket].upto != 0 {
		upto = now.Add(stretches[c.bucket].upto)
	}
	for _, r := range rows {
		if len(out) == most || r.Expires >= upto {
			break
		}
		if r.Expires >= from && (c.fate == "" || (c.fate == "dead") == r.KeepsDead) {
			out = append(out, r)
		}
	}
	return out
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

// justExpired is a message that ran out a moment ago.
func (p *Pages) justExpired(t trace, now engine.Instant) page.Expired {
	e := page.Expired{
		Key: strconv.FormatUint(t.n, 10), Subject: t.name, Entity: Shown(t.path), Href: p.MessageURL(t.key),
		At: t.at.Time(), Now: now.Time(),
	}
	if t.kind == engine.EventDeadLettered {
		e.Fate.To, e.DeadHref = Shown(t.to), e.Href
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
