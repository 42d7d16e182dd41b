package message

import (
	"context"
	"net/url"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/operate"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

// ConfirmMessage asks to confirm an action on one message, and for the action's parameters.
func ConfirmMessage(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	verb, ok := map[string]operate.Verb{
		"delete": operate.DeleteMessages, "dead-letter": operate.MoveToDeadLetter, "cancel": operate.CancelSchedule,
		"reschedule": operate.Reschedule, "extend": operate.Extend, "resubmit": operate.Resubmit,
	}[at.Action]
	if !ok {
		return nil, pages.ErrPageNotFound
	}
	var s Snapshot
	var to engine.EntityState // the entity that would drop the message as a duplicate; zero if none would
	_, err := p.Read(ctx, func(r broker.Reader) (err error) {
		if s, err = ReadMessage(r, at.Key); err != nil || verb != operate.Resubmit {
			return err
		}
		to = engine.EntityState{}
		if seen, err := r.IsDuplicate(pages.Destination(s.Row), s.Unpacked.MessageID); err == nil && seen {
			to, err = r.State(pages.Destination(s.Row))
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
	m := operate.Confirm{
		Shell: p.StaticShell(ctx, at, recent.ShortName(s.Content, s.Message.Seq)), Verb: verb, To: p.URL(at), Cancel: p.CancelURL(at, t),
		Entity: p.EntityRef(s.Entity.Kind, s.Path), Count: 1, Subject: recent.ShortName(s.Content, s.Message.Seq),
		Values: t.FirstValues(), Errors: t.Errors, Refused: t.Refused,
	}
	if to.ID != 0 {
		m.DuplicateAt = locale.T(ctx, "confirm.seen", locale.Args{"Name": pages.DisplayPath(to.Path), "Window": component.Length(ctx, to.Config.DuplicateWindow())})
	}
	if lock != "" {
		m.Hidden = append(m.Hidden, page.HiddenField{Name: page.FieldLockToken, Value: shorten.To(lock, 64)})
		if t.Cancel == "" {
			m.Cancel += "?lock=" + url.QueryEscape(shorten.To(lock, 64))
		}
	}
	return m, nil
}
