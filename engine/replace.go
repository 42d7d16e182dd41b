package engine

import (
	"fmt"
	"strconv"
	"strings"

	"mayfly/engine/shorten"
)

// Replace is Move for a message that an operator has edited: s is stored at the destination as a
// new message, and the old one is dropped in the same step, or stays if mv.Copy is set (OPS-1,
// OPS-2). The new message has its own key; the events of both name the other, see ParseEditReason.
// Errors are those of Move or Send, and change nothing; the caller then calls DiscardStaged for s.
// UndoReplace undoes a Replace.
func (ns *Namespace) Replace(now Instant, mv Move, s Submission, actor string) (did ReplaceResult, err error) {
	m, from, err := ns.unlockedMessage(now, mv.Key)
	if err != nil {
		return did, err
	}
	to, err := ns.admitReplace(now, m, from, mv, &s)
	if err != nil {
		return did, err
	}
	old := m.Message
	did.Before = ns.row(from, m)
	ns.touch(now, from.entity, "resubmit", actor)
	if s.duplicate {
		ns.acceptDuplicate(now, to, s, actor)
		ns.accessed(now, to, "send", actor)
		if !mv.Copy {
			ns.drop(m)
			ns.audit(ns.event(EventDeleted, now, m, from, actor, "dropped as a duplicate")).To = to.Path
		}
		return did, nil
	}
	ns.rememberID(now, to, s.Digest)
	did.Seq = ns.acceptAs(now, to, s, ns.addContent(s), actor, editReason{from: true, key: old.Key, seq: old.Seq, at: from.path}.String())
	ns.changes.hard = true
	ns.accessed(now, to, "send", actor)
	as := editReason{seq: did.Seq, at: to.Path} // without a key: a topic may make several copies
	if to.Kind != Topic || s.ScheduledFor > now {
		as.key, did.After = s.Key, ns.row(to.main, ns.messages[s.Key])
	}
	ns.audit(ns.event(EventCopied, now, m, from, actor, as.String())).To = to.Path
	if !mv.Copy {
		ns.drop(m)
		ns.event(EventDeleted, now, m, from, actor, "replaced by what was edited")
	}
	return did, nil
}

// admitReplace is admitMove for s, the message that replaces m. It sets s.duplicate.
func (ns *Namespace) admitReplace(now Instant, m *message, from *subqueue, mv Move, s *Submission) (*entity, error) {
	to := from.entity
	if from == to.transfer && mv.To == "" {
		mv.To = Path(m.Extra.To)
	}
	var err error
	if mv.To != "" {
		if to, err = ns.entity(mv.To); err != nil {
			return nil, err
		}
	}
	switch {
	case mv.To.IsDeadLetter():
		return nil, RefuseCode(ErrNotAllowed, 40301, "Messages cannot be sent to a dead-letter queue: '%s'.", mv.To)
	case m.State == Scheduled:
		return nil, Refuse(ErrNotAllowed, "Message #%d is scheduled. Send it now or reschedule it instead.", m.Seq)
	case !to.Config.Status.sends():
		return nil, Refuse(ErrDisabled, "Messaging entity '%s' is currently disabled for Send operations.", to.Path)
	case to.Kind == Subscription && s.ScheduledFor > now: // SCH-10
		return nil, Refuse(ErrNotAllowed, "A message cannot be scheduled on a subscription. Schedule it on a queue or topic.")
	}
	batch := []Submission{*s}
	if err := ns.admitBatch(to, batch); err != nil {
		return nil, err
	}
	if err := ns.markDuplicates(now, to, batch); err != nil {
		return nil, err
	}
	if *s = batch[0]; s.duplicate && !mv.DropDuplicate {
		return nil, RefuseCode(ErrDuplicate, 40301, "'%s' has received the MessageId '%s' within the last %v and would drop the message as a duplicate.",
			to.Path, shorten.To(s.Content.MessageID(), 128), to.Config.DuplicateWindow())
	}
	n := ns.spaceFor(to, batch, now)
	if !mv.Copy {
		n.memory -= ns.sizer.message(m.Extra) + messageEntry + ns.sizer.content(m.content.packed)
		if to.root() == from.entity.root() {
			n.charge -= ns.sizer.charge(m)
		}
	}
	return to, ns.admitSpace(to, n)
}

