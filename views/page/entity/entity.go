package entity

import (
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/page/activity"
	"mayfly/views/page/admin"
	"mayfly/views/page/lab"
	"mayfly/views/page/list"
	"mayfly/views/page/overview"
	"mayfly/views/view"
)

// Entity is the page of a queue, a topic or a subscription, with one of its tabs open.
type Entity struct {
	Shell          layout.Shell
	Kind           page.EntityKind
	Name           string // as created; for a subscription without its topic
	Topic          string // for a subscription, its topic
	TopicHref      string
	Href           string // the entity's page; its actions are below it
	Path           string // in lower case, with the topic: what Watches returns
	Alerts         Alerts
	Receivers      []Client // clients with links to it, or to its dead letters
	Senders        []Client
	ConnectionInfo admin.ConnectionInfo // set only while the entity is empty
	Damaged        component.Notice     // damaged messages in it; zero means none
	ClientsURL     string               // address of all clients; empty means that all are shown
	Status         Status
	Closed         bool // it refuses sends, or for a subscription: no message can arrive
	Counts         Counts
	Total          int // messages in all states, dead letters included

	TTL   time.Duration            // zero means never
	Fate  component.ExpiryOutcome  // of expired messages; unused for a topic, whose subscriptions decide
	Lock  time.Duration            // zero means a topic, which has none
	Tries int                      // zero means none
	Idle  overview.TemporaryEntity // a zero Clock.Of means no automatic deletion
	Size  int64                    // bytes, dead letters included

	Forwarding Forwarding
	Duplicates Duplicates
	Transfer   Transfer
	StatusTo   string // address that changes the status, or asks to confirm the change; empty if not possible
	Lab        string // for a topic or subscription, address of the filter lab; empty means none

	Tab         page.Tab
	Figures     activity.MetricsData // for the tab TabMetrics
	Lede        []component.Text     // a sentence about the tab; empty means none
	Rows        []list.MessageRow    // for the tabs of messages
	Columns     list.MessageColumns  // of Rows
	ListFilter  list.Filter          // their filter
	AllMatching list.AllMatching     // the selection of all, of which Rows shows the first
	From        int64                // the sequence number that the page starts at; zero means the first
	Pages       component.Pages
	Reasons     []page.Reason // of the dead letters, most frequent first
	Errors      []page.Reason // error texts of dead letters with the selected Reason, without ids and numbers; empty if there is only one
	Error       string        // the selected text; empty means all
	Reason      string        // only dead letters with this reason are shown; empty means all

	RequiresSession bool         // it has a tab of sessions
	Sessions        []SessionRow // for that tab
	SessionCount    int          // for every tab
	Example         string       // shell command that sends a message in a session; empty means none

	Subscriptions []Row             // for a topic; their number is shown on every tab
	Rules         []lab.Rule        // for the tab TabRules
	RuleCount     int               // for a subscription, on every tab; zero means len(Rules)
	NewRule       string            // for a subscription, address of the form that adds a rule; empty means none
	Settings      []Setting         // for the tab TabSettings, in the order of the form
	Access        []admin.AccessRow // for the tab TabSettings: the entity's own rules
	AccessURL     string            // address where the entity's own rules are changed; empty if it can have none

	// Deleted is set if the entity was deleted. The page then shows the record of its deletion
	// instead of its messages. DeletedBy says how it was deleted; it is empty if that was
	// automatic.
	Deleted   component.DeletedEntity
	DeletedBy string
}

// A Client is a client with a link to an entity.
type Client struct{ Name, SDK, Href string }

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
	case page.TabSubscriptions, page.TabSessions, page.TabRules, page.TabSettings, page.TabMetrics:
	default:
		m.Shell.Live.Selectable = true
	}
	return entity(m)
}

// Watches returns the entity's path. For a topic it returns nil, which means all entities, because
// events of its subscriptions change the page too.
func (m Entity) Watches() []string {
	if m.Kind == page.Topic {
		return nil
	}
	return []string{m.Path}
}

// Parts returns the live parts of the page.
func (m Entity) Parts() []view.Part {
	parts := append(m.Shell.Parts(),
		page.Slot("gone", entityGone(m)),
		page.Slot("damaged", component.NoticeBox(m.Damaged)),
		page.Slot("status", entityStatus(m)),
	)
	for _, c := range m.states() {
		parts = append(parts, page.Slot(c.slot, component.Count(c.n)))
	}
	parts = append(parts, page.Slot("facts", entityFacts(m)), page.Slot("flow", entityFlow(m)))
	for _, t := range m.tabs() {
		if t.slot() != "" {
			parts = append(parts, page.Slot(t.slot(), component.Count(t.n)))
		}
	}
	parts = append(parts, page.Slot("lede", component.Lede(m.Lede)))
	switch m.tab() {
	case page.TabSubscriptions:
		return append(parts,
			page.List("rows", m.Subscriptions, func(r Row) view.Row {
				return view.Row{Key: r.Key, Content: entityRow(page.Subscription, r)}
			}),
			page.Slot("empty", tabEmpty(m)),
		)
	case page.TabSessions:
		return append(parts,
			page.List("rows", m.Sessions, func(r SessionRow) view.Row {
				return view.Row{Key: r.Key, Content: sessionRow(r)}
			}),
			page.Slot("empty", sessionsEmpty(m)),
			page.Slot("pages", page.Pager(m.Pages)),
		)
	case page.TabRules:
		return append(parts, page.Slot("rules", entityRules(m)))
	case page.TabMetrics:
		return append(parts, page.Slot("figures", activity.FiguresTable(m.Figures)))
	case page.TabSettings:
		return append(parts, page.Slot("settings", entitySettings(m)))
	case page.TabDeadLetters:
		parts = append(parts, page.Slot("again", resubmitAll(m)), page.Slot("reasons", reasons(m)))
	case page.TabTransfers:
		parts = append(parts, page.Slot("again", resubmitAll(m)))
	}
	if m.ListFilter.NotLive {
		return parts
	}
	return append(parts,
		page.Slot("head", list.MessageTableHead(m.tab(), m.Columns)),
		page.List("rows", m.Rows, func(r list.MessageRow) view.Row {
			return view.Row{Key: r.Key, Content: list.MessageTableRow(m.tab(), m.Columns.Own, &r)}
		}),
		page.Slot("empty", tabEmpty(m)),
		page.Slot("pages", page.Pager(m.Pages)),
		page.Slot("every", list.EveryBox(m.AllMatching)),
	)
}

// Alerts is the number of alert rules about an entity.
type Alerts struct {
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
