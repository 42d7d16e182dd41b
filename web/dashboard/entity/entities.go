package entity

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/entity"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

// entitiesOnPage is how many rows a table of entities has.
const entitiesOnPage = 50

// A listedEntity is an entity in a list, a topic with its subscriptions.
type listedEntity struct {
	engine.EntityState
	Subs []engine.EntityState
}

// Entities returns the page of all queues or of all topics.
func Entities(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	kind := engine.Queue
	if at.Kind == pages.Topics {
		kind = engine.Topic
	}
	var all []listedEntity
	s, err := p.Read(ctx, func(r broker.Reader) error {
		all = listEntities(r, kind)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	m := entity.Entities{
		Kind: pages.KindOnPage(kind), Total: len(all), Query: strings.TrimSpace(at.Query.Get(page.SearchText)),
		Sort: parseColumn(at.Query.Get("sort"), kind), Down: at.Query.Get("dir") == "down",
	}
	m.Shell = p.LiveShell(ctx, at, s, listTitle(ctx, kind))
	if kind == engine.Topic {
		m.Lab = p.LabURL("")
	}
	m.Lede = entitiesLede(ctx, p, kind, all)
	q := filterEntities(p, at, &m)
	found := slices.DeleteFunc(all, func(e listedEntity) bool { return !q.Match(e.EntityState, e.Subs, s.Now) })
	sortEntities(found, m.Sort, m.Down)
	from := (pageNumber(at, len(found), entitiesOnPage) - 1) * entitiesOnPage
	shown := found[from:min(len(found), from+entitiesOnPage)]
	for _, e := range shown {
		m.Rows = append(m.Rows, entityRow(p, e, s.Now))
	}
	m.Pages = pager(ctx, p, at, from, len(shown), len(found), entitiesOnPage)
	if q.DependsOnTime() {
		return pages.Refreshing{Page: m, Every: entitiesRefresh}, s.Event, nil
	}
	return m, s.Event, nil
}

// entitiesRefresh is how often a table is read again if its filter depends on the time.
const entitiesRefresh = 5 * time.Second

// filterEntities parses the table's filter and adds its terms and further keys to `m`. If the
// filter is invalid, it returns the longest valid beginning and sets m.Wrong.
func filterEntities(p *pages.Pages, at pages.Address, m *entity.Entities) *search.EntityQuery {
	q, err := search.ParseEntities(m.Query)
	base := m.Query
	if err != nil {
		m.Wrong = err.Error()
		base = q.String()
	}
	at = at.WithQuery("page", "")
	for i, t := range q.Terms() {
		m.Chips = append(m.Chips, page.SearchChip{Term: t, Without: p.URL(at.WithQuery(page.SearchText, q.Without(i).String()))})
	}
	for _, k := range search.EntityKeys() {
		if k.Name == "kind" || k.Name == "subscriptions" && m.Kind != page.Topic {
			continue // the table has only one kind
		}
		m.More = append(m.More, component.Choice{Label: k.Example, Href: p.URL(at.WithQuery(page.SearchText, strings.TrimSpace(base+" "+k.Example)))})
	}
	return q
}

// listEntities returns the entities of a kind, topics with their subscriptions.
func listEntities(r broker.Reader, kind engine.EntityKind) (all []listedEntity) {
	for _, e := range r.States(kind) {
		all = append(all, listedEntity{e, r.Subscriptions(e.Path)})
	}
	return all
}

// counts returns the messages of an entity, for a topic those of its subscriptions.
func (e listedEntity) counts() entity.Counts { return pageCounts(e.EntityState, e.Subs) }

func pageCounts(e engine.EntityState, subs []engine.EntityState) entity.Counts {
	c := entity.Counts{
		Active: int(e.Counts.Active), Locked: int(e.Counts.Locked), Scheduled: int(e.Counts.Scheduled),
		Deferred: int(e.Counts.Deferred), Dead: int(e.Counts.DeadLetter),
	}
	for _, s := range subs {
		c.Active += int(s.Counts.Active)
		c.Locked += int(s.Counts.Locked)
		c.Deferred += int(s.Counts.Deferred)
		c.Dead += int(s.Counts.DeadLetter)
	}
	return c
}

// refusesSends reports whether the status of the entity forbids sending.
func (e listedEntity) refusesSends() bool { return !pages.AllowsSend(e.Config.Status) }

// nextExpiry returns when the first message expires, or zero if none does.
func (e listedEntity) nextExpiry() engine.Instant {
	next := e.NextExpiry
	for _, s := range e.Subs {
		if s.NextExpiry != 0 && (next == 0 || s.NextExpiry < next) {
			next = s.NextExpiry
		}
	}
	return next
}

func parseColumn(asked string, kind engine.EntityKind) entity.Column {
	columns := []entity.Column{entity.ByName, entity.ByActive, entity.ByLocked, entity.ByScheduled, entity.ByDeferred, entity.ByDead, entity.ByExpiry, entity.ByIdle, entity.BySize}
	if kind == engine.Topic {
		columns = append(columns, entity.BySubscriptions)
	}
	if c := entity.Column(asked); slices.Contains(columns, c) {
		return c
	}
	return ""
}

// sortEntities sorts entities, equal ones by name. Entities without an expiry or automatic
// deletion come last in either direction.
func sortEntities(all []listedEntity, by entity.Column, down bool) {
	key := func(e listedEntity) int64 {
		c := e.counts()
		switch by {
		case entity.ByActive:
			return int64(c.Active)
		case entity.ByLocked:
			return int64(c.Locked)
		case entity.ByScheduled:
			return int64(c.Scheduled)
		case entity.ByDeferred:
			return int64(c.Deferred)
		case entity.ByDead:
			return int64(c.Dead)
		case entity.BySubscriptions:
			return int64(e.Subscriptions)
		case entity.ByExpiry:
			return int64(e.nextExpiry())
		case entity.ByIdle:
			return int64(e.DeletesAt)
		case entity.BySize:
			return e.Bytes
		default:
			return 0
		}
	}
	if by == "" || by == entity.ByName {
		if down {
			slices.Reverse(all)
		}
		return
	}
	keys := make(map[engine.SubqueueID]int64, len(all))
	for _, e := range all {
		keys[e.ID] = key(e)
	}
	moments := by == entity.ByExpiry || by == entity.ByIdle
	slices.SortStableFunc(all, func(a, b listedEntity) int {
		x, y := keys[a.ID], keys[b.ID]
		if moments && (x == 0) != (y == 0) {
			return cmp.Compare(y, x) // entities without a time come last
		}
		if down {
			return cmp.Compare(y, x)
		}
		return cmp.Compare(x, y)
	})
}

// entityRow returns an entity as a row of a table.
func entityRow(p *pages.Pages, e listedEntity, now engine.Instant) entity.Row {
	row := entity.Row{
		Key: e.Path.Fold(), Name: e.Path.Name(), Href: p.EntityURL(e.Kind, e.Path), Status: entity.Status(e.Config.Status.String()),
		Counts: e.counts(), Subscriptions: e.Subscriptions, Rules: len(e.Rules),
		Idle: IdleClock(e.EntityState, now), IdleState: recent.IdleState(e.EntityState), Size: e.Bytes,
	}
	if e.Kind != engine.Subscription {
		row.Size, row.Capacity = e.SizeInBytes, e.Config.MaxBytes()
		if e.Charged >= row.Capacity/5*4 { // sends are refused by the charged size, see engine/memory_account.go
			row.Size = e.Charged
		}
	}
	if next := e.nextExpiry(); next != 0 {
		row.NextExpiry = component.Clock{At: next.Time(), Of: cmp.Or(e.Config.DefaultMessageTimeToLive, time.Hour), Now: now.Time()}
	}
	row.Line = depthLine(p, e, now)
	return row
}

// depthLine returns the recent depth of an entity, for a topic the sum over its subscriptions.
func depthLine(p *pages.Pages, e listedEntity, now engine.Instant) []float64 {
	if e.Kind != engine.Topic {
		c := e.Counts
		return p.Events.Depth(now, e.Path, c.Active+c.Locked+c.Deferred+c.Scheduled)
	}
	var sum []float64
	for _, s := range e.Subs {
		line := depthLine(p, listedEntity{EntityState: s}, now)
		switch n := float64(s.Counts.Active + s.Counts.Locked + s.Counts.Deferred); {
		case line == nil && n == 0:
		case line == nil:
			sum = addLines(sum, slices.Repeat([]float64{n}, recent.DepthIntervals+1))
		default:
			sum = addLines(sum, line)
		}
	}
	return sum
}

func addLines(a, b []float64) []float64 {
	if a == nil {
		return b
	}
	for i := range a {
		a[i] += b[i]
	}
	return a
}

func listTitle(ctx context.Context, kind engine.EntityKind) string {
	if kind == engine.Topic {
		return locale.T(ctx, "entities.topics")
	}
	return locale.T(ctx, "entities.queues")
}

// entitiesLede returns the summary above the table.
func entitiesLede(ctx context.Context, p *pages.Pages, kind engine.EntityKind, all []listedEntity) []component.Text {
	if len(all) == 0 {
		if kind == engine.Topic {
			return []component.Text{pages.StrongText(locale.T(ctx, "topics.lede.none"))}
		}
		return []component.Text{pages.StrongText(locale.T(ctx, "queues.lede.none"))}
	}
	total, dead := 0, 0
	worst := all[0]
	for _, e := range all {
		c := e.counts()
		total += c.Active + c.Locked + c.Scheduled + c.Deferred
		dead += c.Dead
		if c.Dead > worst.counts().Dead {
			worst = e
		}
	}
	lede := []component.Text{}
	if kind == engine.Topic {
		lede = append(lede, pages.StrongText(locale.N(ctx, "topics.lede.all", len(all))))
	} else {
		lede = append(lede, pages.StrongText(locale.N(ctx, "queues.lede.all", len(all))))
	}
	lede = append(lede, pages.PlainText(" "+locale.N(ctx, "entities.lede.messages", total)))
	if dead > 0 && worst.counts().Dead*2 <= dead {
		return append(lede, pages.PlainText(" "+locale.N(ctx, "entities.lede.dead.all", dead)))
	}
	if dead > 0 {
		id := "entities.lede.dead"
		if worst.counts().Dead == dead {
			id = "entities.lede.dead.in"
		}
		lede = append(lede, pages.PlainText(" "))
		lede = append(lede, pages.SentenceAround(ctx, id,
			component.Text{S: pages.DisplayPath(worst.Path), Href: p.EntityURL(worst.Kind, worst.Path)},
			locale.Args{"Dead": locale.N(ctx, "entities.lede.dead.n", dead)})...)
	}
	return lede
}

// pageNumber returns the number of the requested page, from 1. A number beyond the last page
// means the last page.
func pageNumber(at pages.Address, items, onPage int) int {
	last := max(1, (items+onPage-1)/onPage)
	n, err := strconv.Atoi(at.Query.Get("page"))
	if err != nil {
		return 1
	}
	return min(max(n, 1), last)
}

// pager returns the links between numbered pages.
func pager(ctx context.Context, p *pages.Pages, at pages.Address, from, shown, all, onPage int) component.Pages {
	pages := component.Pages{Note: locale.N(ctx, "pager.note", all, locale.Args{"Shown": locale.Number(ctx, shown)})}
	n := from/onPage + 1
	if n > 1 {
		pages.First = p.URL(at.WithQuery("page", ""))
		pages.Previous = p.URL(at.WithQuery("page", strconv.Itoa(n-1)))
	}
	if from+shown < all {
		pages.Next = p.URL(at.WithQuery("page", strconv.Itoa(n+1)))
	}
	return pages
}
