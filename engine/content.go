package engine

import (
	"encoding/binary"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"mayfly/engine/value"
)

// Content is a message as the sender wrote it, except for the body. It is immutable; there is one
// for each submission, shared by every copy of a fan-out (MSG-2).
type Content struct {
	MessageID        string
	SessionID        string
	EmptySessionID   bool // with an empty SessionID: the sender set it, and the empty id is a session too; see HasSessionID
	PartitionKey     string
	ViaPartitionKey  string
	CorrelationID    string
	Subject          string
	To               string
	ReplyTo          string
	ReplyToSessionID string
	ContentType      string
	TTL              time.Duration // as requested; zero if unset (TTL-2); negative if expired on arrival (TTL-8)
	ScheduledFor     Instant       // as requested; zero if unset
	Properties       value.Properties
	BodyKind         BodyKind
	BodySize         int64  // bytes of the body
	Preview          string // the beginning of a text body, for lists; see Preview
	Wire             string // the fields that only AMQP clients set and read, in the encoding of web/amqp/codec; opaque here, and empty for most messages
}

// HasSessionID reports whether c belongs to a session, which may be the one with the empty id
// (SES-1).
func (c Content) HasSessionID() bool { return c.SessionID != "" || c.EmptySessionID }

// BodyKind is the AMQP form of a body, which is stored as it was received (§2.1).
type BodyKind uint8

// The kinds of bodies.
const (
	DataBody     BodyKind = iota // opaque bytes
	ValueBody                    // one encoded AMQP value
	SequenceBody                 // encoded AMQP sequences
)

// SetPreview sets c's preview from its body, or from the beginning of its body. Bodies of other
// kinds than DataBody are AMQP encodings, and get no preview.
func (c *Content) SetPreview(body []byte) {
	if c.Preview == "" && c.BodyKind == DataBody {
		c.Preview = Preview(body)
	}
}

// previewBytes is the maximum number of bytes of a body that are kept in memory for lists.
const previewBytes = 160

// Preview returns the beginning of a body for lists: valid text without control characters,
// at most previewBytes long. It is empty if the body is not text.
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

// Packed is a Content in its stored form, which is also its form in memory: only fields that
// are set take room. It is never changed. The encoding is a sequence of fields, each a tag, a
// length and bytes; a reader skips tags it does not know, so fields can be added without a
// new format. A SessionId field without bytes is the empty SessionId; without the field there is
// none.
type Packed string

const (
	tagMessageID = iota + 1
	tagSessionID
	tagPartitionKey
	tagViaPartitionKey
	tagCorrelationID
	tagSubject
	tagTo
	tagReplyTo
	tagReplyToSessionID
	tagContentType
	tagTTL
	tagScheduledFor
	tagProperties
	tagBodyKind
	tagBodySize
	tagPreview
	tagWire
)

// textTags and numberTags are the tags of text and number fields, in the order they are
// stored in.
var textTags = [...]byte{
	tagMessageID, tagSessionID, tagPartitionKey, tagViaPartitionKey, tagCorrelationID, tagSubject, tagTo,
	tagReplyTo, tagReplyToSessionID, tagContentType, tagPreview, tagWire,
}

var numberTags = [...]byte{
	tagTTL, tagScheduledFor, tagBodyKind, tagBodySize,
}

// text returns the address of a text field, or nil for another tag.
func (c *Content) text(tag byte) *string {
	switch tag {
	case tagMessageID:
		return &c.MessageID
	case tagSessionID:
		return &c.SessionID
	case tagPartitionKey:
		return &c.PartitionKey
	case tagViaPartitionKey:
		return &c.ViaPartitionKey
	case tagCorrelationID:
		return &c.CorrelationID
	case tagSubject:
		return &c.Subject
	case tagTo:
		return &c.To
	case tagReplyTo:
		return &c.ReplyTo
	case tagReplyToSessionID:
		return &c.ReplyToSessionID
	case tagContentType:
		return &c.ContentType
	case tagPreview:
		return &c.Preview
	case tagWire:
		return &c.Wire
	default:
		return nil
	}
}

// number returns a number field, and setNumber sets it.
func (c *Content) number(tag byte) int64 {
	switch tag {
	case tagTTL:
		return int64(c.TTL)
	case tagScheduledFor:
		return int64(c.ScheduledFor)
	case tagBodyKind:
		return int64(c.BodyKind)
	default:
		return c.BodySize
	}
}

func (c *Content) setNumber(tag byte, n int64) {
	switch tag {
	case tagTTL:
		c.TTL = time.Duration(n)
	case tagScheduledFor:
		c.ScheduledFor = Instant(n)
	case tagBodyKind:
		c.BodyKind = BodyKind(n)
	default:
		c.BodySize = n
	}
}

