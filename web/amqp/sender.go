package amqp

import (
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

const (
	// maxPrefetch is the maximum number of messages that a link gets from the broker before they
	// are written, whatever its client's credit.
	maxPrefetch = 256

	// retryInterval is the time after which a request to a busy broker is repeated.
	retryInterval = time.Second
)

// A sender is a link on which a client receives messages of an entity.
//
// INVARIANT: at most one request of a sender to the broker is in progress, so that requests of the
// reader and the writer cannot overtake each other.
type sender struct {
	messageCount
	linkUse
	queueState       queueState
	s                *session
	handle           uint32
	path             engine.Path
	mode             engine.Mode
	sessionRequest   engine.SessionRequest
	filter           value.Properties // the supported ones of the client's filters, except the session filter
	brokerLink       *broker.Link     // nil until it is attached, and after the engine has ended it
	endedBrokerLink  *broker.Link     // ended for the client but not yet for the broker, after its session was lost or after a late attach; nil if there is none
	ended            bool
	detachedByServer bool // the server has detached it

	attachInProgress bool   // the broker has not answered the attach
	afterAttach      func() // called when the broker has answered and the link has ended for the broker too; may be nil

	deliveryCount     uint32 // number of deliveries begun, by the client's count
	credit            uint32 // how many more deliveries the client accepts
	flowCount         uint32 // number of the client's flows, to recognise answers to earlier ones
	brokerCredit      int    // credit that the broker has for the link
	requestInProgress bool   // a request to the broker is in progress
	queue             []*engine.Delivery
	current           *outgoingDelivery

	drain         bool // the client wants its credit to be used up
	brokerDrained bool // the broker has nothing more for it

	unsettledList  *unsettledDelivery // the deliveries that the client has not settled, the latest first
	unsettledCount int

	countedBytes   int64 // bytes taken from the budget; see updateUsage
	bodyBytes      int64 // bytes of bodies in queue
	waitsForMemory bool  // it waits for memory; see waitForMemory

	pendingAttach   *wire.Attach // the client's attach, until it is answered
	acceptedSession engine.SessionAccepted
	timer           *time.Timer // fires when the link gives up waiting for a session, or asks the broker again; may be nil
}

func (o *sender) sendQueueState() *queueState { return &o.queueState }

// handleFlow updates the client's credit (AMQP 1.0, part 2, 2.6.7). The credit in the flow counts
// from the deliveries that the client had seen when it sent the flow.
func (o *sender) handleFlow(f *wire.Flow) {
	if credit, ok := f.LinkCredit.Get(); ok {
		o.credit = creditLeft(credit, o.deliveryCount-f.DeliveryCount.Or(0))
	}
	o.drain, o.brokerDrained = f.Drain, false
	o.flowCount++
	if has := o.credit > 0; has != o.linkUse.hasCredit {
		o.s.c.setLinkUse(&o.linkUse, linkUse{o.linkUse.attached, has})
	}
	o.returnExcess()
	if ask := o.adjustBrokerCredit(); ask != nil {
		o.s.c.queueReaderWork(ask)
	} else if ask := o.checkLostSession(); ask != nil {
		o.s.c.queueReaderWork(ask)
	}
	if f.Echo && !f.Drain && o.pendingAttach == nil {
		o.sendFlow()
	}
	o.s.c.queueToSend(o)
}

// creditLeft returns the rest of the credit in a client's flow. `unseen` is the number of
// deliveries that had been sent but that the client had not seen when it sent the flow.
func creditLeft(credit, unseen uint32) uint32 {
	if int32(unseen) < 0 { // the client claims to have seen deliveries that were not sent
		return credit
	}
	return credit - min(credit, unseen)
}

// returnExcess returns queued messages to the broker for which the client no longer has credit, so
// that other receivers can get them. Messages that are not locked stay in the queue until the
// client gives credit.
func (o *sender) returnExcess() {
	if o.mode != engine.PeekLock || uint64(len(o.queue)) <= uint64(o.credit) {
		return
	}
	back := o.queue[o.credit:]
	o.queue = o.queue[:o.credit:o.credit]
	for _, d := range back {
		o.bodyBytes -= int64(len(d.Body))
	}
	o.updateUsage()
	o.s.c.queueReaderWork(func() { o.s.c.returnDeliveries(back) })
}

// sendFlow sends the link's state to the client.
func (o *sender) sendFlow() {
	o.s.sendFlow(&wire.Flow{
		Handle: wire.Some(o.handle), DeliveryCount: wire.Some(o.deliveryCount), LinkCredit: wire.Some(o.credit),
		Available: wire.Some(uint32(len(o.queue))), Drain: o.drain,
	})
}

// missingBrokerCredit returns how much more credit the broker should have for the link. It is
// negative if the broker has too much. It takes into account the client's credit, maxPrefetch and
// the limit on unsettled deliveries.
func (o *sender) missingBrokerCredit() int {
	room := maxPrefetch
	if most := o.s.c.limits.unsettled; most > 0 && o.mode == engine.PeekLock {
		room = max(0, most-o.unsettledCount)
	}
	return min(int(min(o.credit, maxPrefetch)), room) - len(o.queue) - o.brokerCredit
}

// adjustBrokerCredit returns a function that adds credit to the link in the broker, withdraws some,
// or drains it, according to the client's credit. It returns nil if nothing is to be done or an
// earlier request is in progress.
func (o *sender) adjustBrokerCredit() (ask func()) {
	if o.requestInProgress || o.ended || o.brokerLink == nil {
		return nil
	}
	c, l, flows := o.s.c, o.brokerLink, o.flowCount
	n := o.missingBrokerCredit()
	if n > 0 && !o.brokerDrained {
		if n = o.affordableCredit(n); n == 0 && o.brokerCredit == 0 {
			o.waitForMemory()
		}
	}
	switch {
	case n > 0 && !o.brokerDrained && (o.brokerCredit == 0 || n >= maxPrefetch/4 || o.drain):
		o.brokerCredit += n
		o.updateUsage()
		ask = func() {
			c.askBroker(func(done func(error)) error { return l.AddCredit(c.ctx, n, done) }, func(err error) { o.creditGranted(n, err) })
		}
	case n < 0 && o.brokerCredit > 0:
		n = min(-n, o.brokerCredit)
		ask = func() {
			taken := 0
			c.askBroker(func(done func(error)) error {
				return l.WithdrawCredit(c.ctx, n, func(k int, err error) { taken = k; done(err) })
			}, func(err error) { o.creditWithdrawn(taken, err) })
		}
	case o.drain && !o.brokerDrained && o.brokerCredit > 0:
		ask = func() {
			c.askBroker(func(done func(error)) error { return l.Drain(c.ctx, done) }, func(err error) { o.drainAnswered(flows, err) })
		}
	}
	o.requestInProgress = ask != nil
	return ask
}

// askBroker calls `submit` with a function that takes the broker's answer. The writer then calls
// `then` with that answer and the mutex held. If `submit` fails, `then` gets its error.
func (c *conn) askBroker(submit func(done func(error)) error, then func(error)) {
	done := func(err error) { c.mail.call(func() { then(err) }) }
	if err := submit(done); err != nil {
		done(err)
	}
}

func (o *sender) creditGranted(n int, err error) {
	o.requestInProgress = false
	if err != nil {
		o.brokerCredit -= n
		o.updateUsage()
		o.retryLater()
		return
	}
	o.s.c.queueToSend(o)
}

func (o *sender) creditWithdrawn(n int, err error) {
	o.requestInProgress = false
	o.brokerCredit -= n
	o.updateUsage()
	if err != nil {
		o.retryLater()
		return
	}
	o.s.c.queueToSend(o)
}

// drainAnswered handles the answer to a drain, after which the broker has neither messages nor
// credit for the link. `flows` is the flowCount for which the drain was requested. On an error the
// client's drain ends too, because the client waits for an answer.
func (o *sender) drainAnswered(flows uint32, err error) {
	o.requestInProgress = false
	if err == nil {
		o.brokerCredit = 0
		o.updateUsage()
	}
	o.brokerDrained = o.brokerDrained || flows == o.flowCount
	o.s.c.queueToSend(o)
}

// retryLater makes the writer ask the broker again after retryInterval. If the client has requested
// a drain, that is answered first, because the client waits for it.
func (o *sender) retryLater() {
	if o.ended {
		return
	}
	if o.drain {
		o.brokerDrained = true
		o.s.c.queueToSend(o)
	}
	o.stopTimer()
	o.timer = time.AfterFunc(retryInterval, func() {
		o.s.c.mail.call(func() {
			if !o.ended {
				o.s.c.queueToSend(o)
			}
		})
	})
}

func (o *sender) stopTimer() {
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
}

// nothingToWrite answers the client's drain if it is done, and returns what adjustBrokerCredit
// returns.
func (o *sender) nothingToWrite() (ask func()) {
	if o.ended {
		return nil
	}
	if o.drain && o.isDrainDone() {
		o.drain, o.brokerDrained = false, false
		o.deliveryCount += o.credit
		o.credit = 0
		o.s.sendFlow(&wire.Flow{
			Handle: wire.Some(o.handle), DeliveryCount: wire.Some(o.deliveryCount), LinkCredit: wire.Some[uint32](0), Drain: true,
		})
	}
	return o.adjustBrokerCredit()
}

// isDrainDone reports whether the link sends no further deliveries for the client's credit: the
// credit is used up, the broker has no more messages, or the client must settle deliveries first,
// because of its limit or of memory.
func (o *sender) isDrainDone() bool {
	if o.pendingAttach != nil || o.requestInProgress || o.current != nil || len(o.queue) > 0 {
		return false
	}
	return o.brokerDrained || o.brokerLink == nil || o.brokerCredit == 0 && (o.waitsForMemory || o.missingBrokerCredit() <= 0)
}

func (o *sender) handleTransfer(*wire.Transfer) error { return errTransferToReceiver() }

// errTransferToReceiver is the error that closes the connection of a client that sends a
// transfer on a link on which it receives.
func errTransferToReceiver() error {
	return &wire.ProtocolError{Condition: wire.CondNotAllowed, Text: "A transfer arrived on a link that the client receives on."}
}
