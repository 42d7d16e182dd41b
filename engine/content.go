package engine

import (
	"encoding/binary"
	"fmt"
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
}

// BodyKind is the AMQP form of a body, kept as it was received (§2.1).
type BodyKind uint8

// The kinds of bodies.
const (
	DataBody     BodyKind = iota // opaque bytes
	ValueBody                    // one encoded AMQP value
	SequenceBody                 // encoded AMQP sequences
)

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
	out := make([]rune, 0, len(head))
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
		out = append(out, r)
	}
	return string(out)
}

// Packed is a Content in its stored form, which is also how it waits in
// memory: only what is set takes room. It is never changed. The encoding is a
// sequence of fields, each a tag, a length and bytes; a reader skips tags it
// does not know, so fields can be added without a new format.
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
)

func (c *Content) texts() []struct {
	tag  byte
	text *string
} {
	return []struct {
		tag  byte
		text *string
	}{
		{tagMessageID, &c.MessageID}, {tagSessionID, &c.SessionID}, {tagPartitionKey, &c.PartitionKey},
		{tagViaPartitionKey, &c.ViaPartitionKey}, {tagCorrelationID, &c.CorrelationID}, {tagSubject, &c.Subject},
		{tagTo, &c.To}, {tagReplyTo, &c.ReplyTo}, {tagReplyToSessionID, &c.ReplyToSessionID},
		{tagContentType, &c.ContentType}, {tagPreview, &c.Preview},
	}
}

func (c *Content) numbers() []struct {
	tag byte
	get int64
	set func(int64)
} {
	return []struct {
		tag byte
		get int64
		set func(int64)
	}{
		{tagTTL, int64(c.TTL), func(n int64) { c.TTL = time.Duration(n) }},
		{tagScheduledFor, int64(c.ScheduledFor), func(n int64) { c.ScheduledFor = Instant(n) }},
		{tagBodyKind, int64(c.BodyKind), func(n int64) { c.BodyKind = BodyKind(n) }},
		{tagBodySize, c.BodySize, func(n int64) { c.BodySize = n }},
	}
}

// Pack encodes c. The result shares no memory with it.
func (c Content) Pack() Packed {
	b := make([]byte, 0, 128)
	for _, f := range c.texts() {
		if *f.text != "" {
			b = binary.AppendUvarint(append(b, f.tag), uint64(len(*f.text)))
			b = append(b, *f.text...)
		}
	}
	var num [binary.MaxVarintLen64]byte
	for _, f := range c.numbers() {
		if f.get != 0 {
			n := binary.PutVarint(num[:], f.get)
			b = binary.AppendUvarint(append(b, f.tag), uint64(n))
			b = append(b, num[:n]...)
		}
	}
	if len(c.Properties) > 0 {
		p := c.Properties.Append(nil)
		b = binary.AppendUvarint(append(b, tagProperties), uint64(len(p)))
		b = append(b, p...)
	}
	return Packed(b)
}

// Content decodes p. It fails only on bytes that Pack did not write.
func (p Packed) Content() (Content, error) {
	var c Content
	texts, numbers := c.texts(), c.numbers()
	err := p.fields(func(tag byte, v string) error {
		for _, f := range texts {
			if f.tag == tag {
				*f.text = v
				return nil
			}
		}
		for _, f := range numbers {
			if f.tag == tag {
				n, used := binary.Varint([]byte(v))
				if used != len(v) {
					return fmt.Errorf("content field %d is not a number", tag)
				}
				f.set(n)
				return nil
			}
		}
		if tag == tagProperties {
			props, rest, err := value.ParseProperties([]byte(v))
			if err != nil || len(rest) != 0 {
				return fmt.Errorf("content properties: %w", err)
			}
			c.Properties = props
		}
		return nil
	})
	return c, err
}

// MessageID reads one field without decoding the rest.
func (p Packed) MessageID() string { return p.text(tagMessageID) }

// SessionID reads one field without decoding the rest.
func (p Packed) SessionID() string { return p.text(tagSessionID) }

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

func (p Packed) text(tag byte) (s string) {
	//nolint:errcheck // a Packed that came this far was decoded before: it has no error left
	_ = p.fields(func(t byte, v string) error {
		if t == tag {
			s = v
		}
		return nil
	})
	return s
}

func (p Packed) number(tag byte) int64 {
	n, _ := binary.Varint([]byte(p.text(tag)))
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
