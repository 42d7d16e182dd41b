package engine

import (
	"cmp"
	"errors"
	"fmt"
)

// placeTransfer gives e its transfer dead-letter queue, if it has an identity
// for it (DLQ-3). Nothing expires or wears out there, as in the dead-letter
// queue.
func (e *entity) placeTransfer() {
	if e.TransferID != 0 {
		e.transfer = newHolder(e.TransferID, e.Path.Transfer(), e, true)
		e.transfer.terms = Terms{DeadLetterQueue: true}
	}
}

// SendVia is Send to one entity by way of another, which must take sends as well,
// of messages of that size (FWD-14). What the destination refuses its sender is
// told, but for one thing: messages to a destination that is disabled are
// accepted, and lie in the transfer dead-letter queue of the entity they were sent
// by way of. The numbers are then those that they have there.
func (ns *Namespace) SendVia(now Instant, via, to Path, batch []Submission, actor string) ([]Seq, error) {
	v, err := ns.admitVia(now, via, to, batch)
	if err != nil {
		ns.Discard(batch)
		return nil, err
	}
	if v.stranded {
		return ns.strand(now, v, batch, actor), nil
	}
	ns.accessed(now, v.by, "send", actor)
	return ns.acceptAll(now, v.to, batch, actor), nil
}

// via is a way that messages may be sent.
type via struct {
	by, to   *entity
	stranded bool // to is disabled
}

// admitVia decides whether everything may be sent that way, before anything
// changes. What the messages must be like is the destination's to say, for they
// are meant for it, whether it is disabled or not: only their size is of concern
// where they pass, and room where they come to lie. That one requires sessions
// which they pass means nothing: its transfer dead-letter queue has none (DLQ-7).
//
// No entity is asked whether it has seen the MessageIds of what strands, nor has
// it seen them then: neither has accepted the messages (DUP-1). The destination is
// asked when they are moved there.
func (ns *Namespace) admitVia(now Instant, by, to Path, batch []Submission) (v via, err error) {
	if v.by, err = ns.sendsTo(by); err != nil {
		return v, err
	}
	if v.to, err = ns.sendsTo(to); errors.Is(err, ErrDisabled) {
		v.to, v.stranded, err = ns.entities[to.Fold()], true, nil
	}
	if err == nil {
		err = cmp.Or(ns.admitBatch(v.to, batch), ns.admitSizes(v.by, batch))
	}
	switch {
	case err != nil:
	case v.stranded:
		err = ns.full(v.by, v.needs(now, batch))
	default:
		_, err = ns.admitSend(now, to, batch)
	}
	return v, err
}

// why a message strands.
func (v via) why(now Instant, actor string) Extra {
	return Extra{
		DeadLettered: true, DeadAt: now, By: actor, To: string(v.to.Path),
		Reason: ReasonForwarding, Description: fmt.Sprintf("Destination '%s' is disabled.", v.to.Path),
	}
}

// needs is how many bytes v.by will hold more when messages strand.
func (v via) needs(now Instant, batch []Submission) (bytes int64) {
	why := v.why(now, "")
	for _, s := range batch {
		bytes += s.Size() + why.size()
	}
	return bytes
}

// strand accepts messages for a destination that is disabled.
func (ns *Namespace) strand(now Instant, v via, batch []Submission, actor string) []Seq {
	seqs := make([]Seq, 0, len(batch))
	for _, s := range batch {
		x, seq := v.why(now, actor), ns.nextSeq(v.by.main)
		m := ns.insert(Message{Key: s.Key, Content: s.Key, Holder: v.by.TransferID, Seq: seq, EnqueuedSeq: seq, EnqueuedAt: now, Extra: &x}, ns.keep(s))
		ns.event(EventTransferFailed, now, m, v.by.main, actor, ReasonForwarding).To = v.to.Path
		seqs = append(seqs, seq)
	}
	ns.changes.hard = true
	ns.accessed(now, v.by, "send", actor)
	return seqs
}
