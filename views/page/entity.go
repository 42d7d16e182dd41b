package page

import (
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// Entity is a queue, a topic or a subscription, with one of its tabs open.
type Entity struct {
	Shell     layout.Shell
	Kind      Kind
	Name      string // as it was created; of a subscription its own
	Topic     string // of a subscription, the topic it belongs to
	TopicHref string
	Href      string // the entity's page; its actions lie below it
	Path      string // in lower case, with the topic: what Watches names
	Watch     EntityWatch
	Receivers []Guest // who is attached, to its dead letters too
	Senders   []Guest
	Dial      Dial   // while it is empty
	GuestsAt  string // where all of them are shown
	Status    Status
	Closed    bool // it refuses sends; of a subscription: nothing can arrive
	Counts    Counts
	Total     int // messages in all states, dead letters too

	TTL   time.Duration  // zero: never
	Fate  component.Fate // of what runs out; of a topic the subscriptions decide, and this is unused
	Lock  time.Duration  // zero: it has none, being a topic
	Tries int            // zero: it has none
	Idle  Sitter         // a zero Clock.Of: it does not delete itself
	Size  int64          // bytes, dead letters included

	Flow       Flow
	Duplicates Duplicates
	Transfer   Transfer
	StatusTo   string // where its status is changed and asked about; empty: it cannot be
	Lab        string // of a topic or subscription, the filter lab for its messages; empty: there is none

	Tab     Tab
	Figures Figures          // of the tab Measured
	Lede    []component.Text // one sentence about the tab; empty: none
	Rows    []MessageRow     // of the tabs of messages
	Columns MessageColumns   // of these
	Find    ListFind         // by which they are narrowed
	Every   Every            // of what Rows are the first
	From    int64            // the number the page starts at; zero: the first
	Pages   component.Pages
	Reasons []Reason // of the dead letters, largest first
	Errors  []Reason // of those of the Reason chosen: the texts of their errors without ids and numbers; none to tell apart: empty
	Error   string   // the text that was chosen; empty: all
	Reason  string   // only dead letters with it are shown; empty: all

	RequiresSession bool         // it has a tab of sessions
	Sessions        []SessionRow // of that tab
	SessionCount    int          // on every tab
	Example         string       // a line for the shell that sends a message in a session; empty: none

	Subscriptions []EntityRow // of a topic, and the number of them on every tab
	Rules         []Rule      // of the tab Ruling
	RuleCount     int         // of a subscription, on every tab; zero: as many as Rules
	NewRule       string      // of a subscription, the form that adds a rule; empty: none is offered
	Settings      []Setting   // of the tab Settings, in the order of the form
	Access        []AccessRow // of the tab Settings: rules of its own
	AccessAt      string      // where these are changed; empty: it can have none

	// Gone is set when the entity is no longer there. The page then shows its
	// tombstone instead of its messages. By says what became of it: "deleted
	// itself"; empty: that.
	Gone component.Grave
	By   string
}

// A Tab is a view of an entity, as its address says it: ?tab=dead-letter.
type Tab string

// The tabs there are. An empty one is Messages, of a topic Subscribers.
// Messages has everything a browse finds, of all states in the order of their
// numbers (PEEK-2); dead letters are found in their own tab only.
const (
	Messages    Tab = "messages"
	Waiting     Tab = "scheduled"
	Parked      Tab = "deferred"
	Held        Tab = "locked"
	DeadLetters Tab = "dead-letter"
	Sessions    Tab = "sessions" // of what requires them
	Transfers   Tab = "transfer" // the transfer dead-letter queue, while there is something in it
	Subscribers Tab = "subscriptions"
	Ruling      Tab = "rules"
	Measured    Tab = "metrics"
	Settled     Tab = "settings"

	// InSession is no tab: the rows of one session look like it.
	InSession Tab = "session"

	// Found is no tab either, but what a search found.
	Found Tab = "search"
)

// A State is where a message stands.
type State string

// The states there are, as the dashboard tells them apart.
const (
	Active     State = "active"
	Locked     State = "locked"
	Scheduled  State = "scheduled"
	Parking    State = "deferred"
	DeadLetter State = "dead-letter"

	// TransferDead is no state of a row: it stands for the transfer dead-letter
	// queue where a purge is asked for.
	TransferDead State = "transfer-dead-letter"
)

// A MessageRow is a message in a table.
type MessageRow struct {
	Key     string // the message's key, in decimal
	Href    string // the message's page
	State   State
	Number  int64 // the sequence number
	Subject string
	ID      string // the message id
	Pills   []Pill // scalars of the body; empty: First is shown
	First   string // the first line of the body, cut
	Session string // the session it belongs to; empty: none
	Size    int64
	Tries   int
	Max     int       // the most tries; zero: no limit is shown
	At      time.Time // enqueued
	Aside   time.Time // of a dead letter died, of a deferred one deferred; zero: not known, or neither

	Clock    component.Clock // its time to live; Now is set even if it has no end
	Expired  bool            // its time ran out and it is still there, as a deferred one is
	Hold     component.Hold  // the lock on it
	Due      component.Clock // of a scheduled one
	Holder   string          // who holds the lock; empty: not known
	HolderAt string          // where that client is shown; empty: nowhere
	Edit     string          // the form in which it is written anew and sent again; empty: it cannot be

	Entity, EntityAt string // where it is, and that list's address; empty in a list of one place
	By               string // who deferred it; empty: not known

	Cells []Cell // in the order of the columns that were chosen; empty: none were

	Reason, Description string // of a dead letter
	For                 string // of a transfer that failed: where it was to go
	Source              string // where it died, if that is not here
}

// A Guest is a client that is attached to an entity.
type Guest struct{ Name, SDK, Href string }

// A Pill is a scalar out of a body.
type Pill struct{ Key, Value string }

// A Reason is what dead letters died of, and how many.
type Reason struct {
	Reason      string // empty: none was given
	Description string // of the latest of them
	N           int
	First, Last time.Time
	Now         time.Time
	Href        string // the list with these only
	Sample      string // address of the latest; empty: none is known
	In          string // where they lie; empty: the page is of one place

	Resubmit, Delete, Export string // addresses of what is done to all of them; empty: it cannot be
}

// A Setting is a property of the entity, to be read.
type Setting struct {
	Name    string // Service Bus' name
	Value   string // as shown
	Default bool   // it was never changed
	Fixed   bool   // set for good when the entity was created
}

// Full is the page.
func (m Entity) Full() templ.Component {
	switch m.tab() {
	case Subscribers, Sessions, Ruling, Settled, Measured:
	default:
		m.Shell.Live.Picking = true
	}
	return entity(m)
}

// Watches is the entity, and for a topic everything: its subscriptions count.
func (m Entity) Watches() []string {
	if m.Kind == Topic {
		return nil
	}
	return []string{m.Path}
}

// Parts is what is live in the page.
func (m Entity) Parts() []view.Part {
	parts := append(m.Shell.Parts(),
		slot("gone", entityGone(m)),
		slot("status", entityStatus(m)),
	)
	for _, c := range m.states() {
		parts = append(parts, slot(c.slot, component.Count(c.n)))
	}
	parts = append(parts, slot("facts", entityFacts(m)), slot("flow", entityFlow(m)))
	for _, t := range m.tabs() {
		if t.slot() != "" {
			parts = append(parts, slot(t.slot(), component.Count(t.n)))
		}
	}
	parts = append(parts, slot("lede", component.Lede(m.Lede)))
	switch m.tab() {
	case Subscribers:
		return append(parts,
			list("rows", m.Subscriptions, func(r EntityRow) view.Row {
				return view.Row{Key: r.Key, Content: entityRow(Subscription, r)}
			}),
			slot("empty", tabEmpty(m)),
		)
	case Sessions:
		return append(parts,
			list("rows", m.Sessions, func(r SessionRow) view.Row {
				return view.Row{Key: r.Key, Content: sessionRow(r)}
			}),
			slot("empty", sessionsEmpty(m)),
			slot("pages", pager(m.Pages)),
		)
	case Ruling:
		return append(parts, slot("rules", entityRules(m)))
	case Measured:
		return append(parts, slot("figures", figuresTable(m.Figures)))
	case Settled:
		return append(parts, slot("settings", entitySettings(m)))
	case DeadLetters:
		parts = append(parts, slot("again", resubmitAll(m)), slot("reasons", reasons(m)))
	case Transfers:
		parts = append(parts, slot("again", resubmitAll(m)))
	}
	if m.Find.Still {
		return parts
	}
	return append(parts,
		slot("head", messageHead(m.tab(), m.Columns)),
		list("rows", m.Rows, func(r MessageRow) view.Row {
			return view.Row{Key: r.Key, Content: messageRow(m.tab(), m.Columns.Own, &r)}
		}),
		slot("empty", tabEmpty(m)),
		slot("pages", pager(m.Pages)),
		slot("every", everyBox(m.Every)),
	)
}

// EntityWatch are the alert rules that are about an entity.
type EntityWatch struct {
	Rules int
	Href  string // where they are; empty: this server has none
	New   string // the form for one more
}

// living is an attribute of what follows the broker, where the list does: one that
// stands still has data-still.
func (m Entity) living(name, value string) templ.Attributes {
	if m.Find.Still {
		return templ.Attributes{"data-still": value}
	}
	return templ.Attributes{name: value}
}
