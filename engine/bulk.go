package engine

import "time"

// An OperationKind is the kind of a bulk operation: what an operator does to many messages, one by
// one.
type OperationKind uint8

// The kinds of operations.
const (
	OperationDelete     OperationKind = iota + 1 // see DeleteMessage
	OperationDeadLetter                          // see DeadLetterMessage
	OperationMove                                // see Move
	OperationCopy                                // see Move.Copy
	OperationExtend                              // see Extend; by a duration, or to an instant
	OperationReschedule                          // see Reschedule
	OperationSendNow                             // see SendNow
	OperationReturn                              // see ReturnToActive
	OperationPurge                               // see Purge (OPS-7); adds one event for all the messages of a subqueue
)

// An Operation is a bulk operation on one of its messages.
type Operation struct {
	Target
	Kind          OperationKind
	To            Path          // the destination of a move or copy; see Move.To
	DropDuplicate bool          // for a move or copy; see Move.DropDuplicate
	Reason        string        // for OperationDeadLetter
	Description   string        // for OperationDeadLetter
	ExtendBy      time.Duration // by how much to extend; zero to use Until
	Until         Instant       // when the message is to expire or be enqueued; zero removes its own expiry, for OperationExtend
}

// A Target identifies a message in the subqueue where a caller saw it. A message that has since
// moved or got another number does not match.
type Target struct {
	Key  Key
	Path Path
	Seq  Seq
}

// An OperationResult is the result of an operation on one target.
type OperationResult struct {
	Err    error  // nil if it succeeded
	Before Row    // the message before the operation
	After  Target // where the message or its copy is now; zero if there is none or more than one, or if it was dropped as a duplicate

	Until   Instant // the new time after an extension or reschedule
	Dropped bool    // whether a move or copy dropped the message as a duplicate
}

// ApplyOperations applies each operation to its message (OPS-1 … OPS-8), independently of the
// others: a failure concerns that message alone. The Err of its result is ErrMessageNotFound if the
// message is no longer where the caller saw it.
func (ns *Namespace) ApplyOperations(now Instant, operations []Operation, actor string) []OperationResult {
	out := make([]OperationResult, len(operations))
	var from []*subqueue // the subqueues that messages were purged from
	gone := map[*subqueue]int64{}
	for i, d := range operations {
		out[i] = ns.applyOperation(now, d, actor)
		if d.Kind == OperationPurge && out[i].Err == nil {
			h := ns.subqueues[out[i].Before.Message.Subqueue]
			if gone[h] == 0 {
				from = append(from, h)
			}
			gone[h]++
		}
	}
	for _, h := range from {
		ns.touch(now, h.entity, "purge", actor)
		ns.events = append(ns.events, Event{Kind: EventPurged, At: now, Subqueue: h.id, Path: h.path, Actor: actor, Count: gone[h]})
		ns.audit(&ns.events[len(ns.events)-1])
	}
	return out
}

func (ns *Namespace) purgeOne(now Instant, k Key) error {
	m, _, err := ns.unlockedMessage(now, k)
	if err == nil {
		ns.drop(m)
	}
	return err
}

func (ns *Namespace) applyOperation(now Instant, d Operation, actor string) (out OperationResult) {
	t := d.Target
	if out.Before, out.Err = ns.Message(t.Key); out.Err != nil {
		return out
	}
	if out.Before.Path.Fold() != t.Path.Fold() || out.Before.Message.Seq != t.Seq {
		out.Err = Refuse(ErrMessageNotFound, "Message #%d is no longer in '%s'.", t.Seq, t.Path)
		return out
	}
	switch d.Kind {
	case OperationDelete:
		out.Err = ns.DeleteMessage(now, t.Key, actor)
	case OperationPurge:
		out.Err = ns.purgeOne(now, t.Key)
	case OperationDeadLetter:
		if out.Err = ns.DeadLetterMessage(now, t.Key, d.Reason, d.Description, actor); out.Err == nil {
			out.After = ns.targetOf(t.Key)
		}
	case OperationMove, OperationCopy:
		mv := Move{Key: t.Key, To: d.To, Copy: d.Kind == OperationCopy, DropDuplicate: d.DropDuplicate}
		var seq Seq
		if seq, out.Err = ns.Move(now, mv, actor); out.Err != nil || seq == 0 {
			out.Dropped = out.Err == nil
			break
		}
		if mv.Copy {
			out.After = ns.copyAt(d.To, out.Before, seq)
		} else {
			out.After = ns.targetOf(t.Key)
		}
	case OperationExtend:
		until := d.Until
		if d.ExtendBy != 0 {
			until = max(now, out.Before.Expires).Add(d.ExtendBy) // counted from now if the message never expires: Expires is zero then
		}
		if out.Err = ns.setExpiry(now, t.Key, until, actor); out.Err == nil {
			out.After, out.Until = ns.targetOf(t.Key), until
		}
	case OperationReschedule:
		if _, out.Err = ns.Reschedule(now, t.Key, d.Until, actor); out.Err == nil {
			out.After, out.Until = ns.targetOf(t.Key), d.Until
		}
	case OperationSendNow:
		out.Err = ns.SendNow(now, t.Key, actor)
	case OperationReturn:
		out.Err = ns.ReturnToActive(now, t.Key, actor)
	default:
		panic("unknown operation") // a new kind must not be ignored
	}
	return out
}

// targetOf returns where a message is, or the zero Target if it does not exist.
func (ns *Namespace) targetOf(k Key) Target {
	m, h, err := ns.byKey(k)
	if err != nil {
		return Target{}
	}
	return Target{Key: k, Path: h.path, Seq: m.Seq}
}

// copyAt returns the target of the copy of `from` that Move made at `to` under number seq. An empty
// `to` means the destination that Move chooses then. The result is the zero Target if the message is
// not there, as at a topic, which passes it on to its subscriptions.
func (ns *Namespace) copyAt(to Path, from Row, seq Seq) Target {
	if to == "" {
		to = from.Path.Entity()
		if x := from.Message.Extra; from.Path.IsTransfer() && x != nil {
			to = Path(x.To)
		}
	}
	e, err := ns.entity(to)
	if err != nil {
		return Target{}
	}
	if m := e.main.order.at(seq); m != nil {
		return Target{Key: m.Key, Path: e.main.path, Seq: seq}
	}
	return Target{}
}
