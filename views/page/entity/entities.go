package entity

import (
	"cmp"
	"context"
	"net/url"
	"slices"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/overview"
	"mayfly/views/view"
)

// A Status is the status of an entity, by its Service Bus name.
type Status string

// The statuses (semantics §1.4).
const (
	StatusActive          Status = "Active"
	StatusDisabled        Status = "Disabled"
	StatusSendDisabled    Status = "SendDisabled"
	StatusReceiveDisabled Status = "ReceiveDisabled"
)

// Counts holds how many messages of an entity are in each state, exactly. Those of a topic are
// sums over its subscriptions, except Scheduled, which are held by the topic itself.
type Counts struct {
	Active    int // ready to be received
	Locked    int // locked messages of any state
	Scheduled int
	Deferred  int
	Dead      int // in the dead-letter subqueue, including locked and deferred ones
}

// Entities is the table of all queues or of all topics.
type Entities struct {
	Shell layout.Shell
	Kind  page.EntityKind  // Queue or Topic
	Lede  []component.Text // summary
	Rows  []Row            // of this page, sorted
	Total int              // entities of this kind, ignoring the filter

	Lab string // for topics, address of the filter lab; empty means none

	Query string             // the filter as typed; empty means all
	Wrong string             // error of the filter, in the server's own words; the part before the error applies; empty if the filter is valid
	Chips []page.SearchChip  // its terms
	More  []component.Choice // terms to add, each with the address of the filter that includes it
	Sort  Column             // the column it is sorted by; empty means by name
	Down  bool               // descending
	Pages component.Pages
}

// A Column is a sort key of a table of entities, as in its query string: ?sort=dead&dir=down.
type Column string

// The columns.
const (
	ByName          Column = "name"
	ByActive        Column = "active"
	ByLocked        Column = "locked"
	ByScheduled     Column = "scheduled"
	ByDeferred      Column = "deferred"
	ByDead          Column = "dead"
	BySubscriptions Column = "subscriptions" // only for topics
	ByExpiry        Column = "expiry"
	ByIdle          Column = "idle"
	BySize          Column = "size"
)

// A Row is an entity in a table.
type Row struct {
	Key           string
	Name          string
	Href          string // the entity's page
	Status        Status
	Counts        Counts
	Subscriptions int             // for topics
	Rules         int             // for subscriptions
	NextExpiry    component.Clock // the first message to expire; zero if none expires

	Idle      component.Clock // Of is the idle time; zero means no automatic deletion
	IdleState component.IdleState

	Size, Capacity int64     // bytes; a zero Capacity is not shown
	Line           []float64 // recent depth, oldest first; with fewer than two values no line is drawn
}

// temporaryEntity returns the row's idle clock.
func (r Row) temporaryEntity() overview.TemporaryEntity {
	return overview.TemporaryEntity{Name: r.Name, Href: r.Href, Clock: r.Idle, State: r.IdleState}
}

// Full returns the whole page.
func (m Entities) Full() templ.Component { return entities(m) }

// Watches returns nil, because entities come and go, and every message changes a count.
func (m Entities) Watches() []string { return nil }

// Parts returns the live parts of the page.
func (m Entities) Parts() []view.Part {
	return append(m.Shell.Parts(),
		page.Slot("lede", component.Lede(m.Lede)),
		page.List("rows", m.Rows, func(r Row) view.Row {
			return view.Row{Key: r.Key, Content: entityRow(m.Kind, r)}
		}),
		page.Slot("empty", entitiesEmpty(m)),
		page.Slot("pages", page.Pager(m.Pages)),
		page.Slot("definitions", entitiesFile(m)),
	)
}

func (m Entities) base() string {
	if m.Kind == page.Topic {
		return m.Shell.Home + "/topics"
	}
	return m.Shell.Home + "/queues"
}

func (m Entities) sort() Column { return cmp.Or(m.Sort, ByName) }

// sorted returns the address of the table sorted by a column. For the current column it
// reverses the direction; otherwise counts and sizes start with the largest, names and times
// with the smallest.
func (m Entities) sorted(by Column) string {
	down := by != ByName && by != ByExpiry && by != ByIdle
	if by == m.sort() {
		down = !m.Down
	}
	return m.address(m.Query, by, down)
}

// asked returns the address of the table filtered by `query`, in the same order.
func (m Entities) asked(query string) string { return m.address(query, m.sort(), m.Down) }

func (m Entities) address(query string, by Column, down bool) string {
	q := url.Values{"sort": {string(by)}, "dir": {direction(down)}}
	if query != "" {
		q.Set("q", query)
	}
	return m.base() + "?" + q.Encode()
}

func direction(down bool) string {
	if down {
		return "down"
	}
	return "up"
}

// columns returns the sortable columns in order, with the text ids of their headings.
func columns(kind page.EntityKind) []sortColumn {
	all := []sortColumn{
		{ByName, "entities.name", "name"},
		{BySubscriptions, "entities.subscriptions", "num"},
		{ByActive, "entities.active", "num"},
		{ByLocked, "entities.locked", "num opt far"},
		{ByScheduled, "entities.scheduled", "num opt far"},
		{ByDeferred, "entities.deferred", "num opt far"},
		{ByDead, "entities.dead", "num"},
		{ByExpiry, "entities.expiry", ""},
		{ByIdle, "entities.idle", "opt"},
		{BySize, "entities.size", "num opt far"},
	}
	return slices.DeleteFunc(all, func(h sortColumn) bool {
		return h.by == BySubscriptions && kind != page.Topic || h.by == ByScheduled && kind == page.Subscription
	})
}

// A sortColumn is a column of the table: its sort key, the text id of its name, and its class.
type sortColumn struct {
	by          Column
	name, class string
}

func noneCalled(ctx context.Context, m Entities) string {
	args := locale.Args{"Query": m.Query}
	if m.Kind == page.Topic {
		return locale.T(ctx, "entities.none.topic", args)
	}
	return locale.T(ctx, "entities.none.queue", args)
}
