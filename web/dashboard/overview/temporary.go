package overview

import (
	"context"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/overview"
	"mayfly/views/view"
	"mayfly/web/dashboard/entity"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

// maxTemporaryEntities is how many entities the page of temporary entities shows.
const maxTemporaryEntities = 200

// Temporary returns the page of entities that are deleted when idle.
func Temporary(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	var idle []engine.EntityState
	all := 0
	s, err := p.Read(ctx, func(r broker.Reader) error {
		idle = recent.TemporaryEntities(r.States(0))
		all = countDeleting(idle)
		idle = idle[:min(len(idle), maxTemporaryEntities)]
		return withUses(r, idle)
	})
	if err != nil {
		return nil, 0, err
	}
	m := overview.Temporary{
		Shell:   p.LiveShell(ctx, at, s, locale.T(ctx, "temporary.title")),
		MinIdle: p.Broker.Limits().MinAutoDelete,
		Lede:    temporaryLede(ctx, idle, all, s.Now),
		Kept:    p.HistoryRetention(),
	}
	for _, e := range idle {
		m.Entities = append(m.Entities, entity.TemporaryEntity(ctx, p, e, s.Now))
	}
	for _, g := range p.Events.AutoDeleted() {
		m.Deleted = append(m.Deleted, entity.DeletedEntityRow(ctx, p, g, s.Now))
	}
	return m, s.Event, nil
}

func temporaryLede(ctx context.Context, idle []engine.EntityState, all int, now engine.Instant) []component.Text {
	if len(idle) == 0 {
		return []component.Text{pages.StrongText(locale.T(ctx, "temporary.lede.none"))}
	}
	if all == 0 {
		return []component.Text{pages.StrongText(locale.T(ctx, "temporary.lede.pinned"))}
	}
	lede := []component.Text{pages.PlainText(locale.N(ctx, "temporary.lede.all", all) + " ")}
	if first := idle[0]; recent.IdleState(first) == component.IdleRunning {
		next := entity.IdleClock(first, now)
		next.As = component.Plenty
		lede = append(lede, component.Text{S: pages.DisplayPath(first.Path), Strong: true},
			pages.PlainText(" "+locale.T(ctx, "temporary.lede.next")+" "), component.Text{Clock: &next, Strong: true}, pages.PlainText(". "))
	} else {
		lede = append(lede, pages.StrongText(locale.N(ctx, "temporary.lede.held", all)+" "))
	}
	lede = append(lede, pages.PlainText(locale.N(ctx, "temporary.lede.with", all)))
	if all > maxTemporaryEntities {
		lede = append(lede, pages.PlainText(" "+locale.N(ctx, "temporary.lede.shown", maxTemporaryEntities)))
	}
	return lede
}
