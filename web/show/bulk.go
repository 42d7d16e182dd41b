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

// bulkVerbs are what is asked before something is done to chosen messages.
func bulkVerbs() map[string]page.Verb {
	return map[string]page.Verb{
		"bulk/delete": page.DeleteMessages, "bulk/cancel": page.CancelSchedule, "bulk/dead-letter": page.MoveToDead, "bulk/extend": page.Extend,
		"bulk/resubmit": page.Resubmit, "bulk/copy": page.Resubmit, "bulk/move": page.MoveTo, "bulk/reschedule": page.Reschedule,
	}
}

// offered is how many queues, and topics, are proposed as the destination of a move.
const offered = 100

// askBulk asks before something is done to the messages that were chosen in a
// table.
func (p *Pages) askBulk(ctx context.Context, at Place, t Typed) (view.Page, error) {
	verb, ok := bulkVerbs()[at.Do]
	if !ok {
		return nil, ErrNoPage
	}
	keys := t.Values[page.AskKey]
	var chosen []engine.Key
	for _, k := range keys {
		n, _ := number(k)
		chosen = append(chosen, engine.Key(n))
	}
	var twice again
	var rows []engine.Row
	var to []string
	s, err := p.look(ctx, func(r broker.Reader) error {
		if rows = rowsOf(r, chosen); verb == page.Resubmit {
			twice = wouldBeDropped(r, rows)
		}
		if to = nil; verb != page.MoveTo {
			return nil
		}
		for _, kind := range []engine.EntityKind{engine.Queue, engine.Topic} {
			some, err := r.Page(kind, "", 0, offered)
			if err != nil {
				return err //nolint:wrapcheck // the caller asked for just this
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
	if at.Kind == Chosen {
		m = page.Confirm{
			Shell: p.still(ctx, at, name), Verb: verb, To: p.URL(at), Cancel: p.cancel(at, t), In: page.Place{Name: name, All: true},
			Values: t.first(), Errors: t.Errors, TypeError: t.Errors[page.AskConfirm], Refused: t.Refused,
		}
	} else {
		e, err := p.see(ctx, at.Path, nil)
		if err != nil {
			return nil, err
		}
		m, name = p.confirm(ctx, at, e, t, verb), e.Path.Name()
	}
	m.N, m.Sample, m.Seen, m.Entities = len(keys), names(rows[:min(len(rows), sampled)]), twice.says(ctx), to
	if at.Do == "bulk/copy" && m.Values[page.AskHow] == "" {
		m.Values[page.AskHow] = "copy"
	}
	if verb == page.DeleteMessages || verb == page.CancelSchedule {
		m.States, m.Export = statesOf(rows, s.now), p.ExportURL(Export{Keys: chosen})
		if m.N > TypeNameOver {
			m.Type = name
		}
	}
	for _, k := range keys {
		m.Hidden = append(m.Hidden, page.HiddenField{Name: page.AskKey, Value: k})
	}
	return m, nil
}

// statesOf is how many messages are in each state.
func statesOf(rows []engine.Row, now engine.Instant) (out []page.StateLine) {
	n := map[page.State]int{}
	for _, r := range rows {
		n[stateOf(r, now)]++
	}
	for _, s := range []page.State{page.Active, page.Locked, page.Parking, page.Scheduled, page.DeadLetter} {
		if n[s] > 0 {
			out = append(out, page.StateLine{State: s, N: n[s]})
		}
	}
	return out
}

// BulkHome is where a table is whose messages were chosen.
func (p *Pages) BulkHome(at Place) string {
	if at.Kind == Chosen {
		return p.Home()
	}
	return p.EntityURL(at.Entity, at.Path)
}

// BulkName is what is typed before many chosen messages are destroyed: the name of
// their entity, or the namespace's where they are of several.
func (p *Pages) BulkName(ctx context.Context, at Place) (string, error) {
	if at.Kind == Chosen {
		return p.b.Name(), nil
	}
	e, err := p.see(ctx, at.Path, nil)
	return e.Path.Name(), err
}

// An Export says which messages are to be written to a file: those with Keys, else
// those at Path, or anywhere, that match Query.
type Export struct {
	Keys  []engine.Key
	Path  string
	State string // of those at Path; empty: any
	Query string
}

// ExportURL is the address of a file with these messages, in the JSON API.
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

// NewJobURL is the form of a job that does something to the messages of x, filled in;
// by is of an extension.
func (p *Pages) NewJobURL(kind job.Kind, x Export, by string) string {
	return p.URL(Place{Namespace: p.b.Name(), Kind: Jobs, Do: "new"}.with(
		page.AskKind, string(kind), page.AskAt, x.Path, page.AskQuery, x.Query, page.AskBy, by))
}

// exportOf is the address of a file with the messages of an entity in one state.
func (p *Pages) exportOf(path engine.Path, s page.State) string {
	switch s {
	case page.DeadLetter:
		return p.ExportURL(Export{Path: string(path.DeadLetter())})
	case page.TransferDead:
		return p.ExportURL(Export{Path: string(path.Transfer())})
	default:
		return p.ExportURL(Export{Path: string(path), State: map[page.State]string{
			page.Active: "active", page.Locked: "locked", page.Parking: "deferred", page.Scheduled: "scheduled",
		}[s]})
	}
}
