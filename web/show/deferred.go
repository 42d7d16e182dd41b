package show

import (
	"context"
	"strconv"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search/columns"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// maxDeferred is how many deferred messages the page shows.
const maxDeferred = 200

func (p *Pages) deferred(ctx context.Context, at Address) (view.Page, uint64, error) {
	var rows []engine.Row
	var counts engine.Counts
	var c columnChoice
	locks := map[engine.Path]time.Duration{}
	from, _ := parseNumber(at.Query.Get("from")) // anything else means the beginning
	s, err := p.read(ctx, func(r broker.Reader) error {
		counts, _ = r.Totals()
		rows = r.Deferred(engine.Path(at.Query.Get("entity")), engine.Seq(from), maxDeferred+1)
		c = chooseColumns(ctx, r, at, columns.DeferredList)
		return addLockDurations(r, rows, locks)
	})
	if err != nil {
		return nil, 0, err
	}
	m := page.Deferred{Shell: p.liveShell(ctx, at, s, locale.T(ctx, "deferred.title"))}
	if len(rows) > maxDeferred {
		next := rows[maxDeferred]
		m.Pages.Next = p.URL(at.withQuery("entity", string(next.Path), "from", strconv.FormatInt(int64(next.Message.Seq), 10)))
		rows = rows[:maxDeferred]
	}
	if from > 0 {
		m.Pages.First = p.URL(at.withQuery("entity", "", "from", ""))
	}
	if err := p.fillDeferred(ctx, at, &m, c, rows, s.now, locks); err != nil {
		return nil, 0, err
	}
	gone, soon := 0, 0
	for _, r := range rows {
		switch {
		case hasExpired(r, s.now):
			gone++
		case r.Expires != 0:
			soon++
		}
	}
	all := max(len(rows), int(counts.Deferred))
	m.AllMatching = page.AllMatching{Count: all, Query: "state:deferred", Shown: all > len(rows)}
	m.Lede = deferredLede(ctx, all, soon, gone)
	if m.AllMatching.Shown {
		m.Pages.Note = locale.N(ctx, "pager.note", all, locale.Args{"Shown": locale.Number(ctx, len(rows))})
	}
	if soon > 0 { // no event reports that a deferred message expires
		return Refreshing{m, time.Second}, s.event, nil
	}
	return m, s.event, nil
}

// fillDeferred fills in the messages: as cards, or as rows if columns were chosen.
func (p *Pages) fillDeferred(ctx context.Context, at Address, m *page.Deferred, c columnChoice, rows []engine.Row, now engine.Instant, locks map[engine.Path]time.Duration) error {
	m.Columns = p.columnMenu(ctx, at.withQuery("from", "", "entity", ""), c)
	if len(c.columns) == 0 {
		for _, r := range rows {
			m.Cards = append(m.Cards, p.deferredCard(ctx, r, now, locks[r.Path.Entity()]))
		}
		return nil
	}
	m.Rows = make([]page.MessageRow, len(rows))
	to := make([]*page.MessageRow, len(rows))
	for i, r := range rows {
		m.Rows[i] = p.messageRow(ctx, r, now, locks[r.Path.Entity()])
		m.Rows[i].Entity, m.Rows[i].EntityURL = DisplayPath(r.Path), p.EntityURL(engine.Queue, r.Path)
		to[i] = &m.Rows[i]
	}
	return p.fillColumns(ctx, &m.Columns, c, rows, to, now)
}

// addLockDurations adds the lock durations of the entities of rows.
func addLockDurations(r broker.Reader, rows []engine.Row, to map[engine.Path]time.Duration) error {
	for _, row := range rows {
		path := row.Path.Entity()
		if _, ok := to[path]; ok {
			continue
		}
		e, err := r.State(path)
		if err != nil {
			return err
		}
		to[path] = e.Config.LockTime()
	}
	return nil
}

// deferredCard returns a deferred message as a card.
func (p *Pages) deferredCard(ctx context.Context, r engine.Row, now engine.Instant, lockFor time.Duration) component.DeferredMessage {
	b := component.DeferredMessage{
		Key: keyText(r.Message.Key), Href: p.MessageURL(r.Message.Key), Number: int64(r.Message.Seq),
		Subject: shortName(r.Content, r.Message.Seq), Entity: DisplayPath(r.Path), EntityURL: p.EntityURL(engine.Queue, r.Path),
		Now: now.Time(), Clock: ttlClock(r, now), Hold: messageLock(r, now, lockFor), Expired: hasExpired(r, now),
		OnExpiry: fate(r.Path, r.DeadLettersOnExpiry).To, When: r.Message.EnqueuedAt.Time(),
	}
	if x := r.Message.Extra; x != nil && x.DeferredAt != 0 {
		b.When, b.By = x.DeferredAt.Time(), actorName(ctx, x.By)
	}
	return b
}

func deferredLede(ctx context.Context, all, soon, gone int) []component.Text {
	if all == 0 {
		return []component.Text{strongText(locale.T(ctx, "deferred.lede.none"))}
	}
	lede := []component.Text{strongText(locale.N(ctx, "deferred.lede.all", all))}
	if all == 1 && soon+gone == 1 {
		id := "deferred.lede.its.running"
		if gone == 1 {
			id = "deferred.lede.its.over"
		}
		return append(lede, plainText(" "+locale.T(ctx, id)))
	}
	if soon > 0 {
		lede = append(lede, plainText(" "+locale.N(ctx, "deferred.lede.soon", soon)))
	}
	if gone > 0 {
		lede = append(lede, plainText(" "+locale.N(ctx, "deferred.lede.gone", gone)))
	}
	return lede
}
