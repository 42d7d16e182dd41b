package show

import (
	"context"
	"strconv"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/listing"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// lot is how many deferred messages the parking lot shows.
const lot = 200

func (p *Pages) deferred(ctx context.Context, at Place) (view.Page, uint64, error) {
	var rows []engine.Row
	var counts engine.Counts
	var c showing
	locks := map[engine.Path]time.Duration{}
	from, _ := number(at.Query.Get("from")) // anything else is the beginning
	s, err := p.look(ctx, func(r broker.Reader) error {
		counts, _ = r.Totals()
		rows = r.Deferred(engine.Path(at.Query.Get("entity")), engine.Seq(from), lot+1)
		c = choose(ctx, r, at, listing.DeferredList)
		return lockTimes(r, rows, locks)
	})
	if err != nil {
		return nil, 0, err
	}
	m := page.Deferred{Shell: p.shell(ctx, at, s, locale.T(ctx, "deferred.title"))}
	if len(rows) > lot {
		next := rows[lot]
		m.Pages.Next = p.URL(at.with("entity", string(next.Path), "from", strconv.FormatInt(int64(next.Message.Seq), 10)))
		rows = rows[:lot]
	}
	if from > 0 {
		m.Pages.First = p.URL(at.with("entity", "", "from", ""))
	}
	if err := p.park(ctx, at, &m, c, rows, s.now, locks); err != nil {
		return nil, 0, err
	}
	gone, soon := 0, 0
	for _, r := range rows {
		switch {
		case outOfTime(r, s.now):
			gone++
		case r.Expires != 0:
			soon++
		}
	}
	all := max(len(rows), int(counts.Deferred))
	m.Every = page.Every{N: all, Query: "state:deferred", Shown: all > len(rows)}
	m.Lede = deferredLede(ctx, all, soon, gone)
	if m.Every.Shown {
		m.Pages.Note = locale.N(ctx, "pager.note", all, locale.Args{"Shown": locale.Number(ctx, len(rows))})
	}
	if soon > 0 { // nothing happens when a parked message runs out
		return Refreshing{m, time.Second}, s.n, nil
	}
	return m, s.n, nil
}

// park fills in the messages: a bay for each, or rows where columns were chosen.
func (p *Pages) park(ctx context.Context, at Place, m *page.Deferred, c showing, rows []engine.Row, now engine.Instant, locks map[engine.Path]time.Duration) error {
	m.Columns = p.menu(ctx, at.with("from", "", "entity", ""), c)
	if len(c.columns) == 0 {
		for _, r := range rows {
			m.Bays = append(m.Bays, p.bay(ctx, r, now, locks[r.Path.Entity()]))
		}
		return nil
	}
	m.Rows = make([]page.MessageRow, len(rows))
	to := make([]*page.MessageRow, len(rows))
	for i, r := range rows {
		m.Rows[i] = p.messageRow(ctx, r, now, locks[r.Path.Entity()])
		m.Rows[i].Entity, m.Rows[i].EntityAt = Shown(r.Path), p.EntityURL(engine.Queue, r.Path)
		to[i] = &m.Rows[i]
	}
	return p.fillColumns(ctx, &m.Columns, c, rows, to, now)
}

// lockTimes adds how long a lock lasts in the entities of rows.
func lockTimes(r broker.Reader, rows []engine.Row, to map[engine.Path]time.Duration) error {
	for _, row := range rows {
		path := row.Path.Entity()
		if _, ok := to[path]; ok {
			continue
		}
		e, err := r.State(path)
		if err != nil {
			return err //nolint:wrapcheck // it was there in this very turn
		}
		to[path] = e.Config.LockFor()
	}
	return nil
}

// bay is a deferred message on the parking lot.
func (p *Pages) bay(ctx context.Context, r engine.Row, now engine.Instant, lockFor time.Duration) component.Bay {
	b := component.Bay{
		Key: keyText(r.Message.Key), Href: p.MessageURL(r.Message.Key), Number: int64(r.Message.Seq),
		Subject: calledBriefly(r.Content, r.Message.Seq), Entity: Shown(r.Path), At: p.EntityURL(engine.Queue, r.Path),
		Now: now.Time(), Clock: ttlClock(r, now), Hold: hold(r, now, lockFor), Gone: outOfTime(r, now),
		Then: fate(r.Path, r.KeepsDead).To, When: r.Message.EnqueuedAt.Time(),
	}
	if x := r.Message.Extra; x != nil && x.DeferredAt != 0 {
		b.When, b.By = x.DeferredAt.Time(), hand(ctx, x.By)
	}
	return b
}

func deferredLede(ctx context.Context, all, soon, gone int) []component.Text {
	if all == 0 {
		return []component.Text{strong(locale.T(ctx, "deferred.lede.none"))}
	}
	lede := []component.Text{strong(locale.N(ctx, "deferred.lede.all", all))}
	if all == 1 && soon+gone == 1 {
		id := "deferred.lede.its.running"
		if gone == 1 {
			id = "deferred.lede.its.over"
		}
		return append(lede, say(" "+locale.T(ctx, id)))
	}
	if soon > 0 {
		lede = append(lede, say(" "+locale.N(ctx, "deferred.lede.soon", soon)))
	}
	if gone > 0 {
		lede = append(lede, say(" "+locale.N(ctx, "deferred.lede.gone", gone)))
	}
	return lede
}
