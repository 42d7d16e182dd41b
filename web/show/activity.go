package show

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/past"
)

const (
	deedsOnPage = 50
	deedsFor    = 90 * time.Millisecond // that a page looks for them
	// deedsFresh is how long what was found is good while more goes on happening,
	// and deedsLong how long if nothing does: what is too old goes unnoticed.
	deedsFresh = time.Second
	deedsLong  = time.Minute
	// deedsKept is for how many sieves something is kept.
	deedsKept = 32
	// pathsOffered is how many entities are offered to choose from.
	pathsOffered = 200
	// MostExported is how many events an export has.
	MostExported = 100_000
)

func (p *Pages) activity(ctx context.Context, at Place) (view.Page, uint64, error) {
	if !p.b.HasHistory() {
		s, err := p.look(ctx, func(broker.Reader) error { return nil })
		if err != nil {
			return nil, 0, err
		}
		return page.Activity{Shell: p.shell(ctx, at, s, locale.T(ctx, "activity.title")), None: true}, s.n, nil
	}
	f, wrong, err := p.Sieve(ctx, at)
	if err != nil {
		return nil, 0, err
	}
	found, s, err := p.find(ctx, f)
	if err != nil {
		return nil, 0, err
	}
	m := page.Activity{Audited: f.Scope == past.All, Lede: p.activityLede(ctx, f)}
	if f.Before == (engine.PastPlace{}) {
		m.Shell = p.shell(ctx, at, s, locale.T(ctx, "activity.title"))
		m.Shell.Live.Picking = true // the sieve would be forgotten
	} else {
		m.Shell = p.still(ctx, at, locale.T(ctx, "activity.title"))
		m.Newest = p.URL(at.with(past.WordBefore, ""))
	}
	var paths []string
	if paths, err = p.deeds(ctx, &m, found.part.Events, s.now); err != nil {
		return nil, 0, err
	}
	m.Sieve = p.sieve(ctx, at, f, wrong, paths)
	m.Scopes = p.scopes(ctx, at, f)
	if n := len(m.Deeds); n > 0 {
		m.Note = locale.N(ctx, "activity.shown", n)
	}
	if next := found.part.Next; next != (engine.PastPlace{}) {
		m.Older = p.URL(at.with(past.WordBefore, past.WritePlace(next)))
		if found.part.Short {
			m.Since = next.At.Time()
		}
	}
	if found.stale {
		return Refreshing{m, deedsFresh}, s.n, nil
	}
	return m, s.n, nil
}

// Sieve is what a page of activity, or an export of it, asks for. Entities may
// be named as pages show them: prices/eu. What cannot be read is left out, and
// has an error under its name.
func (p *Pages) Sieve(ctx context.Context, at Place) (past.Filter, map[string]error, error) {
	q := maps.Clone(at.Query)
	q.Del(past.WordMessage)
	f, wrong := past.Read(q, p.b.Limits())
	f.Within = within(ctx)
	topic, sub, ok := cutLast(string(f.Path))
	if !ok {
		return f, wrong, nil
	}
	err := p.b.Read(ctx, func(r broker.Reader) error {
		asSub := engine.SubscriptionPath(topic, sub)
		_, plain := r.State(f.Path)
		if _, err := r.State(asSub); err == nil && plain != nil {
			f.Path = asSub
		}
		return nil
	})
	return f, wrong, err //nolint:wrapcheck // the caller asked for just this
}

func cutLast(s string) (before, after string, ok bool) {
	for i := len(s) - 1; i > 0; i-- {
		if s[i] == '/' {
			return s[:i], s[i+1:], true
		}
	}
	return "", "", false
}

// A finding is what a sieve found, as it was a moment ago. It does not change.
type finding struct {
	part past.Part
	n    uint64 // the last event that may be among them
	at   engine.Instant
}

// findings keeps what was found for a little while, so that a page that is
// rendered five times a second does not have the history searched each time. Its
// zero value is ready.
type findings struct {
	mu   sync.Mutex
	kept map[past.Filter]finding // guarded by mu
}

