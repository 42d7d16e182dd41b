package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// A link is an AMQP connection with one session and one link. It uses little processor time, so
// that the figures are those of the server.
type link struct {
	nc         net.Conn
	r          wire.Reader
	wakeWriter chan struct{} // signals that there is something to write
	ended      chan struct{} // closed with the first error, or by close
	reading    sync.WaitGroup

	mu         sync.Mutex
	err        error
	out        []byte     // to be written
	creditCond *sync.Cond // for senders: the link has credit, or has ended
	credit     uint32
	sent       uint32
	sentAt     map[uint32]time.Time // send times of unconfirmed messages, by delivery id

	latencies *durations // from sending to confirmation; nil if not measured

	// For receivers only.
	received, granted, window uint32
	receivable                func() uint32 // how many may have been received by now; nil for no limit
}

const frameSize = 64 << 10

// dial opens a connection and a session.
func dial(ctx context.Context, address string) (*link, error) {
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	l := &link{
		nc: nc, r: wire.Reader{From: nc, MaxFrame: frameSize},
		wakeWriter: make(chan struct{}, 1), ended: make(chan struct{}), sentAt: map[uint32]time.Time{},
	}
	l.creditCond = sync.NewCond(&l.mu)
	b := wire.ProtocolAMQP.Append(nil)
	b = wire.AppendFrame(b, 0, &wire.Open{ContainerID: "livebench", Hostname: wire.Some("localhost"), MaxFrameSize: wire.Some[uint32](frameSize)})
	b = wire.AppendFrame(b, 0, &wire.Begin{IncomingWindow: 1 << 30, OutgoingWindow: 1 << 30})
	err = l.handshake(b)
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("open a connection: %w", err)
	}
	l.reading.Go(l.write)
	return l, nil
}

func (l *link) handshake(b []byte) error {
	if _, err := l.nc.Write(b); err != nil {
		return err
	}
	if _, err := l.r.Protocol(); err != nil {
		return err
	}
	for _, want := range []wire.Code{wire.CodeOpen, wire.CodeBegin} {
		f, err := l.r.Frame()
		if err != nil {
			return err
		}
		if code, err := wire.CodeOf(f.Body); err != nil || code != want {
			return fmt.Errorf("got %v, want %v: %w", code, want, err)
		}
	}
	return nil
}

// sender attaches a link that sends to a queue. It adds the latencies of confirmations to took,
// unless that is nil.
func sender(ctx context.Context, s *server, to string, took *durations) (*link, error) {
	l, err := dial(ctx, s.AMQP)
	if err != nil {
		return nil, err
	}
	l.latencies = took
	l.queueFrame(&wire.Attach{
		Name: "sender", Role: wire.RoleSender, Source: &wire.Source{}, Target: &wire.Target{Address: wire.Some(to)},
		InitialDeliveryCount: wire.Some[uint32](0),
	})
	l.reading.Go(l.read)
	return l, nil
}

// receiver attaches a link that receives and completes messages, with at most window credits.
// hold returns how many messages may have been received by now; nil means no limit.
func receiver(ctx context.Context, s *server, from string, window uint32, hold func() uint32) (*link, error) {
	l, err := dial(ctx, s.AMQP)
	if err != nil {
		return nil, err
	}
	l.window, l.receivable = window, hold
	l.queueFrame(&wire.Attach{
		Name: "receiver", Role: wire.RoleReceiver, ReceiverSettleMode: wire.Some(wire.ReceiverSecond),
		Source: &wire.Source{Address: wire.Some(from)}, Target: &wire.Target{},
	})
	l.grant()
	l.reading.Go(l.read)
	return l, nil
}

// queueFrame queues a frame for writing.
func (l *link) queueFrame(p wire.Performative) {
	l.mu.Lock()
	l.out = wire.AppendFrame(l.out, 0, p)
	l.mu.Unlock()
	l.wake()
}

func (l *link) wake() {
	select {
	case l.wakeWriter <- struct{}{}:
	default:
	}
}

// write writes queued frames until the link ends. Each call of Write gets all frames that are
// queued by then.
func (l *link) write() {
	var b []byte
	for {
		select {
		case <-l.wakeWriter:
		case <-l.ended:
			return
		}
		l.mu.Lock()
		b, l.out = l.out, b[:0]
		l.mu.Unlock()
		if _, err := l.nc.Write(b); err != nil {
			l.end(fmt.Errorf("write: %w", err))
			return
		}
	}
}

// end ends the link with its first error.
func (l *link) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	close(l.ended)
	l.creditCond.Broadcast()
	l.nc.Close()
}

var errClosed = errors.New("the link is closed")

// close ends the link and waits for its goroutines.
func (l *link) close() {
	l.end(errClosed)
	l.reading.Wait()
}

// read handles the frames of the server.
func (l *link) read() {
	var t wire.Transfer
	var d wire.Disposition
	for {
		f, err := l.r.Frame()
		if err == nil && !f.IsHeartbeat() {
			err = l.handle(f, &t, &d)
		}
		if err != nil {
			l.end(fmt.Errorf("read: %w", err))
			return
		}
		if !l.r.Buffered() {
			l.wake() // nothing is left to read: write the acknowledgements
		}
	}
}

