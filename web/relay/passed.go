package relay

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"

	"mayfly/web/identity"
)

// A Port is which of a server's doors a client knocked at.
type Port string

// The ports.
const (
	Dashboard Port = "dashboard"
	Admin     Port = "admin"
)

// Passed is what a server tells the owner of a namespace of the client whose request
// or connection it passes on.
type Passed struct {
	Namespace string `json:"namespace"`
	Port      Port   `json:"port,omitempty"`   // of HTTP
	Client    string `json:"client,omitempty"` // address and port
	// Secure is set where the client speaks TLS, and ServerName what it called the
	// server there.
	Secure     bool   `json:"secure,omitempty"`
	ServerName string `json:"serverName,omitempty"`
	WebSocket  bool   `json:"webSocket,omitempty"` // in which AMQP came
	// Who sent the request, as the server found out that the client came to.
	Who identity.Who `json:"who,omitzero"`
	// Rule and Key are what the client said of itself in SASL PLAIN.
	Rule string `json:"rule,omitempty"`
	Key  string `json:"key,omitempty"`
}

// header carries a Passed, in base64 of JSON, between servers. From clients it means
// nothing.
const header = "Mayfly-Passed-On"

func (p Passed) encode() (string, error) {
	raw, err := json.Marshal(p)
	return base64.StdEncoding.EncodeToString(raw), err
}

func decode(text string) (p Passed, err error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err == nil && p.Namespace == "" {
		err = errors.New("it names no namespace")
	}
	if err != nil {
		return Passed{}, fmt.Errorf("what another server says of a client: %w", err)
	}
	return p, nil
}

// mostTold is how many bytes a Passed may have.
const mostTold = 64 << 10

// appendTo is p with its length before it, as a connection begins.
func (p Passed) appendTo(b []byte) ([]byte, error) {
	text, err := p.encode()
	if err != nil {
		return nil, err
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...), nil //nolint:gosec // far less
}

// readPassed reads what appendTo makes.
func readPassed(from io.Reader) (p Passed, err error) {
	var n [4]byte
	if _, err := io.ReadFull(from, n[:]); err != nil {
		return p, fmt.Errorf("read whose connection it is: %w", err)
	}
	size := binary.BigEndian.Uint32(n[:])
	if size > mostTold {
		return p, fmt.Errorf("whose connection it is takes %d bytes; it may be %d", size, mostTold)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(from, text); err != nil {
		return p, fmt.Errorf("read whose connection it is: %w", err)
	}
	return decode(string(text))
}

type passedKey struct{}

// Of is what another server has told of a request; not ok: it came from its client.
func Of(ctx context.Context) (p Passed, ok bool) {
	p, ok = ctx.Value(passedKey{}).(Passed)
	return p, ok
}

// A Conn is a connection of AMQP that another server passes on. What is read begins
// with the client's open.
type Conn struct {
	net.Conn
	Passed Passed
}

// RemoteAddr is the client's address, as it was told.
func (c *Conn) RemoteAddr() net.Addr { return address(c.Passed.Client) }

// address is one in words.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
