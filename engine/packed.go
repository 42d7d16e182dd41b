package engine

import (
	"encoding/binary"
	"fmt"
	"time"

	"mayfly/engine/value"
)

// Packed is a Content in its stored form, which is also how it waits in
// memory: only what is set takes room. It is never changed. The encoding is a
// sequence of fields, each a tag, a length and bytes; a reader skips tags it
// does not know, so fields can be added without a new format. A SessionId
// without bytes is the empty one, which is not the same as none.
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

// textTags and numberTags are the fields that are texts and numbers, in the
// order they are stored in.
func textTags() [12]byte {
	return [...]byte{
		tagMessageID, tagSessionID, tagPartitionKey, tagViaPartitionKey, tagCorrelationID, tagSubject, tagTo,
		tagReplyTo, tagReplyToSessionID, tagContentType, tagPreview, tagWire,
	}
}

func numberTags() [4]byte { return [...]byte{tagTTL, tagScheduledFor, tagBodyKind, tagBodySize} }

// text is where c has the text of a field; nil if the field is none.
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

// number is the number of a field, and setNumber sets it.
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
	for _, tag := range textTags() {
		if text := *c.text(tag); text != "" || tag == tagSessionID && c.EmptySessionID {
			b = binary.AppendUvarint(append(b, tag), uint64(len(text)))
			b = append(b, text...)
		}
	}
	var num [binary.MaxVarintLen64]byte
	for _, tag := range numberTags() {
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

// Content decodes p. It fails only on bytes that Pack did not write. Texts are
// parts of p.
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

// MessageID reads one field without decoding the rest.
func (p Packed) MessageID() string { return p.text(tagMessageID) }

// SessionID reads one field without decoding the rest. See HasSessionID about an
// empty one.
func (p Packed) SessionID() string { return p.text(tagSessionID) }

// HasSessionID is Content.HasSessionID without decoding the rest.
func (p Packed) HasSessionID() bool {
	_, ok := p.field(tagSessionID)
	return ok
}

// Subject reads one field without decoding the rest.
func (p Packed) Subject() string { return p.text(tagSubject) }

// BodySize reads one field without decoding the rest; zero if it is missing.
func (p Packed) BodySize() int64 { return p.number(tagBodySize) }

// Size is what a message counts for in quotas: header and body, without what
// the broker adds for lists (RT-3).
func (p Packed) Size() int64 {
	n := int64(len(p)) + p.BodySize()
	if shown := len(p.text(tagPreview)); shown > 0 {
		n -= int64(1 + len(binary.AppendUvarint(nil, uint64(shown))) + shown)
	}
	return n
}

// Within is p without the fields that would make it longer than so many bytes.
func (p Packed) Within(most int) Packed {
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
