package operate

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/filter"
	"mayfly/views/component"
	"mayfly/views/page"
	listpage "mayfly/views/page/list"
	"mayfly/views/page/operate"
	"mayfly/views/view"
	"mayfly/web/dashboard/entity"
	"mayfly/web/dashboard/lab"
	"mayfly/web/dashboard/list"
	"mayfly/web/dashboard/pages"
)

// PurgeableStates returns the states that a purge of an entity can select, in order. The transfer
// dead-letter subqueue is among them only if it holds messages.
func PurgeableStates(e engine.EntityState) []page.State {
	all := []page.State{page.StateActive, page.StateDeferred, page.StateScheduled, page.StateDeadLetter}
	if e.Counts.TransferDeadLetter > 0 {
		all = append(all, page.StateTransferDeadLetter)
	}
	return all
}

func purgeableCount(c engine.Counts, s page.State) int64 {
	switch s {
	case page.StateDeferred:
		return c.Deferred
	case page.StateScheduled:
		return c.Scheduled
	case page.StateDeadLetter:
		return c.DeadLetter - c.DeadLocked
	case page.StateTransferDeadLetter:
		return c.TransferDeadLetter
	default:
		return c.Active
	}
}

// A PurgeSelection describes what a purge removes from an entity and its dead-letter subqueue.
type PurgeSelection struct {
	Path        engine.Path
	Classes     []engine.Class // classes to remove from the entity itself
	DeadLetters engine.Path    // the subqueue to remove dead letters from; empty means none
	Locked      int64          // number of locked dead letters, which stay
	Count       int64          // number of messages to remove, without locked ones
}

// DeadClasses returns the classes of messages that a dead-letter subqueue can hold.
func DeadClasses() []engine.Class { return []engine.Class{engine.ClassActive, engine.ClassDeferred} }

// SelectPurge returns a purge of some states of e. ok is false if none is chosen, if e does not
// have one of them, or if both dead-letter subqueues are chosen, which are purged one at a
// time.
func SelectPurge(e engine.EntityState, chosen []string) (p PurgeSelection, ok bool) {
	p.Path = e.Path
	for _, s := range chosen {
		state := page.State(s)
		if !slices.Contains(PurgeableStates(e), state) {
			return p, false
		}
		switch state {
		case page.StateActive:
			p.Classes = append(p.Classes, engine.ClassActive)
		case page.StateDeferred:
			p.Classes = append(p.Classes, engine.ClassDeferred)
		case page.StateScheduled:
			p.Classes = append(p.Classes, engine.ClassScheduled)
		case page.StateDeadLetter:
			p.DeadLetters, p.Locked = e.Path.DeadLetter(), e.Counts.DeadLocked
		case page.StateTransferDeadLetter:
			p.DeadLetters, p.Locked = e.Path.Transfer(), 0
		}
		p.Count += purgeableCount(e.Counts, state)
	}
	both := slices.Contains(chosen, string(page.StateDeadLetter)) && slices.Contains(chosen, string(page.StateTransferDeadLetter))
	return p, len(chosen) > 0 && !both
}

// Preview counts what a purge with the filter `only` would do, examining about `most` messages.
func (p PurgeSelection) Preview(ctx context.Context, b *broker.Broker, only *engine.MessageFilter, most int64) (all broker.PurgePreview, err error) {
	if len(p.Classes) > 0 {
		if all, err = b.PreviewPurge(ctx, p.Path, p.Classes, only, most); err != nil {
			return all, err
		}
		most = max(most-all.Matching-all.Skipped-all.Failed-all.Unmatched, 0)
	}
	if p.DeadLetters != "" {
		var dead broker.PurgePreview
		dead, err = b.PreviewPurge(ctx, p.DeadLetters, DeadClasses(), only, most)
		all = all.Plus(dead)
	}
	return all, err
}

// ParsePurgeFilter reads the filter of a purge. It returns nil if there is none, or if it is
// invalid, in which case t gets the error.
func ParsePurgeFilter(t *pages.FormState, l engine.Limits) *engine.MessageFilter {
	text := PurgeFilterText(*t)
	if text == "" {
		return nil
	}
	only, err := engine.ParseMessageFilter(text, l)
	if err == nil {
		return only
	}
	if s, ok := errors.AsType[*filter.SyntaxError](err); ok {
		t.SyntaxErrors = map[string]component.SyntaxError{page.FieldFilter: pages.SyntaxErrorOf(text, s)}
	} else if e, ok := errors.AsType[*engine.MessageFilterError](err); ok {
		t.Errors = map[string]component.Text{page.FieldFilter: component.ServerText(pages.ToSentence(e.Err.Error()))}
	}
	return nil
}

