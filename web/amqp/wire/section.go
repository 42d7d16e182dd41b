package wire

import (
	"encoding/binary"
	"fmt"
)

// A Section is a part of a message (AMQP 1.0, part 3, 3.2). Its number is the descriptor.
type Section uint8

// The sections in the order in which they are written.
const (
	SectionHeader                Section = 0x70
	SectionDeliveryAnnotations   Section = 0x71
	SectionMessageAnnotations    Section = 0x72
	SectionProperties            Section = 0x73
	SectionApplicationProperties Section = 0x74
	SectionData                  Section = 0x75
	SectionSequence              Section = 0x76
	SectionValue                 Section = 0x77
	SectionFooter                Section = 0x78
)

func (s Section) String() string { return Code(s).String() }

func (s Section) isBody() bool { return s >= SectionData && s <= SectionValue }

// maxDescriptorLength is the maximum length of a section's symbolic descriptor.
const maxDescriptorLength = 64

// sectionExtent states where the parts of an encoded section are, in bytes from its beginning.
type sectionExtent struct {
	section Section
	value   int    // where the encoded value begins
	content int    // of a data section: where its bytes begin
	end     uint64 // where the next section begins
}

// parseSectionExtent parses the section at the beginning of b as far as necessary to find its end.
// If b is too short for that, need is the number of bytes that the next attempt needs at least;
// otherwise it is 0. Few bytes suffice, unless the descriptor is long.
func parseSectionExtent(b []byte) (x sectionExtent, need int, err *ProtocolError) {
	bad := func(at int, format string, args ...any) (sectionExtent, int, *ProtocolError) {
		return sectionExtent{}, 0, &ProtocolError{Condition: CondDecodeError, Text: fmt.Sprintf(format, args...), Offset: at}
	}
	if len(b) < 3 {
		if len(b) > 0 && b[0] != codeDescribed {
			return bad(0, "a section of a message is expected, not constructor %#02x", b[0])
		}
		return x, 3, nil
	}
	if b[0] != codeDescribed {
		return bad(0, "a section of a message is expected, not constructor %#02x", b[0])
	}
	switch b[1] {
	case codeSmallULong:
		x.value = 3
	case codeULong:
		x.value = 10
	case codeSymbol8:
		x.value = 3 + int(b[2])
	case codeSymbol32:
		if len(b) < 6 {
			return x, 6, nil
		}
		x.value = 6 + int(min(binary.BigEndian.Uint32(b[2:]), maxDescriptorLength+1))
	}
	switch {
	case x.value == 0 || x.value > 6+maxDescriptorLength:
		return bad(1, "the descriptor is not one of a message section")
	case len(b) <= x.value:
		return x, x.value + 1, nil
	}
	code := Code(b[2])
	if b[1] != codeSmallULong {
		c := newCursor(b[:x.value])
		if code = c.descriptor(); c.err != nil {
			return bad(c.err.Offset, "%s", c.err.Text)
		}
	}
	if code < Code(SectionHeader) || code > Code(SectionFooter) {
		return bad(0, "%v is not a section of a message", code)
	}
	x.section = Section(code)
	if !isSectionType(x.section, b[x.value]) {
		return bad(x.value, "%v does not hold a value of constructor %#02x", x.section, b[x.value])
	}
	length, need, ok := valueExtent(b[x.value:], MaxDepth)
	if !ok {
		return bad(x.value, "the value of %v is invalid", x.section)
	}
	if need > 0 {
		return x, x.value + need, nil
	}
	x.end = uint64(x.value) + length
	x.content = x.value + 1 + int(layouts[b[x.value]]&widthMask)
	return x, 0, nil
}

// isSectionType reports whether a section may hold a value that begins with this constructor. Null
// counts as an empty list, map or binary, as .NET writes it.
func isSectionType(s Section, code byte) bool {
	switch code {
	case codeNull:
		return true
	case codeList0, codeList8, codeList32:
		return s == SectionHeader || s == SectionProperties || s == SectionSequence || s == SectionValue
	case codeMap8, codeMap32:
		return s == SectionDeliveryAnnotations || s == SectionMessageAnnotations ||
			s == SectionApplicationProperties || s == SectionFooter || s == SectionValue
	case codeBinary8, codeBinary32:
		return s == SectionData || s == SectionValue
	default:
		return s == SectionValue
	}
}

