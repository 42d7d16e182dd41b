package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// farewellPatience is how long the close of a WebSocket may wait for a client
// that takes nothing.
const farewellPatience = 250 * time.Millisecond

// errText is what a client hears that sends text.
var errText = errors.New("a message of text came, and AMQP is binary")

// A conn is a WebSocket as a net.Conn. As with any, one goroutine reads, one
// writes, and anybody may close it or set deadlines.
type conn struct {
	ws *websocket.Conn

	message io.Reader // what is left of the present message; of the reader
	broken  error     // what reading ended with; of the reader

	writing  sync.Mutex // held while a message is written
	deadline struct {
		sync.Mutex
		write time.Time
	}
	closing sync.Once
}

// NewConn makes a connection of a WebSocket, of either end's. The WebSocket is
// the connection's from now on.
func NewConn(ws *websocket.Conn) net.Conn { return &conn{ws: ws} }

// Read reads what is there of the present message, or waits for the next. A
// client that has closed the WebSocket in whatever way is at its end: io.EOF.
func (c *conn) Read(p []byte) (int, error) {
	for c.broken == nil {
		if c.message == nil {
			c.message, c.broken = c.next()
			continue
		}
		n, err := c.message.Read(p)
		switch {
		case errors.Is(err, io.EOF):
			c.message = nil
		case err != nil:
			c.broken = ended(err)
		}
		if n > 0 || len(p) == 0 {
			return n, nil
		}
	}
	return 0, c.broken // for good: a WebSocket that failed once has lost its place
}

// next waits for a message.
func (c *conn) next() (io.Reader, error) {
	kind, r, err := c.ws.NextReader()
	if err != nil {
		return nil, ended(err)
	}
	if kind != websocket.BinaryMessage {
		c.farewell(websocket.CloseUnsupportedData, errText.Error())
		return nil, errText
	}
	return r, nil
}

// ended is what an error of reading is to whoever knows nothing of WebSockets.
func ended(err error) error {
	if _, ok := errors.AsType[*websocket.CloseError](err); ok {
		return io.EOF
	}
	return inTime("read", err)
}

// inTime says of an error that it is a deadline's, if it is: the WebSocket hides
// which.
func inTime(op string, err error) error {
	if t, ok := errors.AsType[net.Error](err); ok && t.Timeout() {
		err = os.ErrDeadlineExceeded
	}
	return &net.OpError{Op: op, Net: "websocket", Err: err}
}

// Write sends p as one message.
func (c *conn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.deadline.Lock()
	by := c.deadline.write
	c.deadline.Unlock()
	_ = c.ws.SetWriteDeadline(by) //nolint:errcheck // it never fails
	if err := c.ws.WriteMessage(websocket.BinaryMessage, p); err != nil {
		return 0, inTime("write", err)
	}
	return len(p), nil
}

// Close says goodbye to the client, if it takes that, and closes the connection.
func (c *conn) Close() error {
	c.closing.Do(func() { c.farewell(websocket.CloseNormalClosure, "") })
	return c.ws.Close() //nolint:wrapcheck // it is the connection's own
}

// farewell tells the client why the WebSocket ends. A client that has gone, or
// is slow, is not waited for.
func (c *conn) farewell(code int, why string) {
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why), time.Now().Add(farewellPatience)) //nolint:errcheck // as said
}

// NetConn is what the WebSocket travels on.
func (c *conn) NetConn() net.Conn { return c.ws.NetConn() }

func (c *conn) LocalAddr() net.Addr  { return c.ws.LocalAddr() }
func (c *conn) RemoteAddr() net.Addr { return c.ws.RemoteAddr() }

func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *conn) SetReadDeadline(t time.Time) error {
	return c.ws.SetReadDeadline(t) //nolint:wrapcheck // it is the connection's own
}

// SetWriteDeadline is for the write that is under way as well.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.deadline.Lock()
	defer c.deadline.Unlock()
	c.deadline.write = t
	return c.ws.NetConn().SetWriteDeadline(t) //nolint:wrapcheck // it is the connection's own
}
