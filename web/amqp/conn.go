package amqp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
	"mayfly/web/cluster"
	"mayfly/web/connlimit"
)

// peer contains the fields of a client's open.
type peer struct {
	container  string           // printable, cut at maxNameLength
	host       string           // empty once the namespace is found
	properties value.Properties // nil once initInfo has read them
	maxFrame   uint32           // largest frame that the client accepts, in bytes
	channelMax uint16           // largest channel that it accepts
	idle       time.Duration    // idle time-out; zero means none
}

// A conn is one client's connection.
type conn struct {
	s         *Server
	namespace *Namespace     // the connection's namespace; set before the connection runs
	b         *broker.Broker // set before the connection runs
	nc        net.Conn
	limits    limits // set before the connection runs
	connLimit *connlimit.Conn
	log       *slog.Logger
	r         wire.Reader

	// Owned by the reader and reused for frequent frames.
	transfer    wire.Transfer
	disposition wire.Disposition
	flow        wire.Flow

	saslDone          bool                // SASL came first; owned by the reader
	headersExchanged  bool                // the AMQP protocol headers have been exchanged; owned by the reader
	forwarded         *cluster.ClientInfo // describes the client of a forwarded connection; nil if the client connected here
	network           string              // from connlimit.Conn.Network
	portNamespace     string              // the namespace of the port that the client used; empty for a port of all namespaces
	saslRule, saslKey string              // from SASL PLAIN, for the server that the connection is forwarded to
	forward           func()              // forwards the connection to the owner of its namespace; nil if it is served here
	peer              peer                // set before the connection runs

	ctx           context.Context //nolint:containedctx // for work that concerns only the connection
	stop          context.CancelFunc
	readerSignal  chan struct{}  // has an element when the reader should check again whether it has to wait
	incomingBytes atomic.Int64   // bytes of the client's messages that are kept in memory
	needsToken    atomic.Bool    // the client needs a valid token and has sent none, see checkAttachAllowed; set with mu held
	background    sync.WaitGroup // goroutines of the connection other than reader and writer
	mail          mailbox

	mu sync.Mutex
	connectionInfo
	sessions           map[uint16]*session // by channel, which is the same in both directions
	usedChannels       numberSet           // channels that have had a session
	links              int
	transactions       map[string]*transaction // open transactions, by the client's ids
	pendingDeclares    int                     // declares in progress
	readerWait         func()                  // makes the reader wait, after it has released mu; nil if it need not wait
	replyLinkCount     uint64                  // number of links for replies attached so far
	pendingAttaches    int                     // attaches that the broker has not answered
	sendQueue          []outgoingLink          // links from which the writer sends next, in order
	spareSendQueue     []outgoingLink          // reused for the next round of appendTransfers
	queuedReplyBytes   int                     // bytes of replies that wait for the client's credit
	reservedReplyBytes int64                   // bytes of replies that are being made
	replySpace         chan struct{}           // closed when queuedReplyBytes or reservedReplyBytes decreases; nil if no goroutine waits for that
	pendingSettlements []settlement            // the client's settlements since the reader last released mu
	outFrames          []byte                  // frames to write before any transfer that is not encoded yet
	readerWork         []func()                // functions that the reader calls after it has released mu
	writerWork         []func()                // functions that the writer calls after it has released mu
	closeError         *wire.Error             // of the close to send
	state              closingState            // progress of closing
	authorization      authorization
	linkUsage          linkUsage
	entityLinks        int       // open links, except those to $cbs and to the coordinator
	creditedLinks      int       // links of entityLinks that have credit
	readDeadlineSetAt  time.Time // when the read deadline was last set; owned by the reader

	dispositions uint64 // number of dispositions received
}

// closingState is the progress of closing a connection.
type closingState uint8

const (
	running    closingState = iota
	closing                 // the server's close is to be written, or has been
	bothClosed              // the client's close has arrived
)

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{
		s: s, nc: nc, log: s.log.With("client", nc.RemoteAddr().String()),
		r: wire.Reader{From: nc}, sessions: map[uint16]*session{}, transactions: map[string]*transaction{}, readerSignal: make(chan struct{}, 1), mail: newMailbox(),
	}
	c.ctx, c.stop = context.WithCancel(s.ctx)
	return c
}

// run serves the connection until it ends.
func (c *conn) run() {
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.writeFrames()
	}()
	cut := context.AfterFunc(c.ctx, func() { _ = c.nc.Close() }) // reader and writer get the error
	defer cut()
	switch over, err := c.readFrames(); {
	case over: // the writer sends the close
	case err == nil:
		c.stop() // the client has disconnected
	default:
		c.logClosed(errorOf(err))
		c.closeWithError(errorOf(err))
		c.discardInput()
	}
	<-written
	c.stop()
	_ = c.nc.Close()
	c.stopTimers()
	c.shutDown()
	c.giveAllIncomingBytes()
	c.mu.Lock()
	c.addLinkBytes(-c.linkUsage.bytes)
	c.mu.Unlock()
}

func isProtocolError(err error) bool {
	_, ok := errors.AsType[*wire.ProtocolError](err)
	return ok
}

// closeWithError closes the connection with why. Any goroutine may call it.
func (c *conn) closeWithError(why *wire.Error) {
	c.mu.Lock()
	c.close(why)
	c.mu.Unlock()
	c.mail.wakeWriter()
}

