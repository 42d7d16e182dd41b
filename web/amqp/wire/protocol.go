package wire

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// A Protocol is what a protocol header asks for: id, major, minor and revision,
// a byte each (AMQP 1.0, part 2, 2.2; part 5, 5.2.1 and 5.3.2).
type Protocol uint32

// The protocols, all in version 1.0.0.
const (
	ProtocolAMQP Protocol = 0x00_01_00_00
	ProtocolTLS  Protocol = 0x02_01_00_00
	ProtocolSASL Protocol = 0x03_01_00_00
)

// ProtocolHeaderSize is the length of a protocol header in bytes.
const ProtocolHeaderSize = 8

// A StrangerError says that a peer's first bytes are of another protocol than AMQP.
type StrangerError struct{ Began [ProtocolHeaderSize]byte }

func (e *StrangerError) Error() string {
	switch {
	case e.HTTP():
		return "the client speaks HTTP, and this is a port of AMQP"
	case e.Began[0] == 0x16 && e.Began[1] == 3: // a record with a ClientHello
		return "the client speaks TLS, and this port is without"
	default:
		return fmt.Sprintf("a protocol header begins with AMQP, not %q", e.Began[:4])
	}
}

// HTTP tells whether the peer has sent the beginning of a request in HTTP.
func (e *StrangerError) HTTP() bool {
	for _, method := range []string{"GET ", "HEAD ", "POST ", "PUT ", "PATCH ", "DELETE ", "OPTIONS ", "CONNECT ", "TRACE ", "PRI * "} {
		if strings.HasPrefix(string(e.Began[:]), method) {
			return true
		}
	}
	return false
}

// ParseProtocol reads a protocol header. One of AMQP, whatever id and version it
// names, is no error; otherwise it is a [StrangerError]. The answer to a protocol nobody here knows is one's own
// header and the end of the connection.
func ParseProtocol(b [ProtocolHeaderSize]byte) (Protocol, error) {
	if string(b[:4]) != "AMQP" {
		return 0, &StrangerError{b}
	}
	return Protocol(binary.BigEndian.Uint32(b[4:])), nil
}

// Append appends the header that asks for p.
func (p Protocol) Append(b []byte) []byte {
	return binary.BigEndian.AppendUint32(append(b, "AMQP"...), uint32(p))
}

// String is p as the specification writes it: "AMQP 3 1.0.0".
func (p Protocol) String() string {
	return fmt.Sprintf("AMQP %d %d.%d.%d", p>>24, p>>16&0xff, p>>8&0xff, p&0xff)
}
