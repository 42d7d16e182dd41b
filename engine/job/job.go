package job

import (
	"cmp"

	"mayfly/engine"
)

// An ID is a job's number, counted from 1 in the order in which jobs were started.
type ID int64

// A Kind is what a job does to each message.
type Kind string

const (
	Resubmit   Kind = "resubmit"         // moves a dead letter back to its queue or subscription (OPS-1)
	Copy       Kind = "copy"             // copies a dead letter to its queue or subscription, or any message to Plan.To (OPS-2)
	Move       Kind = "move"             // moves a message to Plan.To (OPS-10)
	Delete     Kind = "delete"           // deletes messages, with an event for each (OPS-5)
	Purge      Kind = "purge"            // deletes messages, with one event for each slice (OPS-7)
	DeadLetter Kind = "dead-letter"      // moves a message to the dead-letter queue (OPS-5)
	Extend     Kind = "extend"           // changes the time to live by Plan.ExtendBy (OPS-3)
	Reschedule Kind = "reschedule"       // sets the time of scheduled messages to Plan.RescheduleTo (OPS-8)
	SendNow    Kind = "send-now"         // activates scheduled messages (OPS-8)
	Return     Kind = "return-to-active" // activates deferred messages (OPS-4)
	Undo       Kind = "undo"             // undoes another job; created only by Jobs.Undo
	Send       Kind = "send"             // sends new messages to Plan.To; created only by Jobs.Send
	Import     Kind = "import"           // sends a file's messages to Plan.To; created only by Jobs.Import
)

// Kinds returns the kinds that a plan may have.
func Kinds() []Kind {
	return []Kind{Resubmit, Copy, Move, Delete, Purge, DeadLetter, Extend, Reschedule, SendNow, Return}
}

// Destructive reports whether the job deletes messages.
func (k Kind) Destructive() bool { return k == Delete || k == Purge }

// A State is the state of a job.
type State string

const (
	Waiting     State = "waiting" // for other jobs to end
	Running     State = "running"
	Done        State = "done"        // it processed all messages, with or without success
	Cancelled   State = "cancelled"   // a user stopped it
	Failed      State = "failed"      // see Job.Reason
	Interrupted State = "interrupted" // the server ended while it ran or waited
)

// Stopped reports whether a job in this state has stopped.
func (s State) Stopped() bool { return s != Waiting && s != Running }

// Counts counts messages of a job.
type Counts struct {
	Total   int64 `json:"total"`   // to examine
	Seen    int64 `json:"seen"`    // examined
	Done    int64 `json:"done"`    // changed
	Skipped int64 `json:"skipped"` // locked, deleted or moved before the job reached them
	Failed  int64 `json:"failed"`  // refused
}

// A Failure is a refused message.
type Failure struct {
	Key    engine.Key  `json:"key,string"`
	Path   engine.Path `json:"path"`
	Seq    engine.Seq  `json:"sequenceNumber"`
	Line   int64       `json:"line,omitempty"` // for an import: its line in the file, from 1; Key is zero then
	Reason string      `json:"reason"`         // a sentence
}

func (f Failure) size() int { return len(f.Path) + len(f.Reason) }

// MaxFailures is how many failures a job records at most; fewer if their texts are long.
const MaxFailures = 100

// A Job is a job's plan, state and progress.
type Job struct {
	ID       ID             `json:"id"`
	Plan     Plan           `json:"plan"`
	Actor    string         `json:"actor"`             // user who started it
	Resumer  string         `json:"resumer,omitempty"` // user who resumed it last
	State    State          `json:"state"`
	Reason   string         `json:"why,omitempty"` // why it failed, as a sentence
	Started  engine.Instant `json:"started"`       // when it was requested
	Ended    engine.Instant `json:"ended,omitempty"`
	Counts   Counts         `json:"counts"`
	Failures []Failure      `json:"failures,omitempty"` // the first MaxFailures
	UndoneBy ID             `json:"undoneBy,omitempty"` // the job that undid it

	Subqueues     []Subqueue   `json:"places,omitempty"`  // where it looks for messages; fixed at the start
	Cursor        Cursor       `json:"cursor"`            // where the next slice begins
	FeedPosition  FeedPosition `json:"spot,omitzero"`     // where the next slice of an import begins
	UndoRecords   int          `json:"undoing,omitempty"` // number of undo records
	UndoMessages  int64        `json:"undoes,omitempty"`  // messages in them
	TooManyToUndo bool         `json:"tooMany,omitempty"` // it changed more messages than can be undone
}

// A Subqueue is a subqueue in which a job looks for messages.
type Subqueue struct {
	Path       engine.Path       `json:"path"`
	SubqueueID engine.SubqueueID `json:"entity,string"` // a later entity with the same name is not touched
	Bound      engine.Seq        `json:"bound"`         // exclusive; later messages are not touched
}

// A Cursor is the position of a job: the index of a subqueue and a sequence number in it, or the
// index of a selected message, or for an undo the index of a record and how many of its messages
// are done.
type Cursor struct {
	Index int        `json:"at,omitempty"`
	From  engine.Seq `json:"from,omitempty"`
}

// operationActor returns the actor of the job's operations.
func (j Job) operationActor() string { return cmp.Or(j.Resumer, j.Actor) }

// Undoable reports whether a job can be undone, judging by its record alone: all its messages may
// have been changed since.
func (j Job) Undoable() bool {
	return j.State.Stopped() && j.UndoneBy == 0 && j.UndoMessages > 0 && !j.TooManyToUndo
}

// Resumable reports whether a job can continue where it stopped.
func (j Job) Resumable() bool {
	if j.Plan.Kind == Import && j.State == Interrupted { // its feed was lost when the server ended
		return false
	}
	return j.UndoneBy == 0 && (j.State == Cancelled || j.State == Failed || j.State == Interrupted)
}
