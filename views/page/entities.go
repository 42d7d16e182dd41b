package page

import (
	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
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

	Query string // part of a name that is asked for; empty: all
	Sort  Column // the column it is sorted by; empty: by name
	Down  bool   // sorted from the largest
	Pages component.Pages
}

// A Column is what a table of entities can be sorted by, as its address says
// it: ?sort=dead&dir=down.
type Column string

// The columns there are.
const (
	ByName          Column = "name"
	ByActive        Column = "active"
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
	NotActive     []string // properties that are set but not acted on, such as RequiresSession
	Counts        Counts
	Subscriptions int             // of a topic
	Rules         int             // of a subscription
	Next          component.Clock // the first message to run out; zero: none has an end

	Idle  component.Clock // Of is the idle time; zero: it does not delete itself
	Glass component.GlassState

	Size, Capacity int64     // bytes; a zero Capacity is not shown
	Line           []float64 // how its depth went, oldest first; fewer than two: no line
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
		slot("pages", component.Pager(m.Pages)),
	)
}
