package show

import (
	"context"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
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
	locks := map[engine.Path]time.Duration{}
	s, err := p.look(ctx, func(r broker.Reader) error {
		counts, _ = r.Totals()
		rows = r.Deferred(lot)
		return lockTimes(r, rows, locks)
	})
	if err != nil {
		return nil, 0, err
	}
	m := page.Deferred{Shell: p.shell(ctx, at, s, locale.T(ctx, "deferred.title"))}
	gone, soon := 0, 0
	for _, r := range rows {
		b := p.bay(ctx, r, s.now, locks[r.Path.Entity()])
		switch m.Bays = append(m.Bays, b); {
		case b.Gone:
			gone++
		case r.Expires != 0:
			soon++
		}
	}
	m.Lede = deferredLede(ctx, max(len(rows), int(counts.Deferred)), soon, gone)
	if len(rows) == lot {
		m.Pages.Note = locale.N(ctx, "deferred.shown", lot)
	}
	if soon > 0 { // nothing happens when a parked message runs out
		return Refreshing{m, time.Second}, s.n, nil
	}
	return m, s.n, nil
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
		Now: now.Time(), Clock: ttlClock(r, now), Hold: hold(r.Message, now, lockFor), Gone: outOfTime(r, now),
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
