package show

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
	"mayfly/views/view"
)

// entitiesOnPage is how many rows a table of entities has.
const entitiesOnPage = 50

// A member is an entity in a list; a topic stands there with its
// subscriptions.
type member struct {
	engine.EntityState
	subs []engine.EntityState
}

func (p *Pages) entities(ctx context.Context, at Place) (view.Page, uint64, error) {
	kind := engine.Queue
	if at.Kind == Topics {
		kind = engine.Topic
	}
	var all []member
	s, err := p.look(ctx, func(r broker.Reader) error {
		all = members(r, kind)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	m := page.Entities{
		Kind: pageKind(kind), Total: len(all), Query: strings.TrimSpace(at.Query.Get(page.SearchText)),
		Sort: column(at.Query.Get("sort"), kind), Down: at.Query.Get("dir") == "down",
	}
	m.Shell = p.shell(ctx, at, s, listTitle(ctx, kind))
	if kind == engine.Topic {
		m.Lab = p.labURL("")
	}
	m.Lede = p.entitiesLede(ctx, kind, all)
	q := p.filterEntities(at, &m)
	found := slices.DeleteFunc(all, func(e member) bool { return !q.Match(e.EntityState, e.subs, s.now) })
	sortMembers(found, m.Sort, m.Down)
	from := (pageNumber(at, len(found), entitiesOnPage) - 1) * entitiesOnPage
	shown := found[from:min(len(found), from+entitiesOnPage)]
	for _, e := range shown {
		m.Rows = append(m.Rows, p.entityRow(e, s.now))
	}
	m.Pages = p.pager(ctx, at, from, len(shown), len(found), entitiesOnPage)
	if q.Timed() {
		return Refreshing{m, entitiesFresh}, s.n, nil
	}
	return m, s.n, nil
}

// entitiesFresh is how long a table is true whose filter asks for times.
const entitiesFresh = 5 * time.Second

// filterEntities reads what the table is asked for. Of a text that is no filter
// it is what stands before that.
func (p *Pages) filterEntities(at Place, m *page.Entities) *search.EntityQuery {
	q, err := search.ParseEntities(m.Query)
	base := m.Query
	if err != nil {
		m.Wrong = err.Error()
		base = q.String()
	}
	at = at.with("page", "")
	for i, t := range q.Terms() {
		m.Chips = append(m.Chips, page.SearchChip{Term: t, Without: p.URL(at.with(page.SearchText, q.Without(i).String()))})
	}
	for _, k := range search.EntityKeys() {
		if k.Name == "kind" || k.Name == "subscriptions" && m.Kind != page.Topic {
			continue // they are all of one
		}
		m.More = append(m.More, component.Choice{Label: k.Example, Href: p.URL(at.with(page.SearchText, strings.TrimSpace(base+" "+k.Example)))})
	}
	return q
}

// members are the entities of a kind, topics with their subscriptions.
func members(r broker.Reader, kind engine.EntityKind) (all []member) {
	for _, e := range r.States(kind) {
		all = append(all, member{e, r.Subscriptions(e.Path)})
	}
	return all
}

// counts are a member's messages; of a topic its subscriptions'.
func (e member) counts() page.Counts { return pageCounts(e.EntityState, e.subs) }

func pageCounts(e engine.EntityState, subs []engine.EntityState) page.Counts {
	c := page.Counts{
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

// closed tells whether sends are refused.
func (e member) closed() bool { return !takesSenders(e.Config.Status) }

// nextExpiry is when the first message runs out; zero: none has an end.
func (e member) nextExpiry() engine.Instant {
	next := e.NextExpiry
	for _, s := range e.subs {
		if s.NextExpiry != 0 && (next == 0 || s.NextExpiry < next) {
			next = s.NextExpiry
		}
	}
	return next
}

func column(asked string, kind engine.EntityKind) page.Column {
	columns := []page.Column{page.ByName, page.ByActive, page.ByLocked, page.ByScheduled, page.ByDeferred, page.ByDead, page.ByExpiry, page.ByIdle, page.BySize}
	if kind == engine.Topic {
		columns = append(columns, page.BySubscriptions)
	}
	if c := page.Column(asked); slices.Contains(columns, c) {
		return c
	}
	return ""
}

// sortMembers keeps the order of names among equals. What has no expiry or does
// not delete itself comes last, whichever the direction.
func sortMembers(all []member, by page.Column, down bool) {
	key := func(e member) int64 {
		c := e.counts()
		switch by {
		case page.ByActive:
			return int64(c.Active)
		case page.ByLocked:
			return int64(c.Locked)
		case page.ByScheduled:
			return int64(c.Scheduled)
		case page.ByDeferred:
			return int64(c.Deferred)
		case page.ByDead:
			return int64(c.Dead)
		case page.BySubscriptions:
			return int64(e.Subscriptions)
		case page.ByExpiry:
			return int64(e.nextExpiry())
		case page.ByIdle:
			return int64(e.DeletesAt)
		case page.BySize:
			return e.Bytes
		default:
			return 0
		}
	}
	if by == "" || by == page.ByName {
		if down {
			slices.Reverse(all)
		}
		return
	}
	keys := make(map[engine.HolderID]int64, len(all))
	for _, e := range all {
		keys[e.ID] = key(e)
	}
	moments := by == page.ByExpiry || by == page.ByIdle
	slices.SortStableFunc(all, func(a, b member) int {
		x, y := keys[a.ID], keys[b.ID]
		if moments && (x == 0) != (y == 0) {
			return cmp.Compare(y, x) // zero last
		}
		if down {
			return cmp.Compare(y, x)
		}
		return cmp.Compare(x, y)
	})
}

// entityRow is an entity in a table.
func (p *Pages) entityRow(e member, now engine.Instant) page.EntityRow {
	row := page.EntityRow{
		Key: e.Path.Fold(), Name: e.Path.Name(), Href: p.EntityURL(e.Kind, e.Path), Status: page.Status(e.Config.Status.String()),
		Counts: e.counts(), Subscriptions: e.Subscriptions, Rules: len(e.Rules),
		Idle: idleClock(e.EntityState, now), Glass: glass(e.EntityState), Size: e.Bytes,
	}
	if e.Kind != engine.Subscription {
		row.Size, row.Capacity = e.SizeInBytes, e.Config.Capacity()
	}
	if next := e.nextExpiry(); next != 0 {
		row.Next = component.Clock{At: next.Time(), Of: cmp.Or(e.Config.DefaultMessageTimeToLive, time.Hour), Now: now.Time()}
	}
	row.Line = p.depthLine(e, now)
	return row
}

// depthLine is how the depth of an entity went, of a topic that of its
// subscriptions together.
func (p *Pages) depthLine(e member, now engine.Instant) []float64 {
	if e.Kind != engine.Topic {
		c := e.Counts
		return p.recent.depth(now, e.Path, c.Active+c.Locked+c.Deferred+c.Scheduled)
	}
	var sum []float64
	for _, s := range e.subs {
		line := p.depthLine(member{EntityState: s}, now)
		switch n := float64(s.Counts.Active + s.Counts.Locked + s.Counts.Deferred); {
		case line == nil && n == 0:
		case line == nil:
			sum = plus(sum, slices.Repeat([]float64{n}, tideStretches+1))
		default:
			sum = plus(sum, line)
		}
	}
	return sum
}

func plus(a, b []float64) []float64 {
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

// entitiesLede says how much there is in how many.
func (p *Pages) entitiesLede(ctx context.Context, kind engine.EntityKind, all []member) []component.Text {
	if len(all) == 0 {
		if kind == engine.Topic {
			return []component.Text{strong(locale.T(ctx, "topics.lede.none"))}
		}
		return []component.Text{strong(locale.T(ctx, "queues.lede.none"))}
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
		lede = append(lede, strong(locale.N(ctx, "topics.lede.all", len(all))))
	} else {
		lede = append(lede, strong(locale.N(ctx, "queues.lede.all", len(all))))
	}
	lede = append(lede, say(" "+locale.N(ctx, "entities.lede.messages", total)))
	if dead > 0 && worst.counts().Dead*2 <= dead {
		return append(lede, say(" "+locale.N(ctx, "entities.lede.dead.all", dead)))
	}
	if dead > 0 {
		id := "entities.lede.dead"
		if worst.counts().Dead == dead {
			id = "entities.lede.dead.in"
		}
		lede = append(lede, say(" "))
		lede = append(lede, tell(ctx, id,
			component.Text{S: Shown(worst.Path), Href: p.EntityURL(worst.Kind, worst.Path)},
			locale.Args{"Dead": locale.N(ctx, "entities.lede.dead.n", dead)})...)
	}
	return lede
}

// pageNumber is which page is asked for, from 1; beyond the last it is the last.
func pageNumber(at Place, items, onPage int) int {
	last := max(1, (items+onPage-1)/onPage)
	n, err := strconv.Atoi(at.Query.Get("page"))
	if err != nil {
		return 1
	}
	return min(max(n, 1), last)
}

// pager is where a list of numbered pages stands.
func (p *Pages) pager(ctx context.Context, at Place, from, shown, all, onPage int) component.Pages {
	pages := component.Pages{Note: locale.N(ctx, "pager.note", all, locale.Args{"Shown": locale.Number(ctx, shown)})}
	n := from/onPage + 1
	if n > 1 {
		pages.First = p.URL(at.with("page", ""))
		pages.Previous = p.URL(at.with("page", strconv.Itoa(n-1)))
	}
	if from+shown < all {
		pages.Next = p.URL(at.with("page", strconv.Itoa(n+1)))
	}
	return pages
}
