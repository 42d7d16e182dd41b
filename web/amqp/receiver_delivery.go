package amqp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp/codec"
	"mayfly/web/amqp/wire"
)

const (
	streamThreshold     = 256 << 10 // size in bytes from which a message's data goes to the store as it arrives
	maxDirectSubmit     = 64 << 10  // size in bytes from which the reader does not submit a message itself, because it would wait for the store
	maxSubmitQueueBytes = 1 << 20   // bytes of queued complete messages from which the reader waits

	// storeTimeout is how long the reader waits for a store that does not accept data.
	storeTimeout = 10 * time.Second
)

// errDeliveryBrokenOff ends the data of a message that will not be completed.
var errDeliveryBrokenOff = errors.New("the rest of the message will not arrive")

// An incomingDelivery is one delivery from the client on its way to the broker.
//
// The connection's reader submits small deliveries as they arrive. A larger delivery goes into its
// link's submitQueue, which a goroutine serves, and so do the deliveries that follow it on the
// link, so that all are sent in order. That goroutine passes the data of a streamed delivery to the
// store while the reader still receives it.
type incomingDelivery struct {
	receiver     *receiver
	id           uint32
	settled      bool
	tx           *transaction // the transaction that it belongs to, or nil
	messages     []broker.Outgoing
	size         int64 // bytes, if it is not streamed
	countedBytes int64 // bytes counted for it until it is submitted

	scanner *wire.Scanner // only if it is streamed
	pipe    *pipe         // only if it is streamed
	turn    chan struct{} // only if it is streamed in a transaction: closed when it may be completed
	sent    chan struct{} // only if it is streamed in a transaction: closed when it has been sent to the transaction

	complete bool        // all of it has arrived
	refused  *wire.Error // why it is refused, whatever the broker answers
	outcome  wire.State  // its outcome; nil until that is known
	answered bool        // the outcome has been sent
	failed   error       // the error of sending it to its transaction, or nil
}

// beginStream begins to stream a delivery, if its body is data.
func (in *receiver) beginStream() {
	d, c := &in.partial, in.s.c
	m := &incomingDelivery{receiver: in, id: d.id, pipe: newPipe()}
	m.scanner = &wire.Scanner{Data: m.pipe}
	_, err := m.scanner.Write(d.bytes)
	if !m.pipe.written {
		d.neverStreamed = true // for example, the body is a value; it is checked when it is complete
		return
	}
	var t *transaction
	if err == nil {
		t, err = c.transactionOf(d.state)
	}
	if err == nil {
		var out broker.Outgoing
		out, err = codec.DecodeStream(m.scanner, m.pipe)
		m.messages, m.tx = []broker.Outgoing{out}, t
	}
	if err == nil {
		err = c.takeIncomingBytes(pipeMaxBytes)
	}
	if err != nil {
		in.refuseDelivery(errorOf(err))
		return
	}
	m.countedBytes = pipeMaxBytes
	d.dropBytes(c)
	in.streaming = m
	_ = m.enqueue() //nolint:errcheck // it never fails for a streamed delivery
	m.waitForPipe()
}

// streamPiece writes the next piece of a streamed delivery to its pipe. It refuses the delivery if
// the piece is not valid.
func (in *receiver) streamPiece(piece []byte) {
	m := in.streaming
	if _, err := m.scanner.Write(piece); err != nil {
		in.refuseDelivery(errorOf(err))
		return
	}
	m.waitForPipe()
}

