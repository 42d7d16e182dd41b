package job

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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
// Query. Everywhere, no dead letter is active.
type Plan struct {
	Kind     Kind          `json:"kind"`
	Messages Chosen        `json:"messages,omitempty"`
	Paths    []engine.Path `json:"paths,omitempty"`
	State    string        `json:"state,omitempty"` // active, deferred or scheduled; empty: any
	Query    string        `json:"query,omitempty"` // as engine/search has it

	To             engine.Path    `json:"to,omitempty"`             // of Move and Copy
	DropDuplicates bool           `json:"dropDuplicates,omitempty"` // of Resubmit, Move and Copy; else duplicates are refused
	Reason         string         `json:"reason,omitempty"`         // of DeadLetter
	Description    string         `json:"description,omitempty"`    // of DeadLetter
	By             time.Duration  `json:"by,omitempty"`             // of Extend
	Until          engine.Instant `json:"until,omitempty"`          // of Reschedule
	Of             ID             `json:"of,omitempty"`             // of Undo
	Sends          *Sends         `json:"sends,omitempty"`          // of Send, until it is done
	Imports        *Imports       `json:"imports,omitempty"`        // of Import

	// Once is a word that whoever asks gives out once, with a form for instance: the
	// same plan with the same word is one job, however often it is asked for. Empty:
	// each time is another. Of a job it is what such a plan is known by.
	Once string `json:"once,omitempty"`
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

// known is p with Once as a job has it: the same for the same plan and word alone.
func (p Plan) known() Plan {
	if p.Once == "" {
		return p
	}
	same := p
	if p.Sends != nil { // what is random in it is drawn anew for each that asks
		same.Sends = &Sends{Draft: p.Sends.Draft}
	}
	if p.Imports != nil { // it is imported once, whatever becomes of times and ids
		same.Imports = &Imports{Word: p.Imports.Word}
	}
	raw, err := json.Marshal(same)
	if err != nil {
		panic(err) // texts and numbers
	}
	sum := sha256.Sum256(raw)
	p.Once = base64.RawStdEncoding.EncodeToString(sum[:])
	return p
}

// Ruins tells whether a plan does away with messages, or with time that may be all
// they have.
func (p Plan) Ruins() bool { return p.Kind.Destructive() || p.By < 0 }

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
		there := map[string]int64{} // in the state of the plan, by folded path
		for _, room := range r.Rooms(p.class()) {
			there[room.Path.Fold()] = int64(room.Messages)
		}
		add := func(e engine.EntityState, path engine.Path) {
			n := there[path.Fold()]
			if !q.Covers(path) || n == 0 || len(p.Paths) == 0 && path.IsDeadLetter() && !p.meansDead() {
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

// meansDead tells whether a plan that names no paths means dead letters: those in a
// state that a search finds them in, too.
func (p Plan) meansDead() bool { return p.State == "" || p.State == "deferred" }
