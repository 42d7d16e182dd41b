package show

import (
	"cmp"
	"context"
	"errors"
	"net/url"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/intake"
)

const (
	importNames    = 500 // queues and topics that are proposed
	importFailures = 20  // lines that are told
)

// ImportWords are what a form or an address says of times and ids.
func ImportWords(v url.Values) intake.Remap {
	return intake.Remap{TTL: v.Get(page.ImportTTL), Schedule: v.Get(page.ImportSchedule), IDs: v.Get(page.ImportIDs)}
}

// ImportTarget is what a file is imported into: the entity of the address, else what was
// typed.
func (p *Pages) ImportTarget(at Place, v url.Values) (engine.Path, error) {
	if at.Kind == Entity {
		return at.Path, nil
	}
	return engine.ParsePath(v.Get(page.ImportTo), p.b.Limits()) //nolint:wrapcheck // it says what it is about
}

// Import asks for a file, and says of one that was sent what would become of it.
func (p *Pages) Import(ctx context.Context, at Place, t Typed) (view.Page, error) {
	if p.o.Shelf == nil || p.o.Jobs == nil || at.Kind == Entity && at.Entity == engine.Subscription {
		return nil, ErrNoPage
	}
	v := t.Values
	if v == nil {
		v = at.Query
	}
	word := at.Query.Get(page.ImportFile)
	at.Query = url.Values{}
	m := page.Import{Values: map[string]string{}, Errors: t.Errors, Refused: t.Refused, Most: component.Bytes(ctx, intake.MostFile)}
	for _, name := range []string{page.ImportTo, page.ImportTTL, page.ImportSchedule, page.ImportIDs} {
		m.Values[name] = cut(v.Get(name), 400)
	}
	start := at
	at.Do, start.Do = "", "import/start"
	if at.Kind == Import {
		start.Do = "start"
		m.Targets = p.targets(ctx)
	} else {
		var e entitySight
		_, err := p.look(ctx, func(r broker.Reader) (err error) { e, err = seeEntity(r, at.Path); return err })
		if err != nil {
			return nil, err
		}
		at.Entity, at.Path, at.Do = e.Kind, e.Path, "import"
		m.In = p.placeOf(e.Kind, e.Path)
	}
	m.To, m.Look, m.Start, m.Cancel = p.URL(at), p.URL(at), p.URL(start), cmp.Or(t.Cancel, m.In.Href, p.Home())
	m.Shell = p.still(ctx, at, locale.T(ctx, "import.title"))
	if word == "" {
		return m, nil
	}
	if m.Errors == nil {
		m.Errors = map[string]component.Text{}
	}
	return m, p.survey(ctx, at, word, v, &m)
}

// survey completes a page with what would become of a file. What is wrong with what was
// asked is said there.
func (p *Pages) survey(ctx context.Context, at Place, word string, v url.Values, m *page.Import) error {
	refused := func(err error) error {
		e, ok := errors.AsType[*engine.Refusal](err)
		if !ok {
			return err
		}
		m.Refused = component.Notice{Tone: component.Critical, Said: e.Text}
		return nil
	}
	how := ImportWords(v)
	to, err := p.ImportTarget(at, v)
	if err == nil {
		err = how.Check()
	}
	if err != nil {
		return refused(err)
	}
	s, f, err := p.o.Shelf.Survey(ctx, p.b, word, to, how)
	if f == nil {
		return refused(err)
	}
	m.Taken = page.ImportSurvey{
		Word: f.Word, Name: f.Name, Size: component.Bytes(ctx, f.Size),
		Lines: int(s.Lines), Import: int(s.Import), Duplicates: int(s.Duplicates), Expired: int(s.Expired), AtOnce: int(s.AtOnce), Scheduled: int(s.Scheduled),
		Late: int(s.Late), Unreadable: int(s.Unreadable), Refused: int(s.Refused),
	}
	for _, w := range s.Failures[:min(len(s.Failures), importFailures)] {
		m.Taken.Failures = append(m.Taken.Failures, importFailure(w))
	}
	if s.Full != nil {
		m.Taken.Full = importFailure(*s.Full)
	}
	if err != nil {
		return refused(err)
	}
	return nil
}

func importFailure(f intake.Failure) page.ImportFailure {
	return page.ImportFailure{Line: int(f.Line), Why: asSentence(f.Err.Error())}
}

// targets are what there is to import into.
func (p *Pages) targets(ctx context.Context) (out []string) {
	_ = p.b.Read(ctx, func(r broker.Reader) error { //nolint:errcheck // then nothing is proposed
		out = nil
		for _, n := range r.Names() {
			if n.Kind != engine.Subscription && len(out) < importNames {
				out = append(out, string(n.Path))
			}
		}
		return nil
	})
	return out
}
