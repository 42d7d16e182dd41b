package amqp

import (
	"errors"
	"fmt"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp/wire"
)

const (
	// inletCredit is how many messages a client may send ahead of our answers, and
	// largeCredit on a link to where they may be larger than a megabyte.
	inletCredit = 1_000
	largeCredit = 100

	// envelope is what a message may have in bytes around its body beyond the limit
	// on messages, which counts less than what is encoded.
	envelope = 128 << 10
)

// An inlet is a link that a client sends to an entity on. What has come of a
// delivery is kept until all of it has, unless it is large: then its data goes on
// to the store as it comes. See sending.
type inlet struct {
	passed
	s      *session
	handle uint32
	path   engine.Path // of what the link is to
	beyond engine.Path // where messages go by way of that; empty: nowhere
	most   uint64      // bytes of a message
	gives  uint32      // credit, as often as it is given
	over   bool

	count   uint32 // deliveries that have come, and those before the link's first
	credit  uint32 // that the client may still send
	waiting uint32 // that came and are not answered

	coming arrival  // the delivery whose last transfer has not come
	stream *sending // what it is sent by already; nil: nothing
	line   line     // of what is to be handed over in order
	lined  int64    // bytes of those in line that are whole
}

// transferDestination is a property of a link to an entity by way of which its
// messages go to another (FWD-14).
const transferDestination = "com.microsoft:transfer-destination-address"

func (s *session) attachInlet(a *wire.Attach, path engine.Path) {
	in := &inlet{s: s, handle: a.Handle, path: path, count: a.InitialDeliveryCount.Or(0)}
	if v, ok := a.Properties.Lookup(transferDestination); ok {
		beyond, ok := v.Str()
		if in.beyond, _ = nodeOf(beyond); !ok || in.beyond == "" {
			s.refuse(a, &wire.Error{Condition: wire.CondInvalidField, Description: "The property " + transferDestination + " is the name of an entity."})
			return
		}
	}
	s.join(a, in)
	s.c.attachWith(func() func() {
		until, beyond, err := in.permit()
		var most int64
		if err == nil {
			most, err = in.sendable()
		}
		return func() {
			switch {
			case in.over: // it has gone meanwhile
			case err != nil:
				in.over = true
				s.leave(a.Handle)
				s.refuse(a, asError(err))
			default:
				s.c.guard(s, a.Handle, in, path, engine.SendRight, until)
				if in.beyond != "" {
					s.c.guard(s, a.Handle, in, in.beyond, engine.SendRight, beyond)
				}
				in.agree(a, uint64(most))
			}
		}
	})
}

// permit tells until when the client may send to either entity, zero if for ever,
// or why it may not.
func (in *inlet) permit() (until, beyond time.Time, err error) {
	c := in.s.c
	if until, err = c.permit(c.ctx, in.path, engine.SendRight); err == nil && in.beyond != "" {
		beyond, err = c.permit(c.ctx, in.beyond, engine.SendRight)
	}
	return until, beyond, err
}

// sendable tells how large messages may be. Where they go by way of an entity,
// that the other takes none now is a matter of each message (FWD-14).
func (in *inlet) sendable() (most int64, err error) {
	c := in.s.c
	err = c.b.Read(c.ctx, func(r broker.Reader) error {
		var err error
		if most, err = r.Sendable(in.path); err != nil || in.beyond == "" {
			return err //nolint:wrapcheck // the broker's
		}
		there, err := r.Sendable(in.beyond)
		if errors.Is(err, engine.ErrDisabled) {
			return nil
		}
		most = min(most, there)
		return err //nolint:wrapcheck // likewise
	})
	return most, err //nolint:wrapcheck // likewise
}

// agree answers the attach, and gives credit.
func (in *inlet) agree(a *wire.Attach, most uint64) {
	in.most, in.gives = most, inletCredit
	if most > 1<<20 {
		in.gives = largeCredit
	}
	answer := in.s.answer(a)
	answer.MaxMessageSize = wire.Some(most)
	in.s.send(answer)
	in.credit = in.gives
	in.top()
}

