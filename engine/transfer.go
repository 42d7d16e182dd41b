package engine

import (
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

// SendVia is Send to one entity by way of another, which must take sends as well
// (FWD-14). What the destination refuses its sender is told, but for one thing:
// messages to a destination that is disabled are accepted, and lie in the transfer
// dead-letter queue of the entity they were sent by way of. The numbers are then
// those that they have there.
func (ns *Namespace) SendVia(now Instant, via, to Path, batch []Submission, actor string) ([]Seq, error) {
	by, err := ns.sendsTo(via)
	if err == nil {
		_, err = ns.sendsTo(to)
	}
	switch {
	case by != nil && errors.Is(err, ErrDisabled):
		return ns.transfer(now, by, ns.entities[to.Fold()], batch, actor)
	case err != nil:
		ns.Discard(batch)
		return nil, err
	}
	seqs, err := ns.Send(now, to, batch, actor)
	if err == nil {
		ns.accessed(now, by, "send", actor)
	}
	return seqs, err
}

// transfer accepts messages for a destination that is disabled.
func (ns *Namespace) transfer(now Instant, by, to *entity, batch []Submission, actor string) ([]Seq, error) {
	err := ns.admitBatch(by, batch)
	size := int64(0)
	extra := Extra{
		DeadLettered: true, DeadAt: now, By: actor, Source: string(to.Path),
		Reason: ReasonForwarding, Description: fmt.Sprintf("Destination '%s' is disabled.", to.Path),
	}
	for _, s := range batch {
		size += s.Size() + extra.size()
	}
	if err == nil {
		err = ns.full(by, size)
	}
	if err != nil {
		ns.Discard(batch)
		return nil, err
	}
	seqs := make([]Seq, 0, len(batch))
	for _, s := range batch {
		x, seq := extra, ns.nextSeq(by.main)
		m := ns.insert(Message{Key: s.Key, Content: s.Key, Holder: by.TransferID, Seq: seq, EnqueuedSeq: seq, EnqueuedAt: now, Extra: &x}, ns.keep(s))
		ns.event(EventTransferFailed, now, m, by.main, actor, ReasonForwarding).To = to.Path
		seqs = append(seqs, seq)
	}
	ns.changes.hard = true
	ns.accessed(now, by, "send", actor)
	return seqs, nil
}
