package show

import (
	"context"
	"net/url"
	"strconv"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// ConfirmNameAbove is the number of messages from which a destructive action asks for the entity's
// name.
const ConfirmNameAbove = 20

// maxSampleNames is how many of several messages a question names.
const maxSampleNames = 5

func (p *Pages) confirm(ctx context.Context, at Address, e entitySnapshot, t FormState, verb page.Verb) page.Confirm {
	at.EntityType, at.Path = e.Kind, e.Path
	return page.Confirm{
		Shell: p.staticShell(ctx, at, DisplayPath(e.Path)), Verb: verb, To: p.URL(at), Cancel: p.cancelURL(at, t), Entity: p.entityRef(e.Kind, e.Path),
		Values: t.firstValues(), Errors: t.Errors, TypeError: t.Errors[page.FieldConfirm], Refused: t.Refused, Now: p.b.ClockTime().Time(),
	}
}

func (p *Pages) readEntityWith(ctx context.Context, path engine.Path, more func(broker.Reader, *entitySnapshot) error) (entitySnapshot, error) {
	var e entitySnapshot
	_, err := p.read(ctx, func(r broker.Reader) (err error) {
		if e, err = readEntity(r, path); err != nil || more == nil {
			return err
		}
		return more(r, &e)
	})
	return e, err
}

// confirmDelete asks to confirm the deletion of an entity and everything in it (PROP-14).
func (p *Pages) confirmDelete(ctx context.Context, at Address, t FormState) (view.Page, error) {
	e, err := p.readEntityWith(ctx, at.Path, nil)
	if err != nil {
		return nil, err
	}
	m := p.confirm(ctx, at, e, t, page.DeleteEntity)
	c := e.counts()
	m.Count = c.Active + c.Locked + c.Deferred + c.Scheduled + c.Dead
	for _, s := range []page.StateLine{
		{State: page.StateActive, N: c.Active}, {State: page.StateLocked, N: c.Locked}, {State: page.StateDeferred, N: c.Deferred},
		{State: page.StateScheduled, N: c.Scheduled}, {State: page.StateDeadLetter, N: c.Dead},
	} {
		if s.N > 0 {
			if e.Kind != engine.Topic { // a topic's counts are those of its subscriptions
				s.Export = p.stateExportURL(e.Path, s.State)
			}
			m.States = append(m.States, s)
		}
	}
	if n := len(e.subs); n > 0 {
		m.Contents = append(m.Contents, locale.N(ctx, "goes.subscriptions", n))
	}
	rules := len(e.Rules)
	for _, s := range e.subs {
		rules += len(s.Rules)
	}
	if rules > 0 {
		m.Contents = append(m.Contents, locale.N(ctx, "goes.rules", rules))
	}
	m.Type = e.Path.Name()
	return m, nil
}

// confirmResubmit asks to confirm the resubmission of all dead letters.
func (p *Pages) confirmResubmit(ctx context.Context, at Address, t FormState) (view.Page, error) {
	transfers := at.Query.Get("dlq") == string(page.TabTransfers)
	var twice expectedDrops
	e, err := p.readEntityWith(ctx, at.Path, func(r broker.Reader, e *entitySnapshot) (err error) {
		from := e.Path.DeadLetter()
		switch {
		case transfers:
			from = e.Path.Transfer()
		case e.Kind == engine.Topic:
			return ErrPageNotFound
		}
		e.rows, err = r.Browse(engine.Browse{Path: from, From: 1, Limit: maxDuplicateChecks})
		twice = findExpectedDrops(r, e.rows)
		return err
	})
	if err != nil {
		return nil, err
	}
	m := p.confirm(ctx, at, e, t, page.Resubmit)
	m.Count, m.Left = int(e.Counts.DeadLetter-e.Counts.DeadLocked), int(e.Counts.DeadLocked)
	if transfers {
		m.Count, m.Left = int(e.Counts.TransferDeadLetter), 0
	}
	if m.DuplicateAt = twice.text(ctx); m.DuplicateAt != "" && m.Count > len(e.rows) {
		m.DuplicateAt += " " + locale.N(ctx, "confirm.seen.first", len(e.rows))
	}
	m.Sample = messageNames(e.rows[:min(len(e.rows), maxSampleNames)])
	return m, nil
}

// destination returns where a resubmitted dead letter goes: to the entity where it was
// dead-lettered, or, from a transfer subqueue, to its forwarding target.
func destination(r engine.Row) engine.Path {
	if r.Path.IsTransfer() && r.Message.Extra != nil {
		return engine.Path(r.Message.Extra.To)
	}
	return r.Path.Entity()
}

func messageNames(rows []engine.Row) (out []string) {
	for _, r := range rows {
		name, number := shortName(r.Content, r.Message.Seq), "#"+strconv.FormatInt(int64(r.Message.Seq), 10)
		if name != number { // several may have the same name
			name += " " + number
		}
		out = append(out, name)
	}
	return out
}

// confirmMessage asks to confirm an action on one message, and for the action's parameters.
func (p *Pages) confirmMessage(ctx context.Context, at Address, t FormState) (view.Page, error) {
	verb, ok := map[string]page.Verb{
		"delete": page.DeleteMessages, "dead-letter": page.MoveToDeadLetter, "cancel": page.CancelSchedule,
		"reschedule": page.Reschedule, "extend": page.Extend, "resubmit": page.Resubmit,
	}[at.Action]
	if !ok {
		return nil, ErrPageNotFound
	}
	var s messageSnapshot
	var to engine.EntityState // that would drop it as a duplicate
	_, err := p.read(ctx, func(r broker.Reader) (err error) {
		if s, err = readMessage(r, at.Key); err != nil || verb != page.Resubmit {
			return err
		}
		to = engine.EntityState{}
		if seen, err := r.IsDuplicate(destination(s.Row), s.content.MessageID); err == nil && seen {
			to, err = r.State(destination(s.Row))
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	lock := at.Query.Get(page.FieldLockToken)
	if lock == "" {
		lock = t.Values.Get(page.FieldLockToken)
	}
	at.Query = nil
	m := page.Confirm{
		Shell: p.staticShell(ctx, at, shortName(s.Content, s.Message.Seq)), Verb: verb, To: p.URL(at), Cancel: p.cancelURL(at, t),
		Entity: p.entityRef(s.entity.Kind, s.Path), Count: 1, Subject: shortName(s.Content, s.Message.Seq),
		Values: t.firstValues(), Errors: t.Errors, Refused: t.Refused,
	}
	if to.ID != 0 {
		m.DuplicateAt = locale.T(ctx, "confirm.seen", locale.Args{"Name": DisplayPath(to.Path), "Window": component.Length(ctx, to.Config.DuplicateWindow())})
	}
	if lock != "" {
		m.Hidden = append(m.Hidden, page.HiddenField{Name: page.FieldLockToken, Value: shorten.To(lock, 64)})
		if t.Cancel == "" {
			m.Cancel += "?lock=" + url.QueryEscape(shorten.To(lock, 64))
		}
	}
	return m, nil
}
