package cluster

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"

	"mayfly/web/auth"
)

// A Port is the HTTP port that a client used.
type Port string

// The ports.
const (
	Dashboard Port = "dashboard"
	Admin     Port = "admin"
)

// ClientInfo describes the client whose request or connection a server forwards to the owner
// of a namespace.
type ClientInfo struct {
	Namespace string `json:"namespace"`
	Port      Port   `json:"port,omitempty"`   // for HTTP only
	Client    string `json:"client,omitempty"` // address and port
	// Secure is set if the client uses TLS, and ServerName is the server name that it
	// sent.
	Secure     bool   `json:"secure,omitempty"`
	ServerName string `json:"serverName,omitempty"`
	WebSocket  bool   `json:"webSocket,omitempty"` // AMQP came in a WebSocket
	// Hosts are the names and addresses of the server that the client used: those in a
	// request's tokens, or those of an AMQP connection. They are in lower case and have
	// no port. The owner has other names, and tokens name the server that the client
	// knows.
	Hosts []string `json:"hosts,omitempty"`
	// Own is set if hosts without a namespace's label, such as localhost, name this
	// namespace at that server.
	Own bool `json:"own,omitempty"`
	// Caller is the caller, identified by the server that forwards the request.
	Caller auth.Caller `json:"who,omitzero"`
	// Rule and Key are the credential that the client sent in SASL PLAIN.
	Rule string `json:"rule,omitempty"`
	Key  string `json:"key,omitempty"`
}

// infoHeader carries a ClientInfo between servers, as base64 of JSON. It is ignored in requests
// of clients.
const infoHeader = "Mayfly-Passed-On"

func (p ClientInfo) encode() (string, error) {
	raw, err := json.Marshal(p)
	return base64.StdEncoding.EncodeToString(raw), err
}

func decode(text string) (p ClientInfo, err error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err == nil && p.Namespace == "" {
		err = errors.New("the namespace is missing")
	}
	if err != nil {
		return ClientInfo{}, fmt.Errorf("client information from another server: %w", err)
	}
	return p, nil
}

// maxInfo is the maximum size of an encoded ClientInfo in bytes.
const maxInfo = 64 << 10

// appendTo appends p after its length, as at the beginning of a connection.
func (p ClientInfo) appendTo(b []byte) ([]byte, error) {
	text, err := p.encode()
	if err != nil {
		return nil, err
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...), nil
}

// readClientInfo reads what appendTo wrote.
func readClientInfo(from io.Reader) (p ClientInfo, err error) {
	var n [4]byte
	if _, err := io.ReadFull(from, n[:]); err != nil {
		return p, fmt.Errorf("read the client information: %w", err)
	}
	size := binary.BigEndian.Uint32(n[:])
	if size > maxInfo {
		return p, fmt.Errorf("the client information has %d bytes; at most %d are allowed", size, maxInfo)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(from, text); err != nil {
		return p, fmt.Errorf("read the client information: %w", err)
	}
	return decode(string(text))
}

type clientInfoKey struct{}

// ClientFromContext returns the description of the client of a forwarded request. It reports false for
// requests that came from the client itself.
func ClientFromContext(ctx context.Context) (p ClientInfo, ok bool) {
	p, ok = ctx.Value(clientInfoKey{}).(ClientInfo)
	return p, ok
}

// A Conn is an AMQP connection that another server forwards. The first bytes that it
// reads are the client's open.
type Conn struct {
	net.Conn
	Client ClientInfo
}

// NetConn returns the connection between the servers.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// RemoteAddr returns the client's address, as the other server gave it.
func (c *Conn) RemoteAddr() net.Addr { return address(c.Client.Client) }

// An address is an address as text.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
