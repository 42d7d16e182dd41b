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

// wall is how many hourglasses stand on the page of temporary entities.
const wall = 200

func (p *Pages) temporary(ctx context.Context, at Place) (view.Page, uint64, error) {
	var idle []engine.EntityState
	all := 0
	s, err := p.look(ctx, func(r broker.Reader) error {
		idle = temporaries(r.States(0))
		all = deleting(idle)
		idle = idle[:min(len(idle), wall)]
		return withUses(r, idle)
	})
	if err != nil {
		return nil, 0, err
	}
	m := page.Temporary{
		Shell: p.shell(ctx, at, s, locale.T(ctx, "temporary.title")),
		Least: p.b.Limits().MinAutoDelete,
		Lede:  p.temporaryLede(ctx, idle, all, s.now),
		Kept:  p.kept(),
	}
	for _, e := range idle {
		m.Sitters = append(m.Sitters, p.sitter(ctx, e, s.now))
	}
	for _, g := range p.recent.deletedItself() {
		m.Graves = append(m.Graves, p.stone(ctx, g, s.now))
	}
	return m, s.n, nil
}

func (p *Pages) temporaryLede(ctx context.Context, idle []engine.EntityState, all int, now engine.Instant) []component.Text {
	if len(idle) == 0 {
		return []component.Text{strong(locale.T(ctx, "temporary.lede.none"))}
	}
	if all == 0 {
		return []component.Text{strong(locale.T(ctx, "temporary.lede.pinned"))}
	}
	lede := []component.Text{say(locale.N(ctx, "temporary.lede.all", all) + " ")}
	if first := idle[0]; glass(first) == component.Running {
		next := idleClock(first, now)
		next.As = component.Plenty
		lede = append(lede, component.Text{S: Shown(first.Path), Strong: true},
			say(" "+locale.T(ctx, "temporary.lede.next")+" "), component.Text{Clock: &next, Strong: true}, say(". "))
	} else {
		lede = append(lede, strong(locale.N(ctx, "temporary.lede.held", all)+" "))
	}
	lede = append(lede, say(locale.N(ctx, "temporary.lede.with", all)))
	if all > wall {
		lede = append(lede, say(" "+locale.N(ctx, "temporary.lede.shown", wall)))
	}
	return lede
}

// stone is the tombstone of an entity that is no more. What deleted itself can
// come back.
func (p *Pages) stone(ctx context.Context, e engine.PastEvent, now engine.Instant) component.Grave {
	g := component.Grave{
		Key: tombKey(e.Epoch, e.N), Name: Shown(e.Path), Born: e.Entity.CreatedAt.Time(), Died: e.At.Time(), Dated: !sameDay(e.At, now),
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
