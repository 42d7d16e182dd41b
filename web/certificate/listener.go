package certificate

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Listen returns a TLS listener on top of l, as tls.NewListener does with Config. Fault
// explains failures of its connections.
func (a *Manager) Listen(l net.Listener, protocols ...string) net.Listener {
	return &listener{l, a.Config(protocols...)}
}

type listener struct {
	net.Listener
	config *tls.Config
}

// Accept waits for the next connection. It leaves the handshake to the caller.
func (l *listener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tls.Server(&alertConn{Conn: nc}, l.config), nil
}

// An alertConn remembers the unencrypted alert that a client sends during the handshake. Clients
// with OpenSSL, such as Python's and Node's, report with it that they do not trust the certificate.
// With TLS 1.3 the server already expects encrypted records then, and crypto/tls reports "bad
// record MAC" instead of the alert.
type alertConn struct {
	net.Conn
	alert atomic.Int32 // the alert's code plus one; zero if none came
	hello atomic.Bool  // the client began the handshake

	// The fields below are owned by the goroutine that reads.
	inspected bool    // the rest of the connection is not inspected
	head      [7]byte // of the current record: type, version, length, and an alert's two bytes
	have      int     // bytes of head
	skip      int     // bytes left of the current record
}

const (
	recordAlert       = 21
	recordApplication = 23 // also of all encrypted records of TLS 1.3
	recordHeader      = 5
	alertSize         = 2
)

// NetConn returns the connection below; see connlimit.Unwrap.
func (w *alertConn) NetConn() net.Conn { return w.Conn }

func (w *alertConn) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if !w.inspected {
		w.inspect(b[:n])
	}
	return n, err
}

// inspect inspects the bytes that came, record by record.
func (w *alertConn) inspect(b []byte) {
	for len(b) > 0 && !w.inspected {
		if w.skip > 0 {
			n := min(w.skip, len(b))
			b, w.skip = b[n:], w.skip-n
			continue
		}
		w.head[w.have], b = b[0], b[1:]
		if w.have++; w.have < recordHeader {
			continue
		}
		size := int(w.head[3])<<8 | int(w.head[4])
		w.hello.Store(true)
		switch {
		case w.head[0] == recordApplication:
			w.inspected = true
		case w.head[0] != recordAlert || size != alertSize:
			w.have, w.skip = 0, size
		case w.have == recordHeader+alertSize:
			w.alert.Store(int32(w.head[recordHeader+1]) + 1)
			w.inspected = true
		}
	}
}

// Fault returns one sentence about why TLS failed on a connection of Listen and how to fix
// it. It returns "" if TLS did not fail, or if the client just disconnected. Call it after
// the handshake, when no other goroutine reads from the connection.
func (a *Manager) Fault(nc *tls.Conn) string {
	err := nc.Handshake() //nolint:noctx // it returns the result of the handshake again
	if err == nil {       // some clients, such as .NET's, verify the certificate after the handshake
		_ = nc.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // it may be closed
		if _, err = nc.Read(make([]byte, 1)); err != nil {
			if _, text, ok := strings.Cut(err.Error(), "remote error: tls: "); ok {
				return a.explainAlert(text)
			}
		}
		return ""
	}
	w, ok := nc.NetConn().(*alertConn)
	if ok {
		if alert := w.alert.Load(); alert > 0 {
			return a.explainAlert(alertText(uint8(alert - 1)))
		}
	}
	if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return explainUnencrypted(plain.RecordHeader)
	}
	if _, text, ok := strings.Cut(err.Error(), "remote error: tls: "); ok {
		return a.explainAlert(text)
	}
	if t, ok := errors.AsType[net.Error](err); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) || ok && t.Timeout() {
		if w != nil && w.hello.Load() && !(ok && t.Timeout()) {
			return "The client closed the connection during the TLS handshake. Node.js clients do this when they do not trust the certificate."
		}
		return ""
	}
	if _, text, ok := strings.Cut(err.Error(), "tls: "); ok {
		return "The TLS handshake failed: " + text + "."
	}
	return "" // the network failed
}

// explainUnencrypted returns Fault's sentence for a client that sends these bytes first.
func explainUnencrypted(head [recordHeader]byte) string {
	speaks := "another protocol"
	switch text := string(head[:]); {
	case strings.HasPrefix(text, "AMQP"):
		speaks = "AMQP"
	case strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ /") == "":
		speaks = "HTTP"
	}
	return fmt.Sprintf("The client speaks %s without TLS, but this port requires TLS.", speaks)
}

// explainAlert returns Fault's sentence for an alert of the client.
func (a *Manager) explainAlert(alert string) string {
	switch alert {
	case "unknown certificate authority", "bad certificate", "unknown certificate", "unsupported certificate", "access denied":
		trust := "the certificate authority"
		if ca := a.CA(); ca != "" {
			trust = ca
		}
		return fmt.Sprintf("The client does not trust the certificate (%s). Make the client trust %s, and connect to a name that the certificate covers (see --tls-name).", alert, trust)
	case "expired certificate", "revoked certificate":
		return fmt.Sprintf("The client does not trust the certificate (%s). Check the clocks of client and server.", alert)
	case "user canceled", "close notify":
		return ""
	}
	return "The client ended the TLS handshake: " + alert + "."
}

// alertText returns crypto/tls's text for an alert (RFC 8446, 6).
func alertText(code uint8) string {
	if text, ok := map[uint8]string{
		0: "close notify", 40: "handshake failure", 42: "bad certificate", 43: "unsupported certificate", 44: "revoked certificate",
		45: "expired certificate", 46: "unknown certificate", 48: "unknown certificate authority", 49: "access denied",
		70: "protocol version not supported", 80: "internal error", 90: "user canceled", 112: "unrecognized name",
	}[code]; ok {
		return text
	}
	return fmt.Sprintf("alert %d", code)
}