func (f *findings) get(sieve past.Filter) (finding, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found, ok := f.kept[sieve]
	return found, ok
}

func (f *findings) put(sieve past.Filter, found finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept == nil || len(f.kept) >= deedsKept {
		f.kept = map[past.Filter]finding{}
	}
	f.kept[sieve] = found
}

// sifted is a finding, and whether more has happened since.
type sifted struct {
	finding
	stale bool
}

// find is what f picks.
func (p *Pages) find(ctx context.Context, f past.Filter) (sifted, sight, error) {
	s, err := p.look(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return sifted{}, s, err
	}
	n := s.n
	if f.Scope != past.All {
		n = p.recent.lastNotable()
	}
	if found, ok := p.found.get(f); ok {
		// What goes on all the time, or takes long to find, is told a little late to
		// those who watch, and never to those who ask.
		late := view.IsStill(ctx) && (f.Scope == past.All || f.Text != "" || f.Actor != "")
		switch age := s.now.Sub(found.at).Abs(); {
		case found.n == n && age < deedsLong:
			return sifted{found, false}, s, nil
		case late && age < deedsFresh:
			return sifted{found, true}, s, nil
		}
	}
	part, err := past.LookFor(ctx, p.b, f, deedsOnPage, deedsFor)
	if err != nil {
		return sifted{}, s, err //nolint:wrapcheck // it says what it is about
	}
	found := finding{part, n, s.now}
	p.found.put(f, found)
	return sifted{found, false}, s, nil
}

