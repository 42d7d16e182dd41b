package engine

import (
	"time"
	"unicode"
	"unicode/utf8"

	"mayfly/engine/value"
)

// Content is what the sender wrote, but for the body: immutable, one for each
// submission, shared by every copy of a fan-out (MSG-2).
type Content struct {
	MessageID        string
	SessionID        string
	EmptySessionID   bool // beside an empty SessionID: the sender said so, and that is a session too; see HasSessionID
	PartitionKey     string
	ViaPartitionKey  string
	CorrelationID    string
	Subject          string
	To               string
	ReplyTo          string
	ReplyToSessionID string
	ContentType      string
	TTL              time.Duration // as asked for; zero: unset (TTL-2); negative: expired on arrival (TTL-8)
	ScheduledFor     Instant       // as asked for; zero: unset
	Properties       value.Properties
	BodyKind         BodyKind
	BodySize         int64  // bytes of the body
	Preview          string // the body's beginning where it is text, for lists; see Preview
	Wire             string // what only AMQP says of the message, in the encoding of web/amqp/carry; opaque here, and empty for most
}

// HasSessionID tells whether c says which session it belongs to: any id does, the
// empty one too (SES-1).
func (c Content) HasSessionID() bool { return c.SessionID != "" || c.EmptySessionID }

// BodyKind is the AMQP form of a body, kept as it was received (§2.1).
type BodyKind uint8

// The kinds of bodies.
const (
	DataBody     BodyKind = iota // opaque bytes
	ValueBody                    // one encoded AMQP value
	SequenceBody                 // encoded AMQP sequences
)

// SetPreview completes c with the preview of its body, or of its beginning. What
// is AMQP's encoding of something is not for people.
func (c *Content) SetPreview(body []byte) {
	if c.Preview == "" && c.BodyKind == DataBody {
		c.Preview = Preview(body)
	}
}

// previewBytes bounds what of a body is kept in memory for lists.
const previewBytes = 160

// Preview is the beginning of a body for people: valid text without control
// characters, at most previewBytes long; empty for anything else.
func Preview(body []byte) string {
	head := body[:min(len(body), previewBytes)]
	for cutoff := 0; len(head) > 0 && len(head) < len(body) && cutoff < utf8.UTFMax && !utf8.Valid(head); cutoff++ {
		head = head[:len(head)-1]
	}
	if !utf8.Valid(head) {
		return ""
	}
	out := make([]byte, 0, len(head))
	for _, r := range string(head) {
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case unicode.IsControl(r):
			return ""
		}
		if r == ' ' && (len(out) == 0 || out[len(out)-1] == ' ') {
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}
