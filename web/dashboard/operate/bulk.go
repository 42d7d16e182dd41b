package operate

import (
	"context"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/page"
	"mayfly/views/page/operate"
	"mayfly/views/view"
	"mayfly/web/dashboard/entity"
	"mayfly/web/dashboard/list"
	"mayfly/web/dashboard/pages"
)

// bulkVerbs returns the verb of each bulk action's confirmation page.
func bulkVerbs() map[string]operate.Verb {
	return map[string]operate.Verb{
		"bulk/delete": operate.DeleteMessages, "bulk/cancel": operate.CancelSchedule, "bulk/dead-letter": operate.MoveToDeadLetter, "bulk/extend": operate.Extend,
		"bulk/resubmit": operate.Resubmit, "bulk/copy": operate.Resubmit, "bulk/move": operate.MoveTo, "bulk/reschedule": operate.Reschedule,
	}
}

// maxMoveTargets is how many queues, and how many topics, are suggested as the target of a move.
const maxMoveTargets = 100

// ConfirmBulk asks to confirm an action on the messages chosen in a table.
func ConfirmBulk(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	verb, ok := bulkVerbs()[at.Action]
	if !ok {
		return nil, pages.ErrPageNotFound
	}
	keys := t.Values[page.FieldKey]
	var chosen []engine.Key
	for _, k := range keys {
		n, _ := pages.ParseNumber(k)
		chosen = append(chosen, engine.Key(n))
	}
	var twice expectedDrops
	var rows []engine.Row
	var to []string
	s, err := p.Read(ctx, func(r broker.Reader) error {
		if rows = rowsOf(r, chosen); verb == operate.Resubmit {
			twice = findExpectedDrops(r, rows)
		}
		if to = nil; verb != operate.MoveTo {
			return nil
		}
		for _, kind := range []engine.EntityKind{engine.Queue, engine.Topic} {
			some, err := r.EntityPage(kind, "", 0, maxMoveTargets)
			if err != nil {
				return err
			}
			for _, e := range some {
				to = append(to, string(e.Path))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var m operate.Confirm
	name := p.Broker.Name()
	if at.Kind == pages.SelectedMessages {
		m = operate.Confirm{
			Shell: p.StaticShell(ctx, at, name), Verb: verb, To: p.URL(at), Cancel: p.CancelURL(at, t), Entity: page.EntityRef{Name: name, WholeNamespace: true},
			Values: t.FirstValues(), Errors: t.Errors, TypeError: t.Errors[page.FieldConfirm], Refused: t.Refused,
		}
	} else {
		e, err := entity.ReadEntityWith(ctx, p, at.Path, nil)
		if err != nil {
			return nil, err
		}
		m, name = entity.Confirm(ctx, p, at, e, t, verb), e.Path.Name()
	}
	m.Count, m.Sample, m.DuplicateAt, m.Entities = len(keys), pages.MessageNames(rows[:min(len(rows), pages.MaxSampleNames)]), twice.text(ctx), to
	if at.Action == "bulk/copy" && m.Values[page.FieldHow] == "" {
		m.Values[page.FieldHow] = "copy"
	}
	if verb == operate.DeleteMessages || verb == operate.CancelSchedule {
		m.States, m.Export = countStates(rows, s.Now), p.ExportURL(pages.Export{Keys: chosen})
		if m.Count > ConfirmNameAbove {
			m.Type = name
		}
	}
	for _, k := range keys {
		m.Hidden = append(m.Hidden, page.HiddenField{Name: page.FieldKey, Value: k})
	}
	return m, nil
}

// countStates counts the messages in each state.
func countStates(rows []engine.Row, now engine.Instant) (out []operate.StateLine) {
	n := map[page.State]int{}
	for _, r := range rows {
		n[list.StateOf(r, now)]++
	}
	for _, s := range []page.State{page.StateActive, page.StateLocked, page.StateDeferred, page.StateScheduled, page.StateDeadLetter} {
		if n[s] > 0 {
			out = append(out, operate.StateLine{State: s, N: n[s]})
		}
	}
	return out
}

// BulkListURL returns the address of the table whose messages were chosen.
func BulkListURL(p *pages.Pages, at pages.Address) string {
	if at.Kind == pages.SelectedMessages {
		return p.Home()
	}
	return p.EntityURL(at.EntityType, at.Path)
}

// BulkConfirmName returns the name to type before many chosen messages are deleted: that of their
// entity, or of the namespace if they may be in several entities.
func BulkConfirmName(ctx context.Context, p *pages.Pages, at pages.Address) (string, error) {
	if at.Kind == pages.SelectedMessages {
		return p.Broker.Name(), nil
	}
	e, err := entity.ReadEntityWith(ctx, p, at.Path, nil)
	return e.Path.Name(), err
}
