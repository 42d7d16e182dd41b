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

// An EntityClient is a client with a link to an entity.
type EntityClient struct{ Name, SDK, Href string }

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
