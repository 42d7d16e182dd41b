package send

import (
	"cmp"
	"context"
	"errors"
	"net/url"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/send"
	"mayfly/views/view"
	"mayfly/web/dashboard/entity"
	"mayfly/web/dashboard/pages"
	"mayfly/web/exchange"
)

const (
	maxImportTargets  = 500 // queues and topics that are suggested
	maxImportFailures = 20  // failed lines that are listed
)

// ParseRemap reads from a form or an address how an import changes times and ids.
func ParseRemap(v url.Values) exchange.Remap {
	return exchange.Remap{TTL: v.Get(send.ImportTTL), Schedule: v.Get(send.ImportSchedule), IDs: v.Get(send.ImportIDs)}
}

// ImportTarget returns the target of an import: the entity of the address, else the typed one.
func ImportTarget(p *pages.Pages, at pages.Address, v url.Values) (engine.Path, error) {
	if at.Kind == pages.Entity {
		return at.Path, nil
	}
	return engine.ParsePath(v.Get(send.ImportTo), p.Broker.Limits())
}

// Import returns the form that imports a file, with the dry run if a file was uploaded.
func Import(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	if p.Options.Uploads == nil || p.Options.Jobs == nil || at.Kind == pages.Entity && at.EntityType == engine.Subscription {
		return nil, pages.ErrPageNotFound
	}
	v := t.Values
	if v == nil {
		v = at.Query
	}
	word := at.Query.Get(send.ImportFile)
	at.Query = url.Values{}
	m := send.Import{Values: map[string]string{}, Errors: t.Errors, Refused: t.Refused, Most: component.Bytes(ctx, exchange.MaxFile)}
	for _, name := range []string{send.ImportTo, send.ImportTTL, send.ImportSchedule, send.ImportIDs} {
		m.Values[name] = shorten.To(v.Get(name), 400)
	}
	start := at
	at.Action, start.Action = "", "import/start"
	if at.Kind == pages.Import {
		start.Action = "start"
		m.Targets = importTargets(ctx, p)
	} else {
		var e entity.Snapshot
		_, err := p.Read(ctx, func(r broker.Reader) (err error) { e, err = entity.ReadEntity(r, at.Path); return err })
		if err != nil {
			return nil, err
		}
		at.EntityType, at.Path, at.Action = e.Kind, e.Path, "import"
		m.In = p.EntityRef(e.Kind, e.Path)
	}
	m.To, m.DryRunURL, m.Start, m.Cancel = p.URL(at), p.URL(at), p.URL(start), cmp.Or(t.Cancel, m.In.Href, p.Home())
	m.Shell = p.StaticShell(ctx, at, locale.T(ctx, "import.title"))
	if word == "" {
		return m, nil
	}
	if m.Errors == nil {
		m.Errors = map[string]component.Text{}
	}
	return m, dryRun(ctx, p, at, word, v, &m)
}

// dryRun adds the dry run of a file to the page. Errors of the request go into m.
func dryRun(ctx context.Context, p *pages.Pages, at pages.Address, word string, v url.Values, m *send.Import) error {
	refused := func(err error) error {
		e, ok := errors.AsType[*engine.Refusal](err)
		if !ok {
			return err
		}
		m.Refused = component.Notice{Tone: component.Critical, ServerText: e.Text}
		return nil
	}
	how := ParseRemap(v)
	to, err := ImportTarget(p, at, v)
	if err == nil {
		err = how.Check()
	}
	if err != nil {
		return refused(err)
	}
	s, f, err := p.Options.Uploads.DryRun(ctx, p.Broker, word, to, how)
	if f == nil {
		return refused(err)
	}
	m.DryRun = send.ImportDryRun{
		Word: f.ID, Name: f.Name, Size: component.Bytes(ctx, f.Size),
		Lines: int(s.Lines), Import: int(s.Importable), Duplicates: int(s.Duplicates), Expired: int(s.Expired), AtOnce: int(s.ExpireAtOnce), Scheduled: int(s.Scheduled),
		Late: int(s.Late), Unreadable: int(s.Unreadable), Refused: int(s.Refused),
	}
	for _, w := range s.Failures[:min(len(s.Failures), maxImportFailures)] {
		m.DryRun.Failures = append(m.DryRun.Failures, importFailure(w))
	}
	if s.Full != nil {
		m.DryRun.Full = importFailure(*s.Full)
	}
	if err != nil {
		return refused(err)
	}
	return nil
}

func importFailure(f exchange.Failure) send.ImportFailure {
	return send.ImportFailure{Line: int(f.Line), Why: pages.ToSentence(f.Err.Error())}
}

// importTargets returns the entities that messages can be imported into.
func importTargets(ctx context.Context, p *pages.Pages) (out []string) {
	_ = p.Broker.Read(ctx, func(r broker.Reader) error { //nolint:errcheck // then none are suggested
		out = nil
		for _, n := range r.EntityNames() {
			if n.Kind != engine.Subscription && len(out) < maxImportTargets {
				out = append(out, string(n.Path))
			}
		}
		return nil
	})
	return out
}
