package show

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
	"mayfly/views/view"
)

// Purgeable are the states a purge of an entity can be asked for, in order; the
// transfer dead-letter queue stands by itself, while there is something in it.
func Purgeable(e engine.EntityState) []page.State {
	all := []page.State{page.Active, page.Parking, page.Scheduled, page.DeadLetter}
	if e.Counts.TransferDeadLetter > 0 {
		all = append(all, page.TransferDead)
	}
	return all
}

func purgeable(c engine.Counts, s page.State) int64 {
	switch s {
	case page.Parking:
		return c.Deferred
	case page.Scheduled:
		return c.Scheduled
	case page.DeadLetter:
		return c.DeadLetter - c.DeadLocked
	case page.TransferDead:
		return c.TransferDeadLetter
	default:
		return c.Active
	}
}

// A Purging is what a purge takes from an entity and from its dead-letter queue.
type Purging struct {
	Path    engine.Path
	Classes []engine.Class // of the entity itself
	Dead    engine.Path    // where dead letters go from; empty: from nowhere
	Locked  int64          // of the dead letters, which stay
	N       int64          // as it is shown: without locked ones
}

// DeadClasses are what may be in a dead-letter queue.
func DeadClasses() []engine.Class { return []engine.Class{engine.ClassActive, engine.ClassDeferred} }

// PurgingOf is a purge of some states of e. It is not ok if there is none, one
// that e does not have, or both queues of dead letters, which are purged one by
// one.
func PurgingOf(e engine.EntityState, chosen []string) (p Purging, ok bool) {
	p.Path = e.Path
	for _, s := range chosen {
		state := page.State(s)
		if !slices.Contains(Purgeable(e), state) {
			return p, false
		}
		switch state {
		case page.Active:
			p.Classes = append(p.Classes, engine.ClassActive)
		case page.Parking:
			p.Classes = append(p.Classes, engine.ClassDeferred)
		case page.Scheduled:
			p.Classes = append(p.Classes, engine.ClassScheduled)
		case page.DeadLetter:
			p.Dead, p.Locked = e.Path.DeadLetter(), e.Counts.DeadLocked
		case page.TransferDead:
			p.Dead, p.Locked = e.Path.Transfer(), 0
		}
		p.N += purgeable(e.Counts, state)
	}
	both := slices.Contains(chosen, string(page.DeadLetter)) && slices.Contains(chosen, string(page.TransferDead))
	return p, len(chosen) > 0 && !both
}

// Foresee counts what a purge by a filter would do, looking at about most
// messages.
func (p Purging) Foresee(ctx context.Context, b *broker.Broker, only *engine.Sieve, most int64) (all broker.Forecast, err error) {
	if len(p.Classes) > 0 {
		if all, err = b.Foresee(ctx, p.Path, p.Classes, only, most); err != nil {
			return all, err //nolint:wrapcheck // it says what it is about
		}
		most = max(most-all.Matching-all.Skipped-all.Failed-all.Spared, 0)
	}
	if p.Dead != "" {
		var dead broker.Forecast
		dead, err = b.Foresee(ctx, p.Dead, DeadClasses(), only, most)
		all = all.Plus(dead)
	}
	return all, err //nolint:wrapcheck // it says what it is about
}

// ReadSieve reads the filter of a purge; nil if there is none, or if t says what
// is wrong with it.
func ReadSieve(t *Typed, l engine.Limits) *engine.Sieve {
	text := Filter(*t)
	if text == "" {
		return nil
	}
	only, err := engine.ParseSieve(text, l)
	if err == nil {
		return only
	}
	if s, ok := errors.AsType[*filter.SyntaxError](err); ok {
		t.Faults = map[string]component.Fault{page.AskFilter: faultOf(text, s)}
	} else if e, ok := errors.AsType[*engine.SieveError](err); ok {
		t.Errors = map[string]component.Text{page.AskFilter: component.Said(asSentence(e.Err.Error()))}
	}
	return nil
}