// An editReason is the reason of an event about a message before or after an edit. It identifies
// the counterpart of that message.
type editReason struct {
	from bool // whether the counterpart is the message before the edit
	key  Key  // zero if there is not exactly one counterpart
	seq  Seq
	at   Path
}

func (e editReason) String() string {
	if e.from {
		return fmt.Sprintf("edited from %d #%d %s", e.key, e.seq, e.at)
	}
	return fmt.Sprintf("edited as %d #%d %s", e.key, e.seq, e.at)
}

// ParseEditReason parses the reason of an event about a message that Replace edited or created:
// other is the counterpart, and before reports whether that is the message before the edit. ok is
// false for other reasons, and if there is not exactly one counterpart.
func ParseEditReason(reason string) (other Target, before, ok bool) {
	rest, before := strings.CutPrefix(reason, "edited from ")
	if !before {
		if rest, ok = strings.CutPrefix(reason, "edited as "); !ok {
			return Target{}, false, false
		}
	}
	words := strings.SplitN(rest, " ", 3)
	if len(words) < 3 {
		return Target{}, false, false
	}
	key, err := strconv.ParseUint(words[0], 10, 64)
	seq, err2 := strconv.ParseInt(strings.TrimPrefix(words[1], "#"), 10, 64)
	if err != nil || err2 != nil || key == 0 {
		return Target{}, before, false
	}
	return Target{Key: Key(key), Path: Path(words[2]), Seq: Seq(seq)}, before, true
}

// ReplaceResult is the result of a Replace, with what UndoReplace needs to undo it.
type ReplaceResult struct {
	Seq    Seq // the number of the new message; zero if it was dropped as a duplicate
	Before Row // the message before the edit
	After  Row // the new message; its key is zero if there is not exactly one: it was sent to a topic, or was dropped as a duplicate
}

// ReasonReplaceUndone is the reason of the events of both messages when a Replace is undone.
const ReasonReplaceUndone = "the edit was taken back"

// UndoReplace undoes a Replace: the new message is dropped, and the replaced one is restored
// with its key, number, times and reasons, in one step. s is the content of r.Before,
// including its body. The error is ErrChanged if the new message has changed since,
// ErrNotFound if the old subqueue does not exist any more, and ErrQuota if it is full. An
// error changes nothing; the caller then calls DiscardStaged for s.
func (ns *Namespace) UndoReplace(now Instant, r ReplaceResult, s Submission, actor string) error {
	m, from, err := ns.unlockedMessage(now, r.After.Message.Key)
	if err != nil {
		return err
	}
	back := r.Before.Message
	to := ns.subqueues[back.Subqueue]
	switch {
	case m.Message != r.After.Message:
		return Refuse(ErrChanged, "Message #%d in '%s' has changed since the operation, so it cannot be undone.", m.Seq, from.path)
	case to == nil:
		return notFound(r.Before.Path)
	case ns.messages[back.Key] != nil:
		return Refuse(ErrExists, "Message #%d is still in '%s'.", back.Seq, to.path)
	case s.Staged && !ns.keys.issued(s.Key):
		return Refuse(ErrBusy, "The store was reopened during the operation. Nothing was changed. Retry.")
	}
	t := ns.sizer
	n := requiredSpace{
		charge: t.chargeOf(s.Content, s.Size(), back.Extra),
		memory: t.message(back.Extra) + t.content(s.Content) - t.message(m.Extra) - t.content(m.content.packed),
	}
	if to.entity.root() == from.entity.root() {
		n.charge -= t.charge(m)
	}
	if err := ns.admitSpace(to.entity, n); err != nil {
		return err
	}
	ns.touch(now, from.entity, "delete", actor)
	ns.drop(m)
	ns.audit(ns.event(EventDeleted, now, m, from, actor, ReasonReplaceUndone))
	back.Content = s.Key
	is, what := ns.insert(back, ns.addContent(s)), EventReturned
	if !to.dead {
		what = EventSent // one more message can be received
	}
	ns.touch(now, to.entity, "return", actor)
	ns.audit(ns.event(what, now, is, to, actor, ReasonReplaceUndone))
	return nil
}
