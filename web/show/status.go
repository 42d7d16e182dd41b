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

func allowsSend(s engine.Status) bool {
	return s == engine.StatusActive || s == engine.StatusReceiveDisabled
}

func allowsReceive(s engine.Status) bool {
	return s == engine.StatusActive || s == engine.StatusSendDisabled
}

// ParseStatus parses a status that an entity of this kind can have; ok is false for any other
// (§1.4).
func ParseStatus(kind engine.EntityKind, name string) (s engine.Status, ok bool) {
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

// StopsOperation reports whether an entity whose status changes between the two stops sends, receives or
// changes of rules (STAT-9).
func StopsOperation(kind engine.EntityKind, from, to engine.Status) bool {
	return kind != engine.Subscription && allowsSend(from) && !allowsSend(to) ||
		kind != engine.Topic && allowsReceive(from) && !allowsReceive(to) ||
		kind != engine.Queue && from != engine.StatusDisabled && to == engine.StatusDisabled
}

// confirmStatus asks to confirm a status that stops something. The form posts to the address of
// the confirmed action.
func (p *Pages) confirmStatus(ctx context.Context, at Address, t FormState) (view.Page, error) {
	from, err := p.sourcesOf(ctx, at.Path)
	if err != nil {
		return nil, err
	}
	e, err := p.readEntityWith(ctx, at.Path, func(r broker.Reader, e *entitySnapshot) error { return e.readForwarding(r, from) })
	if err != nil {
		return nil, err
	}
	asked := t.Values.Get(page.FieldTo)
	if asked == "" {
		asked = at.Query.Get(page.FieldTo)
	}
	to, ok := ParseStatus(e.Kind, asked)
	if !ok {
		return nil, ErrPageNotFound
	}
	at.Query = nil
	m := p.confirm(ctx, at.withQuery("agreed", "yes"), e, t, page.SetStatus)
	if t.Cancel == "" {
		m.Cancel = p.EntityURL(e.Kind, e.Path) + "?tab=" + string(page.TabSettings)
	}
	m.Status, m.Entity.Name = page.Status(to.String()), e.Path.Name()
	is := e.Config.Status
	if e.Kind != engine.Topic && allowsReceive(is) && !allowsReceive(to) {
		if n := int(e.Counts.Locked + e.Counts.DeadLocked); n > 0 {
			m.Contents = append(m.Contents, locale.N(ctx, "goes.locked", n))
		}
		if e.Receivers > 0 {
			m.Contents = append(m.Contents, locale.N(ctx, "goes.receivers", e.Receivers))
		}
	}
	if n := len(e.forwarding.in) + e.forwarding.omitted; n > 0 && allowsSend(is) && !allowsSend(to) {
		m.Contents = append(m.Contents, locale.N(ctx, "goes.sources", n))
	}
	return m, nil
}
