package activity

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
	"mayfly/engine/history"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/activity"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

const (
	activityPageSize   = 50
	activitySearchTime = 90 * time.Millisecond // time limit of the search for the events of a page
	// activityFresh is how long a live page may use a cached result although more events have
	// happened, and activityMaxAge how long any page may if none have. The latter is limited
	// because the cache does not notice events that leave the history.
	activityFresh  = time.Second
	activityMaxAge = time.Minute
	// maxActivityResults is how many filters have a cached result.
	maxActivityResults = 32
	// maxSuggestedPaths is how many entities the form suggests.
	maxSuggestedPaths = 200
	// MaxExportedEvents is how many events an export has at most.
	MaxExportedEvents = 100_000
)

// Activity returns the page of the namespace's history.
func Activity(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	if !p.Broker.HasHistory() {
		s, err := p.Read(ctx, func(broker.Reader) error { return nil })
		if err != nil {
			return nil, 0, err
		}
		return activity.Activity{Shell: p.LiveShell(ctx, at, s, locale.T(ctx, "activity.title")), NoHistory: true}, s.Event, nil
	}
	f, wrong, err := ParseFilter(ctx, p, at)
	if err != nil {
		return nil, 0, err
	}
	found, s, err := findEvents(ctx, p, f)
	if err != nil {
		return nil, 0, err
	}
	m := activity.Activity{Audited: f.Scope == history.All, Lede: activityLede(ctx, p, f)}
	if f.Before == (engine.HistoryCursor{}) {
		m.Shell = p.LiveShell(ctx, at, s, locale.T(ctx, "activity.title"))
		m.Shell.Live.Selectable = true // an update would reset the form
	} else {
		m.Shell = p.StaticShell(ctx, at, locale.T(ctx, "activity.title"))
		m.Newest = p.URL(at.WithQuery(history.ParamCursor, ""))
	}
	var paths []string
	if paths, err = activityRows(ctx, p, &m, found.part.Events, s.Now); err != nil {
		return nil, 0, err
	}
	m.Filter = filterForm(ctx, p, at, f, wrong, paths)
	m.Scopes = scopeChoices(ctx, p, at, f)
	if n := len(m.Rows); n > 0 {
		m.Note = locale.N(ctx, "activity.shown", n)
	}
	if next := found.part.Next; next != (engine.HistoryCursor{}) {
		m.Older = p.URL(at.WithQuery(history.ParamCursor, history.FormatCursor(next)))
		if found.part.Incomplete {
			m.Since = next.At.Time()
		}
	}
	if found.stale {
		return pages.Refreshing{Page: m, Every: activityFresh}, s.Event, nil
	}
	return m, s.Event, nil
}

// ParseFilter returns the filter of an activity page or an export of it. A subscription may be
// named as pages show it: prices/eu. A parameter that cannot be read is left out of the filter,
// and the map has an error under the parameter's name.
func ParseFilter(ctx context.Context, p *pages.Pages, at pages.Address) (history.Filter, map[string]error, error) {
	q := maps.Clone(at.Query)
	q.Del(history.ParamMessage)
	f, wrong := history.ParseFilter(q, p.Broker.Limits())
	f.NamespaceOnly = pages.IsConfined(ctx)
	topic, sub, ok := cutLast(string(f.Path))
	if !ok {
		return f, wrong, nil
	}
	err := p.Broker.Read(ctx, func(r broker.Reader) error {
		asSub := engine.SubscriptionPath(topic, sub)
		_, plain := r.State(f.Path)
		if _, err := r.State(asSub); err == nil && plain != nil {
			f.Path = asSub
		}
		return nil
	})
	return f, wrong, err
}

func cutLast(s string) (before, after string, ok bool) {
	for i := len(s) - 1; i > 0; i-- {
		if s[i] == '/' {
			return s[:i], s[i+1:], true
		}
	}
	return "", "", false
}

// An activityResult is a cached result of a filter. It is immutable.
type activityResult struct {
	part history.Page
	n    uint64 // number of the latest event when the search began
	at   engine.Instant
}

// activityCache caches results for a short time, so that a page that is rendered five times a
// second does not search the history each time. The zero value is ready to use.
type activityCache struct {
	mu      sync.Mutex
	results map[history.Filter]activityResult // guarded by mu
}

