package job

import (
	"cmp"

	"mayfly/engine"
)

// An ID is a job's number, from 1 in the order in which jobs were started.
type ID int64

// A Kind is what a job does to each message.
type Kind string

// The kinds of jobs.
const (
	Resubmit   Kind = "resubmit"         // a dead letter back to where it died (OPS-1)
	Copy       Kind = "copy"             // a copy of it goes there, or to Plan.To (OPS-2)
	Move       Kind = "move"             // to Plan.To (OPS-10)
	Delete     Kind = "delete"           // each with an event of its own (OPS-5)
	Purge      Kind = "purge"            // delete, with one event for a slice (OPS-7)
	DeadLetter Kind = "dead-letter"      // (OPS-5)
	Extend     Kind = "extend"           // their time to live, by Plan.By (OPS-3)
	Reschedule Kind = "reschedule"       // scheduled ones, to Plan.Until (OPS-8)
	SendNow    Kind = "send-now"         // scheduled ones (OPS-8)
	Return     Kind = "return-to-active" // deferred ones (OPS-4)
	Undo       Kind = "undo"             // of another job; only Jobs.Undo makes it
	Send       Kind = "send"             // new messages, to Plan.To; only Jobs.Send makes it
	Import     Kind = "import"           // those of a file, to Plan.To; only Jobs.Import makes it
)

// Kinds are those that a plan may have.
func Kinds() []Kind {
	return []Kind{Resubmit, Copy, Move, Delete, Purge, DeadLetter, Extend, Reschedule, SendNow, Return}
}

// Destructive tells whether messages are gone afterwards.
func (k Kind) Destructive() bool { return k == Delete || k == Purge }

// A State is how a job is doing.
type State string

// The states of jobs.
const (
	Waiting     State = "waiting"     // for others to end
	Running     State = "running"     //
	Done        State = "done"        // it came to its end, whatever became of each message
	Cancelled   State = "cancelled"   // somebody stopped it
	Failed      State = "failed"      // see Job.Why
	Interrupted State = "interrupted" // the server ended while it ran or waited
)

// Over tells whether a job in this state does nothing any more.
func (s State) Over() bool { return s != Waiting && s != Running }

// Counts are messages of a job.
type Counts struct {
	Total   int64 `json:"total"`   // to look at
	Seen    int64 `json:"seen"`    // looked at
	Done    int64 `json:"done"`    // done to
	Skipped int64 `json:"skipped"` // were locked, gone or elsewhere when their turn came
	Failed  int64 `json:"failed"`  // refused
}

// A Failure is a message that was refused.
type Failure struct {
	Key  engine.Key  `json:"key,string"`
	Path engine.Path `json:"path"`
	Seq  engine.Seq  `json:"sequenceNumber"`
	Line int64       `json:"line,omitempty"` // of an import: where it stands in the file, from 1; it has no key then
	Why  string      `json:"reason"`         // a sentence
}

func (f Failure) size() int { return len(f.Path) + len(f.Why) }

// MostFailures is how many failures a job remembers, fewer if they are long.
const MostFailures = 100

// A Job is what is known of one.
type Job struct {
	ID       ID             `json:"id"`
	Plan     Plan           `json:"plan"`
	Actor    string         `json:"actor"`             // who started it
	Resumer  string         `json:"resumer,omitempty"` // who had it go on, the last time
	State    State          `json:"state"`
	Why      string         `json:"why,omitempty"` // of a failed one: a sentence
	Started  engine.Instant `json:"started"`       // when it was asked for
	Ended    engine.Instant `json:"ended,omitempty"`
	Counts   Counts         `json:"counts"`
	Failures []Failure      `json:"failures,omitempty"` // the first MostFailures
	UndoneBy ID             `json:"undoneBy,omitempty"` // the job that took it back

	Places  []Place `json:"places,omitempty"`  // where it looks; fixed at the start
	Cursor  Cursor  `json:"cursor"`            // where the next slice begins
	Spot    Spot    `json:"spot,omitzero"`     // likewise, of an import
	Undoing int     `json:"undoing,omitempty"` // records with what may be taken back
	Undoes  int64   `json:"undoes,omitempty"`  // messages in them
	TooMany bool    `json:"tooMany,omitempty"` // it did more than can be taken back
}

// A Place is where a job looks for messages.
type Place struct {
	Path   engine.Path     `json:"path"`
	Entity engine.HolderID `json:"entity,string"` // who comes after it under that name is spared
	Bound  engine.Seq      `json:"bound"`         // exclusive: later messages are spared
}

// A Cursor is where a job has come to: a place, or for chosen messages and an undo the
// index of one, and the number there.
type Cursor struct {
	At   int        `json:"at,omitempty"`
	From engine.Seq `json:"from,omitempty"`
}

// hand is in whose name a job does what it does.
func (j Job) hand() string { return cmp.Or(j.Resumer, j.Actor) }

// Undoable tells whether a job can be taken back, as far as it is known without a look
// at the messages.
func (j Job) Undoable() bool {
	return j.State.Over() && j.UndoneBy == 0 && j.Undoes > 0 && !j.TooMany
}

// Resumable tells whether a job can go on where it stopped.
func (j Job) Resumable() bool {
	if j.Plan.Kind == Import && j.State == Interrupted { // its feed went with the server
		return false
	}
	return j.UndoneBy == 0 && (j.State == Cancelled || j.State == Failed || j.State == Interrupted)
}