// Pack encodes c. The result shares no memory with it.
func (c Content) Pack() Packed {
	b := make([]byte, 0, 256)
	for _, tag := range textTags {
		if text := *c.text(tag); text != "" || tag == tagSessionID && c.EmptySessionID {
			b = binary.AppendUvarint(append(b, tag), uint64(len(text)))
			b = append(b, text...)
		}
	}
	var num [binary.MaxVarintLen64]byte
	for _, tag := range numberTags {
		if v := c.number(tag); v != 0 {
			n := binary.PutVarint(num[:], v)
			b = binary.AppendUvarint(append(b, tag), uint64(n))
			b = append(b, num[:n]...)
		}
	}
	if len(c.Properties) > 0 {
		p := c.Properties.Append(make([]byte, 0, 256))
		b = binary.AppendUvarint(append(b, tagProperties), uint64(len(p)))
		b = append(b, p...)
	}
	return Packed(b)
}

// Content decodes p. It fails only on bytes that Pack did not write. Its texts are substrings
// of p.
func (p Packed) Content() (Content, error) {
	var c Content
	err := p.fields(func(tag byte, v string) error {
		switch tag {
		case tagTTL, tagScheduledFor, tagBodyKind, tagBodySize:
			n, used := varint(v)
			if used != len(v) {
				return fmt.Errorf("content field %d is not a number", tag)
			}
			c.setNumber(tag, n)
		case tagProperties:
			props, rest, err := value.ParseProperties([]byte(v))
			if err != nil || len(rest) != 0 {
				return fmt.Errorf("content properties: %w", err)
			}
			c.Properties = props
		default:
			if text := c.text(tag); text != nil {
				*text = v
			}
			if tag == tagSessionID {
				c.EmptySessionID = v == ""
			}
		}
		return nil
	})
	return c, err
}

// MessageID returns the MessageId without decoding other fields.
func (p Packed) MessageID() string { return p.text(tagMessageID) }

// SessionID returns the SessionId without decoding other fields. If the result is empty,
// HasSessionID reports whether p has the empty SessionId or none.
func (p Packed) SessionID() string { return p.text(tagSessionID) }

// HasSessionID is Content.HasSessionID without decoding other fields.
func (p Packed) HasSessionID() bool {
	_, ok := p.field(tagSessionID)
	return ok
}

// Subject returns the subject without decoding other fields.
func (p Packed) Subject() string { return p.text(tagSubject) }

// BodySize returns the size of the body in bytes without decoding other fields.
func (p Packed) BodySize() int64 { return p.number(tagBodySize) }

// Size returns how many bytes a message counts in quotas: header and body, without the preview
// that the broker adds for lists (RT-3).
func (p Packed) Size() int64 {
	n := int64(len(p)) + p.BodySize()
	if shown := len(p.text(tagPreview)); shown > 0 {
		n -= int64(1 + len(binary.AppendUvarint(nil, uint64(shown))) + shown)
	}
	return n
}

// Truncate returns p with at most the given number of bytes: it leaves out each field that does not
// fit behind the fields kept before.
func (p Packed) Truncate(most int) Packed {
	if len(p) <= most {
		return p
	}
	short := make([]byte, 0, most)
	//nolint:errcheck // a Packed that came this far was decoded before: it has no error left
	_ = p.fields(func(tag byte, v string) error {
		head := binary.AppendUvarint([]byte{tag}, uint64(len(v)))
		if len(short)+len(head)+len(v) <= most {
			short = append(append(short, head...), v...)
		}
		return nil
	})
	return Packed(short)
}

func (p Packed) ttl() time.Duration { return time.Duration(p.number(tagTTL)) }

func (p Packed) text(tag byte) string {
	s, _ := p.field(tag)
	return s
}

func (p Packed) field(tag byte) (s string, ok bool) {
	//nolint:errcheck // a Packed that came this far was decoded before: it has no error left
	_ = p.fields(func(t byte, v string) error {
		if t == tag {
			s, ok = v, true
		}
		return nil
	})
	return s, ok
}

func (p Packed) number(tag byte) int64 {
	n, _ := varint(p.text(tag))
	return n
}

func (p Packed) fields(each func(tag byte, v string) error) error {
	for s := string(p); s != ""; {
		tag := s[0]
		n, used := uvarint(s[1:])
		if used <= 0 || n > uint64(len(s)-1-used) {
			return fmt.Errorf("content field %d is cut off", tag)
		}
		if err := each(tag, s[1+used:1+used+int(n)]); err != nil {
			return err
		}
		s = s[1+used+int(n):]
	}
	return nil
}

// uvarint is binary.Uvarint on a string, without a copy.
func uvarint(s string) (n uint64, used int) {
	for i := 0; i < len(s) && i < binary.MaxVarintLen64; i++ {
		n |= uint64(s[i]&0x7f) << (7 * i)
		if s[i] < 0x80 {
			return n, i + 1
		}
	}
	return 0, 0
}

// varint is binary.Varint on a string.
func varint(s string) (n int64, used int) {
	u, used := uvarint(s)
	return int64(u>>1) ^ -int64(u&1), used
}
