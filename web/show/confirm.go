package show

import (
	"context"
	"net/url"
	"strconv"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// TypeNameOver is the number of messages from which what destroys them asks for
// the name of their entity.
const TypeNameOver = 20

// sampled is how many of several messages are named.
const sampled = 5

func (p *Pages) confirm(ctx context.Context, at Place, e entitySight, t Typed, verb page.Verb) page.Confirm {
	at.Entity, at.Path = e.Kind, e.Path
	return page.Confirm{
		Shell: p.still(ctx, at, Shown(e.Path)), Verb: verb, To: p.URL(at), Cancel: p.cancel(at, t), In: p.placeOf(e.Kind, e.Path),
		Values: t.first(), Errors: t.Errors, TypeError: t.Errors[page.AskConfirm], Refused: t.Refused, Now: p.b.Clock().Time(),
	}
}

func (p *Pages) see(ctx context.Context, path engine.Path, more func(broker.Reader, *entitySight) error) (entitySight, error) {
	var e entitySight
	_, err := p.look(ctx, func(r broker.Reader) (err error) {
		if e, err = seeEntity(r, path); err != nil || more == nil {
			return err
		}
		return more(r, &e)
	})
	return e, err
}

// askDelete asks before an entity goes, with everything that goes with it
// (PROP-14).
func (p *Pages) askDelete(ctx context.Context, at Place, t Typed) (view.Page, error) {
	e, err := p.see(ctx, at.Path, nil)
	if err != nil {
		return nil, err
	}
	m := p.confirm(ctx, at, e, t, page.DeleteEntity)
	c := e.counts()
	m.N = c.Active + c.Locked + c.Deferred + c.Scheduled + c.Dead
	for _, s := range []page.StateLine{
		{State: page.Active, N: c.Active}, {State: page.Locked, N: c.Locked}, {State: page.Parking, N: c.Deferred},
		{State: page.Scheduled, N: c.Scheduled}, {State: page.DeadLetter, N: c.Dead},
	} {
		if s.N > 0 {
			if e.Kind != engine.Topic { // what it counts is in its subscriptions
				s.Export = p.exportOf(e.Path, s.State)
			}
			m.States = append(m.States, s)
		}
	}
	if n := len(e.subs); n > 0 {
		m.Goes = append(m.Goes, locale.N(ctx, "goes.subscriptions", n))
	}
	rules := len(e.Rules)
	for _, s := range e.subs {
		rules += len(s.Rules)
	}
	if rules > 0 {
		m.Goes = append(m.Goes, locale.N(ctx, "goes.rules", rules))
	}
	m.Type = e.Path.Name()
	return m, nil
}

// askResubmit asks before every dead letter goes back.
func (p *Pages) askResubmit(ctx context.Context, at Place, t Typed) (view.Page, error) {
	transfers := at.Query.Get("dlq") == string(page.Transfers)
	var twice again
	e, err := p.see(ctx, at.Path, func(r broker.Reader, e *entitySight) (err error) {
		from := e.Path.DeadLetter()
		switch {
		case transfers:
			from = e.Path.Transfer()
		case e.Kind == engine.Topic:
			return ErrNoPage
		}
		e.rows, err = r.Browse(engine.Browse{Path: from, From: 1, Limit: mostLookedUp})
		twice = wouldBeDropped(r, e.rows)
		return err //nolint:wrapcheck // the caller asked for just this
	})
	if err != nil {
		return nil, err
	}
	m := p.confirm(ctx, at, e, t, page.Resubmit)
	m.N, m.Left = int(e.Counts.DeadLetter-e.Counts.DeadLocked), int(e.Counts.DeadLocked)
	if transfers {
		m.N, m.Left = int(e.Counts.TransferDeadLetter), 0
	}
	if m.Seen = twice.says(ctx); m.Seen != "" && m.N > len(e.rows) {
		m.Seen += " " + locale.N(ctx, "confirm.seen.first", len(e.rows))
	}
	m.Sample = names(e.rows[:min(len(e.rows), sampled)])
	return m, nil
}

// destination is where a dead letter goes when it is resubmitted: back to where
// it died, or on to where it was to go.
func destination(r engine.Row) engine.Path {
	if r.Path.IsTransfer() && r.Message.Extra != nil {
		return engine.Path(r.Message.Extra.To)
	}
	return r.Path.Entity()
}

func names(rows []engine.Row) (out []string) {
	for _, r := range rows {
		name, number := calledBriefly(r.Content, r.Message.Seq), "#"+strconv.FormatInt(int64(r.Message.Seq), 10)
		if name != number { // several may be called alike
			name += " " + number
		}
		out = append(out, name)
	}
	return out
}

// askMessage asks before something is done to one message, and for what it
// needs to know.
func (p *Pages) askMessage(ctx context.Context, at Place, t Typed) (view.Page, error) {
	verb, ok := map[string]page.Verb{
		"delete": page.DeleteMessages, "dead-letter": page.MoveToDead, "cancel": page.CancelSchedule,
		"reschedule": page.Reschedule, "extend": page.Extend, "resubmit": page.Resubmit,
	}[at.Do]
	if !ok {
		return nil, ErrNoPage
	}
	var s messageSight
	var to engine.EntityState // that has seen its id
	_, err := p.look(ctx, func(r broker.Reader) (err error) {
		if s, err = seeMessage(r, at.Key); err != nil || verb != page.Resubmit {
			return err
		}
		to = engine.EntityState{}
		if seen, err := r.Seen(destination(s.Row), s.content.MessageID); err == nil && seen {
			to, err = r.State(destination(s.Row))
			return err //nolint:wrapcheck // it was there in this very turn
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	lock := at.Query.Get(page.AskToken)
	if lock == "" {
		lock = t.Values.Get(page.AskToken)
	}
	at.Query = nil
	m := page.Confirm{
		Shell: p.still(ctx, at, calledBriefly(s.Content, s.Message.Seq)), Verb: verb, To: p.URL(at), Cancel: p.cancel(at, t),
		In: p.placeOf(s.in.Kind, s.Path), N: 1, Subject: calledBriefly(s.Content, s.Message.Seq),
		Values: t.first(), Errors: t.Errors, Refused: t.Refused,
	}
	if to.ID != 0 {
		m.Seen = locale.T(ctx, "confirm.seen", locale.Args{"Name": Shown(to.Path), "Window": component.Length(ctx, to.Config.DuplicateWindow())})
	}
	if lock != "" {
		m.Hidden = append(m.Hidden, page.HiddenField{Name: page.AskToken, Value: cut(lock, 64)})
		if t.Cancel == "" {
			m.Cancel += "?lock=" + url.QueryEscape(cut(lock, 64))
		}
	}
	return m, nil
}
