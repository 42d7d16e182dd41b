package list

import (
	"context"
	"strconv"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search/columns"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/list"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

// maxDeferred is how many deferred messages the page shows.
const maxDeferred = 200

// Deferred returns the page of all deferred messages.
func Deferred(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	var rows []engine.Row
	var counts engine.Counts
	var c ColumnChoice
	locks := map[engine.Path]time.Duration{}
	from, _ := pages.ParseNumber(at.Query.Get("from")) // anything else means the beginning
	s, err := p.Read(ctx, func(r broker.Reader) error {
		counts, _ = r.Totals()
		rows = r.Deferred(engine.Path(at.Query.Get("entity")), engine.Seq(from), maxDeferred+1)
		c = ChooseColumns(ctx, r, at, columns.DeferredList)
		return addLockDurations(r, rows, locks)
	})
	if err != nil {
		return nil, 0, err
	}
	m := list.Deferred{Shell: p.LiveShell(ctx, at, s, locale.T(ctx, "deferred.title"))}
	if len(rows) > maxDeferred {
		next := rows[maxDeferred]
		m.Pages.Next = p.URL(at.WithQuery("entity", string(next.Path), "from", strconv.FormatInt(int64(next.Message.Seq), 10)))
		rows = rows[:maxDeferred]
	}
	if from > 0 {
		m.Pages.First = p.URL(at.WithQuery("entity", "", "from", ""))
	}
	if err := fillDeferred(ctx, p, at, &m, c, rows, s.Now, locks); err != nil {
		return nil, 0, err
	}
	gone, soon := 0, 0
	for _, r := range rows {
		switch {
		case pages.HasExpired(r, s.Now):
			gone++
		case r.Expires != 0:
			soon++
		}
	}
	all := max(len(rows), int(counts.Deferred))
	m.AllMatching = list.AllMatching{Count: all, Query: "state:deferred", Shown: all > len(rows)}
	m.Lede = deferredLede(ctx, all, soon, gone)
	if m.AllMatching.Shown {
		m.Pages.Note = locale.N(ctx, "pager.note", all, locale.Args{"Shown": locale.Number(ctx, len(rows))})
	}
	if soon > 0 { // no event reports that a deferred message expires
		return pages.Refreshing{Page: m, Every: time.Second}, s.Event, nil
	}
	return m, s.Event, nil
}

// fillDeferred fills in the messages: as cards, or as rows if columns were chosen.
func fillDeferred(ctx context.Context, p *pages.Pages, at pages.Address, m *list.Deferred, c ColumnChoice, rows []engine.Row, now engine.Instant, locks map[engine.Path]time.Duration) error {
	m.Columns = ColumnMenu(ctx, p, at.WithQuery("from", "", "entity", ""), c)
	if len(c.Columns) == 0 {
		for _, r := range rows {
			m.Cards = append(m.Cards, deferredCard(ctx, p, r, now, locks[r.Path.Entity()]))
		}
		return nil
	}
	m.Rows = make([]list.MessageRow, len(rows))
	to := make([]*list.MessageRow, len(rows))
	for i, r := range rows {
		m.Rows[i] = MessageRow(ctx, p, r, now, locks[r.Path.Entity()])
		m.Rows[i].Entity, m.Rows[i].EntityURL = pages.DisplayPath(r.Path), p.EntityURL(engine.Queue, r.Path)
		to[i] = &m.Rows[i]
	}
	return FillColumns(ctx, p, &m.Columns, c, rows, to, now)
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
func deferredCard(ctx context.Context, p *pages.Pages, r engine.Row, now engine.Instant, lockFor time.Duration) component.DeferredMessage {
	b := component.DeferredMessage{
		Key: pages.KeyText(r.Message.Key), Href: p.MessageURL(r.Message.Key), Number: int64(r.Message.Seq),
		Subject: recent.ShortName(r.Content, r.Message.Seq), Entity: pages.DisplayPath(r.Path), EntityURL: p.EntityURL(engine.Queue, r.Path),
		Now: now.Time(), Clock: pages.TTLClock(r, now), Hold: pages.MessageLock(r, now, lockFor), Expired: pages.HasExpired(r, now),
		OnExpiry: pages.Fate(r.Path, r.DeadLettersOnExpiry).To, When: r.Message.EnqueuedAt.Time(),
	}
	if x := r.Message.Extra; x != nil && x.DeferredAt != 0 {
		b.When, b.By = x.DeferredAt.Time(), pages.ActorName(ctx, x.By)
	}
	return b
}

func deferredLede(ctx context.Context, all, soon, gone int) []component.Text {
	if all == 0 {
		return []component.Text{pages.StrongText(locale.T(ctx, "deferred.lede.none"))}
	}
	lede := []component.Text{pages.StrongText(locale.N(ctx, "deferred.lede.all", all))}
	if all == 1 && soon+gone == 1 {
		id := "deferred.lede.its.running"
		if gone == 1 {
			id = "deferred.lede.its.over"
		}
		return append(lede, pages.PlainText(" "+locale.T(ctx, id)))
	}
	if soon > 0 {
		lede = append(lede, pages.PlainText(" "+locale.N(ctx, "deferred.lede.soon", soon)))
	}
	if gone > 0 {
		lede = append(lede, pages.PlainText(" "+locale.N(ctx, "deferred.lede.gone", gone)))
	}
	return lede
}