func (c *activityCache) get(f history.Filter) (activityResult, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.results[f]
	return found, ok
}

func (c *activityCache) put(f history.Filter, found activityResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.results == nil || len(c.results) >= maxActivityResults {
		c.results = map[history.Filter]activityResult{}
	}
	c.results[f] = found
}

// staleableResult is a cached result. stale is set if more events have happened since.
type staleableResult struct {
	activityResult
	stale bool
}

// findEvents returns the events that f selects.
func findEvents(ctx context.Context, p *pages.Pages, f history.Filter) (staleableResult, pages.Snapshot, error) {
	s, err := p.Read(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return staleableResult{}, s, err
	}
	n := s.Event
	if f.Scope != history.All {
		n = p.Events.LastServerEventNumber()
	}
	if found, ok := pages.State[activityCache](p).get(f); ok {
		// Live pages may show events a little late if events happen all the time or take long to
		// find. A request for the page never gets late results.
		late := view.ClocksFrozen(ctx) && (f.Scope == history.All || f.Text != "" || f.Actor != "")
		switch age := s.Now.Sub(found.at).Abs(); {
		case found.n == n && age < activityMaxAge:
			return staleableResult{found, false}, s, nil
		case late && age < activityFresh:
			return staleableResult{found, true}, s, nil
		}
	}
	part, err := history.QueryWithin(ctx, p.Broker, f, activityPageSize, activitySearchTime)
	if err != nil {
		return staleableResult{}, s, err
	}
	found := activityResult{part, n, s.Now}
	pages.State[activityCache](p).put(f, found)
	return staleableResult{found, false}, s, nil
}

