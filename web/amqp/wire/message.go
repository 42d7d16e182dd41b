package wire

import (
	"fmt"
	"iter"
)

// A Message contains the sections of an encoded message. Each is the encoded value
// without the descriptor, or nil if the section is absent. A null value is not nil, and
// means the same as an empty one. Decode them with [Header.Decode], [Properties.Decode]
// or, for the others, [ParseMap].
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

// The forms of a body. Some clients send messages without a body, which differs from an empty body.
const (
	NoBody BodyKind = iota
	DataBody
	SequenceBody
	ValueBody
)

// A Body describes the body of a message.
type Body struct {
	Kind     BodyKind
	Sections int   // number of sections
	Size     int64 // bytes of content
	encoded  []byte
}

// Encoded returns the body's sections as they were in the message, or nil if a [Scanner]
// passed them on.
func (b *Body) Encoded() []byte { return b.encoded }

// Contents iterates over the content of each section: the bytes of data, the encoded list of a
// sequence, or the encoded value. It yields nothing if a [Scanner] passed the body on.
func (b *Body) Contents() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for rest := b.encoded; len(rest) > 0; {
			x, _, err := parseSectionExtent(rest)
			if err != nil {
				panic(fmt.Sprintf("a body that was scanned: %v", err))
			}
			if !yield(x.contentOf(rest)) {
				return
			}
			rest = rest[x.end:]
		}
	}
}

// contentOf returns the content of the section at the beginning of b.
func (x sectionExtent) contentOf(b []byte) []byte {
	if x.section == SectionData {
		return b[x.content:x.end:x.end]
	}
	return b[x.value:x.end:x.end]
}

// Content returns the joined contents. It copies them only if there are several. It is
// nil only if there is no body or a [Scanner] passed it on.
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

// Decode sets m from a complete encoded message. Every slice in m is a part of b. Decode allocates
// nothing. It checks all values except the fields of header and properties, which [Header.Decode]
// and [Properties.Decode] check.
func (m *Message) Decode(b []byte) error {
	*m = Message{}
	var order sectionOrder
	for off := 0; off < len(b); {
		x, need, err := parseSectionExtent(b[off:])
		if rest := uint64(len(b) - off); err == nil && (need > 0 || x.end > rest) {
			err = &ProtocolError{Condition: CondDecodeError, Text: fmt.Sprintf("a section ends %d bytes after the message", max(uint64(need), x.end)-rest)}
		}
		if err == nil {
			err = order.add(x.section)
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

// check returns an error if the value of a section is invalid. The data of a data section is not
// checked. b begins with the whole section.
func (x sectionExtent) check(b []byte) *ProtocolError {
	if x.section == SectionData {
		return nil
	}
	c := newCursor(b[:x.end])
	c.off = x.value
	c.skip(MaxDepth)
	if c.err == nil && c.remaining() > 0 {
		c.fail(CondDecodeError, "%d bytes are left over in a section", c.remaining())
	}
	return c.err
}

// add adds the section at the beginning of b to m. Sections of the body must follow each other in
// memory.
func (m *Message) add(x sectionExtent, b []byte) {
	if x.section.isBody() {
		m.Body.Kind = DataBody + BodyKind(x.section-SectionData)
		m.Body.Sections++
		m.Body.Size += int64(len(x.contentOf(b)))
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

// Append appends the message to b, with its sections in the order of the specification.
// It omits a body that a [Scanner] passed on.
func (m *Message) Append(b []byte) []byte {
	b = AppendSection(b, SectionHeader, m.Header)
	b = AppendSection(b, SectionDeliveryAnnotations, m.DeliveryAnnotations)
	b = AppendSection(b, SectionMessageAnnotations, m.MessageAnnotations)
	b = AppendSection(b, SectionProperties, m.Properties)
	b = AppendSection(b, SectionApplicationProperties, m.ApplicationProperties)
	b = append(b, m.Body.encoded...)
	return AppendSection(b, SectionFooter, m.Footer)
}

// Batch returns the encoded messages in the body of an envelope whose format is
// [FormatBatch]. They are parts of the bytes that m was decoded from. Batch does not
// check that each of them is a message.
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
