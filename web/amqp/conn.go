package amqp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
	"mayfly/web/relay"
)

// peer is what a client said of itself in its open.
type peer struct {
	container, host string
	properties      value.Properties
	maxFrame        uint32        // that it takes
	idle            time.Duration // after which it wants to have heard something; zero: it does not care
}

// A conn is one client's connection.
type conn struct {
	s      *Server
	at     *Space         // of whose namespace it is; set before the connection runs
	b      *broker.Broker // likewise
	nc     net.Conn
	limits limits // likewise
	log    *slog.Logger
	r      wire.Reader

	// Of the reader: what is decoded often.
	transfer    wire.Transfer
	disposition wire.Disposition
	flow        wire.Flow

	authenticated bool          // SASL came first; of the reader
	by            *relay.Passed // what another server told of the client that passes it on; nil: it came itself
	port          string        // the namespace whose port it came to; empty: one of all
	rule, key     string        // as SASL PLAIN has them, for whoever it is passed on to
	onward        func()        // passes it on to the owner of its namespace; nil: it is served here
	peer          peer          // set before the connection runs

	ctx   context.Context //nolint:containedctx // of the connection's own work
	stop  context.CancelFunc
	moved chan struct{}  // has an element when less waits to be handed on or written
	kept  atomic.Int64   // bytes that are kept of what the client sends
	work  sync.WaitGroup // what was begun for the connection beside reader and writer
	mail  mailbox

	mu sync.Mutex
	record
	sessions     map[uint16]*session // by channel, which is the same both ways
	links        int
	transactions map[string]*transaction // open ones, by what the client calls them
	declaring    int                     // that are asked for
	halt         func()                  // what the reader is to wait for once it has let go
	attaches     uint64                  // that there were
	attaching    int                     // attaches that the broker has not answered
	feeding      []feeder                // that the writer is to look at, in this order
	spare        []feeder                // room for the next round of them
	unheard      int                     // bytes of answers that wait for the client's credit
	making       int64                   // bytes of answers that are being made
	less         chan struct{}           // closed when either is less; nil: nobody waits for that
	settling     []settling              // what the client has settled since the reader last let go
	out          []byte                  // frames to be written, before any transfer that is not made yet
	todo         []func()                // for the reader to do once it has let go of mu
	later        []func()                // for the writer
	farewell     *wire.Error             // of the close that is to be sent
	state        closingState            // how far the end has come
	claims       claims
	heard        time.Time // a while before it was heard last; of the reader

	dispositions uint64 // that came
}

// closingState is how far the end of a connection has come.
type closingState uint8

const (
	running    closingState = iota
	closing                 // our close is to be written, or was
	closedBoth              // the client's came
)

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{
		s: s, nc: nc, log: s.log.With("client", nc.RemoteAddr().String()),
		r: wire.Reader{From: nc}, sessions: map[uint16]*session{}, transactions: map[string]*transaction{}, moved: make(chan struct{}, 1), mail: newMailbox(),
	}
	c.ctx, c.stop = context.WithCancel(s.ctx)
	return c
}

// run serves the connection until its end.
func (c *conn) run() {
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.write()
	}()
	cut := context.AfterFunc(c.ctx, func() { _ = c.nc.Close() }) // whoever uses it hears of it
	defer cut()
	switch over, err := c.read(); {
	case over: // the writer says goodbye
	case err == nil:
		c.stop() // the network is gone
	default:
		c.leave(asError(err))
		c.ignore()
	}
	<-written
	c.stop()
	_ = c.nc.Close()
	c.forget()
	c.abandon()
	c.unkeepAll()
}

func isProtocolError(err error) bool {
	_, ok := errors.AsType[*wire.ProtocolError](err)
	return ok
}

// leave has the connection close itself, with why. Anybody may call it.
func (c *conn) leave(why *wire.Error) {
	c.mu.Lock()
	c.close(why)
	c.mu.Unlock()
	c.mail.ring()
}

// close has a close be written after all that was before; why nil: all is well.
// The writer ends then. Called with mu held.
func (c *conn) close(why *wire.Error) {
	if c.state == running {
		c.state, c.farewell = closing, why
	}
}

