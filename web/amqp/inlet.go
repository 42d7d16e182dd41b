package amqp

import (
	"fmt"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp/wire"
)

const (
	inletCredit = 1_000     // messages that a client may send ahead of our answers
	keepOver    = 256 << 10 // bytes of a buffer that is not kept for the next message
)

// An inlet is a link that a client sends to an entity on.
type inlet struct {
	passed
	s      *session
	handle uint32
	path   engine.Path
	actor  string
	most   uint64 // bytes of a message

	count   uint32 // deliveries that have come
	credit  uint32 // that the client may still send
	waiting uint32 // that came and are not answered

	delivery incoming // whose last transfer has not come
}

// incoming is a delivery of the client as far as it has come.
type incoming struct {
	begun   bool
	id      uint32
	format  uint32
	settled bool
	state   wire.State
	bytes   []byte
	size    uint64
	refused *wire.Error // why nothing is kept of it any more
}

func (s *session) attachInlet(a *wire.Attach, path engine.Path) {
	in := &inlet{s: s, handle: a.Handle, path: path, actor: s.c.client(), credit: inletCredit}
	s.join(a, in)
	s.c.work.Go(func() {
		var most int64
		until, err := s.c.permit(s.c.ctx, path, engine.SendRight)
		if err == nil {
			err = s.c.b.Read(s.c.ctx, func(r broker.Reader) (err error) {
				most, err = r.Sendable(path)
				return err
			})
		}
		s.c.mail.do(func() {
			if s.links[a.Handle].link != link(in) {
				return // it has gone meanwhile
			}
			if err != nil {
				s.leave(a.Handle)
				s.refuse(a, asError(err))
				return
			}
			s.c.guard(s, a.Handle, in, path, engine.SendRight, until)
			in.most = uint64(most)
			answer := s.answer(a)
			answer.MaxMessageSize = wire.Some(in.most)
			s.send(answer)
			in.top()
		})
	})
}

// top tells the client how much it may send.
func (in *inlet) top() {
	in.s.sendFlow(&wire.Flow{Handle: wire.Some(in.handle), DeliveryCount: wire.Some(in.count), LinkCredit: wire.Some(in.credit)})
}

func (in *inlet) flow(f *wire.Flow) {
	if f.Echo {
		in.top()
	}
}

func (in *inlet) end(engine.Closed) func() {
	return nil
}

func (in *inlet) transfer(t *wire.Transfer) error {
	d := &in.delivery
	if !d.begun {
		id, ok := t.DeliveryID.Get()
		if !ok {
			return &wire.ProtocolError{Condition: wire.CondInvalidField, Text: "The first transfer of a delivery has no delivery-id."}
		}
		*d = incoming{begun: true, id: id, format: t.MessageFormat.Or(0), bytes: d.bytes[:0]}
		in.count++
		if in.credit > 0 {
			in.credit--
		}
		in.waiting++
	}
	if settled, ok := t.Settled.Get(); ok {
		d.settled = d.settled || settled
	}
	if t.State != nil {
		d.state = t.State
	}
	if t.Aborted {
		in.over()
		in.answered()
		return nil
	}
	d.size += uint64(len(t.Payload))
	if d.size > in.most+envelope && d.refused == nil {
		d.refused = tooLarge(in.most)
		d.bytes = nil
	}
	if !t.More {
		in.complete(t.Payload)
		return nil
	}
	if d.refused == nil {
		d.bytes = append(d.bytes, t.Payload...)
	}
	return nil
}

// envelope is what a message may have around its body beyond the limit on
// messages, which counts less than the encoded bytes.
const envelope = 128 << 10

func tooLarge(most uint64) *wire.Error {
	return &wire.Error{Condition: wire.CondMessageSizeExceeded, Description: fmt.Sprintf("The message is larger than the %d bytes allowed.", most)}
}

// over ends the delivery that is coming.
func (in *inlet) over() {
	d := &in.delivery
	if cap(d.bytes) > keepOver {
		d.bytes = nil
	}
	d.begun = false
}

// complete sends the delivery whose last piece this is.
func (in *inlet) complete(last []byte) {
	d := in.delivery
	if len(d.bytes) > 0 {
		last = append(d.bytes, last...)
	}
	defer in.over()
	if d.refused != nil {
		in.answer(d.id, d.settled, wire.Rejected{Error: d.refused})
		return
	}
	out, err := readMessages(d.format, last)
	if err != nil {
		in.answer(d.id, d.settled, rejected(err))
		return
	}
	in.messages += uint64(len(out))
	c := in.s.c
	done := func(err error) {
		var state wire.State = wire.Accepted{}
		if err != nil {
			state = rejected(err)
		}
		c.mail.do(func() { in.answer(d.id, d.settled, state) })
	}
	c.todo = append(c.todo, func() {
		err := c.b.SubmitSend(c.ctx, in.path, out, in.actor, func(_ []engine.Seq, err error) { done(err) })
		if err != nil {
			done(err)
		}
	})
}

// answer tells the client what became of a delivery.
func (in *inlet) answer(id uint32, settled bool, state wire.State) {
	if !in.s.live() || in.s.links[in.handle].link != link(in) {
		return // nobody is there to hear it
	}
	if !settled {
		in.s.send(&wire.Disposition{Role: wire.RoleReceiver, First: id, Last: wire.Some(id), Settled: true, State: state})
	}
	in.answered()
}

// answered counts an answer, and gives credit anew when half is used up.
func (in *inlet) answered() {
	in.waiting--
	if in.credit <= inletCredit/2 && in.credit+in.waiting <= inletCredit/2+inletCredit/4 {
		in.credit = inletCredit - in.waiting
		in.top()
	}
}
