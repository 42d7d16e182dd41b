package amqp

import (
	"context"
	"errors"
	"io"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp/carry"
	"mayfly/web/amqp/wire"
)

const (
	streamOver = 256 << 10 // bytes of a message from which on its data goes to the store as it comes
	aside      = 64 << 10  // bytes of a message from which on the reader does not hand it over itself, for it would wait for the store
	mostLined  = 1 << 20   // bytes of whole messages in a line from which on the reader waits

	// storePatience is how long the reader waits for a store that takes nothing.
	storePatience = 10 * time.Second
)

// errGone ends the data of a message that will not come whole.
var errGone = errors.New("the rest of the message will not come")

// A sending is what came in one delivery, on its way to the broker.
//
// Small ones are handed over by the connection's reader, as they come. A larger
// one goes into its link's line, which a goroutine serves, and so does what comes
// on the link behind it, so that all are sent in order. Of a streamed one, that
// goroutine hands the data to the store while the reader still gets it.
type sending struct {
	in      *inlet
	id      uint32
	settled bool
	tx      *transaction // that it is part of; nil: none
	out     []broker.Outgoing
	size    int64 // bytes, of one that is whole
	kept    int64 // bytes that are counted for it until it is handed over

	scanner *wire.Scanner // of a streamed one
	pipe    *pipe         // likewise
	turn    chan struct{} // of a streamed one in a transaction: closed when it may come to its end
	sent    chan struct{} // likewise: closed when the transaction has it

	last    bool        // all of it came
	refused *wire.Error // why it is not taken whatever the broker says
	state   wire.State  // what became of it; nil: that is not known
	told    bool        // the client was
}

// begin has the data of a delivery stream from now on, if it is data.
func (in *inlet) begin() {
	d, c := &in.coming, in.s.c
	m := &sending{in: in, id: d.id, pipe: newPipe()}
	m.scanner = &wire.Scanner{Data: m.pipe}
	_, err := m.scanner.Write(d.bytes)
	if !m.pipe.begun {
		d.entire = true // a body that is a value, for one; whether it is sound shows when it is whole
		return
	}
	var t *transaction
	if err == nil {
		t, err = c.transactionOf(d.state)
	}
	if err == nil {
		var out broker.Outgoing
		out, err = carry.Begin(m.scanner, m.pipe)
		m.out, m.tx = []broker.Outgoing{out}, t
	}
	if err == nil {
		err = c.keep(pipeTakes)
	}
	if err != nil {
		in.refuse(asError(err))
		return
	}
	m.kept = pipeTakes
	d.forget(c)
	in.stream = m
	_ = m.enter() //nolint:errcheck // it never fails for one that streams
	m.hold()
}

// feed takes the next piece of a delivery that streams.
func (in *inlet) feed(piece []byte) {
	m := in.stream
	if _, err := m.scanner.Write(piece); err != nil {
		in.refuse(asError(err))
		return
	}
	m.hold()
}

// hold has the reader wait while the data of m is more than its pipe should have.
func (m *sending) hold() {
	c := m.in.s.c
	if !m.pipe.full() {
		return
	}
	c.halt = func() {
		if c.await(m.pipe.moved, m.pipe.full) {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if m.in.stream == m {
			m.in.refuse(asError(&engine.Refusal{Kind: engine.ErrBusy, Text: "The store does not take the message in time."}))
		}
	}
}

// await waits until it is not full any more, which moved tells, and says whether
// that came to pass in time.
func (c *conn) await(moved <-chan struct{}, full func() bool) bool {
	patience := time.NewTimer(storePatience)
	defer patience.Stop()
	for full() {
		select {
		case <-moved:
		case <-c.ctx.Done():
			return true
		case <-patience.C:
			return false
		}
	}
	return true
}

// breakOff ends the data of a streamed one.
func (m *sending) breakOff(why error) { m.pipe.end(why) }

// came says that the last transfer of a streamed one has come.
func (m *sending) came(d *arrival) {
	m.last, m.settled, m.refused = true, d.settled, d.refused
	if m.refused == nil {
		m.pipe.end(io.EOF)
		if m.tx != nil {
			m.tx.do(m.join)
		}
	}
	m.tell()
}

// enter has it be handed over. An error says that it will not be.
func (m *sending) enter() error {
	in, c := m.in, m.in.s.c
	if m.tx != nil {
		return m.enterTransaction()
	}
	if m.pipe == nil && in.line.len() == 0 && m.size <= aside {
		c.todo = append(c.todo, func() { m.handOver(c.ctx) })
		return nil
	}
	if m.pipe == nil {
		if err := c.keep(m.size); err != nil {
			return err
		}
		m.kept = m.size
	}
	in.lined += m.size
	if in.line.add(m.leaveLine) {
		// Once the reader has handed over what came before.
		c.todo = append(c.todo, func() { c.serve(&in.line) })
	}
	if in.lined > mostLined {
		c.halt = func() {
			c.await(c.moved, func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return in.lined > mostLined
			})
		}
	}
	return nil
}

// leaveLine hands it over when it is first in line.
func (m *sending) leaveLine() {
	in, c := m.in, m.in.s.c
	m.handOver(c.s.ctx) // also when the client has gone: it came whole, or breaks off
	c.unkeep(m.kept)
	c.mu.Lock()
	in.lined -= m.size
	c.mu.Unlock()
	c.stir()
}

// handOver gives it to the broker. When it returns, what follows may be handed
// over.
func (m *sending) handOver(ctx context.Context) {
	in, b := m.in, m.in.s.c.b
	done := func(_ []engine.Seq, err error) { m.done(err) }
	var err error
	if in.beyond != "" {
		err = b.SubmitSendVia(ctx, in.path, in.beyond, m.out, in.s.c.client(), done)
	} else {
		err = b.SubmitSend(ctx, in.path, m.out, in.s.c.client(), done)
	}
	if m.pipe != nil {
		m.pipe.leave()
	}
	if err != nil {
		m.done(err)
	}
}

// done: the broker has answered.
func (m *sending) done(err error) {
	var state wire.State = wire.Accepted{}
	switch {
	case err != nil:
		state = rejected(err)
	case m.tx != nil:
		state = m.tx.state(state)
	}
	m.out = nil
	m.in.s.c.mail.do(func() {
		m.state = state
		m.tell()
	})
}

// tell answers the client when all has come and what became of it is known.
func (m *sending) tell() {
	state := m.state
	if m.refused != nil {
		state = wire.Rejected{Error: m.refused}
	}
	if m.last && state != nil && !m.told {
		m.told = true
		m.in.answer(m.id, m.settled, state)
	}
}
