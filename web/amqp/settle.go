package amqp

import (
	"cmp"
	"fmt"
	"slices"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// A settlement is the client's settlement of one delivery.
type settlement struct {
	s               *session
	delivery        *unsettledDelivery
	disposition     uint64     // number of the disposition on the connection
	state           wire.State // the client's, for the answer
	settledByClient bool       // the client has settled, and gets no answer
	outcome         engine.Settlement
	tx              *transaction // the transaction that the settlement belongs to, or nil
}

// A detachedLink is a link that the server has detached: the reason, and the deliveries that
// the client may be settling at the same time.
type detachedLink struct {
	why *wire.Error
	ids map[uint32]bool
}

// rememberDetached records the unsettled deliveries of o, so that a client that settles one of them
// before it answers the detach gets why as the answer: the SDK for JavaScript waits for an answer
// even after the link is detached (SES-6).
func (s *session) rememberDetached(o *sender, why *wire.Error) {
	o.detachedByServer = true
	is := detachedLink{why, map[uint32]bool{}}
	for h := o.unsettledList; h != nil; h = h.next {
		if !h.settling {
			is.ids[h.id] = true
		}
	}
	if len(is.ids) == 0 {
		return
	}
	if s.detachedLinks == nil {
		s.detachedLinks = map[uint32]detachedLink{}
	}
	s.detachedLinks[o.handle] = is
}

// answerForDetached answers the part of a disposition that is for deliveries of links that the
// server has detached. `span` is the disposition's last id minus its first.
func (s *session) answerForDetached(d *wire.Disposition, span uint32) {
	for _, is := range s.detachedLinks {
		for id := range is.ids {
			if id-d.First > span {
				continue
			}
			delete(is.ids, id)
			if !d.Settled {
				s.send(&wire.Disposition{Role: wire.RoleSender, First: id, Last: wire.Some(id), Settled: true, State: wire.Rejected{Error: is.why}})
			}
		}
	}
}

// handleDisposition handles a client's disposition for deliveries from the server (§5.2). It
// ignores deliveries that were settled before, and those of links whose detach the client has
// answered.
func (s *session) handleDisposition(d *wire.Disposition) error {
	if d.Role != wire.RoleReceiver {
		return nil // for the client's own deliveries, which the server has settled
	}
	span := d.Last.Or(d.First) - d.First // numbers wrap around
	if int32(span) < 0 {
		return &wire.ProtocolError{Condition: wire.CondInvalidField, Text: fmt.Sprintf("A disposition cannot begin at delivery %d and end at %d.", d.First, d.Last.Or(0))}
	}
	s.c.dispositions++
	for _, h := range s.deliveriesInRange(d.First, span) {
		switch {
		case !h.settling:
			s.settleDelivery(h, d)
		case d.Settled: // the client does not wait for the answer to its earlier outcome, which remains valid
			h.settledByClient = true
			h.transaction.markSettledByClient(h)
		}
	}
	s.answerForDetached(d, span)
	return nil
}

// deliveriesInRange returns the unsettled deliveries with ids from first to first+span, in order.
// Its time is proportional to span or to the number of all unsettled deliveries,
// whichever is less.
func (s *session) deliveriesInRange(first, span uint32) (all []*unsettledDelivery) {
	if uint64(span) < uint64(len(s.unsettled)) {
		for n := uint32(0); n <= span; n++ {
			if h := s.unsettled[first+n]; h != nil {
				all = append(all, h)
			}
		}
		return all
	}
	for id, h := range s.unsettled {
		if id-first <= span {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b *unsettledDelivery) int { return cmp.Compare(a.id-first, b.id-first) })
	return all
}

func (s *session) settleDelivery(h *unsettledDelivery, d *wire.Disposition) {
	tx, err := s.c.transactionOf(d.State)
	if err != nil {
		if d.Settled { // the client gets no answer: the message is released, in one commit with other settlements
			h.settling = true
			out := engine.Settlement{Token: h.token, Outcome: engine.Release, Path: h.sender.path, Client: s.c.clientName()}
			s.c.pendingSettlements = append(s.c.pendingSettlements, settlement{s: s, delivery: h, disposition: s.c.dispositions, settledByClient: true, outcome: out})
			return
		}
		answer([]settlement{{s: s, delivery: h, state: d.State}}, err)
		return
	}
	if h.transaction != nil && h.settleAgain(d, tx) {
		return
	}
	out, ok := outcome(withoutTransaction(d.State))
	if !ok {
		if d.Settled { // the client forgets the delivery; its lock expires
			h.remove()
		}
		return
	}
	h.settling = true
	out.Token, out.Path, out.Client = h.token, h.sender.path, s.c.clientName()
	s.c.pendingSettlements = append(s.c.pendingSettlements, settlement{s: s, delivery: h, disposition: s.c.dispositions, state: d.State, settledByClient: d.Settled, outcome: out, tx: tx})
}

// withoutTransaction returns a state without its transaction.
func withoutTransaction(state wire.State) wire.State {
	if in, ok := state.(wire.Transactional); ok {
		return in.Outcome
	}
	return state
}

// outcome returns the settlement for a state. It reports false if the state is not an outcome.
func outcome(state wire.State) (out engine.Settlement, ok bool) {
	switch t := state.(type) {
	case wire.Accepted:
		out.Outcome = engine.Complete
	case wire.Released:
		out.Outcome = engine.Release
	case wire.Modified:
		out.Outcome, out.Modify = engine.Abandon, t.MessageAnnotations
		if t.UndeliverableHere {
			out.Outcome = engine.Defer
		}
	case wire.Rejected:
		out.Outcome = engine.DeadLetter
		if t.Error != nil {
			out.Reason, out.Description, out.Modify = deadLetterFields(t.Error)
		}
	default:
		return out, false
	}
	return out, true
}

// deadLetterFields returns the reason, the description and the properties to modify that the error
// of a rejected contains.
func deadLetterFields(e *wire.Error) (reason, description string, modify value.Properties) {
	reason, description = string(e.Condition), e.Description
	if e.Condition == deadLetterCondition {
		reason = ""
	}
	for _, p := range e.Info {
		text, isText := p.Value.Str()
		switch {
		case p.Name == "DeadLetterReason" && isText:
			reason = text
		case p.Name == "DeadLetterErrorDescription" && isText:
			description = text
		default:
			modify = append(modify, p)
		}
	}
	return reason, description, modify
}

const deadLetterCondition wire.Condition = "com.microsoft:dead-letter"

// queueSettlements queues the client's settlements for the broker, as one operation for each run of
// settlements with the same transaction.
func (c *conn) queueSettlements() {
	if len(c.pendingSettlements) == 0 {
		return
	}
	list := c.pendingSettlements
	c.pendingSettlements = nil
	for len(list) > 0 {
		n := 1 // settlements in a row with the same transaction, or all without one
		for n < len(list) && list[n].tx == list[0].tx {
			n++
		}
		if tx := list[0].tx; tx != nil {
			tx.settle(list[:n:n])
		} else {
			c.submitSettlements(list[:n:n])
		}
		list = list[n:]
	}
}

func (c *conn) submitSettlements(list []settlement) {
	all := make([]engine.Settlement, len(list))
	for i := range list {
		all[i] = list[i].outcome
	}
	done := func(each []error, err error) {
		c.mail.call(func() {
			answerSettlements(list, each, err)
		})
	}
	c.queueReaderWork(func() {
		if err := c.b.SubmitSettle(c.ctx, all, done); err != nil {
			done(nil, err)
		}
	})
}

// answerSettlements answers settlements: each with its own error, or all with err. Successful
// ones of one disposition are answered in ranges, and failed ones one by one.
func answerSettlements(list []settlement, each []error, err error) {
	for len(list) > 0 {
		n, why := 1, err
		if why == nil {
			why = each[0]
			for why == nil && n < len(list) && each[n] == nil && list[n].inAnswerRange(&list[n-1]) {
				n++
			}
			each = each[n:]
		}
		answer(list[:n], why)
		list = list[n:]
	}
}

// inAnswerRange reports whether t can be answered in one range with b: it belongs to the same
// disposition, its delivery is the next one, the client settled both or neither, and the links of
// both still exist.
func (t *settlement) inAnswerRange(b *settlement) bool {
	return t.disposition == b.disposition && t.delivery.id == b.delivery.id+1 && t.settledByClient == b.settledByClient && !t.delivery.sender.ended && !b.delivery.sender.ended
}

// answer sends the client the outcome of consecutive deliveries: the client's state, or err. In the
// answer, a rejected has no error, because SDKs would take one for a failure.
func answer(list []settlement, err error) {
	t, last := &list[0], &list[len(list)-1]
	if t.delivery.sender.ended && !(t.delivery.sender.detachedByServer && t.s.isOpen()) {
		return // the client has detached the link meanwhile
	}
	final := t.endsDelivery(err)
	for i := range list {
		switch h := list[i].delivery; {
		case h.sender.ended:
		case final || h.settledByClient:
			h.remove()
		default:
			h.settling = false
		}
	}
	if t.settledByClient {
		return
	}
	state := withoutTransaction(t.state)
	if _, ok := state.(wire.Rejected); ok {
		state = wire.Rejected{}
	}
	if t.tx != nil {
		state = t.tx.transactionalState(state)
	}
	if err != nil {
		state = rejectedState(err)
	}
	t.s.send(&wire.Disposition{Role: wire.RoleSender, First: t.delivery.id, Last: wire.Some(last.delivery.id), Settled: final || t.delivery.sender.ended, State: state})
}
