package entity

import (
	"context"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/entity"
	"mayfly/views/page/operate"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
)

// Confirm returns the page that asks to confirm an action on an entity, without counts.
func Confirm(ctx context.Context, p *pages.Pages, at pages.Address, e Snapshot, t pages.FormState, verb operate.Verb) operate.Confirm {
	at.EntityType, at.Path = e.Kind, e.Path
	return operate.Confirm{
		Shell: p.StaticShell(ctx, at, pages.DisplayPath(e.Path)), Verb: verb, To: p.URL(at), Cancel: p.CancelURL(at, t), Entity: p.EntityRef(e.Kind, e.Path),
		Values: t.FirstValues(), Errors: t.Errors, TypeError: t.Errors[page.FieldConfirm], Refused: t.Refused, Now: p.Broker.ClockTime().Time(),
	}
}

// ReadEntityWith reads an entity and then, unless it is nil, calls `more` in the same turn of the
// broker.
func ReadEntityWith(ctx context.Context, p *pages.Pages, path engine.Path, more func(broker.Reader, *Snapshot) error) (Snapshot, error) {
	var e Snapshot
	_, err := p.Read(ctx, func(r broker.Reader) (err error) {
		if e, err = ReadEntity(r, path); err != nil || more == nil {
			return err
		}
		return more(r, &e)
	})
	return e, err
}

// ConfirmDelete asks to confirm the deletion of an entity and everything in it (PROP-14).
func ConfirmDelete(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	e, err := ReadEntityWith(ctx, p, at.Path, nil)
	if err != nil {
		return nil, err
	}
	m := Confirm(ctx, p, at, e, t, operate.DeleteEntity)
	c := e.counts()
	m.Count = c.Active + c.Locked + c.Deferred + c.Scheduled + c.Dead
	for _, s := range []operate.StateLine{
		{State: page.StateActive, N: c.Active}, {State: page.StateLocked, N: c.Locked}, {State: page.StateDeferred, N: c.Deferred},
		{State: page.StateScheduled, N: c.Scheduled}, {State: page.StateDeadLetter, N: c.Dead},
	} {
		if s.N > 0 {
			if e.Kind != engine.Topic { // a topic's counts are those of its subscriptions
				s.Export = p.StateExportURL(e.Path, s.State)
			}
			m.States = append(m.States, s)
		}
	}
	if n := len(e.Subs); n > 0 {
		m.Contents = append(m.Contents, locale.N(ctx, "goes.subscriptions", n))
	}
	rules := len(e.Rules)
	for _, s := range e.Subs {
		rules += len(s.Rules)
	}
	if rules > 0 {
		m.Contents = append(m.Contents, locale.N(ctx, "goes.rules", rules))
	}
	m.Type = e.Path.Name()
	return m, nil
}

// ConfirmStatus asks to confirm a status that stops something. The form posts to the address of
// the confirmed action.
func ConfirmStatus(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	from, err := sourcesOf(ctx, p, at.Path)
	if err != nil {
		return nil, err
	}
	e, err := ReadEntityWith(ctx, p, at.Path, func(r broker.Reader, e *Snapshot) error { return e.readForwarding(r, from) })
	if err != nil {
		return nil, err
	}
	asked := t.Values.Get(page.FieldTo)
	if asked == "" {
		asked = at.Query.Get(page.FieldTo)
	}
	to, ok := ParseStatus(e.Kind, asked)
	if !ok {
		return nil, pages.ErrPageNotFound
	}
	at.Query = nil
	m := Confirm(ctx, p, at.WithQuery("agreed", "yes"), e, t, operate.SetStatus)
	if t.Cancel == "" {
		m.Cancel = p.EntityURL(e.Kind, e.Path) + "?tab=" + string(page.TabSettings)
	}
	m.Status, m.Entity.Name = entity.Status(to.String()), e.Path.Name()
	is := e.Config.Status
	if e.Kind != engine.Topic && pages.AllowsReceive(is) && !pages.AllowsReceive(to) {
		if n := int(e.Counts.Locked + e.Counts.DeadLocked); n > 0 {
			m.Contents = append(m.Contents, locale.N(ctx, "goes.locked", n))
		}
		if e.Receivers > 0 {
			m.Contents = append(m.Contents, locale.N(ctx, "goes.receivers", e.Receivers))
		}
	}
	if n := len(e.forwarding.in) + e.forwarding.omitted; n > 0 && pages.AllowsSend(is) && !pages.AllowsSend(to) {
		m.Contents = append(m.Contents, locale.N(ctx, "goes.sources", n))
	}
	return m, nil
}
