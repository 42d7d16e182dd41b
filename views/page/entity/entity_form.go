package entity

import (
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/page/lab"
	"mayfly/views/view"
)

// Form creates or changes a queue, a topic or a subscription. It is not live: Shell.Live
// is left empty.
type Form struct {
	Shell layout.Shell
	Kind  page.EntityKind
	New   bool
	Name  string // as typed; when editing, the entity's name
	Topic string // for a subscription
	Href  string // the entity's page; for a new one, the list it will be in

	Temporary bool // a new queue with automatic deletion
	TopicHref string
	To        string // the address it posts to
	NameRule  string // the rule for names, as shown; empty means the usual one
	NameError component.Text
	Refused   component.Notice // the error of the form as a whole; zero means none
	Fields    []PropertyField  // in any order; the page groups them
	Changes   int              // fields that differ from the stored values; zero if not counted

	Try         string // address that shows what a change would do without saving; empty means none
	TTLPreview  TTLPreview
	IdlePreview IdlePreview

	// FirstRule is the first rule of a new subscription, to be filled in; nil means a rule that
	// selects everything. It has no name field, and To returns the form again when rows are added.
	// SuggestedFrom are the names of the messages that it was suggested from, if any.
	FirstRule     *lab.RuleFields
	SuggestedFrom []string
	Rules         []lab.Rule // of an existing subscription
	AddRule       string     // address that adds a rule that selects everything; empty if it has one
}

// QueryPreview is the query parameter of a form that is only to be previewed, not saved.
const QueryPreview = "try"

// QuerySelfForward is the query parameter of a form whose user was warned that the entity would forward
// to itself.
const QuerySelfForward = "itself"

// A PropertyField is a property of an entity as a form field. The catalogue has its label and limits
// by name. A checkbox sends "true" or, when off, nothing; a fixed property sends nothing.
type PropertyField struct {
	Name    string // Service Bus name, and the control's name
	Type    PropertyFieldType
	Value   string // as typed, or as stored: "5m", "10", "true", "never"
	Default string // as shown
	Was     string // the stored value, if Value differs from it

	Least, Most string   // the limits, as shown: "5s"; empty means none
	Options     []string // for a ChoiceField: its values; for an EntityField: suggested entities

	Fixed    bool // it cannot be changed any more
	NoEffect bool // without effect, because the entity forwards its messages
	Error    component.Text
}

// A PropertyFieldType is the type of a property's control.
type PropertyFieldType string

// The types.
const (
	DurationField PropertyFieldType = "duration"
	NumberField   PropertyFieldType = "number"
	SwitchField   PropertyFieldType = "switch"
	ChoiceField   PropertyFieldType = "choice"
	TextField     PropertyFieldType = "text"
	EntityField   PropertyFieldType = "entity"
)

// TTLPreview is what a change would do to the stored messages. The zero value shows nothing.
type TTLPreview struct {
	TTL      string // the new time to live, as shown
	Expire   int    // messages that would expire at once
	Of       int    // messages without a time to live of their own
	Fate     component.ExpiryOutcome
	OwnTTL   int // messages that keep their own time to live
	Locked   int // locked messages, which stay for now
	Deferred int // deferred messages, which expire when asked for
}

// IdlePreview is what another idle time would do. The zero value shows nothing.
type IdlePreview struct {
	Is            string    // the new time, as shown; empty for never
	Never         bool      // it would not be deleted automatically any more
	Why           string    // why it would stay for now anyway; empty if it would be deleted
	At            time.Time // when it would be deleted if it is changed now and not used
	Messages      int       // messages deleted with it, dead letters included
	Subscriptions int       // subscriptions deleted with it, for a topic
}

// visible reports whether there is anything to show.
func (i IdlePreview) visible() bool { return i.Is != "" || i.Never }

// Full returns the whole page.
func (m Form) Full() templ.Component { return entityForm(m) }

// Watches returns nil, because the page is not live.
func (m Form) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m Form) Parts() []view.Part { return m.Shell.Parts() }
