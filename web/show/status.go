package show

import (
	"context"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

func takesSenders(s engine.Status) bool {
	return s == engine.StatusActive || s == engine.StatusReceiveDisabled
}

func takesReceivers(s engine.Status) bool {
	return s == engine.StatusActive || s == engine.StatusSendDisabled
}

// ReadStatus is the status of an entity of a kind that a form names; not ok if
// there is none such (§1.4).
func ReadStatus(kind engine.EntityKind, name string) (s engine.Status, ok bool) {
	all := []engine.Status{engine.StatusActive, engine.StatusDisabled}
	if kind != engine.Subscription {
		all = append(all, engine.StatusSendDisabled)
	}
	if kind != engine.Topic {
		all = append(all, engine.StatusReceiveDisabled)
	}
	i := slices.IndexFunc(all, func(s engine.Status) bool { return s.String() == name })
	if i < 0 {
		return 0, false
	}
	return all[i], true
}

// Stops says whether changing the status of an entity stops something that goes
// on now: sends, receives, or changes of rules (STAT-9).
func Stops(kind engine.EntityKind, from, to engine.Status) bool {
	return kind != engine.Subscription && takesSenders(from) && !takesSenders(to) ||
		kind != engine.Topic && takesReceivers(from) && !takesReceivers(to) ||
		kind != engine.Queue && from != engine.StatusDisabled && to == engine.StatusDisabled
}

// askStatus asks before the status of an entity stops something. Its form goes
// to the address that says it was asked.
func (p *Pages) askStatus(ctx context.Context, at Place, t Typed) (view.Page, error) {
	from, err := p.sourcesOf(ctx, at.Path)
	if err != nil {
		return nil, err
	}
	e, err := p.see(ctx, at.Path, func(r broker.Reader, e *entitySight) error { return e.seeFlow(r, from) })
	if err != nil {
		return nil, err
	}
	asked := t.Values.Get(page.AskTo)
	if asked == "" {
		asked = at.Query.Get(page.AskTo)
	}
	to, ok := ReadStatus(e.Kind, asked)
	if !ok {
		return nil, ErrNoPage
	}
	at.Query = nil
	m := p.confirm(ctx, at.with("agreed", "yes"), e, t, page.SetStatus)
	if t.Cancel == "" {
		m.Cancel = p.EntityURL(e.Kind, e.Path) + "?tab=" + string(page.Settled)
	}
	m.Status, m.In.Name = page.Status(to.String()), e.Path.Name()
	is := e.Config.Status
	if e.Kind != engine.Topic && takesReceivers(is) && !takesReceivers(to) {
		if n := int(e.Counts.Locked + e.Counts.DeadLocked); n > 0 {
			m.Goes = append(m.Goes, locale.N(ctx, "goes.locked", n))
		}
		if e.Receivers > 0 {
			m.Goes = append(m.Goes, locale.N(ctx, "goes.receivers", e.Receivers))
		}
	}
	if n := len(e.flow.in) + e.flow.more; n > 0 && takesSenders(is) && !takesSenders(to) {
		m.Goes = append(m.Goes, locale.N(ctx, "goes.sources", n))
	}
	return m, nil
}
