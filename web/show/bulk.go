package show

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/views/page"
	"mayfly/views/view"
)

// bulkVerbs maps bulk actions to the questions that confirm them.
func bulkVerbs() map[string]page.Verb {
	return map[string]page.Verb{
		"bulk/delete": page.DeleteMessages, "bulk/cancel": page.CancelSchedule, "bulk/dead-letter": page.MoveToDeadLetter, "bulk/extend": page.Extend,
		"bulk/resubmit": page.Resubmit, "bulk/copy": page.Resubmit, "bulk/move": page.MoveTo, "bulk/reschedule": page.Reschedule,
	}
}

// maxMoveTargets is how many queues, and how many topics, are suggested as the target of a move.
const maxMoveTargets = 100

// confirmBulk asks to confirm an action on the messages chosen in a table.
func (p *Pages) confirmBulk(ctx context.Context, at Address, t FormState) (view.Page, error) {
	verb, ok := bulkVerbs()[at.Action]
	if !ok {
		return nil, ErrPageNotFound
	}
	keys := t.Values[page.FieldKey]
	var chosen []engine.Key
	for _, k := range keys {
		n, _ := parseNumber(k)
		chosen = append(chosen, engine.Key(n))
	}
	var twice expectedDrops
	var rows []engine.Row
	var to []string
	s, err := p.read(ctx, func(r broker.Reader) error {
		if rows = rowsOf(r, chosen); verb == page.Resubmit {
			twice = findExpectedDrops(r, rows)
		}
		if to = nil; verb != page.MoveTo {
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
	var m page.Confirm
	name := p.b.Name()
	if at.Kind == SelectedMessages {
		m = page.Confirm{
			Shell: p.staticShell(ctx, at, name), Verb: verb, To: p.URL(at), Cancel: p.cancelURL(at, t), Entity: page.EntityRef{Name: name, WholeNamespace: true},
			Values: t.firstValues(), Errors: t.Errors, TypeError: t.Errors[page.FieldConfirm], Refused: t.Refused,
		}
	} else {
		e, err := p.readEntityWith(ctx, at.Path, nil)
		if err != nil {
			return nil, err
		}
		m, name = p.confirm(ctx, at, e, t, verb), e.Path.Name()
	}
	m.Count, m.Sample, m.DuplicateAt, m.Entities = len(keys), messageNames(rows[:min(len(rows), maxSampleNames)]), twice.text(ctx), to
	if at.Action == "bulk/copy" && m.Values[page.FieldHow] == "" {
		m.Values[page.FieldHow] = "copy"
	}
	if verb == page.DeleteMessages || verb == page.CancelSchedule {
		m.States, m.Export = countStates(rows, s.now), p.ExportURL(Export{Keys: chosen})
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
func countStates(rows []engine.Row, now engine.Instant) (out []page.StateLine) {
	n := map[page.State]int{}
	for _, r := range rows {
		n[stateOf(r, now)]++
	}
	for _, s := range []page.State{page.StateActive, page.StateLocked, page.StateDeferred, page.StateScheduled, page.StateDeadLetter} {
		if n[s] > 0 {
			out = append(out, page.StateLine{State: s, N: n[s]})
		}
	}
	return out
}

// BulkListURL returns the address of the table whose messages were chosen.
func (p *Pages) BulkListURL(at Address) string {
	if at.Kind == SelectedMessages {
		return p.Home()
	}
	return p.EntityURL(at.EntityType, at.Path)
}

// BulkConfirmName returns the name to type before many chosen messages are deleted: that of their
// entity, or of the namespace if they may be in several entities.
func (p *Pages) BulkConfirmName(ctx context.Context, at Address) (string, error) {
	if at.Kind == SelectedMessages {
		return p.b.Name(), nil
	}
	e, err := p.readEntityWith(ctx, at.Path, nil)
	return e.Path.Name(), err
}

// An Export selects messages to write to a file: those with Keys, else those at Path, or
// anywhere if it is empty, that match Query.
type Export struct {
	Keys  []engine.Key
	Path  string
	State string // of messages at Path; empty means any
	Query string
}

// ExportURL returns the address in the JSON API of a file with the messages of x.
func (p *Pages) ExportURL(x Export) string {
	to, q := p.o.Base+"/api/v1/n/"+url.PathEscape(p.b.Name())+"/export", url.Values{}
	if x.Path != "" && len(x.Keys) == 0 {
		to += "/" + (&url.URL{Path: x.Path}).EscapedPath()
	}
	if x.State != "" {
		q.Set("state", x.State)
	}
	if x.Query != "" {
		q.Set("q", x.Query)
	}
	if len(x.Keys) > 0 {
		var keys []string
		for _, k := range x.Keys {
			keys = append(keys, strconv.FormatUint(uint64(k), 10))
		}
		q.Set("keys", strings.Join(keys, ","))
	}
	if len(q) > 0 {
		to += "?" + q.Encode()
	}
	return to
}

// NewJobURL returns the address of the form for a job on the messages of x, filled in. by is
// the duration if the job extends them.
func (p *Pages) NewJobURL(kind job.Kind, x Export, by string) string {
	return p.URL(Address{Namespace: p.b.Name(), Kind: Jobs, Action: "new"}.withQuery(
		page.FieldJobKind, string(kind), page.FieldJobPath, x.Path, page.FieldQuery, x.Query, page.FieldBy, by))
}

// stateExportURL returns the address of a file with the messages of an entity in one state.
func (p *Pages) stateExportURL(path engine.Path, s page.State) string {
	switch s {
	case page.StateDeadLetter:
		return p.ExportURL(Export{Path: string(path.DeadLetter())})
	case page.StateTransferDeadLetter:
		return p.ExportURL(Export{Path: string(path.Transfer())})
	default:
		return p.ExportURL(Export{Path: string(path), State: map[page.State]string{
			page.StateActive: "active", page.StateLocked: "locked", page.StateDeferred: "deferred", page.StateScheduled: "scheduled",
		}[s]})
	}
}
