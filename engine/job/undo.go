package job

import (
	"context"
	"encoding/json"
	"fmt"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// undoPrefix begins the keys of undo records.
const undoPrefix = "job-undo/"

func undoKey(id ID, i int) string { return fmt.Sprintf("%s%012d/%06d", undoPrefix, id, i) }

// An UndoRecord undoes operations on messages. Its zero value undoes nothing.
type UndoRecord struct {
	Items []undoOperation `json:"items"`
}

// undoOperation undoes an operation on one message.
type undoOperation struct {
	Key    engine.Key           `json:"k,string"`
	Path   engine.Path          `json:"p"` // where the operation left the message
	Seq    engine.Seq           `json:"s"`
	Kind   engine.OperationKind `json:"d"`
	To     engine.Path          `json:"t,omitempty"`
	Reason string               `json:"r,omitempty"` // the reason of a dead letter
	Descr  string               `json:"e,omitempty"`
	Until  engine.Instant       `json:"u,omitempty"`
	Count  uint32               `json:"c,omitempty"` // the message's delivery count after the operation
	State  engine.State         `json:"a,omitempty"` // the message's state after the operation
	SetTo  engine.Instant       `json:"l,omitempty"` // the time that the operation set, if it set one
}

// Add adds an operation to be undone. It adds nothing if the operation cannot be undone, such as
// deleting, sending now or sending to a topic.
func (r *UndoRecord) Add(d engine.Operation, was engine.OperationResult) {
	is, before := was.After, was.Before
	if is == (engine.Target{}) {
		return
	}
	back := undoOperation{Key: is.Key, Path: is.Path, Seq: is.Seq}
	switch d.Kind {
	case engine.OperationMove:
		switch x := before.Message.Extra; {
		case before.Path.IsTransfer():
			return // clients cannot send there
		case before.Path.IsDeadLetter():
			if is.Path.Fold() != before.Path.Entity().Fold() {
				return // it would be a dead letter of another entity
			}
			back.Kind = engine.OperationDeadLetter
			if x != nil {
				back.Reason, back.Descr = x.Reason, x.Description
			}
		default:
			back.Kind, back.To = engine.OperationMove, before.Path
		}
	case engine.OperationCopy:
		back.Kind = engine.OperationDelete
	case engine.OperationDeadLetter:
		back.Kind, back.Count = engine.OperationMove, before.Message.DeliveryCount
	case engine.OperationExtend:
		back.Kind, back.Until, back.SetTo = engine.OperationExtend, before.Message.ExpiresAt, was.Until
		back.Count, back.State = before.Message.DeliveryCount, before.Message.State
	case engine.OperationReschedule:
		back.Kind, back.Until, back.SetTo = engine.OperationReschedule, before.Message.ScheduledFor, was.Until
		back.State = engine.Scheduled
	default:
		return
	}
	r.Items = append(r.Items, back)
}

// AddDeferred adds the deferral of a message, to be undone (OPS-4).
func (r *UndoRecord) AddDeferred(is engine.Row) {
	r.Items = append(r.Items, undoOperation{
		Key: is.Message.Key, Path: is.Path, Seq: is.Message.Seq, Kind: engine.OperationReturn, Count: is.Message.DeliveryCount, State: engine.Deferred,
	})
}

// Operations returns the operations that undo those of r. It leaves out messages that were changed
// since or no longer exist; touched is their number.
func (r UndoRecord) Operations(in broker.Reader) (operations []engine.Operation, touched int) {
	for _, b := range r.Items {
		row, err := in.Message(b.Key)
		if err != nil || !b.untouched(row) {
			touched++
			continue
		}
		operations = append(operations, engine.Operation{
			Target: engine.Target{Key: b.Key, Path: b.Path, Seq: b.Seq}, Kind: b.Kind, To: b.To, Reason: b.Reason, Description: b.Descr, Until: b.Until,
		})
	}
	return operations, touched
}

// encode returns r as JSON, split into values of settings of up to `most` bytes each.
func (r UndoRecord) encode(most int) (values []string) {
	raw, err := json.Marshal(r)
	if err != nil {
		panic(err) // texts and numbers
	}
	if n := len(r.Items); len(raw) > most && n > 1 {
		return append(UndoRecord{r.Items[:n/2]}.encode(most), UndoRecord{r.Items[n/2:]}.encode(most)...)
	}
	return []string{string(raw)}
}

// Undo starts a job that undoes another one's operations on messages that were not changed
// since. A job can be undone only once.
func (j *Jobs) Undo(ctx context.Context, id ID, actor string) (Job, error) {
	j.starting.Lock()
	defer j.starting.Unlock()
	is, err := j.latest(ctx, id)
	if err != nil {
		return is, err
	}
	if !is.Undoable() {
		return is, engine.Refuse(engine.ErrNotAllowed, "%s", is.undoRefusal())
	}
	return j.enqueue(ctx, Job{Plan: Plan{Kind: Undo, UndoOf: id}, Actor: actor, Counts: Counts{Total: is.UndoMessages}}, nil, nil)
}

func (j Job) undoRefusal() string {
	switch {
	case !j.State.Stopped():
		return fmt.Sprintf("Job %d is %s. Cancel it first.", j.ID, j.State)
	case j.UndoneBy != 0:
		return fmt.Sprintf("Job %d was already undone by job %d.", j.ID, j.UndoneBy)
	case j.TooManyToUndo:
		return fmt.Sprintf("Job %d changed more than %d messages, the maximum that can be undone.", j.ID, maxUndoMessages)
	default:
		return fmt.Sprintf("Job %d changed nothing that can be undone.", j.ID)
	}
}

// nextUndoSlice returns the next slice of an undo, of at most size messages of one record. It counts
// messages that were changed since as missing.
func (j *Jobs) nextUndoSlice(ctx context.Context, is Job, size int) (out workSlice, err error) {
	out.next = Cursor{Index: is.Cursor.Index + 1}
	err = j.b.Read(ctx, func(r broker.Reader) error {
		out.operations, out.seen, out.missing, out.last = nil, 0, 0, false
		kept, ok := r.Setting(undoKey(is.Plan.UndoOf, is.Cursor.Index))
		if !ok {
			out.last = true
			return nil
		}
		var back UndoRecord
		if err := json.Unmarshal([]byte(kept.Value), &back); err != nil {
			return fmt.Errorf("read the undo record of job %d: %w", is.Plan.UndoOf, err)
		}
		rest := back.Items[min(int(is.Cursor.From), len(back.Items)):]
		if len(rest) > size {
			rest = rest[:size]
			out.next = Cursor{Index: is.Cursor.Index, From: is.Cursor.From + engine.Seq(size)}
		}
		operations, touched := UndoRecord{rest}.Operations(r)
		out.operations, out.seen, out.missing = operations, int64(len(rest)), int64(touched)
		return nil
	})
	return out, err
}

// untouched reports whether a message is still as the operation left it.
func (b undoOperation) untouched(row engine.Row) bool {
	m := row.Message
	if row.Path.Fold() != b.Path.Fold() || m.Seq != b.Seq || m.Locked() || m.State != b.State || m.DeliveryCount != b.Count {
		return false
	}
	switch {
	case b.SetTo == 0: // no time was set, or an old record does not have it
		return true
	case b.Kind == engine.OperationReschedule:
		return m.ScheduledFor == b.SetTo
	default:
		return m.ExpiresAt == b.SetTo
	}
}
