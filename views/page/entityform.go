package page

import (
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// EntityForm creates or changes a queue, a topic or a subscription. It stands
// still: Shell.Live is left empty.
type EntityForm struct {
	Shell layout.Shell
	Kind  Kind
	New   bool
	Name  string // as typed; of an edit the entity's
	Topic string // of a subscription
	Href  string // of an edit the entity's page; of a new one the list it will be in

	Temporary bool // a new queue that deletes itself
	TopicHref string
	To        string // the address it posts to
	NameRule  string // the rule of names, as shown; empty: the usual one
	NameError component.Text
	Refused   component.Notice // what was wrong, above the form; zero: nothing
	Fields    []Setter         // in any order; the page groups them
	Changes   int              // how many fields differ from what is stored; zero: not counted

	Try    string // the address that says what a change would do and saves nothing; empty: nobody does
	WhatIf WhatIf
	IdleIf IdleIf

	// First is the rule that a new subscription begins with, to be filled in; nil:
	// it begins with one that takes everything. Its name is not asked for, and To
	// answers with the form again when rows are added. Like are what the messages
	// are called that it was proposed from; none: it was not.
	First   *RuleFields
	Like    []string
	Rules   []Rule // of a subscription that is there
	AddRule string // the address that adds a rule that takes everything; empty: it has one
}

// Try is the parameter of the address of a form that is not to be kept, only to
// say what it would do.
const Try = "try"

// A Setter is a property of an entity as a form asks for it. Label and limits
// stand in the catalogue by its name. A switch sends "true" or, when off,
// nothing; a fixed property sends nothing.
type Setter struct {
	Name    string // Service Bus' name, and the control's
	Type    SetterType
	Value   string // as typed, or as stored: "5m", "10", "true", "never"
	Default string // as shown
	Was     string // what is stored, if Value differs from it

	Least, Most string   // the limits, as shown: "5s"; empty: none
	Options     []string // of a Choice: the names; of an EntityPath: the entities there are

	Fixed bool // it cannot be changed any more
	Error component.Text
}

// A SetterType is how a property is filled in.
type SetterType string

// The types there are.
const (
	Duration   SetterType = "duration"
	Number     SetterType = "number"
	OnOff      SetterType = "switch"
	Choice     SetterType = "choice"
	Prose      SetterType = "text"
	EntityPath SetterType = "entity"
)

// WhatIf says what a change would do to the messages that are there. Its zero
// value is that nothing is said.
type WhatIf struct {
	TTL     string // the new time to live, as shown
	Expire  int    // messages that would run out at once
	Of      int    // messages without a time of their own
	Fate    component.Fate
	Own     int // messages that keep a time of their own
	Locked  int // messages a lock keeps for now
	Dormant int // deferred ones, which die when asked for
}

// IdleIf says what another time to idle would do. Its zero value is that nothing
// is said.
type IdleIf struct {
	Is            string    // the new time, as shown; empty for never
	Never         bool      // it would not delete itself any more
	Why           string    // why it would stay for now all the same; empty: it would go
	At            time.Time // when it would go, if it is changed now and nobody uses it then
	Messages      int       // that would go with it, dead letters and all
	Subscriptions int       // likewise, of a topic
}

// said tells whether there is anything to say.
func (i IdleIf) said() bool { return i.Is != "" || i.Never }

// Full is the page.
func (m EntityForm) Full() templ.Component { return entityForm(m) }

// Watches is nil; the page stands still.
func (m EntityForm) Watches() []string { return nil }

// Parts is what is live in the page: the shell.
func (m EntityForm) Parts() []view.Part { return m.Shell.Parts() }