func (l *link) handle(f wire.Frame, t *wire.Transfer, d *wire.Disposition) error {
	code, err := wire.CodeOf(f.Body)
	if err != nil {
		return err
	}
	switch code {
	case wire.CodeTransfer:
		if err := t.Decode(f.Body); err != nil {
			return err
		}
		l.handleTransfer(t)
	case wire.CodeDisposition:
		if err := d.Decode(f.Body); err != nil {
			return err
		}
		return l.handleDisposition(d)
	case wire.CodeFlow:
		var flow wire.Flow
		if err := flow.Decode(f.Body); err != nil {
			return err
		}
		if !flow.Handle.IsSet() {
			return nil // a flow of the session, whose window is large enough
		}
		l.mu.Lock()
		l.credit = flow.DeliveryCount.Or(0) + flow.LinkCredit.Or(0)
		l.creditCond.Broadcast()
		l.mu.Unlock()
	case wire.CodeDetach, wire.CodeEnd, wire.CodeClose:
		return fmt.Errorf("the server ended the link: %v", code)
	}
	return nil
}

// handleDisposition handles dispositions: a sender's confirmations, or the server's responses to a
// receiver's.
func (l *link) handleDisposition(d *wire.Disposition) error {
	if _, ok := d.State.(wire.Accepted); !ok {
		return fmt.Errorf("the server says %#v", d.State)
	}
	if l.window > 0 {
		return nil
	}
	now := time.Now()
	var took []time.Duration
	l.mu.Lock()
	for id := d.First; id <= d.Last.Or(d.First); id++ {
		took = append(took, now.Sub(l.sentAt[id]))
		delete(l.sentAt, id)
	}
	l.creditCond.Broadcast()
	l.mu.Unlock()
	if l.latencies != nil {
		l.latencies.add(took...)
	}
	return nil
}

func (l *link) handleTransfer(t *wire.Transfer) {
	id, _ := t.DeliveryID.Get()
	l.mu.Lock()
	l.out = wire.AppendFrame(l.out, 0, &wire.Disposition{Role: wire.RoleReceiver, First: id, Last: wire.Some(id), State: wire.Accepted{}})
	l.received++
	l.mu.Unlock()
	l.grant()
}

// grant grants credit up to what receivable allows. If receivable is set, the caller must call grant
// regularly.
func (l *link) grant() {
	l.mu.Lock()
	most := l.received + l.window
	if l.receivable != nil {
		most = min(most, l.receivable())
	}
	if most < l.granted+max(1, l.window/4) {
		l.mu.Unlock()
		return
	}
	l.granted = most
	l.out = wire.AppendFrame(l.out, 0, &wire.Flow{
		NextIncomingID: wire.Some[uint32](0), IncomingWindow: 1 << 30, OutgoingWindow: 1 << 30,
		Handle: wire.Some[uint32](0), DeliveryCount: wire.Some(l.received), LinkCredit: wire.Some(most - l.received),
	})
	l.mu.Unlock()
	l.wake()
}

// A message is a message to send.
type message struct {
	id, subject string
	ttl         time.Duration // zero means the queue's default
	body        []byte
}

func (m message) append(b []byte) []byte {
	if m.ttl > 0 {
		b = (&wire.Header{TTL: wire.Some(uint32(m.ttl.Milliseconds()))}).Append(b)
	}
	b = (&wire.Properties{MessageID: value.OfString(m.id), Subject: wire.Some(m.subject)}).Append(b)
	return append(wire.AppendDataHeader(b, uint32(len(m.body))), m.body...)
}

// send sends one message, or several as a batch that is confirmed as one. It only blocks while
// there is no credit.
func (l *link) send(all ...message) error {
	began := time.Now()
	format, payload := wire.FormatMessage, []byte(nil)
	if len(all) == 1 {
		payload = all[0].append(nil)
	} else {
		format = wire.FormatBatch
		for _, m := range all {
			one := m.append(nil)
			payload = append(wire.AppendDataHeader(payload, uint32(len(one))), one...)
		}
	}
	l.mu.Lock()
	for int32(l.credit-l.sent) <= 0 && l.err == nil {
		l.creditCond.Wait()
	}
	if l.err != nil {
		defer l.mu.Unlock()
		return l.err
	}
	id := l.sent
	l.sent++
	l.sentAt[id] = began
	t := wire.Transfer{DeliveryID: wire.Some(id), DeliveryTag: []byte{byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24)}, MessageFormat: wire.Some(format)}
	for first := true; first || len(payload) > 0; first = false {
		n := min(len(payload), frameSize-512)
		t.Payload, t.More = payload[:n], n < len(payload)
		payload = payload[n:]
		l.out = wire.AppendFrame(l.out, 0, &t)
	}
	l.mu.Unlock()
	l.wake()
	return nil
}

// flush waits until all messages are confirmed.
func (l *link) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.sentAt) > 0 && l.err == nil {
		l.creditCond.Wait()
	}
	return l.err
}