// Filter is the text that was filled in as the filter of a purge; empty if it is
// blank.
func Filter(t Typed) string {
	text := lines(t.Values.Get(page.AskFilter))
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return text
}

// countedMost is how many messages are looked at to say how many match.
const countedMost = 10_000

// firstOf is the first state of which an entity has messages to purge; none if it
// has none.
func firstOf(e engine.EntityState) []string {
	for _, s := range Purgeable(e) {
		if purgeable(e.Counts, s) > 0 {
			return []string{string(s)}
		}
	}
	return nil
}

// firstOf are the first few messages that a purge takes: those with these keys where
// they had to be looked for, by a filter.
func (p *Pages) firstOf(ctx context.Context, of Purging, only *engine.Sieve, keys []engine.Key) (out []page.MessageRow, err error) {
	var rows []engine.Row
	s, err := p.look(ctx, func(r broker.Reader) error {
		if rows = rowsOf(r, keys); only != nil {
			return nil
		}
		list := func(at engine.Path, classes []engine.Class) error {
			for _, c := range classes {
				if len(rows) >= sampled {
					return nil
				}
				some, err := r.Browse(engine.Browse{Path: at, Class: c, From: 1, Limit: sampled - len(rows)})
				if err != nil {
					return err //nolint:wrapcheck // the caller asked for just this
				}
				rows = append(rows, some...)
			}
			return nil
		}
		if err := list(of.Path, of.Classes); err != nil || of.Dead == "" {
			return err
		}
		return list(of.Dead, DeadClasses())
	})
	for _, r := range rows {
		out = append(out, p.messageRow(ctx, r, s.now, 0))
	}
	return out, err
}

// askPurge asks which messages go, by their state and by a filter (OPS-7).
func (p *Pages) askPurge(ctx context.Context, at Place, t Typed) (view.Page, error) {
	e, err := p.see(ctx, at.Path, nil)
	if err != nil {
		return nil, err
	}
	picked := t.Values[page.AskState]
	if t.Values == nil {
		if picked = at.Query["state"]; len(picked) == 0 {
			picked = firstOf(e.EntityState) // nothing else goes that was not asked for
		}
		t.Values = map[string][]string{page.AskState: picked, page.AskFilter: at.Query[page.AskFilter]}
	}
	only := ReadSieve(&t, p.b.Limits())
	m := p.confirm(ctx, at, e, t, page.Purge)
	m.Left = int(e.Counts.Locked + e.Counts.DeadLocked)
	for _, s := range Purgeable(e.EntityState) {
		line := page.StateLine{State: s, N: int(purgeable(e.Counts, s))}
		line.Export = p.exportOf(e.Path, s)
		line.Picked = line.N > 0 && slices.Contains(picked, string(s))
		if m.States = append(m.States, line); line.Picked {
			m.N += line.N
		}
	}
	m.Filter = page.PurgeFilter{Text: lines(t.Values.Get(page.AskFilter)), Most: int(p.b.Limits().FilterLength), Fault: t.Faults[page.AskFilter], Error: t.Errors[page.AskFilter]}
	of, ok := PurgingOf(e.EntityState, picked)
	var first []engine.Key
	if ok && only != nil {
		f, err := of.Foresee(ctx, p.b, only, countedMost)
		if err != nil {
			return nil, err
		}
		m.Filter.Counted, m.Filter.Matching, m.Filter.Unseen, m.Filter.Failed = true, int(f.Matching), int(f.Unseen), int(f.Failed)
		m.N, m.Left = int(min(f.AtMost(), math.MaxInt)), int(f.Skipped)
		first = f.First[:min(len(f.First), sampled)]
	}
	if ok {
		if m.First, err = p.firstOf(ctx, of, only, first); err != nil {
			return nil, err
		}
	}
	if m.N > TypeNameOver || t.Errors[page.AskConfirm].S != "" {
		m.Type = e.Path.Name()
	}
	return m, nil
}