// read serves what the client sends until it has closed, which is over, or is
// heard no more, for which there is an error if the client is to be told.
func (c *conn) read() (over bool, err error) {
	defer c.mail.ring()
	for {
		f, err := c.frame()
		if err != nil {
			return false, c.broken(err)
		}
		c.mu.Lock()
		c.latest = time.Now()
		over, err := false, error(nil)
		for {
			if over, err = c.handle(f); over || err != nil || c.halt != nil || !c.r.Buffered() || len(c.todo) >= mostTodo {
				break
			}
			if f, err = c.r.Frame(); err != nil {
				err = c.broken(err)
				break
			}
		}
		c.flushSettlements()
		todo, halt := c.todo, c.halt
		c.todo, c.halt = nil, nil
		wake := len(c.out) > 0 || over
		c.mu.Unlock()
		for _, do := range todo {
			do()
		}
		if wake {
			c.mail.ring()
			c.await(c.moved, c.unread)
		}
		if halt != nil {
			halt()
		}
		if over || err != nil {
			return over, err
		}
	}
}

// frame waits for the client's next frame, and after a while with less memory.
func (c *conn) frame() (wire.Frame, error) {
	if now := time.Now(); now.Sub(c.heard) > c.s.idle/8 {
		c.heard = now
		patience := 2 * c.s.idle
		if c.r.Large() {
			patience = c.s.idle / 2
		}
		c.listen(now.Add(patience))
	}
	f, err := c.r.Frame()
	if timedOut(err) && c.r.Large() {
		c.r.Shrink()
		c.listen(c.heard.Add(2 * c.s.idle))
		return c.r.Frame()
	}
	return f, err
}

// listen says until when the client may be silent. After a close the writer does.
func (c *conn) listen(until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == running {
		_ = c.nc.SetReadDeadline(until) //nolint:errcheck // the read says it
	}
}

func timedOut(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}

// note has the reader do something once it has let go of mu.
func (c *conn) note(do func()) { c.todo = append(c.todo, do) }

// mostUnread is how many bytes wait to be written to a client that does not read,
// before nothing more is read of it.
const mostUnread = 256 << 10

func (c *conn) unread() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.out) > mostUnread && c.state == running
}

// stir has the reader look whether it need wait any longer.
func (c *conn) stir() {
	select {
	case c.moved <- struct{}{}:
	default: // it is about to
	}
}

// mostTodo is how much is noted for the broker before it is handed over.
const mostTodo = 64

// broken says what a failure to read means.
func (c *conn) broken(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), c.ctx.Err() != nil:
		return nil //nolint:nilerr // this is how connections end
	case isProtocolError(err):
		return err
	}
	if timedOut(err) {
		return &wire.ProtocolError{Condition: wire.CondConnectionForced, Text: "Nothing was heard from the client for " + (2 * c.s.idle).String() + "."}
	}
	return nil // the network is gone, and nobody is there to tell
}

// handle serves one frame; over says that the client has closed. An error ends
// the connection.
func (c *conn) handle(f wire.Frame) (over bool, err error) {
	c.heardFrame(f)
	if f.Heartbeat() {
		return false, nil
	}
	if f.Type != wire.FrameAMQP {
		return false, &wire.ProtocolError{Condition: wire.CondFramingError, Text: "A SASL frame came after the open."}
	}
	code, err := wire.CodeOf(f.Body)
	if err != nil {
		return false, err //nolint:wrapcheck // a ProtocolError
	}
	if c.state != running && code != wire.CodeClose {
		return false, nil // it crossed our close
	}
	switch code {
	case wire.CodeClose:
		c.closed()
		return true, nil
	case wire.CodeBegin:
		return false, c.begin(f)
	case wire.CodeOpen:
		return false, &wire.ProtocolError{Condition: wire.CondIllegalState, Text: "A second open came."}
	}
	s := c.sessions[f.Channel]
	if s == nil {
		return false, nil // of a session that has ended: some clients say goodbye to its links then (rule 17)
	}
	return false, s.handle(code, f.Body)
}
