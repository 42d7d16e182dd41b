package wire

import (
	"encoding/binary"
	"fmt"
)

// A Section is a part of a message (AMQP 1.0, part 3, 3.2); its number is the
// descriptor.
type Section uint8

// The sections in the order they are written in.
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

func (s Section) body() bool { return s >= SectionData && s <= SectionValue }

// longestName is how long a symbolic descriptor of a section may be.
const longestName = 64

// extent is where a section lies, in bytes from its beginning.
type extent struct {
	section Section
	value   int    // where the encoded value begins
	content int    // of data: where the bytes begin
	end     uint64 // where the next section begins
}

// sectionAt reads the beginning of the section that b begins with, as far as is
// needed to know where it ends. If b is too short for that, need is how long it
// must be for the next attempt; it asks for a few bytes at a time unless
// descriptors are long.
func sectionAt(b []byte) (x extent, need int, err *ProtocolError) {
	bad := func(at int, format string, args ...any) (extent, int, *ProtocolError) {
		return extent{}, 0, &ProtocolError{Condition: CondDecodeError, Text: fmt.Sprintf(format, args...), Offset: at}
	}
	if len(b) < 3 {
		if len(b) > 0 && b[0] != codeDescribed {
			return bad(0, "constructor %#02x stands where a section of a message is expected", b[0])
		}
		return x, 3, nil
	}
	if b[0] != codeDescribed {
		return bad(0, "constructor %#02x stands where a section of a message is expected", b[0])
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
		x.value = 6 + int(min(binary.BigEndian.Uint32(b[2:]), longestName+1))
	}
	switch {
	case x.value == 0 || x.value > 6+longestName:
		return bad(1, "a section of a message has no such descriptor")
	case len(b) <= x.value:
		return x, x.value + 1, nil
	}
	code := Code(b[2])
	if b[1] != codeSmallULong {
		c := over(b[:x.value])
		if code = c.descriptor(); c.err != nil {
			return bad(c.err.Offset, "%s", c.err.Text)
		}
	}
	if code < Code(SectionHeader) || code > Code(SectionFooter) {
		return bad(0, "%v is no section of a message", code)
	}
	x.section = Section(code)
	if !fits(x.section, b[x.value]) {
		return bad(x.value, "%v does not hold a value of constructor %#02x", x.section, b[x.value])
	}
	length, need, ok := valueExtent(b[x.value:], MaxDepth)
	if !ok {
		return bad(x.value, "the value of %v is none", x.section)
	}
	if need > 0 {
		return x, x.value + need, nil
	}
	x.end = uint64(x.value) + length
	x.content = x.value + 1 + int(layouts[b[x.value]]&widthMask)
	return x, 0, nil
}

// fits says whether a section may hold a value that begins with a constructor.
// Null is taken for an empty list, map or binary, as .NET writes it.
func fits(s Section, code byte) bool {
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

// valueExtent is the length of the value that b begins with, by what its
// beginning claims. If b is too short to tell, need is how long it must be for
// the next attempt.
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

// sequence keeps the order of sections: those in front of the body come in any
// order and at most once, as senders differ about the header and the delivery
// annotations, and rhea writes the footer there; the body is of one kind, and only
// a value is but one section; behind it come the footer and, as Python's SDK has
// it, delivery annotations.
type sequence struct {
	seen  uint16 // a bit for each section
	ended bool   // something has followed the body
}

const bodies = 1<<(SectionData-SectionHeader) | 1<<(SectionSequence-SectionHeader) | 1<<(SectionValue-SectionHeader)

// bodied says whether the body has begun.
func (q *sequence) bodied() bool { return q.seen&bodies != 0 }

func (q *sequence) admit(s Section) *ProtocolError {
	bit := uint16(1) << (s - SectionHeader)
	var text string
	switch {
	case q.seen&bit != 0 && s != SectionData && s != SectionSequence:
		text = "a message has only one %v"
	case s == SectionFooter || s == SectionDeliveryAnnotations:
		q.seen |= bit
		q.ended = q.bodied()
		return nil
	case q.ended:
		text = "%v stands behind the end of the body"
	case s.body() && q.seen&bodies&^bit != 0:
		text = "%v stands beside a body of another kind"
	case s < SectionData && q.bodied():
		text = "%v stands behind the body"
	default:
		q.seen |= bit
		return nil
	}
	return &ProtocolError{Condition: CondDecodeError, Text: fmt.Sprintf(text, s)}
}

// AppendSection appends a section given its encoded value; nothing for nil. A
// value that is not valid is the caller's mistake.
func AppendSection(b []byte, s Section, encoded []byte) []byte {
	if encoded == nil {
		return b
	}
	return append(append(b, codeDescribed, codeSmallULong, byte(s)), encoded...)
}

// AppendDataHead appends the beginning of a data section; n bytes of content are
// to follow.
func AppendDataHead(b []byte, n uint32) []byte {
	b = append(b, codeDescribed, codeSmallULong, byte(SectionData))
	if n <= 0xff {
		return append(b, codeBinary8, byte(n))
	}
	return binary.BigEndian.AppendUint32(append(b, codeBinary32), n)
}

// AppendSequences appends a section for each of the encoded lists in lists, as
// [Body.Content] joins them.
func AppendSequences(b, lists []byte) ([]byte, error) {
	for len(lists) > 0 {
		n, err := Skip(lists)
		if err == nil && !fits(SectionSequence, lists[0]) {
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
