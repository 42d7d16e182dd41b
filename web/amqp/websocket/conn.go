package websocket

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// closeTimeout bounds how long Close waits for a client that does not read.
const closeTimeout = 250 * time.Millisecond

// errTextMessage is the error for a text message.
var errTextMessage = errors.New("the client sent a text message, but AMQP is binary")

// A conn is a WebSocket as a net.Conn. One goroutine may read and one may write at a
// time. Close and the deadlines may be used by any.
type conn struct {
	ws *websocket.Conn

	message   io.Reader // the rest of the current message; owned by the reader
	readError error     // the error that ended reading; owned by the reader

	writing  sync.Mutex // held while a message is written
	deadline struct {
		sync.Mutex
		write time.Time
	}
	closing sync.Once
}

// NewConn returns a connection over a WebSocket, whose end may be the client's or the server's. It
// takes ownership of the WebSocket.
func NewConn(ws *websocket.Conn) net.Conn { return &conn{ws: ws} }

// Read returns bytes of the current message, or waits for the next one. When the client has closed
// the WebSocket, whatever its status code, Read returns io.EOF. Every other error is permanent too.
func (c *conn) Read(p []byte) (int, error) {
	for c.readError == nil {
		if c.message == nil {
			c.message, c.readError = c.nextMessage()
			continue
		}
		n, err := c.message.Read(p)
		switch {
		case errors.Is(err, io.EOF):
			c.message = nil
		case err != nil:
			c.readError = convertReadError(err)
		}
		if n > 0 || len(p) == 0 {
			return n, nil
		}
	}
	return 0, c.readError // permanent: after an error the position in the WebSocket is lost
}

// nextMessage waits for the next message. If that is a text message, nextMessage closes the
// WebSocket with an error.
func (c *conn) nextMessage() (io.Reader, error) {
	kind, r, err := c.ws.NextReader()
	if err != nil {
		return nil, convertReadError(err)
	}
	if kind != websocket.BinaryMessage {
		c.sendClose(websocket.CloseUnsupportedData, errTextMessage.Error())
		return nil, errTextMessage
	}
	return r, nil
}

// convertReadError converts a read error of a WebSocket to one of a net.Conn.
func convertReadError(err error) error {
	if _, ok := errors.AsType[*websocket.CloseError](err); ok {
		return io.EOF
	}
	return opError("read", err)
}

// opError wraps err in a net.OpError. A time-out is replaced by os.ErrDeadlineExceeded, as in the
// errors of other connections.
func opError(op string, err error) error {
	if t, ok := errors.AsType[net.Error](err); ok && t.Timeout() {
		err = os.ErrDeadlineExceeded
	}
	return &net.OpError{Op: op, Net: "websocket", Err: err}
}

// Write sends p as one binary message.
func (c *conn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.deadline.Lock()
	by := c.deadline.write
	c.deadline.Unlock()
	_ = c.ws.SetWriteDeadline(by) //nolint:errcheck // it never fails
	if err := c.ws.WriteMessage(websocket.BinaryMessage, p); err != nil {
		return 0, opError("write", err)
	}
	return len(p), nil
}

// Close sends the client a close frame, for which it waits at most closeTimeout, and closes the
// connection.
func (c *conn) Close() error {
	c.closing.Do(func() { c.sendClose(websocket.CloseNormalClosure, "") })
	return c.ws.Close()
}

// sendClose sends the client the reason why the WebSocket ends. It does not wait for a slow or
// disconnected client.
func (c *conn) sendClose(code int, why string) {
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why), time.Now().Add(closeTimeout)) //nolint:errcheck // the client may have disconnected
}

// WebSocket marks the connection as one inside a WebSocket, for code that only has a net.Conn.
func (c *conn) WebSocket() {}

// NetConn returns the connection below the WebSocket.
func (c *conn) NetConn() net.Conn { return c.ws.NetConn() }

func (c *conn) LocalAddr() net.Addr  { return c.ws.LocalAddr() }
func (c *conn) RemoteAddr() net.Addr { return c.ws.RemoteAddr() }

func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *conn) SetReadDeadline(t time.Time) error {
	return c.ws.SetReadDeadline(t)
}

// SetWriteDeadline also applies to a write in progress.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.deadline.Lock()
	defer c.deadline.Unlock()
	c.deadline.write = t
	return c.ws.NetConn().SetWriteDeadline(t)
}
