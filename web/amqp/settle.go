package amqp

import (
	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// settling is a delivery that its client settles.
type settling struct {
	s       *session
	id      uint32
	state   wire.State // as the client asked for it, and is answered
	silent  bool       // the client has settled, and hears no answer
	outcome engine.Settlement
}

// disposed takes a disposition of the client for deliveries of ours (§6). One for
// deliveries that are not its own any more is dropped: their link is detached, or
// they were settled before.
func (s *session) disposed(d *wire.Disposition) {
	if d.Role != wire.RoleReceiver {
		return // of its own, which we have settled
	}
	last := d.Last.Or(d.First)
	for id := d.First; ; id++ {
		if h, ok := s.deliveries[id]; ok && !h.asked {
			s.settle(id, h, d)
		}
		if id == last || id-d.First > uint32(s.c.s.limits.Unsettled)+s.nextID {
			return
		}
	}
}

func (s *session) settle(id uint32, h held, d *wire.Disposition) {
	out, ok := outcome(d.State)
	if !ok {
		if d.Settled { // it forgets it; its lock runs out
			s.forget(id, h)
		}
		return
	}
	h.asked = true
	s.deliveries[id] = h
	out.Token, out.Path, out.Client = h.token, h.to.path, s.c.client()
	s.c.settling = append(s.c.settling, settling{s: s, id: id, state: d.State, silent: d.Settled, outcome: out})
}

// forget ends what is known of a delivery.
func (s *session) forget(id uint32, h held) {
	delete(s.deliveries, id)
	h.to.unsettled--
	s.c.line(h.to)
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
	all := make([]engine.Settlement, len(list))
	for i := range list {
		all[i] = list[i].outcome
	}
	done := func(each []error, err error) {
		c.mail.do(func() {
			for i := range list {
				why := err
				if why == nil {
					why = each[i]
				}
				list[i].answer(why)
			}
		})
	}
	c.todo = append(c.todo, func() {
		if err := c.b.SubmitSettle(c.ctx, all, done); err != nil {
			done(nil, err)
		}
	})
}

// answer tells the client what became of a settlement, in the form that it asked
// for it; a dead letter's error stays away, for it would mean a failure.
func (t *settling) answer(err error) {
	s := t.s
	h, ok := s.deliveries[t.id]
	if !ok {
		return // its link was detached meanwhile
	}
	s.forget(t.id, h)
	if t.silent {
		return
	}
	state := t.state
	if _, ok := state.(wire.Rejected); ok {
		state = wire.Rejected{}
	}
	if err != nil {
		state = rejected(err)
	}
	s.send(&wire.Disposition{Role: wire.RoleSender, First: t.id, Last: wire.Some(t.id), Settled: true, State: state})
}
