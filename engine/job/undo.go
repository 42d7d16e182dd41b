package job

import (
	"context"
	"encoding/json"
	"fmt"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// undoPrefix begins the keys of what may be taken back.
const undoPrefix = "job-undo/"

func undoKey(id ID, i int) string { return fmt.Sprintf("%s%012d/%06d", undoPrefix, id, i) }

// A Reversal is how messages get back to what they were before some deeds were done
// to them. Its zero value takes nothing back.
type Reversal struct {
	Items []reversed `json:"items"`
}

// reversed is how one message gets back to what it was.
type reversed struct {
	Key    engine.Key      `json:"k,string"`
	Path   engine.Path     `json:"p"` // where it was left
	Seq    engine.Seq      `json:"s"`
	Do     engine.DeedKind `json:"d"`
	To     engine.Path     `json:"t,omitempty"`
	Reason string          `json:"r,omitempty"` // why it was a dead letter
	Descr  string          `json:"e,omitempty"`
	Until  engine.Instant  `json:"u,omitempty"`
	Count  uint32          `json:"c,omitempty"` // failed deliveries that it was left with
	State  engine.State    `json:"a,omitempty"` // in which it was left
	Left   engine.Instant  `json:"l,omitempty"` // of a time that was set: what it was set to
}

// Add notes how a deed is taken back. It is not noted where that cannot be, as where a
// message was deleted, sent now or went into a topic.
func (r *Reversal) Add(d engine.Deed, was engine.Deeded) {
	is, before := was.Is, was.Was
	if is == (engine.Target{}) {
		return
	}
	back := reversed{Key: is.Key, Path: is.Path, Seq: is.Seq}
	switch d.Kind {
	case engine.DeedMove:
		switch x := before.Message.Extra; {
		case before.Path.IsTransfer():
			return // nobody can send there
		case before.Path.IsDeadLetter():
			if is.Path.Fold() != before.Path.Entity().Fold() {
				return // it would be a dead letter of another place
			}
			back.Do = engine.DeedDeadLetter
			if x != nil {
				back.Reason, back.Descr = x.Reason, x.Description
			}
		default:
			back.Do, back.To = engine.DeedMove, before.Path
		}
	case engine.DeedCopy:
		back.Do = engine.DeedDelete
	case engine.DeedDeadLetter:
		back.Do, back.Count = engine.DeedMove, before.Message.DeliveryCount
	case engine.DeedExtend:
		back.Do, back.Until, back.Left = engine.DeedExtend, before.Message.ExpiresAt, was.Until
		back.Count, back.State = before.Message.DeliveryCount, before.Message.State
	case engine.DeedReschedule:
		back.Do, back.Until, back.Left = engine.DeedReschedule, before.Message.ScheduledFor, was.Until
		back.State = engine.Scheduled
	default:
		return
	}
	r.Items = append(r.Items, back)
}

// AddDeferred notes how a message gets back that was just deferred (OPS-4).
func (r *Reversal) AddDeferred(is engine.Row) {
	r.Items = append(r.Items, reversed{
		Key: is.Message.Key, Path: is.Path, Seq: is.Message.Seq, Do: engine.DeedReturn, Count: is.Message.DeliveryCount, State: engine.Deferred,
	})
}

// Deeds are what takes back now what can be, and how many messages somebody has
// touched since, which stay as they are.
func (r Reversal) Deeds(in broker.Reader) (deeds []engine.Deed, touched int) {
	for _, b := range r.Items {
		row, err := in.Message(b.Key)
		if err != nil || !b.untouched(row) {
			touched++
			continue
		}
		deeds = append(deeds, engine.Deed{
			Target: engine.Target{Key: b.Key, Path: b.Path, Seq: b.Seq}, Kind: b.Do, To: b.To, Reason: b.Reason, Description: b.Descr, Until: b.Until,
		})
	}
	return deeds, touched
}

// encode writes a reversal as values of settings, of at most so many bytes each.
func (r Reversal) encode(most int) (values []string) {
	raw, err := json.Marshal(r)
	if err != nil {
		panic(err) // texts and numbers
	}
	if n := len(r.Items); len(raw) > most && n > 1 {
		return append(Reversal{r.Items[:n/2]}.encode(most), Reversal{r.Items[n/2:]}.encode(most)...)
	}
	return []string{string(raw)}
}

// Undo starts a job that takes back what another has done: of those messages that
// nobody has touched since. Each job is taken back once.
func (j *Jobs) Undo(ctx context.Context, id ID, actor string) (Job, error) {
	j.starting.Lock()
	defer j.starting.Unlock()
	is, err := j.latest(ctx, id)
	if err != nil {
		return is, err
	}
	if !is.Undoable() {
		return is, refuse(engine.ErrNotAllowed, "%s", is.whyNotUndone())
	}
	return j.begin(ctx, Job{Plan: Plan{Kind: Undo, Of: id}, Actor: actor, Counts: Counts{Total: is.Undoes}}, nil, nil)
}

func (j Job) whyNotUndone() string {
	switch {
	case !j.State.Over():
		return fmt.Sprintf("Job %d is %s; cancel it first.", j.ID, j.State)
	case j.UndoneBy != 0:
		return fmt.Sprintf("Job %d was undone already, by job %d.", j.ID, j.UndoneBy)
	case j.TooMany:
		return fmt.Sprintf("Job %d did more than the %d messages that can be taken back.", j.ID, undoMost)
	default:
		return fmt.Sprintf("Job %d has done nothing that can be taken back.", j.ID)
	}
}

// pickUndo is the next slice of what a job takes back, with those messages that are
// still as they were left.
func (j *Jobs) pickUndo(ctx context.Context, is Job) (out todo, err error) {
	out.next = Cursor{At: is.Cursor.At + 1}
	err = j.b.Read(ctx, func(r broker.Reader) error {
		out.deeds, out.seen, out.missing, out.end = nil, 0, 0, false
		kept, ok := r.Setting(undoKey(is.Plan.Of, is.Cursor.At))
		if !ok {
			out.end = true
			return nil
		}
		var back Reversal
		if err := json.Unmarshal([]byte(kept.Value), &back); err != nil {
			return fmt.Errorf("read what job %d did: %w", is.Plan.Of, err)
		}
		deeds, touched := back.Deeds(r)
		out.deeds, out.seen, out.missing = deeds, int64(len(back.Items)), int64(touched)
		return nil
	})
	return out, err //nolint:wrapcheck // it says what it is about
}

// untouched tells whether a message is as it was left.
func (b reversed) untouched(row engine.Row) bool {
	m := row.Message
	if row.Path.Fold() != b.Path.Fold() || m.Seq != b.Seq || m.Locked() || m.State != b.State || m.DeliveryCount != b.Count {
		return false
	}
	switch {
	case b.Left == 0: // no time was set, or a record of old does not say which
		return true
	case b.Do == engine.DeedReschedule:
		return m.ScheduledFor == b.Left
	default:
		return m.ExpiresAt == b.Left
	}
}
