package amqp

import (
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp/wire"
)

const (
	// ahead is how many messages a link has from the broker at the most before they
	// are written, whatever credit its client gives.
	ahead = 256

	// retryEvery is when the broker is asked again for what it was too busy for.
	retryEvery = time.Second
)

// An outlet is a link that a client receives messages of an entity on.
//
// INVARIANT: one thing at a time is asked of the broker for an outlet (busy), so
// that what the reader and the writer ask for cannot overtake each other.
type outlet struct {
	passed
	at     place
	s      *session
	handle uint32
	path   engine.Path
	mode   engine.Mode
	want   engine.SessionRequest
	broker *broker.Link // nil until it is attached, and once the engine has ended it
	gone   *broker.Link // that the broker is to be told the end of: it has lost its session, or came when the client had gone; nil: none
	over   bool
	cast   bool // we have detached it, for a reason of ours

	attaching bool   // the broker has not answered its attach
	parting   func() // to be called when it has, and the link has ended for the broker too; nil: nothing

	count   uint32 // deliveries begun, as the client counts
	credit  uint32 // how many more the client takes
	flows   uint32 // of the client, so that an answer to a former one is known
	granted int    // credit that the broker has for it
	busy    bool   // something was asked of the broker and not answered
	queue   []*engine.Delivery
	current *outgoing

	drain     bool // the client wants its credit used up
	exhausted bool // the broker has nothing more for it

	first     *held // what the client has not settled, the latest first
	unsettled int

	answer  *wire.Attach // the client's attach, while it is not answered
	session engine.SessionAccepted
	timer   *time.Timer // until it gives up to wait for a session, or asks again; nil: neither
}

func (o *outlet) place() *place { return &o.at }

// flow takes the client's credit (AMQP 1.0, part 2, 2.6.7): what it had given when
// it had seen as many deliveries as it says.
func (o *outlet) flow(f *wire.Flow) {
	if credit, ok := f.LinkCredit.Get(); ok {
		o.credit = creditLeft(credit, o.count-f.DeliveryCount.Or(0))
	}
	o.drain, o.exhausted = f.Drain, false
	o.flows++
	o.shed()
	if ask := o.balance(); ask != nil {
		o.s.c.note(ask)
	}
	if f.Echo && !f.Drain && o.answer == nil {
		o.tell()
	}
	o.s.c.line(o)
}

// creditLeft is what is left of a client's credit after the deliveries that it
// had not seen when it gave it.
func creditLeft(credit, unseen uint32) uint32 {
	if int32(unseen) < 0 { // it has seen more than there was
		return credit
	}
	return credit - min(credit, unseen)
}

// shed gives back what the client takes no longer, so that others can have it. A
// message that is deleted already waits for credit.
func (o *outlet) shed() {
	if o.mode == engine.ReceiveAndDelete || uint64(len(o.queue)) <= uint64(o.credit) {
		return
	}
	back := o.queue[o.credit:]
	o.queue = o.queue[:o.credit:o.credit]
	o.s.c.note(func() { o.s.c.giveBack(back) })
}

// tell tells the client the link's state.
func (o *outlet) tell() {
	o.s.sendFlow(&wire.Flow{
		Handle: wire.Some(o.handle), DeliveryCount: wire.Some(o.count), LinkCredit: wire.Some(o.credit),
		Available: wire.Some(uint32(len(o.queue))), Drain: o.drain,
	})
}

// lacks is how much more credit the broker is to have for the link, less than
// zero: it has too much.
func (o *outlet) lacks() int {
	room := ahead
	if o.mode == engine.PeekLock {
		room = max(0, o.s.c.limits.unsettled-o.unsettled)
	}
	return min(int(min(o.credit, ahead)), room) - len(o.queue) - o.granted
}

// balance asks the broker for what the client's credit has come to; nil: nothing
// is to be asked now.
func (o *outlet) balance() (ask func()) {
	if o.busy || o.over || o.broker == nil {
		return nil
	}
	c, l, flows := o.s.c, o.broker, o.flows
	n := o.lacks()
	switch {
	case n > 0 && !o.exhausted && (o.granted == 0 || n >= ahead/4 || o.drain):
		o.granted += n
		ask = func() {
			c.ask(func(done func(error)) error { return l.Credit(c.ctx, n, done) }, func(err error) { o.credited(n, err) })
		}
	case n < 0 && o.granted > 0:
		n = min(-n, o.granted)
		ask = func() {
			taken := 0
			c.ask(func(done func(error)) error {
				return l.Withdraw(c.ctx, n, func(k int, err error) { taken = k; done(err) })
			}, func(err error) { o.withdrawn(taken, err) })
		}
	case o.drain && !o.exhausted && o.granted > 0:
		ask = func() {
			c.ask(func(done func(error)) error { return l.Drain(c.ctx, done) }, func(err error) { o.drained(flows, err) })
		}
	}
	o.busy = ask != nil
	return ask
}

// ask submits something and has then called with the answer, by the writer with
// the mutex held, or at once with why it could not be submitted.
func (c *conn) ask(submit func(done func(error)) error, then func(error)) {
	done := func(err error) { c.mail.do(func() { then(err) }) }
	if err := submit(done); err != nil {
		done(err)
	}
}

func (o *outlet) credited(n int, err error) {
	o.busy = false
	if err != nil {
		o.granted -= n
		o.later()
		return
	}
	o.s.c.line(o)
}

func (o *outlet) withdrawn(n int, err error) {
	o.busy = false
	o.granted -= n
	if err != nil {
		o.later()
		return
	}
	o.s.c.line(o)
}

// drained: the broker has nothing more for the link, and no credit either. While
// it cannot say, the client is told so too, for it waits for an answer.
func (o *outlet) drained(flows uint32, err error) {
	o.busy = false
	if err == nil {
		o.granted = 0
	}
	o.exhausted = o.exhausted || flows == o.flows
	o.s.c.line(o)
}

// later has the broker asked again in a while. A drain is answered before, for
// the client waits for that.
func (o *outlet) later() {
	if o.over {
		return
	}
	if o.drain {
		o.exhausted = true
		o.s.c.line(o)
	}
	o.stopTimer()
	o.timer = time.AfterFunc(retryEvery, func() {
		o.s.c.mail.do(func() {
			if !o.over {
				o.s.c.line(o)
			}
		})
	})
}

func (o *outlet) stopTimer() {
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
}

// rest ends a drain when there is nothing more to write for it.
func (o *outlet) rest() (ask func()) {
	if o.over {
		return nil
	}
	if o.drain && o.drainable() {
		o.drain, o.exhausted = false, false
		o.count += o.credit
		o.credit = 0
		o.s.sendFlow(&wire.Flow{
			Handle: wire.Some(o.handle), DeliveryCount: wire.Some(o.count), LinkCredit: wire.Some[uint32](0), Drain: true,
		})
	}
	return o.balance()
}

// drainable tells whether nothing more comes for the credit that is there: all of
// it is used, the broker has said so, or the client has more to settle first.
func (o *outlet) drainable() bool {
	if o.answer != nil || o.busy || o.current != nil || len(o.queue) > 0 {
		return false
	}
	return o.exhausted || o.broker == nil || o.granted == 0 && o.lacks() <= 0
}

func (o *outlet) transfer(*wire.Transfer) error { return errTransferToReceiver() }

// errTransferToReceiver is why a client's transfer on a link it receives on ends
// its connection.
func errTransferToReceiver() error {
	return &wire.ProtocolError{Condition: wire.CondNotAllowed, Text: "A transfer came on a link that the client receives on."}
}
