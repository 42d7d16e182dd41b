package amqp

import (
	"cmp"
	"fmt"
	"slices"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// settling is a delivery that its client settles.
type settling struct {
	s       *session
	h       *held
	of      uint64     // the disposition, of those of the connection
	state   wire.State // as the client asked for it, and is answered
	silent  bool       // the client has settled, and hears no answer
	outcome engine.Settlement
	tx      *transaction // that it is part of; nil: none
}

// A crossing is of a link that we have detached: why, and the deliveries that its client
// may be settling meanwhile.
type crossing struct {
	why *wire.Error
	ids map[uint32]bool
}

// cross has whoever settles what o has delivered hear why that is in vain, until the
// client has heard so of the link: the SDK for JavaScript waits for an answer whatever
// becomes of the link (SES-6).
func (s *session) cross(o *outlet, why *wire.Error) {
	o.cast = true
	is := crossing{why, map[uint32]bool{}}
	for h := o.first; h != nil; h = h.next {
		if !h.asked {
			is.ids[h.id] = true
		}
	}
	if len(is.ids) == 0 {
		return
	}
	if s.crossing == nil {
		s.crossing = map[uint32]crossing{}
	}
	s.crossing[o.handle] = is
}

// crossed answers a disposition for deliveries of links that we have detached.
func (s *session) crossed(d *wire.Disposition, span uint32) {
	for _, is := range s.crossing {
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

// disposed takes a disposition of the client for deliveries of ours (§6). One for
// deliveries that are not its own any more is dropped, if they were settled before or
// the client knows that their link is detached.
func (s *session) disposed(d *wire.Disposition) error {
	if d.Role != wire.RoleReceiver {
		return nil // of its own, which we have settled
	}
	span := d.Last.Or(d.First) - d.First // numbers wrap
	if int32(span) < 0 {
		return &wire.ProtocolError{Condition: wire.CondInvalidField, Text: fmt.Sprintf("A disposition from delivery %d to %d is backwards.", d.First, d.Last.Or(0))}
	}
	s.c.dispositions++
	for _, h := range s.within(d.First, span) {
		if !h.asked {
			s.settle(h, d)
		}
	}
	s.crossed(d, span)
	return nil
}

// within are the deliveries that the client has not settled from first to span
// after it, in order. It costs as much as there are of them, whatever the range.
func (s *session) within(first, span uint32) (all []*held) {
	if uint64(span) < uint64(len(s.deliveries)) {
		for n := uint32(0); n <= span; n++ {
			if h := s.deliveries[first+n]; h != nil {
				all = append(all, h)
			}
		}
		return all
	}
	for id, h := range s.deliveries {
		if id-first <= span {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b *held) int { return cmp.Compare(a.id-first, b.id-first) })
	return all
}

func (s *session) settle(h *held, d *wire.Disposition) {
	tx, err := s.c.transactionOf(d.State)
	if err != nil {
		answer([]settling{{s: s, h: h, state: d.State, silent: d.Settled}}, err)
		return
	}
	out, ok := outcome(outcomeIn(d.State))
	if !ok {
		if d.Settled { // it forgets it; its lock runs out
			h.forget()
		}
		return
	}
	h.asked = true
	out.Token, out.Path, out.Client = h.token, h.to.path, s.c.client()
	s.c.settling = append(s.c.settling, settling{s: s, h: h, of: s.c.dispositions, state: d.State, silent: d.Settled, outcome: out, tx: tx})
}

// outcomeIn is a state without the transaction that it is part of.
func outcomeIn(state wire.State) wire.State {
	if in, ok := state.(wire.Transactional); ok {
		return in.Outcome
	}
	return state
}

// outcome is what a state asks for; not ok if nothing.
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
			out.Reason, out.Description, out.Modify = deadLetter(t.Error)
		}
	default:
		return out, false
	}
	return out, true
}

// deadLetter is what the error of a rejected says: the reason and description
// under names of their own, and properties beside them.
func deadLetter(e *wire.Error) (reason, description string, modify value.Properties) {
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

// flushSettlements notes what the client has settled for the broker, as one
// operation.
func (c *conn) flushSettlements() {
	if len(c.settling) == 0 {
		return
	}
	list := c.settling
	c.settling = nil
	for len(list) > 0 {
		n := 1 // each run of those of one transaction, or of none, by itself
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

func (c *conn) submitSettlements(list []settling) {
	all := make([]engine.Settlement, len(list))
	for i := range list {
		all[i] = list[i].outcome
	}
	done := func(each []error, err error) {
		c.mail.do(func() {
			answerAll(list, each, err)
		})
	}
	c.todo = append(c.todo, func() {
		if err := c.b.SubmitSettle(c.ctx, all, done); err != nil {
			done(nil, err)
		}
	})
}

// answerAll tells the client what became of settlements: of each, or with err of
// all. What it asked for in one range is answered in ranges as far as it was done;
// each that was not has an answer of its own.
func answerAll(list []settling, each []error, err error) {
	for len(list) > 0 {
		n, why := 1, err
		if why == nil {
			why = each[0]
			for why == nil && n < len(list) && each[n] == nil && list[n].follows(&list[n-1]) {
				n++
			}
			each = each[n:]
		}
		answer(list[:n], why)
		list = list[n:]
	}
}

// follows tells whether t is of the same disposition as b and the next delivery.
// Neither's link is gone.
func (t *settling) follows(b *settling) bool {
	return t.of == b.of && t.h.id == b.h.id+1 && !t.h.to.over && !b.h.to.over
}

// answer tells the client what became of deliveries that follow each other, in
// the form that it asked for it; a dead letter's error stays away, for it would
// mean a failure.
func answer(list []settling, err error) {
	t, last := &list[0], &list[len(list)-1]
	if t.h.to.over && !(t.h.to.cast && t.s.live()) {
		return // the client has detached its link meanwhile
	}
	for i := range list {
		if !list[i].h.to.over {
			list[i].h.forget()
		}
	}
	if t.silent {
		return
	}
	state := outcomeIn(t.state)
	if _, ok := state.(wire.Rejected); ok {
		state = wire.Rejected{}
	}
	if t.tx != nil {
		state = t.tx.state(state)
	}
	if err != nil {
		state = rejected(err)
	}
	t.s.send(&wire.Disposition{Role: wire.RoleSender, First: t.h.id, Last: wire.Some(last.h.id), Settled: true, State: state})
}
