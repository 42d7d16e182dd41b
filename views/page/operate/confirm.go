package operate

import (
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/page/entity"
	"mayfly/views/page/list"
	"mayfly/views/view"
)

// Confirm asks to confirm an action with its exact number, and for its parameters. It is not
// live: Shell.Live is left empty.
type Confirm struct {
	Shell  layout.Shell
	Verb   Verb
	To     string         // the address it posts to
	Cancel string         // target of Cancel
	Entity page.EntityRef // the entity that is deleted or purged, or that holds the messages

	// Count is how many messages the action affects; for an entity that is deleted, how many it
	// holds. It is sent along as count and checked again. Purge does not use it, and sends the
	// number of each state.
	Count   int
	Subject string   // of the only message; empty means several, or an entity
	Sample  []string // names of some of the messages, if there are several

	States      []StateLine       // how many in each state, exactly
	Contents    []string          // deleted with it: "3 subscriptions"
	Status      entity.Status     // for SetStatus: the new status; Entity.Name is then the entity's name alone
	DuplicateAt string            // for Resubmit: the entity that has seen the ids and would drop the messages; empty means none
	Left        int               // locked messages, which are skipped
	Filter      PurgeFilter       // for Purge
	Preview     []list.MessageRow // for Purge: a few of the messages it removes
	Now         time.Time         // when Preview was read
	Export      string            // address of a file with all affected messages; empty means none
	// Entities are suggested as the target of MoveTo.
	Entities []string
	Hidden   []page.HiddenField // sent along: the keys of several messages, a lock token

	Type      string // text to type as confirmation; empty means none
	TypeError component.Text

	Values  map[string]string // typed values of the inputs below
	Errors  map[string]component.Text
	Refused component.Notice // why it failed; zero means first attempt
}

// A Verb is the action to confirm.
type Verb string

// The verbs.
const (
	DeleteEntity     Verb = "delete-entity"
	Purge            Verb = "purge"
	DeleteMessages   Verb = "delete"
	MoveToDeadLetter Verb = "dead-letter" // asks for FieldReason and FieldDescription
	CancelSchedule   Verb = "cancel"
	Reschedule       Verb = "reschedule" // asks for SendSchedule, SendIn and SendAt
	Extend           Verb = "extend"     // asks for FieldBy
	Resubmit         Verb = "resubmit"   // asks for FieldHow
	SetStatus        Verb = "status"     // sends FieldTo along
	MoveTo           Verb = "move"       // asks for FieldTo and FieldHow
)

// A StateLine is the number of affected messages in a state.
type StateLine struct {
	State  page.State
	N      int
	Picked bool   // for Purge: selected
	Export string // address of a file with these messages; empty means none
}

// A PurgeFilter selects messages of the chosen states. The zero value selects all.
type PurgeFilter struct {
	Text      string
	MaxLength int // characters
	Fault     component.SyntaxError
	Error     component.Text // other error of the filter

	Counted    bool // the numbers below are valid for Text and the selected states
	Matching   int
	Unexamined int // not examined: up to this many more match
	Failed     int // the filter cannot be evaluated; they stay
}

// Full returns the whole page.
func (m Confirm) Full() templ.Component { return confirm(m) }

// Dialog returns the form of the page.
func (m Confirm) Dialog() templ.Component { return confirmForm(m) }

// Watches returns nil, because the page is not live.
func (m Confirm) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m Confirm) Parts() []view.Part { return m.Shell.Parts() }