// activityRows fills in the lines of the page, and returns the entities that the form suggests.
func activityRows(ctx context.Context, p *pages.Pages, m *activity.Activity, events []engine.HistoryEvent, now engine.Instant) (paths []string, err error) {
	contents := map[engine.Key]engine.Packed{}
	err = p.Broker.Read(ctx, func(r broker.Reader) error {
		if paths = nil; !view.ClocksFrozen(ctx) { // the form is not live
			for _, e := range r.States(0) {
				if paths = append(paths, pages.DisplayPath(e.Path)); len(paths) == maxSuggestedPaths {
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
		return nil, err
	}
	for _, e := range events {
		if e.Content == "" { // an event may omit the content, which never changes
			e.Content = contents[e.Message.Key]
		}
		m.Rows = append(m.Rows, activityRow(ctx, p, e, now))
	}
	return paths, nil
}

// activityRow returns an event as a line of the page.
func activityRow(ctx context.Context, p *pages.Pages, e engine.HistoryEvent, now engine.Instant) activity.Row {
	t := recent.RecordOf(e.Event).WithName(e.Event)
	how, n := entryStyle(recent.TickerEntry{EventRecord: t, Similar: 1})
	t = translateReason(ctx, p, t)
	protocol, by := pages.ActorProtocol(ctx, e.Actor)
	d := activity.Row{
		Key: pages.DeletedEntityID(e.Epoch, e.N), At: e.At.Time(), Today: pages.SameDay(e.At, now),
		Icon: how.Icon, Tone: how.Tone, Protocol: protocol, Actor: by, Audited: e.Audit, Text: sentence(ctx, how, n, t, p.MessageURL(t.Key)),
	}
	if e.Kind == engine.EventStarted && e.Reason != "" {
		d.Text = append(d.Text, pages.PlainText(" · "+shorten.To(e.Reason, 120)))
	}
	if e.Path != "" {
		d.Entity, d.Href = pages.DisplayPath(e.Path), p.EntityURL(t.EntityKind, e.Path)
	}
	return d
}

func activityLede(ctx context.Context, p *pages.Pages, f history.Filter) []component.Text {
	id := map[history.Scope]string{
		history.Notable: "activity.lede", history.Audit: "activity.lede.audit", history.System: "activity.lede.system", history.All: "activity.lede.all",
	}[f.Scope]
	lede := []component.Text{pages.StrongText(locale.T(ctx, id))}
	if kept := p.HistoryRetention(); kept > 0 {
		lede = append(lede, pages.PlainText(" "+locale.T(ctx, "activity.lede.kept", locale.Args{"Kept": component.Length(ctx, kept)})))
	}
	if f.Scope == history.All {
		lede = append(lede, pages.PlainText(" "+locale.T(ctx, "activity.lede.gaps")))
	}
	return lede
}

func scopeChoices(ctx context.Context, p *pages.Pages, at pages.Address, f history.Filter) (out []component.Choice) {
	for _, s := range history.Scopes() {
		id := map[history.Scope]string{
			history.Notable: "activity.scope.notable", history.Audit: "activity.scope.audit", history.System: "activity.scope.system", history.All: "activity.scope.all",
		}[s]
		out = append(out, component.Choice{
			Label: locale.T(ctx, id), Href: p.URL(at.WithQuery(history.ParamScope, string(s), history.ParamCursor, "")), Current: s == f.Scope,
		})
	}
	return out
}

// filterForm returns the filter as the form shows it.
func filterForm(ctx context.Context, p *pages.Pages, at pages.Address, f history.Filter, wrong map[string]error, paths []string) activity.Filter {
	plain := pages.Address{Namespace: at.Namespace, Kind: pages.Activity, Query: url.Values{}}
	values := f.Values()
	values.Del(history.ParamCursor)
	export := plain
	export.Action = "export"
	s := activity.Filter{
		Scope: string(f.Scope), Text: f.Text, Path: pages.DisplayPath(f.Path), Group: string(f.Group), Actor: f.Actor,
		From: values.Get(history.ParamFrom), Until: values.Get(history.ParamUntil), Paths: paths, Errors: map[string]string{},
		CSV: activity.WithFormat(p.URL(export), values, "csv"), JSON: activity.WithFormat(p.URL(export), values, "jsonl"),
		All: p.URL(plain.WithQuery(history.ParamScope, string(f.Scope))), MaxExported: MaxExportedEvents,
	}
	for _, g := range history.Groups() {
		s.Groups = append(s.Groups, component.Option{Value: string(g), Label: locale.T(ctx, groupName(g))})
	}
	for name, err := range wrong {
		if e, ok := errors.AsType[*engine.Refusal](err); ok {
			s.Errors[name] = e.Text
		}
		switch text := shorten.To(at.Query.Get(name), 200); name {
		case history.ParamPath:
			s.Path = text
		case history.ParamActor:
			s.Actor = text
		case history.ParamText:
			s.Text = text
		}
	}
	return s
}

func groupName(g history.Group) string {
	return map[history.Group]string{
		history.AnyGroup: "activity.group.any", history.Entities: "activity.group.entities", history.Arrivals: "activity.group.arrivals",
		history.Locks: "activity.group.locks", history.Deferrals: "activity.group.aside", history.DeadLetters: "activity.group.dead",
		history.Removals: "activity.group.ends", history.Access: "activity.group.access", history.Server: "activity.group.server",
	}[g]
}

// DeletionOf returns the event that recorded the deletion of an entity, or false if there is none.
// It searches the history if the event is no longer in memory.
func DeletionOf(ctx context.Context, p *pages.Pages, path engine.Path) (engine.HistoryEvent, bool) {
	if g, ok := p.Events.Deletion(path); ok {
		return g, true
	}
	if !p.Broker.HasHistory() {
		return engine.HistoryEvent{}, false
	}
	topic, _, sub := path.Subscription()
	for _, in := range slices.Compact([]engine.Path{path, engine.Path(topic)}) {
		if in == "" {
			continue
		}
		all, err := p.Broker.History(ctx, engine.HistoryQuery{
			Path: in, Kinds: []engine.EventKind{engine.EventEntityDeleted, engine.EventEntityAutoDeleted}, Limit: recent.MaxDeletedEntities,
		})
		if err != nil {
			p.Events.Log.WarnContext(ctx, "the end of an entity cannot be read", "err", err)
			return engine.HistoryEvent{}, false
		}
		for _, e := range all {
			if e.Entity == nil {
				continue
			}
			if g, ok := recent.DeletionFor(path, e); ok {
				return g, true
			}
		}
		if !sub {
			break
		}
	}
	return engine.HistoryEvent{}, false
}
