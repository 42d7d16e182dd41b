package codec

import (
	"encoding/binary"
	"fmt"
	"slices"

	"mayfly/engine"
	"mayfly/engine/value"
)

// A coder writes or reads fields. The functions in fields.go are the same for both directions.
// When a coder reads, it keeps the head of the next field, so that an absent field costs one
// comparison. After the first error there are no more fields.
type coder struct {
	buf     []byte // written so far, or to be read
	reading bool
	at, to  int    // offsets in buf of the part to read
	head    uint64 // of the next field; zero if there is none
	err     error
}

func writer(dst []byte) coder { return coder{buf: dst} }

// reader returns a coder that reads the fields of b from an offset on.
func reader(b []byte, from int) coder {
	c := coder{buf: b, reading: true, at: from, to: len(b)}
	c.next()
	return c
}

func (c *coder) kind(k byte) { c.buf = append(c.buf, k) }

// end skips the remaining fields and returns the error.
func (c *coder) end() error {
	for c.head != 0 {
		c.skip()
	}
	return c.err
}

func (c *coder) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: at byte %d of %d "+format, append([]any{ErrCorrupt, c.at, len(c.buf)}, args...)...)
	}
	c.at, c.head = c.to, 0
}

// next reads the head of the next field.
func (c *coder) next() {
	last := c.head >> 1
	if c.head = 0; c.at == c.to {
		return
	}
	h := c.uvarint()
	if tag := h >> 1; c.err == nil && (tag == 0 || tag < last) {
		c.fail("field %d follows field %d", tag, last)
		return
	}
	c.head = h
}

func (c *coder) uvarint() uint64 {
	if c.at < c.to && c.buf[c.at] < 0x80 { // most are short
		c.at++
		return uint64(c.buf[c.at-1])
	}
	n, used := binary.Uvarint(c.buf[c.at:c.to])
	if used <= 0 {
		c.fail("a number is missing")
		return 0
	}
	c.at += used
	return n
}

// length reads a length and checks that at least so many bytes follow.
func (c *coder) length() int {
	n := c.uvarint()
	if n > uint64(c.to-c.at) {
		c.fail("%d bytes are missing", n-uint64(c.to-c.at))
		return 0
	}
	return int(n)
}

func (c *coder) skip() {
	if c.head&1 == 0 {
		c.uvarint()
	} else {
		n := c.length()
		c.at += n
	}
	if c.err == nil {
		c.next()
	}
}

// is reports whether the next field has this head. It skips fields with smaller tags.
func (c *coder) is(head uint64) bool {
	for c.head != 0 && c.head>>1 < head>>1 {
		c.skip()
	}
	if c.head == head {
		return true
	}
	if c.head != 0 && c.head>>1 == head>>1 {
		c.fail("field %d has another type", head>>1)
	}
	return false
}

// A frame holds the data with which close ends the field that open has begun.
type frame struct {
	at   int    // when writing, the offset of the length; when reading, the end of the enclosing field
	head uint64 // when reading, the head of the field
}

// open begins a field that contains fields, and reports whether it did: when writing, if write is
// set; when reading, if the field is next.
func (c *coder) open(tag uint64, write bool) (frame, bool) {
	head := tag<<1 | 1
	if !c.reading {
		if !write {
			return frame{}, false
		}
		c.buf = append(binary.AppendUvarint(c.buf, head), 0) // most lengths take one byte
		return frame{at: len(c.buf) - 1}, true
	}
	if !c.is(head) {
		return frame{}, false
	}
	n := c.length()
	f := frame{at: c.to, head: head}
	if c.err == nil {
		c.to, c.head = c.at+n, 0
		c.next()
	}
	return f, true
}

func (c *coder) close(f frame) {
	if c.reading {
		for c.head != 0 {
			c.skip()
		}
		c.to, c.head = f.at, f.head
		if c.err != nil {
			c.at, c.head = c.to, 0
			return
		}
		c.next()
		return
	}
	n := len(c.buf) - f.at - 1
	if n < 0x80 {
		c.buf[f.at] = byte(n)
		return
	}
	var long [binary.MaxVarintLen64]byte
	used := binary.PutUvarint(long[:], uint64(n))
	c.buf = slices.Insert(c.buf, f.at+1, long[1:used]...)
	c.buf[f.at] = long[0]
}

// ensure returns *v, and allocates it if it is nil.
func ensure[T any](v **T) *T {
	if *v == nil {
		*v = new(T)
	}
	return *v
}

type integer interface {
	~int64 | ~int32 | ~uint64 | ~uint32 | ~uint8
}

// toBits returns v as an unsigned number that is small when v is near zero.
func toBits[T integer](v T) uint64 {
	if ^T(0) < 0 { // T has a sign
		n := int64(v)
		return uint64(n)<<1 ^ uint64(n>>63)
	}
	return uint64(v)
}

// fromBits is the inverse of toBits; ok is false if T cannot hold the number.
func fromBits[T integer](n uint64) (v T, ok bool) {
	if ^T(0) < 0 {
		s := int64(n>>1) ^ -int64(n&1)
		v = T(s)
		return v, int64(v) == s
	}
	v = T(n)
	return v, uint64(v) == n
}