// PurgeFilterText returns the filter of a purge as typed, or "" if it is blank.
func PurgeFilterText(t pages.FormState) string {
	text := lab.UnixLines(t.Values.Get(page.FieldFilter))
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return text
}

// maxExamined is how many messages are examined to count those that match.
const maxExamined = 10_000

// firstPurgeable returns the first state in which an entity has messages to purge, or none if it
// has no such messages.
func firstPurgeable(e engine.EntityState) []string {
	for _, s := range PurgeableStates(e) {
		if purgeableCount(e.Counts, s) > 0 {
			return []string{string(s)}
		}
	}
	return nil
}

// firstPurged returns the first few messages that a purge removes. If it has a filter, these are
// the messages with the given keys, as far as they still exist.
func firstPurged(ctx context.Context, p *pages.Pages, of PurgeSelection, only *engine.MessageFilter, keys []engine.Key) (out []listpage.MessageRow, err error) {
	var rows []engine.Row
	s, err := p.Read(ctx, func(r broker.Reader) error {
		if rows = rowsOf(r, keys); only != nil {
			return nil
		}
		list := func(at engine.Path, classes []engine.Class) error {
			for _, c := range classes {
				if len(rows) >= pages.MaxSampleNames {
					return nil
				}
				some, err := r.Browse(engine.Browse{Path: at, Class: c, From: 1, Limit: pages.MaxSampleNames - len(rows)})
				if err != nil {
					return err
				}
				rows = append(rows, some...)
			}
			return nil
		}
		if err := list(of.Path, of.Classes); err != nil || of.DeadLetters == "" {
			return err
		}
		return list(of.DeadLetters, DeadClasses())
	})
	for _, r := range rows {
		out = append(out, list.MessageRow(ctx, p, r, s.Now, 0))
	}
	return out, err
}

// ConfirmPurge asks which messages to remove, by state and filter (OPS-7).
func ConfirmPurge(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	e, err := entity.ReadEntityWith(ctx, p, at.Path, nil)
	if err != nil {
		return nil, err
	}
	picked := t.Values[page.FieldState]
	if t.Values == nil {
		if picked = at.Query["state"]; len(picked) == 0 {
			picked = firstPurgeable(e.EntityState) // preselect only the first state that has messages
		}
		t.Values = map[string][]string{page.FieldState: picked, page.FieldFilter: at.Query[page.FieldFilter]}
	}
	only := ParsePurgeFilter(&t, p.Broker.Limits())
	m := entity.Confirm(ctx, p, at, e, t, operate.Purge)
	m.Left = int(e.Counts.Locked + e.Counts.DeadLocked)
	for _, s := range PurgeableStates(e.EntityState) {
		line := operate.StateLine{State: s, N: int(purgeableCount(e.Counts, s))}
		line.Export = p.StateExportURL(e.Path, s)
		line.Picked = line.N > 0 && slices.Contains(picked, string(s))
		if m.States = append(m.States, line); line.Picked {
			m.Count += line.N
		}
	}
	m.Filter = operate.PurgeFilter{Text: lab.UnixLines(t.Values.Get(page.FieldFilter)), MaxLength: int(p.Broker.Limits().FilterLength), Fault: t.SyntaxErrors[page.FieldFilter], Error: t.Errors[page.FieldFilter]}
	of, ok := SelectPurge(e.EntityState, picked)
	var first []engine.Key
	if ok && only != nil {
		f, err := of.Preview(ctx, p.Broker, only, maxExamined)
		if err != nil {
			return nil, err
		}
		m.Filter.Counted, m.Filter.Matching, m.Filter.Unexamined, m.Filter.Failed = true, int(f.Matching), int(f.Unexamined), int(f.Failed)
		m.Count, m.Left = int(min(f.AtMost(), math.MaxInt)), int(f.Skipped)
		first = f.First[:min(len(f.First), pages.MaxSampleNames)]
	}
	if ok {
		if m.Preview, err = firstPurged(ctx, p, of, only, first); err != nil {
			return nil, err
		}
	}
	if m.Count > ConfirmNameAbove || t.Errors[page.FieldConfirm].S != "" {
		m.Type = e.Path.Name()
	}
	return m, nil
}
