package job

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
)

const (
	MaxMessages  = 5000 // messages that may be selected one by one
	MaxSubqueues = 500  // subqueues that a query may cover
)

// A Plan is what a job is to do. It applies either to Messages, or to the messages at Paths that
// are in State and match Query. Without Paths, it applies to the whole namespace; then State
// "active" excludes dead letters.
type Plan struct {
	Kind     Kind          `json:"kind"`
	Messages Selection     `json:"messages,omitempty"`
	Paths    []engine.Path `json:"paths,omitempty"`
	State    string        `json:"state,omitempty"` // active, deferred or scheduled; empty means any
	Query    string        `json:"query,omitempty"` // in the syntax of engine/search

	To             engine.Path    `json:"to,omitempty"`             // for Move and Copy
	DropDuplicates bool           `json:"dropDuplicates,omitempty"` // for Resubmit, Move and Copy; else duplicates are refused
	Reason         string         `json:"reason,omitempty"`         // for DeadLetter
	Description    string         `json:"description,omitempty"`    // for DeadLetter
	ExtendBy       time.Duration  `json:"by,omitempty"`             // for Extend
	RescheduleTo   engine.Instant `json:"until,omitempty"`          // for Reschedule
	UndoOf         ID             `json:"of,omitempty"`             // for Undo
	SendSpec       *SendSpec      `json:"sends,omitempty"`          // for Send, until it is done
	ImportSpec     *ImportSpec    `json:"imports,omitempty"`        // for Import

	// IdempotencyKey is a key that the caller uses for one plan, issued with a form for instance:
	// the same plan with the same key starts one job, however often it is submitted. If it is
	// empty, each submission starts a job. In a Job it is a hash of plan and key.
	IdempotencyKey string `json:"once,omitempty"`
}

func (p Plan) class() engine.Class {
	switch p.State {
	case "active":
		return engine.ClassActive
	case "deferred":
		return engine.ClassDeferred
	case "scheduled":
		return engine.ClassScheduled
	default:
		return engine.ClassAll
	}
}

// check returns the plan's parsed query, or an error if the plan is invalid regardless of the
// namespace.
func (p Plan) check(now engine.Instant, l engine.Limits) (*search.Query, error) {
	runes := func(s string) int64 { return int64(len([]rune(s))) }
	switch {
	case !slices.Contains(Kinds(), p.Kind):
		return nil, engine.Refuse(engine.ErrArgument, "Unknown kind of job. Choose from %s.", joinKinds())
	case len(p.Messages) > MaxMessages:
		return nil, engine.Refuse(engine.ErrOutOfRange, "%d messages are selected; the maximum is %d. Select them by a query instead.", len(p.Messages), MaxMessages)
	case len(p.Paths) > MaxSubqueues:
		return nil, engine.Refuse(engine.ErrOutOfRange, "%d paths are given; the maximum is %d.", len(p.Paths), MaxSubqueues)
	case len(p.Messages) > 0 && (len(p.Paths) > 0 || p.Query != "" || p.State != ""):
		return nil, engine.Refuse(engine.ErrArgument, "Give either keys of messages, or paths, a query and a state, not both.")
	case len(p.Messages)+len(p.Paths) == 0 && p.Query == "":
		return nil, engine.Refuse(engine.ErrArgument, "No messages are selected. Give their keys, paths or a query.")
	case p.State != "" && p.class() == engine.ClassAll:
		return nil, engine.Refuse(engine.ErrArgument, "The state must be active, deferred or scheduled.")
	case p.Kind == Move && p.To == "":
		return nil, engine.Refuse(engine.ErrArgument, "The destination is missing. Enter a queue or topic.")
	case p.To != "" && p.Kind != Move && p.Kind != Copy:
		return nil, engine.Refuse(engine.ErrArgument, "'to' is only valid for move and copy.")
	case (p.Reason != "" || p.Description != "") && p.Kind != DeadLetter:
		return nil, engine.Refuse(engine.ErrArgument, "A reason is only valid for dead-lettering.")
	case runes(p.Reason) > l.ReasonLength || runes(p.Description) > l.ReasonLength:
		return nil, engine.Refuse(engine.ErrOutOfRange, "A reason or description must not be longer than %d characters.", l.ReasonLength)
	case p.Kind == Extend && p.ExtendBy == 0:
		return nil, engine.Refuse(engine.ErrArgument, "The extension is missing. Enter a duration such as 1h.")
	case p.Kind != Extend && p.ExtendBy != 0:
		return nil, engine.Refuse(engine.ErrArgument, "'by' is only valid for extend.")
	case p.Kind == Reschedule && p.RescheduleTo <= now:
		return nil, engine.Refuse(engine.ErrOutOfRange, "The new enqueue time must be in the future. To send messages at once, use send-now.")
	case p.Kind != Reschedule && p.RescheduleTo != 0:
		return nil, engine.Refuse(engine.ErrArgument, "'scheduledEnqueueTime' is only valid for reschedule.")
	}
	return search.Parse(p.Query)
}

