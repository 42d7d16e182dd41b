package wire

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// A Protocol is the content of a protocol header: id, major, minor and revision, a byte each (AMQP
// 1.0, part 2, 2.2; part 5, 5.2.1 and 5.3.2).
type Protocol uint32

// The protocols, all in version 1.0.0.
const (
	ProtocolAMQP Protocol = 0x00_01_00_00
	ProtocolTLS  Protocol = 0x02_01_00_00
	ProtocolSASL Protocol = 0x03_01_00_00
)

// ProtocolHeaderSize is the length of a protocol header in bytes.
const ProtocolHeaderSize = 8

// A NotAMQPError reports that a peer's first bytes are not those of AMQP.
type NotAMQPError struct{ FirstBytes [ProtocolHeaderSize]byte }

func (e *NotAMQPError) Error() string {
	switch {
	case e.IsHTTP():
		return "the client speaks HTTP, but this port speaks AMQP"
	case e.FirstBytes[0] == 0x16 && e.FirstBytes[1] == 3: // a record with a ClientHello
		return "the client speaks TLS, but this port has no TLS"
	default:
		return fmt.Sprintf("a protocol header begins with AMQP, not %q", e.FirstBytes[:4])
	}
}

// IsHTTP reports whether the peer has sent the beginning of an HTTP request.
func (e *NotAMQPError) IsHTTP() bool {
	for _, method := range []string{"GET ", "HEAD ", "POST ", "PUT ", "PATCH ", "DELETE ", "OPTIONS ", "CONNECT ", "TRACE ", "PRI * "} {
		if strings.HasPrefix(string(e.FirstBytes[:]), method) {
			return true
		}
	}
	return false
}

// ParseProtocol parses a protocol header. Any header of AMQP is valid, whatever its id
// and version. Other bytes give a [NotAMQPError]. The answer to an unknown protocol is
// the server's own header and the end of the connection.
func ParseProtocol(b [ProtocolHeaderSize]byte) (Protocol, error) {
	if string(b[:4]) != "AMQP" {
		return 0, &NotAMQPError{b}
	}
	return Protocol(binary.BigEndian.Uint32(b[4:])), nil
}

// Append appends the header that requests p.
func (p Protocol) Append(b []byte) []byte {
	return binary.BigEndian.AppendUint32(append(b, "AMQP"...), uint32(p))
}

// String returns p in the specification's notation: "AMQP 3 1.0.0".
func (p Protocol) String() string {
	return fmt.Sprintf("AMQP %d %d.%d.%d", p>>24, p>>16&0xff, p>>8&0xff, p&0xff)
}
