package engine

import (
	"fmt"
	"strconv"
	"strings"
)

// Replace is Move of a message that somebody has written anew: what is in s enters
// the target as a message of its own, and the old one goes in the same step, or
// stays if mv.Copy is set (OPS-1, OPS-2). It has a key of its own; the events of
// both tell of the other, see Edited. What is refused is refused as a Move or a Send
// would be, and nothing has happened then; the caller sees to s by Discard. TakeBack
// undoes it.
func (ns *Namespace) Replace(now Instant, mv Move, s Submission, actor string) (did Replaced, err error) {
	m, from, err := ns.free(now, mv.Key)
	if err != nil {
		return did, err
	}
	to, err := ns.admitReplace(now, m, from, mv, &s)
	if err != nil {
		return did, err
	}
	old := m.Message
	did.Was = ns.row(from, m)
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
	ns.remember(now, to, s.Digest)
	did.Seq = ns.acceptAs(now, to, s, ns.keep(s), actor, edited{from: true, key: old.Key, seq: old.Seq, at: from.path}.String())
	ns.changes.hard = true
	ns.accessed(now, to, "send", actor)
	as := edited{seq: did.Seq, at: to.Path} // of a topic there may be several
	if to.Kind != Topic || s.ScheduledFor > now {
		as.key, did.Is = s.Key, ns.row(to.main, ns.messages[s.Key])
	}
	ns.audit(ns.event(EventCopied, now, m, from, actor, as.String())).To = to.Path
	if !mv.Copy {
		ns.drop(m)
		ns.event(EventDeleted, now, m, from, actor, "replaced by what was edited")
	}
	return did, nil
}

// admitReplace is admitMove for what a message is replaced by.
func (ns *Namespace) admitReplace(now Instant, m *message, from *holder, mv Move, s *Submission) (*entity, error) {
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
		return nil, refuseCode(ErrNotAllowed, 40301, "Messages cannot be sent to a dead-letter queue: '%s'.", mv.To)
	case m.State == Scheduled:
		return nil, refuse(ErrNotAllowed, "Message #%d is scheduled; send it now or reschedule it instead.", m.Seq)
	case !to.Config.Status.sends():
		return nil, refuse(ErrDisabled, "Messaging entity '%s' is currently disabled for Send operations.", to.Path)
	case to.Kind == Subscription && s.ScheduledFor > now: // SCH-10
		return nil, refuse(ErrNotAllowed, "A message can be scheduled at a queue or topic, not at a subscription.")
	}
	batch := []Submission{*s}
	if err := ns.admitBatch(to, batch); err != nil {
		return nil, err
	}
	if err := ns.markDuplicates(now, to, batch); err != nil {
		return nil, err
	}
	if *s = batch[0]; s.duplicate && !mv.DropDuplicate {
		return nil, refuseCode(ErrDuplicate, 40301, "'%s' has seen the MessageId '%s' within the last %v and would drop the message as a duplicate.",
			to.Path, cut(s.Content.MessageID(), 128), to.Config.DuplicateWindow())
	}
	more := needs(to, batch, now)
	if !mv.Copy && to.root() == from.entity.root() {
		more -= m.size()
	}
	return to, ns.full(to, more)
}

// edited is the reason of an event that tells of a message before or after somebody
// wrote it anew.
type edited struct {
	from bool
	key  Key // zero: not one
	seq  Seq
	at   Path
}

func (e edited) String() string {
	if e.from {
		return fmt.Sprintf("edited from %d #%d %s", e.key, e.seq, e.at)
	}
	return fmt.Sprintf("edited as %d #%d %s", e.key, e.seq, e.at)
}

// Edited reads the reason of an event of a message that Replace wrote anew or made:
// where the other is, and whether that is the one before. Not ok for other reasons,
// and where there is not one other.
func Edited(reason string) (other Target, before, ok bool) {
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
