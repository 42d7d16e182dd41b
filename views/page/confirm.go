package page

import (
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// Confirm asks before something is done, with its exact number, and for what
// it needs to know. It stands still: Shell.Live is left empty.
type Confirm struct {
	Shell  layout.Shell
	Verb   Verb
	To     string // the address it posts to
	Cancel string // where Cancel leads
	In     Place  // the entity that is deleted or purged, or that holds the messages

	// N is how many messages it is done to; for an entity that is deleted, how
	// many go with it. It is sent along as count and checked again; of Purge it
	// is unused, and the number of each state is sent.
	N       int
	Subject string   // of the one message; empty: several, or an entity
	Sample  []string // what some of several are called

	States []StateLine  // how many in each state, exactly
	Goes   []string     // what else goes with it: "3 subscriptions"
	Status Status       // of SetStatus: what it is to be; In.Name is then the entity's name alone
	Seen   string       // of Resubmit: where ids were seen, so that what has them would be dropped; empty: nowhere
	Left   int          // messages that are locked and therefore left out
	Filter PurgeFilter  // of Purge
	First  []MessageRow // of Purge: a few of those that go
	Now    time.Time    // when these were looked at
	Export string       // the address of a file with all that would go; empty: none is offered
	// Entities are proposed as the destination of MoveTo.
	Entities []string
	Hidden   []HiddenField // sent along: the keys of several messages, a lock token

	Type      string // what must be typed to confirm; empty: nothing
	TypeError component.Text

	Values  map[string]string // what was typed into the inputs below
	Errors  map[string]component.Text
	Refused component.Notice // why it was not done; zero: it is the first time
}

// A Verb is what is to be done.
type Verb string

// The verbs there are.
const (
	DeleteEntity   Verb = "delete-entity"
	Purge          Verb = "purge"
	DeleteMessages Verb = "delete"
	MoveToDead     Verb = "dead-letter" // asks for AskReason and AskDescription
	CancelSchedule Verb = "cancel"
	Reschedule     Verb = "reschedule" // asks for SendSchedule, SendIn and SendAt
	Extend         Verb = "extend"     // asks for AskBy
	Resubmit       Verb = "resubmit"   // asks for AskHow
	SetStatus      Verb = "status"     // sends AskTo along
	MoveTo         Verb = "move"       // asks for AskTo and AskHow
)

// The names of the inputs of Confirm.
const (
	AskCount       = "count"      // the number that was shown
	AskCountOf     = "count-"     // of Purge, and a State: the number that was shown of that
	AskConfirm     = "confirm"    // what was typed
	AskState       = "state"      // of Purge, repeated: a State
	AskFilter      = "filter"     // of Purge: SQL; also in its address
	AskLook        = "look"       // of Purge, a submit: only count what matches
	AskCounted     = "counted"    // of Purge: the filter whose number was shown
	AskCountedOf   = "counted-of" // of Purge, repeated: a State of which it was
	AskMatching    = "matching"   // of Purge: that number, or the most that it can be
	AskReason      = "reason"
	AskDescription = "description"
	AskBy          = "by"   // a duration, added to the time left; a minus cuts it
	AskHow         = "how"  // "move" or "copy"
	AskToken       = "lock" // the lock token of a message received for inspection; also in its address
	AskKey         = "key"
	AskSession     = "session"   // of receiving: the session to take; empty: the next
	AskDuplicate   = "duplicate" // of Resubmit, "drop": where its id was seen it is dropped
	AskTo          = "to"        // of SetStatus, a Status; also in its address; of MoveTo, the path of an entity
	AskAll         = "all"       // of a table: not what was chosen, but all that match
)

// A StateLine is how many messages of one state are concerned.
type StateLine struct {
	State  State
	N      int
	Picked bool   // of Purge: whether it is chosen
	Export string // the address of a file with these; empty: none is offered
}

// A PurgeFilter picks those that go among the messages of the chosen states. Its
// zero value is none.
type PurgeFilter struct {
	Text  string
	Most  int // characters
	Fault component.Fault
	Error component.Text // what else is wrong with it

	Counted  bool // the numbers below are of Text and of the states that are picked
	Matching int
	Unseen   int // were too many to look at: so many more at the most
	Failed   int // cannot be judged, and stay
}

// A HiddenField is sent along unseen.
type HiddenField struct{ Name, Value string }

// Full is the page.
func (m Confirm) Full() templ.Component { return confirm(m) }

// Asks is the form of the page.
func (m Confirm) Asks() templ.Component { return confirmForm(m) }

// Watches is nil; the page stands still.
func (m Confirm) Watches() []string { return nil }

// Parts is what is live in the page: the shell.
func (m Confirm) Parts() []view.Part { return m.Shell.Parts() }
