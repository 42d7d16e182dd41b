package connlimit

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// A Kind is the protocol of a port.
type Kind uint8

// The kinds.
const (
	HTTP Kind = iota
	AMQP
	Cluster // requests and connections that other servers forward
	kinds
)

// Listen returns a listener whose connections count towards the budget. It owns l.
func (b *Budget) Listen(l net.Listener, k Kind) net.Listener { return &listener{l, b, k} }

type listener struct {
	net.Listener
	b    *Budget
	kind Kind
}

// outOfFilesDelay is how long Accept waits before it tries again when the process is out of
// files and the reserve is empty.
const outOfFilesDelay = 10 * time.Millisecond

// Accept returns the next connection, in a place of the budget or in an emergency place.
// When the process is out of files, Accept closes a file of the reserve to accept the
// connection, and then another connection in its place.
func (l *listener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	pressed := false
	for isOutOfFiles(err) {
		if pressed = l.b.releaseFile(); !pressed {
			select { // until a connection is closed
			case <-time.After(outOfFilesDelay):
			case <-l.b.ended:
			}
		}
		nc, err = l.Listener.Accept()
	}
	if err != nil {
		return nil, err
	}
	c := l.b.conn(nc, l.kind)
	l.b.placeConn(c, pressed)
	if pressed {
		l.b.refillReserve()
	}
	return c, nil
}

// isOutOfFiles reports whether err means that too many files are open.
func isOutOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// releaseFile closes a file of the reserve. It reports whether the reserve had one.
func (b *Budget) releaseFile() bool {
	b.files.Lock()
	defer b.files.Unlock()
	last := len(b.reserve) - 1
	if last < 0 {
		return false
	}
	_ = b.reserve[last].Close() //nolint:errcheck // nothing was written to it
	b.reserve = b.reserve[:last]
	return true
}

// refillReserve opens files until the reserve is full or the process is out of files.
func (b *Budget) refillReserve() {
	if !b.o.Reserve {
		return
	}
	b.files.Lock()
	defer b.files.Unlock()
	for !b.closed && len(b.reserve) < reservedFiles {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return // closing the next connection calls refillReserve again
		}
		b.reserve = append(b.reserve, f)
	}
}
