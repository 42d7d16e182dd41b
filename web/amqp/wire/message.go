package wire

import (
	"fmt"
	"iter"
)

// A Message is the sections of an encoded message, each as its encoded value
// without the descriptor, nil if absent; a value that is null is there, and
// means the same as an empty one. They are decoded on demand: [Header.Decode],
// [Properties.Decode], [ParseMap] for the others.
type Message struct {
	Header                []byte
	DeliveryAnnotations   []byte
	MessageAnnotations    []byte
	Properties            []byte
	ApplicationProperties []byte
	Body                  Body
	Footer                []byte
}

// BodyKind is the form of a body (AMQP 1.0, part 3, 3.2).
type BodyKind uint8

// The forms of a body. A message without one is sent by some clients, and its
// body is not the same as one of no data.
const (
	NoBody BodyKind = iota
	DataBody
	SequenceBody
	ValueBody
)

// A Body is the body of a message.
type Body struct {
	Kind     BodyKind
	Sections int   // how many
	Size     int64 // bytes of content
	encoded  []byte
}

// Encoded is the body's sections as they stood in the message; nil if a
// [Scanner] passed them on.
func (b *Body) Encoded() []byte { return b.encoded }

// Contents is the content of each section: the bytes of data, the encoded list
// of a sequence, the encoded value. None if a [Scanner] passed them on.
func (b *Body) Contents() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for rest := b.encoded; len(rest) > 0; {
			x, _, err := sectionAt(rest)
			if err != nil {
				panic(fmt.Sprintf("a body that was scanned: %v", err))
			}
			if !yield(x.inside(rest)) {
				return
			}
			rest = rest[x.end:]
		}
	}
}

// inside is the content of the section that b begins with.
func (x extent) inside(b []byte) []byte {
	if x.section == SectionData {
		return b[x.content:x.end:x.end]
	}
	return b[x.value:x.end:x.end]
}

// Content is the contents joined, which copies them only if there are several.
// It is never nil unless there is no body or a [Scanner] passed it on.
func (b *Body) Content() []byte {
	var joined []byte
	for content := range b.Contents() {
		if b.Sections == 1 {
			return content
		}
		if joined == nil {
			joined = make([]byte, 0, b.Size)
		}
		joined = append(joined, content...)
	}
	return joined
}

// Decode sets m from a whole encoded message; every slice in m is a part of b.
// It checks all values but the fields of header and properties, which their own
// Decode does, and allocates nothing.
func (m *Message) Decode(b []byte) error {
	*m = Message{}
	var order sequence
	for off := 0; off < len(b); {
		x, need, err := sectionAt(b[off:])
		if rest := uint64(len(b) - off); err == nil && (need > 0 || x.end > rest) {
			err = &ProtocolError{Condition: CondDecodeError, Text: fmt.Sprintf("a section ends %d bytes behind the message", max(uint64(need), x.end)-rest)}
		}
		if err == nil {
			err = order.admit(x.section)
		}
		if err == nil {
			err = x.check(b[off:])
		}
		if err != nil {
			err.Offset += off
			return err
		}
		m.add(x, b[off:])
		off += int(x.end)
	}
	return nil
}

// check walks over the value of a section that is there to its end.
func (x extent) check(b []byte) *ProtocolError {
	if x.section == SectionData {
		return nil
	}
	c := over(b[:x.end])
	c.off = x.value
	c.skip(MaxDepth)
	if c.err == nil && c.rest() > 0 {
		c.fail(CondDecodeError, "%d bytes are left over in a section", c.rest())
	}
	return c.err
}

// add notes the section that b begins with. Sections of the body follow each
// other in memory.
func (m *Message) add(x extent, b []byte) {
	if x.section.body() {
		m.Body.Kind = DataBody + BodyKind(x.section-SectionData)
		m.Body.Sections++
		m.Body.Size += int64(len(x.inside(b)))
		if m.Body.encoded == nil {
			m.Body.encoded = b[:0]
		}
		all := len(m.Body.encoded) + int(x.end)
		m.Body.encoded = m.Body.encoded[:all]
		return
	}
	*m.section(x.section) = b[x.value:x.end:x.end]
}

func (m *Message) section(s Section) *[]byte {
	switch s {
	case SectionHeader:
		return &m.Header
	case SectionDeliveryAnnotations:
		return &m.DeliveryAnnotations
	case SectionMessageAnnotations:
		return &m.MessageAnnotations
	case SectionProperties:
		return &m.Properties
	case SectionApplicationProperties:
		return &m.ApplicationProperties
	case SectionFooter:
		return &m.Footer
	default:
		panic(fmt.Sprintf("%v is not a section outside of the body", s))
	}
}

// Append appends the message to b, its sections in the order of the
// specification. A body that a [Scanner] passed on is left out.
func (m *Message) Append(b []byte) []byte {
	b = AppendSection(b, SectionHeader, m.Header)
	b = AppendSection(b, SectionDeliveryAnnotations, m.DeliveryAnnotations)
	b = AppendSection(b, SectionMessageAnnotations, m.MessageAnnotations)
	b = AppendSection(b, SectionProperties, m.Properties)
	b = AppendSection(b, SectionApplicationProperties, m.ApplicationProperties)
	b = append(b, m.Body.encoded...)
	return AppendSection(b, SectionFooter, m.Footer)
}

// Batch is the encoded messages in the body of an envelope whose format is
// [FormatBatch], parts of the bytes that m was decoded from. Whether each of
// them is a message is not checked.
func (m *Message) Batch() ([][]byte, error) {
	if m.Body.Kind != DataBody {
		return nil, &ProtocolError{Condition: CondDecodeError, Text: "the body of a batch is not data"}
	}
	all := make([][]byte, 0, m.Body.Sections)
	for one := range m.Body.Contents() {
		all = append(all, one)
	}
	return all, nil
}
