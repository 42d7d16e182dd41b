package job

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
)

// Bounds of a plan.
const (
	MostMessages = 5000 // that may be chosen one by one
	MostPlaces   = 500  // that a query may be asked about
)

// A Plan is what a job is to do. Either Messages are those that were chosen, or the
// messages at Paths, or everywhere if there are none, that are in State and match
// Query.
type Plan struct {
	Kind     Kind            `json:"kind"`
	Messages []engine.Target `json:"messages,omitempty"`
	Paths    []engine.Path   `json:"paths,omitempty"`
	State    string          `json:"state,omitempty"` // active, deferred or scheduled; empty: any
	Query    string          `json:"query,omitempty"` // as engine/search has it

	To             engine.Path    `json:"to,omitempty"`             // of Move and Copy
	DropDuplicates bool           `json:"dropDuplicates,omitempty"` // of Resubmit, Move and Copy; else duplicates are refused
	Reason         string         `json:"reason,omitempty"`         // of DeadLetter
	Description    string         `json:"description,omitempty"`    // of DeadLetter
	By             time.Duration  `json:"by,omitempty"`             // of Extend
	Until          engine.Instant `json:"until,omitempty"`          // of Reschedule
	Of             ID             `json:"of,omitempty"`             // of Undo
}

func refuse(kind error, format string, args ...any) error {
	return &engine.Refusal{Kind: kind, Text: fmt.Sprintf(format, args...)}
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

// check says what is wrong with a plan, whatever the namespace has.
func (p Plan) check(now engine.Instant, l engine.Limits) (*search.Query, error) {
	runes := func(s string) int64 { return int64(len([]rune(s))) }
	switch {
	case !slices.Contains(Kinds(), p.Kind):
		return nil, refuse(engine.ErrArgument, "There is no such job; there are %s.", kindsInWords())
	case len(p.Messages) > MostMessages:
		return nil, refuse(engine.ErrOutOfRange, "There are %d messages; at most %d are chosen one by one.", len(p.Messages), MostMessages)
	case len(p.Paths) > MostPlaces:
		return nil, refuse(engine.ErrOutOfRange, "There are %d paths; at most %d can be given.", len(p.Paths), MostPlaces)
	case len(p.Messages) > 0 && (len(p.Paths) > 0 || p.Query != "" || p.State != ""):
		return nil, refuse(engine.ErrArgument, "Give messages, or where they are and what they match, not both.")
	case len(p.Messages)+len(p.Paths) == 0 && p.Query == "":
		return nil, refuse(engine.ErrArgument, "Say which messages: by their keys, by paths, or by a query.")
	case p.State != "" && p.class() == engine.ClassAll:
		return nil, refuse(engine.ErrArgument, "The states are active, deferred and scheduled.")
	case p.Kind == Move && p.To == "":
		return nil, refuse(engine.ErrArgument, "Say where to move them.")
	case p.To != "" && p.Kind != Move && p.Kind != Copy:
		return nil, refuse(engine.ErrArgument, "'to' is for move and copy.")
	case (p.Reason != "" || p.Description != "") && p.Kind != DeadLetter:
		return nil, refuse(engine.ErrArgument, "A reason is for dead letters.")
	case runes(p.Reason) > l.ReasonLength || runes(p.Description) > l.ReasonLength:
		return nil, refuse(engine.ErrOutOfRange, "A reason, and a description, has at most %d characters.", l.ReasonLength)
	case p.Kind == Extend && p.By == 0:
		return nil, refuse(engine.ErrArgument, "Say by how much to extend.")
	case p.Kind != Extend && p.By != 0:
		return nil, refuse(engine.ErrArgument, "'by' is for extend.")
	case p.Kind == Reschedule && p.Until <= now:
		return nil, refuse(engine.ErrOutOfRange, "Say when to send them, a time ahead; use send-now instead.")
	case p.Kind != Reschedule && p.Until != 0:
		return nil, refuse(engine.ErrArgument, "'until' is for reschedule.")
	}
	return search.Parse(p.Query) //nolint:wrapcheck // it says what it is about
}

func kindsInWords() (text string) {
	for i, k := range Kinds() {
		if i > 0 {
			text += ", "
		}
		text += string(k)
	}
	return text
}

// deed is what a plan does to a message.
func (p Plan) deed(t engine.Target) engine.Deed {
	d := engine.Deed{Target: t, To: p.To, DropDuplicate: p.DropDuplicates, Reason: p.Reason, Description: p.Description, By: p.By, Until: p.Until}
	d.Kind = map[Kind]engine.DeedKind{
		Resubmit: engine.DeedMove, Copy: engine.DeedCopy, Move: engine.DeedMove, Delete: engine.DeedDelete, Purge: engine.DeedPurge,
		DeadLetter: engine.DeedDeadLetter, Extend: engine.DeedExtend, Reschedule: engine.DeedReschedule, SendNow: engine.DeedSendNow, Return: engine.DeedReturn,
	}[p.Kind]
	return d
}

// suits tells whether what a plan does can be done to a message at all: a query
// passes others over.
func (p Plan) suits(r engine.Row) bool {
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

// places are where a plan looks, and how many messages there are.
func (p Plan) places(ctx context.Context, b *broker.Broker, q *search.Query) (all []Place, total int64, err error) {
	err = b.Read(ctx, func(r broker.Reader) error {
		all, total = nil, 0
		add := func(e engine.EntityState, path engine.Path) {
			n := p.within(e.Counts, path)
			if !q.Covers(path) || n == 0 {
				return
			}
			all, total = append(all, Place{Path: path, Entity: e.ID, Bound: e.NextSeq}), total+n
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
				return err //nolint:wrapcheck // it says what it is about
			}
			if !seen[path.Fold()] {
				seen[path.Fold()] = true
				add(e, path)
			}
		}
		return nil
	})
	if err == nil && len(all) > MostPlaces {
		err = refuse(engine.ErrOutOfRange, "%d places have messages; at most %d are looked at. Say which with in: or paths.", len(all), MostPlaces)
	}
	return all, total, err //nolint:wrapcheck // it says what it is about
}

// within is how many messages a place has in the state of the plan; locked ones
// too where it has none.
func (p Plan) within(c engine.Counts, path engine.Path) int64 {
	switch {
	case path.IsTransfer():
		return c.TransferDeadLetter
	case path.IsDeadLetter():
		return c.DeadLetter
	}
	switch p.class() {
	case engine.ClassActive:
		return c.Active
	case engine.ClassDeferred:
		return c.Deferred
	case engine.ClassScheduled:
		return c.Scheduled
	default:
		return c.Active + c.Locked + c.Deferred + c.Scheduled
	}
}
