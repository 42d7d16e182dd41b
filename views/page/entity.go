package page

import (
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// Entity is the page of a queue, a topic or a subscription, with one of its tabs open.
type Entity struct {
	Shell          layout.Shell
	Kind           EntityKind
	Name           string // as created; for a subscription without its topic
	Topic          string // for a subscription, its topic
	TopicHref      string
	Href           string // the entity's page; its actions are below it
	Path           string // in lower case, with the topic: what Watches returns
	Alerts         EntityAlerts
	Receivers      []EntityClient // clients with links to it, or to its dead letters
	Senders        []EntityClient
	ConnectionInfo ConnectionInfo   // only while it is empty
	Damaged        component.Notice // damaged messages in it; zero means none
	ClientsURL     string           // address of all clients; empty means that all are shown
	Status         Status
	Closed         bool // it refuses sends; for a subscription: nothing can arrive
	Counts         Counts
	Total          int // messages in all states, dead letters included

	TTL   time.Duration           // zero means never
	Fate  component.ExpiryOutcome // of expired messages; unused for a topic, whose subscriptions decide
	Lock  time.Duration           // zero means a topic, which has none
	Tries int                     // zero means none
	Idle  TemporaryEntity         // a zero Clock.Of: no automatic deletion
	Size  int64                   // bytes, dead letters included

	Forwarding Forwarding
	Duplicates Duplicates
	Transfer   Transfer
	StatusTo   string // address that changes the status or asks about it; empty if not possible
	Lab        string // for a topic or subscription, address of the filter lab; empty means none

	Tab         Tab
	Figures     MetricsData      // for the tab TabMetrics
	Lede        []component.Text // a sentence about the tab; empty means none
	Rows        []MessageRow     // for the tabs of messages
	Columns     MessageColumns   // of Rows
	ListFilter  ListFilter       // their filter
	AllMatching AllMatching      // the selection of all, of which Rows shows the first
	From        int64            // the sequence number that the page starts at; zero means the first
	Pages       component.Pages
	Reasons     []Reason // of the dead letters, most frequent first
	Errors      []Reason // error texts of dead letters with the selected Reason, without ids and numbers; empty if there is only one
	Error       string   // the selected text; empty means all
	Reason      string   // only dead letters with this reason are shown; empty means all

	RequiresSession bool         // it has a tab of sessions
	Sessions        []SessionRow // for that tab
	SessionCount    int          // for every tab
	Example         string       // shell command that sends a message in a session; empty means none

	Subscriptions []EntityRow // for a topic; their number is shown on every tab
	Rules         []Rule      // for the tab TabRules
	RuleCount     int         // for a subscription, on every tab; zero means len(Rules)
	NewRule       string      // for a subscription, address of the form that adds a rule; empty means none
	Settings      []Setting   // for the tab TabSettings, in the order of the form
	Access        []AccessRow // for the tab TabSettings: the entity's own rules
	AccessURL     string      // address where these are changed; empty if it can have none

	// Deleted is set if the entity was deleted. The page then shows the record of its deletion
	// instead of its messages. By says how it was deleted; empty if automatically.
	Deleted   component.DeletedEntity
	DeletedBy string
}

// A Tab is a view of an entity, as in its query string: ?tab=dead-letter.
type Tab string

// The tabs. An empty one means TabMessages, or for a topic TabSubscriptions. TabMessages has everything a
// browse returns, in all states in the order of sequence numbers (PEEK-2); dead letters are
// only in their own tab.
const (
	TabMessages      Tab = "messages"
	TabScheduled     Tab = "scheduled"
	TabDeferred      Tab = "deferred"
	TabLocked        Tab = "locked"
	TabDeadLetters   Tab = "dead-letter"
	TabSessions      Tab = "sessions" // for entities that require sessions
	TabTransfers     Tab = "transfer" // the transfer dead-letter subqueue, while it holds messages
	TabSubscriptions Tab = "subscriptions"
	TabRules         Tab = "rules"
	TabMetrics       Tab = "metrics"
	TabSettings      Tab = "settings"

	// ListSession is not a tab: the messages of a session are shown like those of one.
	ListSession Tab = "session"

	// ListSearch is not a tab either: it stands for the results of a search.
	ListSearch Tab = "search"
)

// A State is the state of a message.
type State string

// The states that the dashboard distinguishes.
const (
	StateActive     State = "active"
	StateLocked     State = "locked"
	StateScheduled  State = "scheduled"
	StateDeferred   State = "deferred"
	StateDeadLetter State = "dead-letter"

	// StateTransferDeadLetter is not the state of a row: it stands for the transfer dead-letter subqueue
	// in a purge.
	StateTransferDeadLetter State = "transfer-dead-letter"
)

// A MessageRow is a message in a table.
type MessageRow struct {
	Key        string // the message's key, in decimal
	Href       string // the message's page
	State      State
	Number     int64 // the sequence number
	Subject    string
	ID         string // the message id
	Pills      []Pill // scalars of the body; empty means that First is shown
	First      string // the first line of the body, truncated
	Session    string // its session; empty means none
	Size       int64
	Tries      int
	Max        int       // largest number of deliveries; zero if not shown
	At         time.Time // enqueued
	SetAsideAt time.Time // when it was dead-lettered or deferred; zero if unknown, or neither

	Clock     component.Clock    // its time to live; Now is set even if it never expires
	Expired   bool               // it has expired but still exists, as deferred messages do
	Hold      component.LockInfo // the lock on it
	Due       component.Clock    // for scheduled messages
	Holder    string             // the lock's holder; empty if unknown
	HolderURL string             // address of that client; empty means none
	Edit      string             // address of the form that edits and resends it; empty if not possible

	Entity, EntityURL string // its entity, and the address of that list; empty in a list of one entity
	By                string // the client that deferred it; empty if unknown

	Cells []Cell // in the order of the selected columns; empty if none are selected

	Reason, Description string // of a dead letter
	TransferTarget      string // of a failed transfer: its target
	Source              string // where it was dead-lettered, if elsewhere
}

// An EntityClient is a client with a link to an entity.
type EntityClient struct{ Name, SDK, Href string }

// A Pill is a scalar from a body.
type Pill struct{ Key, Value string }

// A Reason is a dead-letter reason, and how many dead letters have it.
type Reason struct {
	Reason      string // empty if none was given
	Description string // of the latest dead letter
	N           int
	First, Last time.Time
	Now         time.Time
	Href        string // address of the list with only these
	Sample      string // address of the latest; empty means none
	In          string // entities that hold them; empty if the page is of one entity

	Resubmit, Delete, Export string // addresses of actions on all of them; empty if not possible
}

// A Setting is a property of the entity for display.
type Setting struct {
	Name     string // Service Bus name
	Value    string // as shown
	Default  bool   // it has its default value
	Fixed    bool   // it cannot be changed after creation
	NoEffect bool   // without effect, because the entity forwards its messages
}

// Full returns the whole page.
func (m Entity) Full() templ.Component {
	switch m.tab() {
	case TabSubscriptions, TabSessions, TabRules, TabSettings, TabMetrics:
	default:
		m.Shell.Live.Selectable = true
	}
	return entity(m)
}

// Watches returns the entity, or for a topic everything: its subscriptions count too.
func (m Entity) Watches() []string {
	if m.Kind == Topic {
		return nil
	}
	return []string{m.Path}
}

// Parts returns the live parts of the page.
func (m Entity) Parts() []view.Part {
	parts := append(m.Shell.Parts(),
		slot("gone", entityGone(m)),
		slot("damaged", component.NoticeBox(m.Damaged)),
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
	case TabSubscriptions:
		return append(parts,
			list("rows", m.Subscriptions, func(r EntityRow) view.Row {
				return view.Row{Key: r.Key, Content: entityRow(Subscription, r)}
			}),
			slot("empty", tabEmpty(m)),
		)
	case TabSessions:
		return append(parts,
			list("rows", m.Sessions, func(r SessionRow) view.Row {
				return view.Row{Key: r.Key, Content: sessionRow(r)}
			}),
			slot("empty", sessionsEmpty(m)),
			slot("pages", pager(m.Pages)),
		)
	case TabRules:
		return append(parts, slot("rules", entityRules(m)))
	case TabMetrics:
		return append(parts, slot("figures", figuresTable(m.Figures)))
	case TabSettings:
		return append(parts, slot("settings", entitySettings(m)))
	case TabDeadLetters:
		parts = append(parts, slot("again", resubmitAll(m)), slot("reasons", reasons(m)))
	case TabTransfers:
		parts = append(parts, slot("again", resubmitAll(m)))
	}
	if m.ListFilter.NotLive {
		return parts
	}
	return append(parts,
		slot("head", messageHead(m.tab(), m.Columns)),
		list("rows", m.Rows, func(r MessageRow) view.Row {
			return view.Row{Key: r.Key, Content: messageRow(m.tab(), m.Columns.Own, &r)}
		}),
		slot("empty", tabEmpty(m)),
		slot("pages", pager(m.Pages)),
		slot("every", everyBox(m.AllMatching)),
	)
}

// EntityAlerts is the number of alert rules about an entity.
type EntityAlerts struct {
	Rules int
	Href  string // their address; empty if this server has no alert rules
	New   string // address of the form for a new rule
}

// liveAttribute returns an attribute for elements that are live if the list is; in a list that is not
// live it is named data-still instead.
func (m Entity) liveAttribute(name, value string) templ.Attributes {
	if m.ListFilter.NotLive {
		return templ.Attributes{"data-still": value}
	}
	return templ.Attributes{name: value}
}
