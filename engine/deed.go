package engine

import "time"

// A DeedKind is what an operator has done to many messages, one by one.
type DeedKind uint8

// The kinds of deeds.
const (
	DeedDelete     DeedKind = iota + 1 // as DeleteOne
	DeedDeadLetter                     // as DeadLetterOne
	DeedMove                           // as Move
	DeedCopy                           // as Move with Copy
	DeedExtend                         // as Extend, by a time or to one
	DeedReschedule                     // as Reschedule
	DeedSendNow                        // as SendNow
	DeedReturn                         // as ReturnToActive
	DeedPurge                          // as a Purge does (OPS-7): one event tells of all of them
)

// A Deed is what is done to one message.
type Deed struct {
	Target
	Kind          DeedKind
	To            Path          // of a move or copy; empty: back where it died
	DropDuplicate bool          // of a move or copy: as in Move
	Reason        string        // of dead letters
	Description   string        // of dead letters
	By            time.Duration // by how much to extend; zero: Until counts
	Until         Instant       // to when to extend or reschedule; zero, of an extension: none of its own any more
}

// A Target is a message where somebody saw it. One that is elsewhere by now, or
// has another number, is not the one that was meant.
type Target struct {
	Key  Key
	Path Path
	Seq  Seq
}

// A Deeded is what became of one target.
type Deeded struct {
	Err error  // nil: it was done
	Was Row    // before it
	Is  Target // where it is, or its copy; the zero Target if it is nowhere, in several places, or was dropped as a duplicate

	Until   Instant // of an extension or reschedule: what it was set to
	Dropped bool    // of a move or copy: as a duplicate
}

// DoEach does something to each of several messages (OPS-1 … OPS-8), by itself:
// what one is refused is its own error, and ErrMessageNotFound if it is not where
// it was seen.
func (ns *Namespace) DoEach(now Instant, deeds []Deed, actor string) []Deeded {
	out := make([]Deeded, len(deeds))
	var from []*holder // of what is purged
	gone := map[*holder]int64{}
	for i, d := range deeds {
		out[i] = ns.doOne(now, d, actor)
		if d.Kind == DeedPurge && out[i].Err == nil {
			h := ns.holders[out[i].Was.Message.Holder]
			if gone[h] == 0 {
				from = append(from, h)
			}
			gone[h]++
		}
	}
	for _, h := range from {
		ns.touch(now, h.entity, "purge", actor)
		ns.events = append(ns.events, Event{Kind: EventPurged, At: now, Holder: h.id, Path: h.path, Actor: actor, Count: gone[h]})
		ns.audit(&ns.events[len(ns.events)-1])
	}
	return out
}

func (ns *Namespace) purgeOne(now Instant, k Key) error {
	m, _, err := ns.free(now, k)
	if err == nil {
		ns.drop(m)
	}
	return err
}

func (ns *Namespace) doOne(now Instant, d Deed, actor string) (out Deeded) {
	t := d.Target
	if out.Was, out.Err = ns.Message(t.Key); out.Err != nil {
		return out
	}
	if out.Was.Path.Fold() != t.Path.Fold() || out.Was.Message.Seq != t.Seq {
		out.Err = refuse(ErrMessageNotFound, "Message #%d is not in '%s' any more.", t.Seq, t.Path)
		return out
	}
	switch d.Kind {
	case DeedDelete:
		out.Err = ns.DeleteOne(now, t.Key, actor)
	case DeedPurge:
		out.Err = ns.purgeOne(now, t.Key)
	case DeedDeadLetter:
		if out.Err = ns.DeadLetterOne(now, t.Key, d.Reason, d.Description, actor); out.Err == nil {
			out.Is = ns.targetOf(t.Key)
		}
	case DeedMove, DeedCopy:
		mv := Move{Key: t.Key, To: d.To, Copy: d.Kind == DeedCopy, DropDuplicate: d.DropDuplicate}
		var seq Seq
		if seq, out.Err = ns.Move(now, mv, actor); out.Err != nil || seq == 0 {
			out.Dropped = out.Err == nil
			break
		}
		if mv.Copy {
			out.Is = ns.copyAt(d.To, out.Was, seq)
		} else {
			out.Is = ns.targetOf(t.Key)
		}
	case DeedExtend:
		until := d.Until
		if d.By != 0 {
			until = max(now, out.Was.Expires).Add(d.By) // from now for one that never ends
		}
		if out.Err = ns.setExpiry(now, t.Key, until, actor); out.Err == nil {
			out.Is, out.Until = ns.targetOf(t.Key), until
		}
	case DeedReschedule:
		if _, out.Err = ns.Reschedule(now, t.Key, d.Until, actor); out.Err == nil {
			out.Is, out.Until = ns.targetOf(t.Key), d.Until
		}
	case DeedSendNow:
		out.Err = ns.SendNow(now, t.Key, actor)
	case DeedReturn:
		out.Err = ns.ReturnToActive(now, t.Key, actor)
	default:
		panic("unknown deed") // a new kind must not pass silently
	}
	return out
}

// targetOf is where a message is; the zero Target if it is nowhere.
func (ns *Namespace) targetOf(k Key) Target {
	m, h, err := ns.byKey(k)
	if err != nil {
		return Target{}
	}
	return Target{Key: k, Path: h.path, Seq: m.Seq}
}

// copyAt is the copy of a message that has a number where it went, if that is a
// place of its own.
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

// Together takes several steps, all of them or none: if step returns an error,
// what it had done is taken back, but for that entities were used.
func (ns *Namespace) Together(step func() error) error {
	to := ns.mark()
	if err := step(); err != nil {
		ns.undoTo(to)
		return err
	}
	return nil
}
