package wire

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// MaxDepth is the maximum nesting of values: a list in a list is two deep, and a
// described value is one deeper than the value that it describes.
const MaxDepth = 32

// A cursor walks over encoded values. After the first error every method returns zero
// values, so that callers check err once, at the end.
type cursor struct {
	b   []byte
	off int
	end int // of the compound being read
	err *ProtocolError

	// Strings are parts of text, one copy of the first `whole` bytes of b, which is made for the
	// first string. If whole is zero, each string is a copy of its own.
	whole int
	text  string
}

// newCursor returns a cursor at the beginning of b.
func newCursor(b []byte) cursor { return cursor{b: b, end: len(b)} }

func (c *cursor) fail(cond Condition, format string, args ...any) {
	if c.err == nil {
		c.err = &ProtocolError{Condition: cond, Text: fmt.Sprintf(format, args...), Offset: c.off}
	}
	c.off = c.end
}

// result returns c.err as an error. It returns nil explicitly, because an error that contains a nil
// *ProtocolError is not nil.
func (c *cursor) result() error {
	if c.err == nil {
		return nil
	}
	return c.err
}

func (c *cursor) remaining() int { return c.end - c.off }

// failShort is separate from its callers so that they can be inlined.
//
//go:noinline
func (c *cursor) failShort(want uint64) {
	c.fail(CondDecodeError, "%d bytes are missing of %d", want-uint64(c.remaining()), want)
}

// peek returns the next byte, or zero at the end. No constructor but that of a described value is
// zero.
func (c *cursor) peek() byte {
	if c.off >= c.end {
		return codeDescribed
	}
	return c.b[c.off]
}

func (c *cursor) byte() byte {
	if c.off < c.end {
		c.off++
		return c.b[c.off-1]
	}
	c.failShort(1)
	return 0
}

// take returns the next n bytes without copying them.
func (c *cursor) take(n uint64) []byte {
	if n <= uint64(c.end-c.off) {
		from := c.off
		c.off += int(n)
		return c.b[from:c.off]
	}
	c.failShort(n)
	return nil
}

func (c *cursor) uint16() uint16 {
	if b := c.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) uint32() uint32 {
	if b := c.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) uint64() uint64 {
	if b := c.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// size reads a size or count of the given width.
func (c *cursor) size(width layout) uint64 {
	if width == 1 {
		return uint64(c.byte())
	}
	return uint64(c.uint32())
}

// takeString returns the last n bytes read, as a string.
func (c *cursor) takeString(n int) string {
	if n == 0 || c.err != nil {
		return ""
	}
	if c.whole == 0 {
		return string(c.b[c.off-n : c.off])
	}
	if c.text == "" {
		c.text = string(c.b[:c.whole])
	}
	return c.text[c.off-n : c.off]
}

// bytes reads the content of a value of variable width whose constructor has been read.
// It checks that strings are UTF-8 and symbols ASCII, and copies nothing.
func (c *cursor) bytes(code byte) []byte {
	b := c.take(c.size(layouts[code] & widthMask))
	if code == codeBinary8 || code == codeBinary32 || isASCII(b) {
		return b
	}
	switch code {
	case codeSymbol8, codeSymbol32:
		c.off -= len(b)
		c.fail(CondDecodeError, "a symbol is not ASCII")
		return nil
	default:
		if !utf8.Valid(b) {
			c.off -= len(b)
			c.fail(CondDecodeError, "a string is not UTF-8")
			return nil
		}
		return b
	}
}

// isASCII reports whether b is ASCII. It tests eight bytes at a time, because it is called for
// almost every text.
func isASCII(b []byte) bool {
	const high = 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b)&high != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// bool reads the content of a boolean in its long form.
func (c *cursor) bool() bool {
	n := c.byte()
	if n > 1 {
		c.off--
		c.fail(CondDecodeError, "a boolean is %#x", n)
	}
	return n == 1
}

// enterCompound enters a list or map whose constructor has been read: it sets c.end to the end of
// the compound. It returns the previous end, for leaveCompound, and the number of elements,
// which is at most the number of bytes.
func (c *cursor) enterCompound(width layout) (outer, count int) {
	size := c.size(width)
	outer = c.end
	if size > uint64(c.remaining()) {
		c.failShort(size)
		return outer, 0
	}
	c.end = c.off + int(size)
	n := c.size(width)
	if n > uint64(c.remaining()) {
		c.fail(CondDecodeError, "%d bytes cannot hold %d values", c.remaining(), n)
		return outer, 0
	}
	return outer, int(n)
}

// leaveCompound leaves the compound that enterCompound entered. Bytes of it that are left over are
// an error.
func (c *cursor) leaveCompound(outer int) {
	if c.remaining() != 0 {
		c.fail(CondDecodeError, "%d bytes are left over at the end of a list or map", c.remaining())
	}
	c.end = outer
	if c.err != nil {
		c.off = c.end
	}
}

// descriptor returns the code in front of a described value. An unknown symbol is an
// error, because it has no code.
func (c *cursor) descriptor() Code {
	if got := c.byte(); got != codeDescribed {
		c.off--
		c.fail(CondInvalidField, "a described type is expected, not constructor %#02x", got)
		return 0
	}
	switch code := c.byte(); code {
	case codeSmallULong:
		return Code(c.byte())
	case codeLong0:
		return 0
	case codeULong:
		return Code(c.uint64())
	case codeSymbol8, codeSymbol32:
		name := c.bytes(code)
		known, ok := symbols[string(name)]
		if !ok {
			c.fail(CondNotImplemented, "the described type %q is unknown", quotable(name))
		}
		return known
	default:
		c.off--
		c.fail(CondInvalidField, "a descriptor is neither ulong nor symbol but has constructor %#02x", code)
		return 0
	}
}

// quotable shortens a peer's text for use in an error.
func quotable(b []byte) []byte { return b[:min(len(b), 64)] }
