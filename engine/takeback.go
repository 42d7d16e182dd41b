package engine

// Replaced is what a Replace did, as far as it takes to take it back.
type Replaced struct {
	Seq Seq // as Replace tells it
	Was Row // the message that was written anew, before that
	Is  Row // the new one; of the zero Key if there is not one: it went into a topic, or was dropped as a duplicate
}

// TakenBack is the reason of the events of both messages where a Replace was taken back.
const TakenBack = "the edit was taken back"

// TakeBack undoes a Replace: the new message goes, and the one that it replaced is
// what and where it was, with its key, its number, its times and its reasons, in one
// step (dashboard §4). s is what r.Was was, its body included. The error is ErrChanged
// if anybody or time has touched the new one since, ErrNotFound if the place is gone,
// ErrQuota if it is full. What is refused has changed nothing; the caller sees to s by
// Discard.
func (ns *Namespace) TakeBack(now Instant, r Replaced, s Submission, actor string) error {
	m, from, err := ns.free(now, r.Is.Message.Key)
	if err != nil {
		return err
	}
	back := r.Was.Message
	to := ns.holders[back.Holder]
	switch {
	case m.Message != r.Is.Message:
		return refuse(ErrChanged, "Message #%d in '%s' is not as it was left.", m.Seq, from.path)
	case to == nil:
		return notFound(r.Was.Path)
	case ns.messages[back.Key] != nil:
		return refuse(ErrExists, "Message #%d is in '%s' still.", back.Seq, to.path)
	case s.Staged && !ns.keys.gave(s.Key):
		return refuse(ErrBusy, "The store was opened again while the message was on its way; nothing was done.")
	}
	more := s.Size() + back.Extra.size()
	if to.entity.root() == from.entity.root() {
		more -= m.size()
	}
	if err := ns.full(to.entity, more); err != nil {
		return err
	}
	ns.touch(now, from.entity, "delete", actor)
	ns.drop(m)
	ns.audit(ns.event(EventDeleted, now, m, from, actor, TakenBack))
	back.Content = s.Key
	is, what := ns.insert(back, ns.keep(s)), EventReturned
	if !to.dead {
		what = EventSent // it is one more that can be received
	}
	ns.touch(now, to.entity, "return", actor)
	ns.audit(ns.event(what, now, is, to, actor, TakenBack))
	return nil
}