// valueExtent returns the length of the value at the beginning of b, according to its constructor
// and size. If b is too short for that, it returns in need the number of bytes that it needs at
// least. It reports false for an invalid constructor or too many nested descriptors.
func valueExtent(b []byte, depth int) (length uint64, need int, ok bool) {
	if len(b) == 0 {
		return 0, 1, true
	}
	if b[0] == codeDescribed {
		if depth == 0 {
			return 0, 0, false
		}
		length = 1
		for range 2 { // descriptor and value
			if length > uint64(len(b)) {
				return 0, int(length), true
			}
			part, need, ok := valueExtent(b[length:], depth-1)
			if !ok || need > 0 {
				return 0, int(length) + need, ok
			}
			length += part
		}
		return length, 0, true
	}
	l := layouts[b[0]]
	width := int(l & widthMask)
	switch {
	case l == unknown:
		return 0, 0, false
	case l&^widthMask == fixed:
		return 1 + uint64(width), 0, true
	case len(b) < 1+width:
		return 0, 1 + width, true
	case width == 1:
		return 2 + uint64(b[1]), 0, true
	default:
		return 5 + uint64(binary.BigEndian.Uint32(b[1:])), 0, true
	}
}

// sectionOrder checks the order of sections. Sections before the body may come in any order and at
// most once, because senders differ about the header and the delivery annotations, and rhea puts
// the footer before the body. All sections of the body are of one kind, and a value body has only
// one section. The body may be followed by the footer and, from Python's SDK, delivery annotations.
type sectionOrder struct {
	seen      uint16 // a bit for each section
	bodyEnded bool   // a section has followed the body
}

const bodyBits = 1<<(SectionData-SectionHeader) | 1<<(SectionSequence-SectionHeader) | 1<<(SectionValue-SectionHeader)

// hasBody reports whether the body has begun.
func (q *sectionOrder) hasBody() bool { return q.seen&bodyBits != 0 }

func (q *sectionOrder) add(s Section) *ProtocolError {
	bit := uint16(1) << (s - SectionHeader)
	var text string
	switch {
	case q.seen&bit != 0 && s != SectionData && s != SectionSequence:
		text = "a message has only one %v"
	case s == SectionFooter || s == SectionDeliveryAnnotations:
		q.seen |= bit
		q.bodyEnded = q.hasBody()
		return nil
	case q.bodyEnded:
		text = "%v is after the end of the body"
	case s.isBody() && q.seen&bodyBits&^bit != 0:
		text = "%v is beside a body of another kind"
	case s < SectionData && q.hasBody():
		text = "%v is after the body"
	default:
		q.seen |= bit
		return nil
	}
	return &ProtocolError{Condition: CondDecodeError, Text: fmt.Sprintf(text, s)}
}

// AppendSection appends a section with this encoded value, or nothing if `encoded` is nil. The
// caller guarantees that the value is valid.
func AppendSection(b []byte, s Section, encoded []byte) []byte {
	if encoded == nil {
		return b
	}
	return append(append(b, codeDescribed, codeSmallULong, byte(s)), encoded...)
}

// AppendDataHeader appends the beginning of a data section. The caller appends n bytes of
// content.
func AppendDataHeader(b []byte, n uint32) []byte {
	b = append(b, codeDescribed, codeSmallULong, byte(SectionData))
	if n <= 0xff {
		return append(b, codeBinary8, byte(n))
	}
	return binary.BigEndian.AppendUint32(append(b, codeBinary32), n)
}

// AppendSequences appends a section for each encoded list in lists, which are joined as by
// [Body.Content].
func AppendSequences(b, lists []byte) ([]byte, error) {
	for len(lists) > 0 {
		n, err := Skip(lists)
		if err == nil && !isSectionType(SectionSequence, lists[0]) {
			err = &ProtocolError{Condition: CondDecodeError, Text: "a sequence is not a list"}
		}
		if err != nil {
			return b, err
		}
		b = AppendSection(b, SectionSequence, lists[:n])
		lists = lists[n:]
	}
	return b, nil
}
