package wire

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// MaxDepth is how deep values may be nested: a list in a list is two deep, and a
// described value is one deeper than what it describes.
const MaxDepth = 32

// A cursor walks over encoded values. After the first error every method gives
// zero values, so that callers look at err once, at the end.
type cursor struct {
	b   []byte
	off int
	end int // of the compound being read
	err *ProtocolError

	// Strings are cut from one copy of the first so many bytes, made when the
	// first is wanted; with zero each is copied by itself.
	whole int
	text  string
}

// over is a cursor at the beginning of b.
func over(b []byte) cursor { return cursor{b: b, end: len(b)} }

func (c *cursor) fail(cond Condition, format string, args ...any) {
	if c.err == nil {
		c.err = &ProtocolError{Condition: cond, Text: fmt.Sprintf(format, args...), Offset: c.off}
	}
	c.off = c.end
}

// result is err as an error; a nil pointer is not a nil error.
func (c *cursor) result() error {
	if c.err == nil {
		return nil
	}
	return c.err
}

func (c *cursor) rest() int { return c.end - c.off }

// short is kept out of its callers, which are inlined for that.
//
//go:noinline
func (c *cursor) short(want uint64) {
	c.fail(CondDecodeError, "%d bytes are missing of %d", want-uint64(c.rest()), want)
}

// peek is the next byte, or zero at the end, which no value but a described one
// begins with.
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
	c.short(1)
	return 0
}

// take is the next n bytes, which are not copied.
func (c *cursor) take(n uint64) []byte {
	if n <= uint64(c.end-c.off) {
		from := c.off
		c.off += int(n)
		return c.b[from:c.off]
	}
	c.short(n)
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

// size is a size or count of the given width.
func (c *cursor) size(width layout) uint64 {
	if width == 1 {
		return uint64(c.byte())
	}
	return uint64(c.uint32())
}

// cut is the last n bytes read, as a string of its own.
func (c *cursor) cut(n int) string {
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

// bytes is the content of a value of variable width whose constructor was read,
// checked to be what the constructor promises and not copied.
func (c *cursor) bytes(code byte) []byte {
	b := c.take(c.size(layouts[code] & widthMask))
	if code == codeBinary8 || code == codeBinary32 || plain(b) {
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

// plain says whether b is ASCII, as almost all text is.
func plain(b []byte) bool {
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

// bool is the content of a boolean in its long form.
func (c *cursor) bool() bool {
	n := c.byte()
	if n > 1 {
		c.off--
		c.fail(CondDecodeError, "a boolean is %#x", n)
	}
	return n == 1
}

// span enters a list or map whose constructor was read: it sets end to its own
// and gives what end was, for widen, and the count, which the bytes have room
// for.
func (c *cursor) span(width layout) (outer, count int) {
	size := c.size(width)
	outer = c.end
	if size > uint64(c.rest()) {
		c.short(size)
		return outer, 0
	}
	c.end = c.off + int(size)
	n := c.size(width)
	if n > uint64(c.rest()) {
		c.fail(CondDecodeError, "%d bytes cannot hold %d values", c.rest(), n)
		return outer, 0
	}
	return outer, int(n)
}

// widen leaves what span entered, all of which must have been read.
func (c *cursor) widen(outer int) {
	if c.rest() != 0 {
		c.fail(CondDecodeError, "%d bytes are left over at the end of a list or map", c.rest())
	}
	c.end = outer
	if c.err != nil {
		c.off = c.end
	}
}

// descriptor is the code in front of a described value. A symbolic one that
// nobody here knows is an error: there is no code to name it by.
func (c *cursor) descriptor() Code {
	if got := c.byte(); got != codeDescribed {
		c.off--
		c.fail(CondInvalidField, "constructor %#02x stands where a described type is expected", got)
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
			c.fail(CondInvalidField, "nobody here knows the described type %q", shorten(name))
		}
		return known
	default:
		c.off--
		c.fail(CondInvalidField, "a descriptor is neither ulong nor symbol but has constructor %#02x", code)
		return 0
	}
}

// shorten cuts what a peer sent for use in an error.
func shorten(b []byte) []byte { return b[:min(len(b), 64)] }