// waitForPipe makes the reader wait while m's pipe is full.
func (m *incomingDelivery) waitForPipe() {
	c := m.receiver.s.c
	if !m.pipe.full() {
		return
	}
	c.readerWait = func() {
		if c.waitWhile(m.pipe.roomSignal, m.pipe.full) {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if m.receiver.streaming == m {
			m.receiver.refuseDelivery(errorOf(engine.Refuse(engine.ErrBusy, "The store did not take the message in time.")))
		}
	}
}

// waitWhile waits until full returns false or the connection ends, checking again after each
// element of signal. It reports false if full still returns true after storeTimeout.
func (c *conn) waitWhile(signal <-chan struct{}, full func() bool) bool {
	patience := time.NewTimer(storeTimeout)
	defer patience.Stop()
	for full() {
		select {
		case <-signal:
		case <-c.ctx.Done():
			return true
		case <-patience.C:
			return false
		}
	}
	return true
}

// breakOffData ends the data of a streamed delivery with an error.
func (m *incomingDelivery) breakOffData(why error) { m.pipe.closeWriter(why) }

// lastTransfer records that the last transfer of a streamed delivery has arrived.
func (m *incomingDelivery) lastTransfer(d *partialDelivery) {
	m.complete, m.settled, m.refused = true, d.settled, d.refused
	if m.refused == nil {
		m.pipe.closeWriter(io.EOF)
		if m.tx != nil {
			m.tx.enqueue(m.completeInTransaction)
		}
	}
	if m.refused != nil {
		m.tx.enqueueFailure(m.settled, m.refused)
	}
	m.answerIfKnown()
}

// enqueue queues m for the broker. After an error m is not sent.
func (m *incomingDelivery) enqueue() error {
	in, c := m.receiver, m.receiver.s.c
	if m.tx != nil {
		return m.enqueueInTransaction()
	}
	if m.pipe == nil && in.submitQueue.len() == 0 && m.size <= maxDirectSubmit {
		c.queueReaderWork(func() { m.submit(c.ctx) })
		return nil
	}
	if m.pipe == nil {
		if err := c.takeIncomingBytes(m.size); err != nil {
			return err
		}
		m.countedBytes = m.size
	}
	in.submitQueueBytes += m.size
	if in.submitQueue.add(m.submitQueued) {
		// after the reader has submitted the deliveries before m
		c.queueReaderWork(func() { c.startQueue(&in.submitQueue) })
	}
	if in.submitQueueBytes > maxSubmitQueueBytes {
		c.readerWait = func() {
			c.waitWhile(c.readerSignal, func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return in.submitQueueBytes > maxSubmitQueueBytes
			})
		}
	}
	return nil
}

// submitQueued submits m when it is first in the queue.
func (m *incomingDelivery) submitQueued() {
	in, c := m.receiver, m.receiver.s.c
	m.submit(c.s.ctx) // even if the client has disconnected: m is complete, or its data ends with an error
	c.giveIncomingBytes(m.countedBytes)
	c.mu.Lock()
	in.submitQueueBytes -= m.size
	c.mu.Unlock()
	c.wakeReader()
}

// submit submits m to the broker. When it returns, the link's next delivery may be submitted.
func (m *incomingDelivery) submit(ctx context.Context) {
	in, b := m.receiver, m.receiver.s.c.b
	done := func(_ []engine.Seq, err error) { m.brokerAnswered(err) }
	var err error
	if in.destination != "" {
		err = b.SubmitSendVia(ctx, in.path, in.destination, m.messages, in.s.c.clientName(), done)
	} else {
		err = b.SubmitSend(ctx, in.path, m.messages, in.s.c.clientName(), done)
	}
	if m.pipe != nil {
		m.pipe.closeReader()
	}
	if err != nil {
		m.brokerAnswered(err)
	}
}

// brokerAnswered records the outcome of m, which is an error if the broker answered with err, and
// answers the client if all of m has arrived.
func (m *incomingDelivery) brokerAnswered(err error) {
	var state wire.State = wire.Accepted{}
	switch {
	case err != nil:
		state = rejectedState(err)
	case m.tx != nil:
		state = m.tx.transactionalState(state)
	}
	m.messages = nil
	m.receiver.s.c.mail.call(func() {
		m.outcome = state
		m.answerIfKnown()
	})
}

// answerIfKnown answers the client when all of m has arrived and its outcome is known.
func (m *incomingDelivery) answerIfKnown() {
	state := m.outcome
	if m.refused != nil {
		state = wire.Rejected{Error: m.refused}
	}
	if m.complete && state != nil && !m.answered {
		m.answered = true
		m.receiver.answerDelivery(m.id, m.settled, state)
	}
}

// decodeDelivery decodes a delivery: one message, or a batch.
func decodeDelivery(format uint32, b []byte) ([]broker.Outgoing, error) {
	if err := checkMessageFormat(format); err != nil {
		return nil, err
	}
	if format == wire.FormatBatch {
		return codec.DecodeBatch(b)
	}
	m, err := codec.DecodeMessage(b)
	if err != nil {
		return nil, err
	}
	return []broker.Outgoing{m}, nil
}

// A partialDelivery is a delivery from the client of which some transfers have arrived.
type partialDelivery struct {
	begun         bool
	id            uint32
	format        uint32
	settled       bool
	resumed       bool // the client resumes it; it is dropped
	state         wire.State
	size          uint64      // of its payload
	bytes         []byte      // the part of it that is kept
	countedBytes  int64       // bytes that are counted for the connection
	neverStreamed bool        // it is not streamed, whatever its size
	refused       *wire.Error // why it is refused and no longer kept
}