func number[T integer](c *coder, tag uint64, v *T) {
	if !c.reading {
		if *v != 0 {
			c.buf = binary.AppendUvarint(binary.AppendUvarint(c.buf, tag<<1), toBits(*v))
		}
		return
	}
	if c.is(tag << 1) {
		n, ok := fromBits[T](c.uvarint())
		if !ok {
			c.fail("the number of field %d is too large", tag)
			return
		}
		if *v = n; c.err == nil {
			c.next()
		}
	}
}

// difference codes *v as its difference from another number, for values that are usually equal
// or close.
func difference[T ~uint64 | ~int64](c *coder, tag uint64, v *T, from T) {
	if !c.reading {
		n := int64(*v - from)
		number(c, tag, &n)
		return
	}
	var n int64
	number(c, tag, &n)
	*v = from + T(n)
}

func numbers[T integer](c *coder, tag uint64, v *[]T) {
	if !c.reading {
		for _, n := range *v {
			c.buf = binary.AppendUvarint(binary.AppendUvarint(c.buf, tag<<1), toBits(n))
		}
		return
	}
	for c.is(tag << 1) {
		n, ok := fromBits[T](c.uvarint())
		if !ok {
			c.fail("the number of field %d is too large", tag)
		}
		if c.err == nil {
			*v = append(*v, n)
			c.next()
		}
	}
}

func flag(c *coder, tag uint64, v *bool) {
	var n uint8
	if *v {
		n = 1
	}
	if number(c, tag, &n); c.reading {
		*v = n != 0
	}
}

func text[T ~string](c *coder, tag uint64, v *T) {
	if !c.reading {
		if *v != "" {
			c.buf = binary.AppendUvarint(binary.AppendUvarint(c.buf, tag<<1|1), uint64(len(*v)))
			c.buf = append(c.buf, *v...)
		}
		return
	}
	if c.is(tag<<1 | 1) {
		*v = T(c.bytes())
	}
}

// texts writes or reads one field per text, empty ones too.
func texts(c *coder, tag uint64, v *[]string) {
	if !c.reading {
		for _, s := range *v {
			c.buf = binary.AppendUvarint(binary.AppendUvarint(c.buf, tag<<1|1), uint64(len(s)))
			c.buf = append(c.buf, s...)
		}
		return
	}
	for c.is(tag<<1 | 1) {
		if b := c.bytes(); c.err == nil {
			*v = append(*v, string(b))
		}
	}
}

// bytes reads the content of a field. The result is part of buf.
func (c *coder) bytes() []byte {
	n := c.length()
	b := c.buf[c.at : c.at+n]
	c.at += n
	if c.err == nil {
		c.next()
	}
	return b
}

func octets(c *coder, tag uint64, v *[]byte) {
	if !c.reading {
		if len(*v) > 0 {
			c.buf = binary.AppendUvarint(binary.AppendUvarint(c.buf, tag<<1|1), uint64(len(*v)))
			c.buf = append(c.buf, *v...)
		}
		return
	}
	if c.is(tag<<1 | 1) {
		*v = slices.Clone(c.bytes())
	}
}

// digests writes or reads digests as one field, sixteen bytes each.
func digests(c *coder, tag uint64, v *[]engine.Digest) {
	if !c.reading {
		if f, ok := c.open(tag, len(*v) > 0); ok {
			for _, d := range *v {
				c.buf = append(c.buf, d[:]...)
			}
			c.close(f)
		}
		return
	}
	if !c.is(tag<<1 | 1) {
		return
	}
	b := c.bytes()
	if len(b)%len(engine.Digest{}) != 0 {
		c.fail("%d bytes are not a whole number of digests", len(b))
		return
	}
	*v = slices.Grow(*v, len(b)/len(engine.Digest{}))
	for d := range slices.Chunk(b, len(engine.Digest{})) {
		*v = append(*v, engine.Digest(d))
	}
}

func properties(c *coder, tag uint64, v *value.Properties) {
	if !c.reading {
		if f, ok := c.open(tag, len(*v) > 0); ok {
			c.buf = v.Append(c.buf)
			c.close(f)
		}
		return
	}
	if !c.is(tag<<1 | 1) {
		return
	}
	p, rest, err := value.ParseProperties(c.bytes())
	switch {
	case c.err != nil:
	case err != nil:
		c.fail("the properties cannot be read: %w", err)
	case len(rest) > 0:
		c.fail("%d bytes follow the properties", len(rest))
	default:
		*v = p
	}
}

// list writes or reads one field for each element.
func list[T any](c *coder, tag uint64, v *[]T, fields func(*coder, *T)) {
	if !c.reading {
		for i := range *v {
			f, _ := c.open(tag, true)
			fields(c, &(*v)[i])
			c.close(f)
		}
		return
	}
	for c.is(tag<<1 | 1) {
		if *v == nil {
			*v = make([]T, 0, c.countSame())
		}
		var one T
		*v = append(*v, one)
		f, _ := c.open(tag, true)
		fields(c, &(*v)[len(*v)-1])
		c.close(f)
	}
}

// countSame counts the next field and those after it with the same head. It reads all of them, so
// the result cannot exceed what the buffer contains.
func (c *coder) countSame() (n int) {
	ahead := *c
	for ahead.head == c.head {
		ahead.skip()
		n++
	}
	if ahead.err != nil {
		return 1 // reading the fields will return the error
	}
	return n
}