// close makes the writer write a close after all pending frames, and then end. If why is nil, the
// close has no error. Called with mu held.
func (c *conn) close(why *wire.Error) {
	if c.state == running {
		c.state, c.closeError = closing, why
	}
}

// readFrames serves the client's frames. `over` reports that the client has sent its close.
// Otherwise reading has failed, and err is the error for the client, or nil if the client has
// disconnected.
func (c *conn) readFrames() (over bool, err error) {
	defer c.mail.wakeWriter()
	for {
		f, err := c.nextFrame()
		if err != nil {
			return false, c.readError(err)
		}
		c.mu.Lock()
		c.lastReceived = time.Now()
		over, err := false, error(nil)
		for {
			if over, err = c.handleFrame(f); over || err != nil || c.readerWait != nil || !c.r.Buffered() || len(c.readerWork) >= maxReaderWork {
				break
			}
			if f, err = c.r.Frame(); err != nil {
				err = c.readError(err)
				break
			}
		}
		c.queueSettlements()
		work, wait := c.readerWork, c.readerWait
		c.readerWork, c.readerWait = nil, nil
		wake := len(c.outFrames) > 0 || over
		c.mu.Unlock()
		for _, do := range work {
			do()
		}
		if wake {
			c.mail.wakeWriter()
			c.waitWhile(c.readerSignal, c.outputBacklogged)
		}
		if wait != nil {
			wait()
		}
		if over || err != nil {
			return over, err
		}
	}
}

// nextFrame waits for the client's next frame. If none arrives for a while, it shrinks a large
// buffer and continues to wait.
func (c *conn) nextFrame() (wire.Frame, error) {
	if now := time.Now(); now.Sub(c.readDeadlineSetAt) > c.s.idle/8 {
		c.readDeadlineSetAt = now
		patience := 2 * c.s.idle
		if c.r.IsLarge() {
			patience = c.s.idle / 2
		}
		c.setReadDeadline(now.Add(patience))
	}
	f, err := c.r.Frame()
	if timedOut(err) && c.r.IsLarge() {
		c.r.Shrink()
		c.setReadDeadline(c.readDeadlineSetAt.Add(2 * c.s.idle))
		return c.r.Frame()
	}
	return f, err
}

// setReadDeadline sets the read deadline, unless the connection is closing: then the writer sets
// it.
func (c *conn) setReadDeadline(until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == running {
		_ = c.nc.SetReadDeadline(until) //nolint:errcheck // the read returns the error
	}
}

func timedOut(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}

// queueReaderWork queues a function that the reader calls after it has released mu.
func (c *conn) queueReaderWork(do func()) { c.readerWork = append(c.readerWork, do) }

// queueWriterWork queues a function that the writer calls after it has released mu, and after
// it has written the frames that are ready. It does not wake the writer.
func (c *conn) queueWriterWork(do func()) { c.writerWork = append(c.writerWork, do) }

// maxUnreadOutput is the number of unwritten bytes above which the server stops reading from a
// client that does not read.
const maxUnreadOutput = 256 << 10

func (c *conn) outputBacklogged() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.outFrames) > maxUnreadOutput && c.state == running
}

// wakeReader wakes the reader to check whether it still has to wait.
func (c *conn) wakeReader() {
	select {
	case c.readerSignal <- struct{}{}:
	default: // the reader is about to check
	}
}

// maxReaderWork is the maximum number of operations that the reader queues before it submits them
// to the broker.
const maxReaderWork = 64

// readError returns the error for the client after a failure to read, or nil if the client
// has disconnected.
func (c *conn) readError(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), c.ctx.Err() != nil:
		return nil //nolint:nilerr // the usual end of a connection
	case isProtocolError(err):
		return err
	}
	if timedOut(err) {
		return &wire.ProtocolError{Condition: wire.CondConnectionForced, Text: "The client sent nothing for " + (2 * c.s.idle).String() + "."}
	}
	return nil // the client has disconnected
}

// handleFrame serves one frame. `over` reports that it was the client's close. An error ends the
// connection.
func (c *conn) handleFrame(f wire.Frame) (over bool, err error) {
	c.countFrameIn(f)
	if f.IsHeartbeat() {
		return false, nil
	}
	if f.Type != wire.FrameAMQP {
		return false, &wire.ProtocolError{Condition: wire.CondFramingError, Text: "A SASL frame arrived after the open."}
	}
	code, err := wire.CodeOf(f.Body)
	if err != nil {
		return false, err
	}
	if c.state != running && code != wire.CodeClose {
		return false, nil // the frame crossed the server's close
	}
	switch code {
	case wire.CodeClose:
		c.handleClose()
		return true, nil
	case wire.CodeBegin:
		return false, c.handleBegin(f)
	case wire.CodeOpen:
		return false, &wire.ProtocolError{Condition: wire.CondIllegalState, Text: "A second open arrived."}
	}
	if code < wire.CodeOpen || code > wire.CodeClose {
		return false, &wire.ProtocolError{Condition: wire.CondNotImplemented, Text: fmt.Sprintf("%s is not a performative.", code)}
	}
	s := c.sessions[f.Channel]
	if s == nil {
		return false, c.checkChannelUsed(f.Channel)
	}
	return false, s.handleFrame(code, f.Body)
}