// top tells the client how much it may send.
func (in *inlet) top() {
	in.s.sendFlow(&wire.Flow{Handle: wire.Some(in.handle), DeliveryCount: wire.Some(in.count), LinkCredit: wire.Some(in.credit)})
}

// flow takes what the client says of its link: what it says of credit has no
// meaning, for it is the one who sends.
func (in *inlet) flow(f *wire.Flow) {
	if f.Echo && in.gives > 0 {
		in.top()
	}
}

// end lets go of the delivery that is on its way. Those that came whole are sent.
func (in *inlet) end(engine.Closed) func() {
	in.over = true
	if in.stream != nil {
		in.stream.breakOff(errGone)
		in.stream = nil
	}
	in.coming.over(in.s.c)
	return nil
}

func (in *inlet) transfer(t *wire.Transfer) error {
	d, c := &in.coming, in.s.c
	begins, why := d.merge(t)
	if why == nil && begins && in.credit == 0 {
		why = &wire.Error{Condition: wire.CondTransferLimitExceeded, Description: "The link has no credit for more messages."}
	}
	if why != nil {
		in.s.detach(in.handle, why)
		return nil
	}
	if begins {
		in.count++
		in.credit--
		in.waiting++
	}
	if t.Aborted {
		in.abort()
		return nil
	}
	if d.size > in.most+envelope {
		in.refuse(tooLarge(in.most))
	}
	switch {
	case !t.More:
		in.complete(t.Payload)
	case d.refused != nil: // it is dropped as it comes
	case in.stream != nil:
		in.feed(t.Payload)
	default:
		if err := d.keep(c, t.Payload); err != nil {
			in.refuse(asError(err))
		} else if len(d.bytes) > streamOver && d.format == wire.FormatMessage && !d.entire {
			in.begin()
		}
	}
	return nil
}

// refuse has the rest of the delivery be dropped as it comes, and the client be
// told why once all has: some do not listen before.
func (in *inlet) refuse(why *wire.Error) {
	in.coming.refuse(in.s.c, why)
	if in.stream != nil {
		in.stream.breakOff(errGone)
	}
}

// abort forgets a delivery that the client has thought better of. It is settled
// by that.
func (in *inlet) abort() {
	if in.stream != nil {
		in.stream.breakOff(errGone)
		in.stream = nil
	}
	in.coming.over(in.s.c)
	in.answered()
}

// complete sends the delivery whose last piece this is.
func (in *inlet) complete(last []byte) {
	d, c := &in.coming, in.s.c
	defer d.over(c)
	if m := in.stream; m != nil {
		if d.refused == nil {
			in.feed(last)
		}
		in.stream = nil
		in.messages++
		m.came(d)
		return
	}
	if d.refused != nil {
		in.answer(d.id, d.settled, wire.Rejected{Error: d.refused})
		return
	}
	t, err := c.transactionOf(d.state)
	if err == nil {
		m := &sending{in: in, id: d.id, settled: d.settled, tx: t, last: true}
		if m.out, err = readMessages(d.format, d.whole(last)); err == nil {
			m.size = int64(d.size)
			in.messages += uint64(len(m.out))
			d.forget(c) // the messages have copies
			err = m.enter()
		}
	}
	if err != nil {
		in.answer(d.id, d.settled, rejected(err))
	}
}

// answer tells the client what became of a delivery.
func (in *inlet) answer(id uint32, settled bool, state wire.State) {
	if in.over || !in.s.live() {
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
	if in.credit <= in.gives/2 && in.credit+in.waiting <= in.gives/2+in.gives/4 {
		in.credit = in.gives - in.waiting
		in.top()
	}
}

// readable says whether messages of this format are understood.
func readable(format uint32) error {
	if format == wire.FormatMessage || format == wire.FormatBatch {
		return nil
	}
	return &engine.Refusal{Kind: engine.ErrNotImplemented, Text: fmt.Sprintf("There is no message-format 0x%x here.", format)}
}