// deeds fills in the lines of the page, and returns what entities there are to
// be offered.
func (p *Pages) deeds(ctx context.Context, m *page.Activity, events []engine.PastEvent, now engine.Instant) (paths []string, err error) {
	contents := map[engine.Key]engine.Packed{}
	err = p.b.Read(ctx, func(r broker.Reader) error {
		if paths = nil; !view.IsStill(ctx) { // the form is not live
			for _, e := range r.States(0) {
				if paths = append(paths, Shown(e.Path)); len(paths) == pathsOffered {
					break
				}
			}
		}
		for _, e := range events {
			if k := e.Message.Key; e.Content != "" {
				contents[k] = e.Content
			} else if row, err := r.Message(k); err == nil {
				contents[k] = row.Content
			}
		}
		return nil
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller asked for just this
	}
	for _, e := range events {
		if e.Content == "" { // as it is until the message leaves
			e.Content = contents[e.Message.Key]
		}
		m.Deeds = append(m.Deeds, p.deed(ctx, e, now))
	}
	return paths, nil
}

// deed is an event as a line of the page.
func (p *Pages) deed(ctx context.Context, e engine.PastEvent, now engine.Instant) page.Deed {
	t := traceOf(e.Event).named(e.Event)
	how, n := wordsOf(line{trace: t, alike: 1})
	t = p.inWords(ctx, t)
	door, by := doorOf(ctx, e.Actor)
	d := page.Deed{
		Key: tombKey(e.Epoch, e.N), At: e.At.Time(), Today: sameDay(e.At, now),
		Icon: how.icon, Tone: how.tone, Door: door, By: by, Audited: e.Audit, Says: sentence(ctx, how, n, t, p.MessageURL(t.key)),
	}
	if e.Kind == engine.EventStarted && e.Reason != "" {
		d.Says = append(d.Says, say(" · "+cut(e.Reason, 120)))
	}
	if e.Path != "" {
		d.Entity, d.Href = Shown(e.Path), p.EntityURL(t.of, e.Path)
	}
	return d
}

func (p *Pages) activityLede(ctx context.Context, f past.Filter) []component.Text {
	id := map[past.Scope]string{
		past.Notable: "activity.lede", past.Audit: "activity.lede.audit", past.System: "activity.lede.system", past.All: "activity.lede.all",
	}[f.Scope]
	lede := []component.Text{strong(locale.T(ctx, id))}
	if kept := p.kept(); kept > 0 {
		lede = append(lede, say(" "+locale.T(ctx, "activity.lede.kept", locale.Args{"Kept": component.Length(ctx, kept)})))
	}
	if f.Scope == past.All {
		lede = append(lede, say(" "+locale.T(ctx, "activity.lede.gaps")))
	}
	return lede
}

func (p *Pages) scopes(ctx context.Context, at Place, f past.Filter) (out []component.Choice) {
	for _, s := range past.Scopes() {
		id := map[past.Scope]string{
			past.Notable: "activity.scope.notable", past.Audit: "activity.scope.audit", past.System: "activity.scope.system", past.All: "activity.scope.all",
		}[s]
		out = append(out, component.Choice{
			Label: locale.T(ctx, id), Href: p.URL(at.with(past.WordScope, string(s), past.WordBefore, "")), Current: s == f.Scope,
		})
	}
	return out
}

// sieve is what was asked for, as the form shows it.
func (p *Pages) sieve(ctx context.Context, at Place, f past.Filter, wrong map[string]error, paths []string) page.Sieve {
	plain := Place{Namespace: at.Namespace, Kind: Activity, Query: url.Values{}}
	values := f.Values()
	values.Del(past.WordBefore)
	export := plain
	export.Do = "export"
	s := page.Sieve{
		Scope: string(f.Scope), Text: f.Text, Path: Shown(f.Path), Group: string(f.Group), Actor: f.Actor,
		From: values.Get(past.WordFrom), Until: values.Get(past.WordUntil), Paths: paths, Wrong: map[string]string{},
		CSV: page.WithFormat(p.URL(export), values, "csv"), JSON: page.WithFormat(p.URL(export), values, "jsonl"),
		All: p.URL(plain.with(past.WordScope, string(f.Scope))), MostExported: MostExported,
	}
	for _, g := range past.Groups() {
		s.Groups = append(s.Groups, component.Option{Value: string(g), Label: locale.T(ctx, groupWord(g))})
	}
	for name, err := range wrong {
		if e, ok := errors.AsType[*engine.Refusal](err); ok {
			s.Wrong[name] = e.Text
		}
		switch text := cut(at.Query.Get(name), 200); name {
		case past.WordPath:
			s.Path = text
		case past.WordActor:
			s.Actor = text
		case past.WordText:
			s.Text = text
		}
	}
	return s
}

func groupWord(g past.Group) string {
	return map[past.Group]string{
		past.AnyGroup: "activity.group.any", past.Entities: "activity.group.entities", past.Arrivals: "activity.group.arrivals",
		past.Locks: "activity.group.locks", past.Aside: "activity.group.aside", past.DeadLetters: "activity.group.dead",
		past.Ends: "activity.group.ends", past.Access: "activity.group.access", past.Server: "activity.group.server",
	}[g]
}

// graveOf is the event with which an entity went that is no more, looked for in
// the history if it has been forgotten here.
func (p *Pages) graveOf(ctx context.Context, path engine.Path) (engine.PastEvent, bool) {
	if g, ok := p.recent.grave(path); ok {
		return g, true
	}
	if !p.b.HasHistory() {
		return engine.PastEvent{}, false
	}
	topic, _, sub := path.Subscription()
	for _, in := range slices.Compact([]engine.Path{path, engine.Path(topic)}) {
		if in == "" {
			continue
		}
		all, err := p.b.Past(ctx, engine.PastQuery{
			Path: in, Kinds: []engine.EventKind{engine.EventEntityDeleted, engine.EventEntityAutoDeleted}, Limit: graveyard,
		})
		if err != nil {
			p.recent.log.WarnContext(ctx, "the end of an entity cannot be read", "err", err)
			return engine.PastEvent{}, false
		}
		for _, e := range all {
			if e.Entity == nil {
				continue
			}
			if g, ok := liesIn(path, e); ok {
				return g, true
			}
		}
		if !sub {
			break
		}
	}
	return engine.PastEvent{}, false
}
