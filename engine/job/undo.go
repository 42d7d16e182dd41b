package job

import (
	"context"
	"encoding/json"
	"fmt"

	"mayfly/engine"
	"mayfly/engine/broker"
)

func undoKey(id ID, i int) string { return fmt.Sprintf("job-undo/%012d/%06d", id, i) }

// A reversal is what may be taken back of a slice.
type reversal struct {
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
}

// add notes how a deed is taken back, if it can be.
func (r *reversal) add(d engine.Deed, was engine.Deeded) {
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
		if before.Expires == 0 {
			return // there is no way to let it live for ever again
		}
		back.Do, back.Until = engine.DeedExtend, before.Expires
		back.Count, back.State = before.Message.DeliveryCount, before.Message.State
	default:
		return
	}
	r.Items = append(r.Items, back)
}

func (r reversal) encode() []byte {
	raw, err := json.Marshal(r)
	if err != nil {
		panic(err) // texts and numbers
	}
	return raw
}

// Undo starts a job that takes back what another has done: of those messages that
// nobody has touched since. Each job is taken back once.
func (j *Jobs) Undo(ctx context.Context, id ID, actor string) (Job, error) {
	j.undoing.Lock()
	defer j.undoing.Unlock()
	is, err := j.Job(id)
	if err != nil {
		return is, err
	}
	if !is.Undoable() {
		return is, refuse(engine.ErrNotAllowed, "%s", is.whyNotUndone())
	}
	undo, err := j.begin(ctx, Job{Plan: Plan{Kind: Undo, Of: id}, Actor: actor, Counts: Counts{Total: is.Undoes}}, nil)
	if err != nil {
		return undo, err
	}
	is.UndoneBy = undo.ID
	j.mu.Lock()
	if l := j.all[id]; l != nil {
		j.set(l, is)
	}
	j.mu.Unlock()
	return undo, j.keep(ctx, is)
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
		var back reversal
		if err := json.Unmarshal([]byte(kept.Value), &back); err != nil {
			return fmt.Errorf("read what job %d did: %w", is.Plan.Of, err)
		}
		for _, b := range back.Items {
			out.seen++
			row, err := r.Message(b.Key)
			if err != nil || !b.untouched(row) {
				out.missing++
				continue
			}
			out.deeds = append(out.deeds, engine.Deed{
				Target: engine.Target{Key: b.Key, Path: b.Path, Seq: b.Seq}, Kind: b.Do, To: b.To, Reason: b.Reason, Description: b.Descr, Until: b.Until,
			})
		}
		return nil
	})
	return out, err //nolint:wrapcheck // it says what it is about
}

// untouched tells whether a message is as it was left.
func (b reversed) untouched(row engine.Row) bool {
	m := row.Message
	return row.Path.Fold() == b.Path.Fold() && m.Seq == b.Seq && !m.Locked() && m.State == b.State && m.DeliveryCount == b.Count
}
