package show

import (
	"context"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// maxTemporaryEntities is how many entities the page of temporary entities shows.
const maxTemporaryEntities = 200

func (p *Pages) temporary(ctx context.Context, at Address) (view.Page, uint64, error) {
	var idle []engine.EntityState
	all := 0
	s, err := p.read(ctx, func(r broker.Reader) error {
		idle = temporaryEntities(r.States(0))
		all = countDeleting(idle)
		idle = idle[:min(len(idle), maxTemporaryEntities)]
		return withUses(r, idle)
	})
	if err != nil {
		return nil, 0, err
	}
	m := page.Temporary{
		Shell:   p.liveShell(ctx, at, s, locale.T(ctx, "temporary.title")),
		MinIdle: p.b.Limits().MinAutoDelete,
		Lede:    p.temporaryLede(ctx, idle, all, s.now),
		Kept:    p.historyRetention(),
	}
	for _, e := range idle {
		m.Entities = append(m.Entities, p.temporaryEntity(ctx, e, s.now))
	}
	for _, g := range p.events.autoDeleted() {
		m.Deleted = append(m.Deleted, p.deletedEntityRow(ctx, g, s.now))
	}
	return m, s.event, nil
}

func (p *Pages) temporaryLede(ctx context.Context, idle []engine.EntityState, all int, now engine.Instant) []component.Text {
	if len(idle) == 0 {
		return []component.Text{strongText(locale.T(ctx, "temporary.lede.none"))}
	}
	if all == 0 {
		return []component.Text{strongText(locale.T(ctx, "temporary.lede.pinned"))}
	}
	lede := []component.Text{plainText(locale.N(ctx, "temporary.lede.all", all) + " ")}
	if first := idle[0]; idleState(first) == component.IdleRunning {
		next := idleClock(first, now)
		next.As = component.Plenty
		lede = append(lede, component.Text{S: DisplayPath(first.Path), Strong: true},
			plainText(" "+locale.T(ctx, "temporary.lede.next")+" "), component.Text{Clock: &next, Strong: true}, plainText(". "))
	} else {
		lede = append(lede, strongText(locale.N(ctx, "temporary.lede.held", all)+" "))
	}
	lede = append(lede, plainText(locale.N(ctx, "temporary.lede.with", all)))
	if all > maxTemporaryEntities {
		lede = append(lede, plainText(" "+locale.N(ctx, "temporary.lede.shown", maxTemporaryEntities)))
	}
	return lede
}

// deletedEntityRow returns the record of a deleted entity. One that was deleted automatically can be
// restored.
func (p *Pages) deletedEntityRow(ctx context.Context, e engine.HistoryEvent, now engine.Instant) component.DeletedEntity {
	g := component.DeletedEntity{
		Key: deletedEntityID(e.Epoch, e.N), Name: DisplayPath(e.Path), Created: e.Entity.CreatedAt.Time(), Deleted: e.At.Time(), Dated: !sameDay(e.At, now),
		Contents: locale.T(ctx, "grave.empty"),
	}
	if e.Count > 0 {
		g.Contents = locale.N(ctx, "grave.messages", int(e.Count))
	}
	if e.Kind == engine.EventEntityAutoDeleted {
		g.Restore = p.Home() + "/tombstones/" + g.Key + "/restore"
	}
	return g
}