// addTransfer adds a transfer, except its payload, to its delivery. `begins` reports whether it is
// the delivery's first. Later transfers may omit id, format and tag, or repeat them. A resumed
// delivery is dropped as if it were aborted at its end: a receiver must ignore one that is not in
// its unsettled map (AMQP 1.0, part 2, 2.7.5), and links are never resumed here.
func (d *partialDelivery) addTransfer(t *wire.Transfer) (begins bool, why *wire.Error) {
	id, named := t.DeliveryID.Get()
	if begins = !d.begun; begins {
		if !named {
			return begins, &wire.Error{Condition: wire.CondInvalidField, Description: "The first transfer of a delivery has no delivery-id."}
		}
		*d = partialDelivery{begun: true, id: id, resumed: t.Resume, bytes: d.bytes[:0]}
	} else if named && id != d.id {
		return begins, &wire.Error{Condition: wire.CondInvalidField, Description: fmt.Sprintf("Delivery %d began before delivery %d had ended.", id, d.id)}
	}
	if format, ok := t.MessageFormat.Get(); ok {
		if !begins && format != d.format {
			return begins, &wire.Error{Condition: wire.CondInvalidField, Description: "The message-format changed within a delivery."}
		}
		d.format = format
	}
	d.settled = d.settled || t.Settled.Or(false)
	if t.State != nil {
		d.state = t.State
	}
	if d.resumed {
		t.Payload, t.Aborted = nil, t.Aborted || !t.More
	}
	d.size += uint64(len(t.Payload))
	return begins, nil
}

// bufferPiece adds a piece to an incomplete delivery, if there is room.
func (d *partialDelivery) bufferPiece(c *conn, piece []byte) error {
	if err := c.takeIncomingBytes(int64(len(piece))); err != nil {
		return err
	}
	d.countedBytes += int64(len(piece))
	d.bytes = append(d.bytes, piece...)
	return nil
}

// payload returns the complete payload. `last` is its last piece.
func (d *partialDelivery) payload(last []byte) []byte {
	if len(d.bytes) == 0 {
		return last
	}
	d.bytes = append(d.bytes, last...)
	return d.bytes
}

// refuse records why the delivery is refused, unless it is refused already, and drops the bytes
// that have arrived.
func (d *partialDelivery) refuse(c *conn, why *wire.Error) {
	if d.refused == nil {
		d.refused = why
	}
	d.dropBytes(c)
}

// dropBytes drops the delivery's bytes and no longer counts them.
func (d *partialDelivery) dropBytes(c *conn) {
	if d.bytes = d.bytes[:0]; cap(d.bytes) > maxReusedBuffer {
		d.bytes = nil
	}
	c.giveIncomingBytes(d.countedBytes)
	d.countedBytes = 0
}

// finish drops the bytes of the delivery, and makes the next transfer begin another one.
func (d *partialDelivery) finish(c *conn) {
	d.dropBytes(c)
	d.begun = false
}

// maxReusedBuffer is the size in bytes from which a buffer is not reused for the next delivery.
const maxReusedBuffer = 16 << 10

func tooLargeError(most uint64) *wire.Error {
	return &wire.Error{Condition: wire.CondMessageSizeExceeded, Description: fmt.Sprintf("The message is larger than the %d bytes allowed.", most)}
}

// unansweredDeliveries counts the deliveries of a link that have arrived and are not answered. They
// are answered before the detach of the link. The connection's mutex guards it.
type unansweredDeliveries struct {
	unanswered   uint32
	whenAnswered func() // called when all are answered; nil until the client detaches the link
}

// afterAnswers calls `then` when all deliveries are answered, or at once if they are.
func (p *unansweredDeliveries) afterAnswers(then func()) {
	if p.unanswered == 0 {
		then()
		return
	}
	p.whenAnswered = then
}

// countAnswer counts an answer, and calls whenAnswered after the last one.
func (p *unansweredDeliveries) countAnswer() {
	if p.unanswered > 0 {
		p.unanswered--
	}
	if then := p.whenAnswered; then != nil && p.unanswered == 0 {
		p.whenAnswered = nil
		then()
	}
}

// An answeringLink is a link that ends when all deliveries on it are answered.
type answeringLink interface {
	link
	deliveries() *unansweredDeliveries
}

func (p *unansweredDeliveries) deliveries() *unansweredDeliveries { return p }

// endWhenAnswered ends a link, and calls `then` when all its deliveries are answered. If the client
// ends the link's session without detaching the link, or did not end the link, it calls `then` at
// once.
func (s *session) endWhenAnswered(l answeringLink, how engine.DetachReason, then func()) {
	if do := l.end(how); do != nil {
		s.c.queueReaderWork(do)
	}
	if how != engine.DetachedByClient || s.ending {
		then()
		return
	}
	l.deliveries().afterAnswers(then)
}