func joinKinds() (text string) {
	for i, k := range Kinds() {
		if i > 0 {
			text += ", "
		}
		text += string(k)
	}
	return text
}

// identified returns p with IdempotencyKey replaced by a hash of the plan and the key.
func (p Plan) identified() Plan {
	if p.IdempotencyKey == "" {
		return p
	}
	same := p
	if p.SendSpec != nil { // without the seed, which differs in each request
		same.SendSpec = &SendSpec{Draft: p.SendSpec.Draft}
	}
	if p.ImportSpec != nil { // without Remap: the same file is imported once, however times and ids change
		same.ImportSpec = &ImportSpec{FeedID: p.ImportSpec.FeedID}
	}
	raw, err := json.Marshal(same)
	if err != nil {
		panic(err) // texts and numbers
	}
	sum := sha256.Sum256(raw)
	p.IdempotencyKey = base64.RawStdEncoding.EncodeToString(sum[:])
	return p
}

// Destructive reports whether a plan deletes messages, or shortens their time to live so that they
// may expire.
func (p Plan) Destructive() bool { return p.Kind.Destructive() || p.ExtendBy < 0 }

// operation returns the plan's operation on a message.
func (p Plan) operation(t engine.Target) engine.Operation {
	d := engine.Operation{Target: t, To: p.To, DropDuplicate: p.DropDuplicates, Reason: p.Reason, Description: p.Description, ExtendBy: p.ExtendBy, Until: p.RescheduleTo}
	d.Kind = map[Kind]engine.OperationKind{
		Resubmit: engine.OperationMove, Copy: engine.OperationCopy, Move: engine.OperationMove, Delete: engine.OperationDelete, Purge: engine.OperationPurge,
		DeadLetter: engine.OperationDeadLetter, Extend: engine.OperationExtend, Reschedule: engine.OperationReschedule, SendNow: engine.OperationSendNow, Return: engine.OperationReturn,
	}[p.Kind]
	return d
}

// appliesTo reports whether the plan's operation is possible for a message at all. Jobs with a query
// ignore other messages.
func (p Plan) appliesTo(r engine.Row) bool {
	dead, state := r.Path.IsDeadLetter(), r.Message.State
	switch p.Kind {
	case Resubmit:
		return dead
	case Copy:
		return state != engine.Scheduled && (dead || p.To != "")
	case Move:
		return state != engine.Scheduled && r.Path.Fold() != p.To.Fold()
	case DeadLetter, Extend:
		return !dead && state != engine.Scheduled
	case Reschedule, SendNow:
		return state == engine.Scheduled
	case Return:
		return state == engine.Deferred
	default:
		return true
	}
}

// subqueues returns the subqueues in which a plan looks for messages, and the number of messages
// in them.
func (p Plan) subqueues(ctx context.Context, b *broker.Broker, q *search.Query) (all []Subqueue, total int64, err error) {
	err = b.Read(ctx, func(r broker.Reader) error {
		all, total = nil, 0
		there := map[string]int64{} // messages in the state of the plan, by folded path
		for _, subqueue := range r.SubqueuesWith(p.class()) {
			there[subqueue.Path.Fold()] = int64(subqueue.Messages)
		}
		add := func(e engine.EntityState, path engine.Path) {
			n := there[path.Fold()]
			if !q.Covers(path) || n == 0 || len(p.Paths) == 0 && path.IsDeadLetter() && !p.includesDeadLetters() {
				return
			}
			all, total = append(all, Subqueue{Path: path, SubqueueID: e.ID, Bound: e.NextSeq}), total+n
		}
		if len(p.Paths) == 0 {
			for _, e := range r.States(0) {
				for _, path := range [...]engine.Path{e.Path, e.Path.DeadLetter(), e.Path.Transfer()} {
					add(e, path)
				}
			}
		}
		seen := map[string]bool{}
		for _, path := range p.Paths {
			e, err := r.State(path.Entity())
			if err != nil {
				return err
			}
			if !seen[path.Fold()] {
				seen[path.Fold()] = true
				add(e, path)
			}
		}
		return nil
	})
	if err == nil && len(all) > MaxSubqueues {
		err = engine.Refuse(engine.ErrOutOfRange, "%d queues and subqueues have messages; at most %d can be searched. Choose some with in: or paths.", len(all), MaxSubqueues)
	}
	return all, total, err
}

// includesDeadLetters reports whether a plan without paths includes dead letters: as in a search,
// none of them is active or scheduled.
func (p Plan) includesDeadLetters() bool { return p.State == "" || p.State == "deferred" }
