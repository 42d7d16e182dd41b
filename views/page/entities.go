package page

import (
	"cmp"
	"context"
	"net/url"
	"slices"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// A Kind is a kind of entity.
type Kind string

// The kinds there are.
const (
	Queue        Kind = "queue"
	Topic        Kind = "topic"
	Subscription Kind = "subscription"
)

// A Status says which way an entity is open, by Service Bus' name.
type Status string

// The statuses there are (semantics §1.4).
const (
	Open            Status = "Active"
	Disabled        Status = "Disabled"
	SendDisabled    Status = "SendDisabled"
	ReceiveDisabled Status = "ReceiveDisabled"
)

// Counts is how many messages an entity holds in each state, exactly. Those of
// a topic are the sums over its subscriptions, except Scheduled, which wait at
// the topic itself.
type Counts struct {
	Active    int // ready to be received
	Locked    int // of any state, with a lock that stands
	Scheduled int
	Deferred  int
	Dead      int // in the dead-letter queue, locked and deferred ones included
}

// Entities is the table of all queues or of all topics.
type Entities struct {
	Shell layout.Shell
	Kind  Kind             // Queue or Topic
	Lede  []component.Text // what is going on, in a sentence
	Rows  []EntityRow      // of this page, sorted
	Total int              // entities of this kind, whatever the filter

	Lab string // of topics, the filter lab; empty: there is none

	Query string             // what is asked for, as it was typed; empty: all
	Wrong string             // why it is not a filter, in the server's own words, with what stands before that as one; empty: it is
	Chips []SearchChip       // its terms
	More  []component.Choice // terms to add, each an address with it
	Sort  Column             // the column it is sorted by; empty: by name
	Down  bool               // sorted from the largest
	Pages component.Pages
}

// A Column is what a table of entities can be sorted by, as its address says
// it: ?sort=dead&dir=down.
type Column string

// The columns there are.
const (
	ByName          Column = "name"
	ByActive        Column = "active"
	ByLocked        Column = "locked"
	ByScheduled     Column = "scheduled"
	ByDeferred      Column = "deferred"
	ByDead          Column = "dead"
	BySubscriptions Column = "subscriptions" // of topics only
	ByExpiry        Column = "expiry"
	ByIdle          Column = "idle"
	BySize          Column = "size"
)

// An EntityRow is an entity in a table.
type EntityRow struct {
	Key           string
	Name          string
	Href          string // the entity's page
	Status        Status
	Counts        Counts
	Subscriptions int             // of a topic
	Rules         int             // of a subscription
	Next          component.Clock // the first message to run out; zero: none has an end

	Idle  component.Clock // Of is the idle time; zero: it does not delete itself
	Glass component.GlassState

	Size, Capacity int64     // bytes; a zero Capacity is not shown
	Line           []float64 // how its depth went, oldest first; fewer than two: no line
}

// sitter is what the row's hourglass shows.
func (r EntityRow) sitter() Sitter {
	return Sitter{Name: r.Name, Href: r.Href, Clock: r.Idle, State: r.Glass}
}

// Full is the page.
func (m Entities) Full() templ.Component { return entities(m) }

// Watches is nil: entities come and go, and every message changes a count.
func (m Entities) Watches() []string { return nil }

// Parts is what is live in the page.
func (m Entities) Parts() []view.Part {
	return append(m.Shell.Parts(),
		slot("lede", component.Lede(m.Lede)),
		list("rows", m.Rows, func(r EntityRow) view.Row {
			return view.Row{Key: r.Key, Content: entityRow(m.Kind, r)}
		}),
		slot("empty", entitiesEmpty(m)),
		slot("pages", pager(m.Pages)),
		slot("definitions", entitiesFile(m)),
	)
}

func (m Entities) base() string {
	if m.Kind == Topic {
		return m.Shell.Home + "/topics"
	}
	return m.Shell.Home + "/queues"
}

func (m Entities) sort() Column { return cmp.Or(m.Sort, ByName) }

// sorted is the address of the table sorted by column: again the other way
// round, else counts and sizes from the largest, names and times from the
// least.
func (m Entities) sorted(by Column) string {
	down := by != ByName && by != ByExpiry && by != ByIdle
	if by == m.sort() {
		down = !m.Down
	}
	return m.address(m.Query, by, down)
}

// asked is the address of the table with another filter, sorted as it is.
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

// columns is what can be sorted by, in order, with the ids of their headings.
func columns(kind Kind) []heading {
	all := []heading{
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
	return slices.DeleteFunc(all, func(h heading) bool {
		return h.by == BySubscriptions && kind != Topic || h.by == ByScheduled && kind == Subscription
	})
}

// A heading is a column of the table: what it is sorted by, the id of its
// name, and its class.
type heading struct {
	by          Column
	name, class string
}

// create is the words of the button that makes one more.
func create(ctx context.Context, kind Kind) string {
	switch kind {
	case Topic:
		return locale.T(ctx, "entities.create.topic")
	case Subscription:
		return locale.T(ctx, "entities.create.subscription")
	default:
		return locale.T(ctx, "entities.create.queue")
	}
}

func noneCalled(ctx context.Context, m Entities) string {
	args := locale.Args{"Query": m.Query}
	if m.Kind == Topic {
		return locale.T(ctx, "entities.none.topic", args)
	}
	return locale.T(ctx, "entities.none.queue", args)
}
