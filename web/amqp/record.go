package amqp

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"
	"unicode"

	"mayfly/web/amqp/wire"
	"mayfly/web/peers"
)

// record is what a connection remembers of itself to be told of. It is guarded
// by the connection's mutex, but for what is set before it runs.
type record struct {
	number    uint64 // in the order of coming
	id        string
	since     time.Time
	container string
	kit       peers.Kit
	tls       bool
	websocket bool

	latest time.Time // when anything was heard
	peers.Traffic
}

// passed counts the messages of a link.
type passed struct{ messages uint64 }

const (
	longestName = 128 // bytes of what a client calls itself, or a link, that are kept
	longestKit  = 160 // of what it says about its library
)

// introduce fills in what is known of a connection when it is open.
func (c *conn) introduce(number, epoch uint64) {
	c.record = record{
		number: number, id: fmt.Sprintf("%d-%d", epoch, number), since: time.Now(), latest: time.Now(),
		container: printable(c.peer.container, longestName), kit: kitOf(c.peer.properties),
	}
	c.tls, c.websocket = c.means()
}

// means is what the client speaks AMQP over.
func (c *conn) means() (secure, websocket bool) {
	if c.by != nil {
		return c.by.Secure, c.by.WebSocket
	}
	for nc := c.nc; nc != nil; {
		if _, ok := nc.(*tls.Conn); ok {
			secure = true
		} else if _, ok := nc.(interface{ NetConn() net.Conn }); ok {
			websocket = true
		}
		in, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		nc = in.NetConn()
	}
	return secure, websocket
}

// client is how people are told whose connection it is.
func (c *conn) client() string { return peers.Prefix + cmp.Or(c.container, c.nc.RemoteAddr().String()) }

// printable is what a client wrote, as far as it can be shown and kept.
func printable(s string, most int) string {
	if len(s) > most {
		s = s[:most]
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, s)
}

// heardFrame counts a frame of the client. Called with mu held.
func (c *conn) heardFrame(f wire.Frame) {
	c.FramesIn++
	c.BytesIn += uint64(len(f.Body)) + 8
}

// writing counts frames on their way to the client. Called with mu held.
func (c *conn) writing(frames []byte) {
	c.BytesOut += uint64(len(frames))
	for len(frames) >= 8 {
		n := int(frames[0])<<24 | int(frames[1])<<16 | int(frames[2])<<8 | int(frames[3])
		if n < 8 || n > len(frames) {
			return
		}
		c.FramesOut++
		frames = frames[n:]
	}
}
