package engine

import (
	"cmp"
	"errors"
	"fmt"

	"mayfly/engine/value"
)

// The dead-letter reasons that the broker itself gives (§6.2).
const (
	ReasonExpired          = "TTLExpiredException"
	ReasonMaxDeliveryCount = "MaxDeliveryCountExceeded"
	ReasonNoSession        = "Session ID is null."
	ReasonHeaderSize       = "HeaderSizeExceeded"
	ReasonHops             = "MaxTransferHopCountExceeded"
	ReasonForwarding       = "ForwardingFailed"
)

func maxDeliveryCountExceeded(n int32) *Extra {
	return &Extra{Reason: ReasonMaxDeliveryCount, Description: fmt.Sprintf("Message could not be consumed after %d delivery attempts.", n)}
}

// deadLetter moves m to its entity's dead-letter subqueue; x gives the reason and is merged
// with m's earlier Extra (DLQ-8).
func (ns *Namespace) deadLetter(now Instant, h *subqueue, m *message, x *Extra) *Event {
	old := m.copyExtra()
	x.DeadLettered, x.DeadAt, x.Source = true, now, old.Source
	x.Properties, x.Rewritten = mergeProperties(old.Properties, x.Properties), old.Rewritten
	next := m.Message
	next.Subqueue, next.State, next.LockedUntil, next.Extra = h.entity.DeadLetterID, Active, 0, x
	ns.put(m, next)
	ns.changes.hard = true
	ev := ns.event(EventDeadLettered, now, m, h, x.By, x.Reason)
	ev.To = h.entity.dead.path
	return ev
}

func mergeProperties(old, over value.Properties) value.Properties {
	if len(over) == 0 {
		return old
	}
	return old.Merge(over)
}

// addTransferSubqueue creates e's transfer dead-letter subqueue (DLQ-3).
// As in the dead-letter subqueue, messages there do not expire, and MaxDeliveryCount does not
// apply.
func (ns *Namespace) addTransferSubqueue(e *entity) {
	e.transfer = ns.newSubqueue(e.TransferID, e.Path.Transfer(), e, true)
	e.transfer.terms = Terms{DeadLetterQueue: true}
}

// SendVia is Send to one entity via another, which must accept sends of messages of that size
// as well (FWD-14). The sender gets the destination's errors, with one exception: messages to
// a disabled destination are accepted, and go to the transfer dead-letter subqueue of the
// entity that they were sent via. The returned numbers are then those of the dead letters.
func (ns *Namespace) SendVia(now Instant, via, to Path, batch []Submission, actor string) ([]Seq, error) {
	v, err := ns.admitVia(now, via, to, batch)
	if err != nil {
		ns.DiscardStaged(batch)
		return nil, err
	}
	if v.disabled {
		return ns.deadLetterTransfers(now, v, batch, actor), nil
	}
	ns.accessed(now, v.by, "send", actor)
	return ns.acceptAll(now, v.to, batch, actor), nil
}

// A sendRoute is the destination of a send, `to`, and the entity that it goes via, `by`.
type sendRoute struct {
	by, to   *entity
	disabled bool // to is disabled
}

// admitVia checks whether the whole batch may be sent on that route, before anything changes. The
// messages must be as the destination requires, even if it is disabled. The entity they are sent
// via checks only their size and, if the destination is disabled, that there is room for them.
// Whether that entity requires sessions does not matter: its transfer dead-letter subqueue has
// none (DLQ-7).
//
// Neither entity checks or remembers the MessageIds of messages for a disabled destination,
// because neither has accepted the messages (DUP-1). The destination checks them when they are
// moved there.
func (ns *Namespace) admitVia(now Instant, by, to Path, batch []Submission) (v sendRoute, err error) {
	if v.by, err = ns.sendableEntity(by); err != nil {
		return v, err
	}
	if v.to, err = ns.sendableEntity(to); errors.Is(err, ErrDisabled) {
		v.to, v.disabled, err = ns.entities[to.Fold()], true, nil
	}
	if err == nil {
		err = cmp.Or(ns.admitBatch(v.to, batch), ns.admitSizes(v.by, batch))
	}
	switch {
	case err != nil:
	case v.disabled:
		err = ns.admitSpace(v.by, v.spaceFor(ns.sizer, now, batch))
		ns.touchIfFull(now, v.by, err)
	default:
		_, err = ns.admitSend(now, to, batch)
		ns.touchIfFull(now, v.by, err)
	}
	return v, err
}

// deadLetterExtra returns the Extra of a message that is dead-lettered because v.to is disabled.
func (v sendRoute) deadLetterExtra(now Instant, actor string) Extra {
	return Extra{
		DeadLettered: true, DeadAt: now, By: actor, To: string(v.to.Path),
		Reason: ReasonForwarding, Description: fmt.Sprintf("Destination '%s' is disabled.", v.to.Path),
	}
}

// spaceFor returns the space that the messages take in v.by as transfer dead letters.
func (v sendRoute) spaceFor(t sizer, now Instant, batch []Submission) (n requiredSpace) {
	why := v.deadLetterExtra(now, "")
	for _, s := range batch {
		n.charge += t.chargeOf(s.Content, s.Size(), &why)
		n.memory += t.message(&why) + messageEntry + t.content(s.Content)
	}
	return n
}

// deadLetterTransfers accepts messages for a disabled destination, as transfer dead letters.
func (ns *Namespace) deadLetterTransfers(now Instant, v sendRoute, batch []Submission, actor string) []Seq {
	seqs := make([]Seq, 0, len(batch))
	for _, s := range batch {
		x, seq := v.deadLetterExtra(now, actor), ns.nextSeq(v.by.main)
		m := ns.insert(Message{Key: s.Key, Content: s.Key, Subqueue: v.by.TransferID, Seq: seq, EnqueuedSeq: seq, EnqueuedAt: now, Extra: &x}, ns.addContent(s))
		ns.event(EventTransferFailed, now, m, v.by.main, actor, ReasonForwarding).To = v.to.Path
		seqs = append(seqs, seq)
	}
	ns.changes.hard = true
	ns.accessed(now, v.by, "send", actor)
	return seqs
}
