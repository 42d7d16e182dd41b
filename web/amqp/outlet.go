package amqp

import (
	"io"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp/carry"
	"mayfly/web/amqp/wire"
)

// ahead is how many messages a link has from the broker at the most before they
// are written, whatever credit its client gives.
const ahead = 256

// An outlet is a link that a client receives messages of an entity on.
//
// INVARIANT: one thing at a time is asked of the broker for an outlet (busy), so
// that what the reader and the writer ask for cannot overtake each other.
type outlet struct {
	s      *session
	handle uint32
	path   engine.Path
	mode   engine.Mode
	want   engine.SessionRequest
	broker *broker.Link // nil until it is attached
	over   bool

	count   uint32 // deliveries begun, as the client counts
	limit   uint32 // count when its credit is used up
	granted int    // credit that the broker has for it
	busy    bool   // something was asked of the broker and not answered
	queue   []*engine.Delivery
	current *outgoing
	lined   bool // it is in conn.feeding

	drain     bool // the client wants its credit used up
	exhausted bool // the broker has had nothing more for it

	unsettled int

	answer  *wire.Attach // the client's attach, while it is not answered
	session engine.SessionAccepted
	timeout *time.Timer
}

// outgoing is a delivery on its way out.
type outgoing struct {
	delivery *engine.Delivery
	envelope carry.Envelope
	split    wire.Splitter
	body     io.ReadCloser // of a stream
}

func (o *outlet) remaining() int { return max(0, int(int32(o.limit-o.count))) }

// flow takes the client's credit (part 2, 2.6.7).
func (o *outlet) flow(f *wire.Flow) {
	o.limit = f.DeliveryCount.Or(0) + f.LinkCredit.Or(0)
	o.drain = f.Drain
	o.exhausted = false
	if ask := o.balance(); ask != nil {
		o.s.c.todo = append(o.s.c.todo, ask)
	}
	if f.Echo && !f.Drain {
		o.tell()
	}
	o.s.c.line(o)
}

// tell tells the client the link's state.
func (o *outlet) tell() {
	o.s.sendFlow(&wire.Flow{
		Handle: wire.Some(o.handle), DeliveryCount: wire.Some(o.count), LinkCredit: wire.Some(uint32(o.remaining())),
		Available: wire.Some(uint32(len(o.queue))), Drain: o.drain,
	})
}

// balance asks the broker for what the client's credit has come to; nil: nothing
// is to be asked now.
func (o *outlet) balance() (ask func()) {
	if o.busy || o.over || o.broker == nil {
		return nil
	}
	c := o.s.c
	room := c.s.limits.Unsettled - o.unsettled
	if o.mode == engine.ReceiveAndDelete {
		room = ahead
	}
	n := min(o.remaining(), ahead, max(0, room)) - len(o.queue) - o.granted
	switch l := o.broker; {
	case n > 0 && !o.exhausted && (o.granted == 0 || n >= ahead/4 || o.drain):
		o.busy = true
		o.granted += n
		return func() {
			c.ask(func(done func(error)) error { return l.Credit(c.ctx, n, done) }, func(err error) { o.credited(n, err) })
		}
	case n < 0 && o.granted > 0:
		o.busy = true
		taken := 0
		return func() {
			c.ask(func(done func(error)) error {
				return l.Withdraw(c.ctx, -n, func(k int, err error) { taken = k; done(err) })
			}, func(error) { o.withdrawn(taken) })
		}
	case o.drain && !o.exhausted && o.remaining() > 0:
		o.busy = true
		return func() { c.ask(func(done func(error)) error { return l.Drain(c.ctx, done) }, o.drained) }
	}
	return nil
}

// ask submits something and has then called with the answer, by the writer with
// the mutex held, or at once with why it could not be submitted.
func (c *conn) ask(submit func(done func(error)) error, then func(error)) {
	done := func(err error) { c.mail.do(func() { then(err) }) }
	if err := submit(done); err != nil {
		done(err)
	}
}

func (o *outlet) withdrawn(n int) {
	o.busy = false
	o.granted -= n
	o.s.c.line(o)
}

func (o *outlet) credited(n int, err error) {
	o.busy = false
	if err != nil {
		o.granted -= n // the writer tries again in a while
		return
	}
	o.s.c.line(o)
}

// drained: the broker has nothing more, unless all the credit it had was used.
func (o *outlet) drained(err error) {
	o.busy = false
	if err == nil && o.granted > 0 || o.remaining() <= len(o.queue) {
		o.exhausted = true
	}
	if err == nil {
		o.granted = 0
	}
	o.s.c.line(o)
}

// delivered takes a delivery from the broker.
func (o *outlet) delivered(d *engine.Delivery) {
	o.granted--
	o.queue = append(o.queue, d)
	o.s.c.line(o)
}

// finishDrain uses up the credit that is left, and says so.
func (o *outlet) finishDrain() {
	o.drain, o.exhausted = false, false
	o.count = o.limit
	o.s.sendFlow(&wire.Flow{
		Handle: wire.Some(o.handle), DeliveryCount: wire.Some(o.count), LinkCredit: wire.Some[uint32](0), Drain: true,
	})
}

func (o *outlet) transfer(*wire.Transfer) error {
	return &wire.ProtocolError{Condition: wire.CondNotAllowed, Text: "A transfer came on a link that the client receives on."}
}

// end lets go of what was not written. What the client has not seen it cannot
// have failed to handle, so it is given back at once.
func (o *outlet) end(how engine.Closed) func() {
	if o.timeout != nil {
		o.timeout.Stop()
	}
	o.over = true
	for id, h := range o.s.deliveries {
		if h.to == o {
			delete(o.s.deliveries, id)
		}
	}
	unseen := o.queue
	o.queue = nil
	if cur := o.current; cur != nil {
		unseen = append(slices.Clip(unseen), cur.delivery)
		if cur.body != nil {
			cur.body.Close()
		}
		o.current = nil
	}
	c, l := o.s.c, o.broker
	if l == nil {
		return nil // who attaches it sees to it
	}
	return func() {
		c.giveBack(unseen)
		_ = l.Detach(c.s.ctx, how) //nolint:errcheck // nobody is left to tell, and its locks run out
	}
}

// giveBack returns deliveries that nobody has seen.
func (c *conn) giveBack(unseen []*engine.Delivery) {
	var back []engine.Settlement
	for _, d := range unseen {
		c.b.Taken(*d)
		if !d.Deleted {
			back = append(back, engine.Settlement{Token: d.Token(), Outcome: engine.Release, Path: d.Path, Client: c.client()})
		}
	}
	if len(back) > 0 {
		_ = c.b.SubmitSettle(c.s.ctx, back, func([]error, error) {}) //nolint:errcheck // their locks run out
	}
}
