package record

import (
	"encoding/binary"
	"fmt"
	"slices"

	"mayfly/engine"
	"mayfly/engine/value"
)

// A coder writes fields or reads them: which, the functions that name fields
// need not know. When it reads, head is the next field's, so that one that is
// not there costs a comparison; after the first error there are no more fields.
type coder struct {
	buf     []byte // written so far, or to be read
	reading bool
	at, to  int    // of buf, of what is being read
	head    uint64 // of the next field; zero: there is none
	bad     error
}

func writer(dst []byte) coder { return coder{buf: dst} }

// reader reads the fields of b from a place on.
func reader(b []byte, from int) coder {
	c := coder{buf: b, reading: true, at: from, to: len(b)}
	c.next()
	return c
}

func (c *coder) kind(k byte) { c.buf = append(c.buf, k) }

// end reads the fields that nobody asked for and says what was wrong.
func (c *coder) end() error {
	for c.head != 0 {
		c.skip()
	}
	return c.bad
}

func (c *coder) fail(format string, args ...any) {
	if c.bad == nil {
		c.bad = fmt.Errorf("%w: at byte %d of %d "+format, append([]any{ErrCorrupt, c.at, len(c.buf)}, args...)...)
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
	if tag := h >> 1; c.bad == nil && (tag == 0 || tag < last) {
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
		c.fail("there is no number")
		return 0
	}
	c.at += used
	return n
}

// length reads the length of what follows and makes sure that it is there.
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
	if c.bad == nil {
		c.next()
	}
}

// is tells whether the next field is the one with this head. It skips those
// before it.
func (c *coder) is(head uint64) bool {
	for c.head != 0 && c.head>>1 < head>>1 {
		c.skip()
	}
	if c.head == head {
		return true
	}
	if c.head != 0 && c.head>>1 == head>>1 {
		c.fail("field %d is of another form", head>>1)
	}
	return false
}

// A frame is what open leaves for close.
type frame struct {
	at   int    // written: where the length is; read: the end of what is around
	head uint64 // read: of the field
}

// open begins a field that has fields itself: when writing, if there is one to
// be written; when reading, if it is next.
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
	if c.bad == nil {
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
		if c.bad != nil {
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

// there is *v, made when it is read.
func there[T any](v **T) *T {
	if *v == nil {
		*v = new(T)
	}
	return *v
}

type integer interface {
	~int64 | ~int32 | ~uint64 | ~uint32 | ~uint8
}

// bits is v as an unsigned number that is small when v is near zero.
func bits[T integer](v T) uint64 {
	if ^T(0) < 0 { // T has a sign
		n := int64(v)
		return uint64(n)<<1 ^ uint64(n>>63)
	}
	return uint64(v)
}

// ofBits is what bits was given; not ok if T cannot hold it.
func ofBits[T integer](n uint64) (v T, ok bool) {
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
			c.buf = binary.AppendUvarint(binary.AppendUvarint(c.buf, tag<<1), bits(*v))
		}
		return
	}
	if c.is(tag << 1) {
		n, ok := ofBits[T](c.uvarint())
		if !ok {
			c.fail("the number of field %d is too large", tag)
			return
		}
		if *v = n; c.bad == nil {
			c.next()
		}
	}
}

// offset is number for a number that is often another one, or near it.
func offset[T ~uint64 | ~int64](c *coder, tag uint64, v *T, from T) {
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
			c.buf = binary.AppendUvarint(binary.AppendUvarint(c.buf, tag<<1), bits(n))
		}
		return
	}
	for c.is(tag << 1) {
		n, ok := ofBits[T](c.uvarint())
		if !ok {
			c.fail("the number of field %d is too large", tag)
		}
		if c.bad == nil {
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

// texts are a field each, empty ones too.
func texts(c *coder, tag uint64, v *[]string) {
	if !c.reading {
		for _, s := range *v {
			c.buf = binary.AppendUvarint(binary.AppendUvarint(c.buf, tag<<1|1), uint64(len(s)))
			c.buf = append(c.buf, s...)
		}
		return
	}
	for c.is(tag<<1 | 1) {
		if b := c.bytes(); c.bad == nil {
			*v = append(*v, string(b))
		}
	}
}

// bytes reads to the end of the field; the result is of buf.
func (c *coder) bytes() []byte {
	n := c.length()
	b := c.buf[c.at : c.at+n]
	c.at += n
	if c.bad == nil {
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

// digests are one field, sixteen bytes each.
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
		c.fail("%d bytes are no digests", len(b))
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
	case c.bad != nil:
	case err != nil:
		c.fail("there are no properties: %w", err)
	case len(rest) > 0:
		c.fail("%d bytes follow the properties", len(rest))
	default:
		*v = p
	}
}

// list is one field for each element.
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
			*v = make([]T, 0, c.alike())
		}
		var one T
		*v = append(*v, one)
		f, _ := c.open(tag, true)
		fields(c, &(*v)[len(*v)-1])
		c.close(f)
	}
}

// alike counts the next field and those after it that have the same head. It
// goes over all of them, so the number is no larger than what is there.
func (c *coder) alike() (n int) {
	ahead := *c
	for ahead.head == c.head {
		ahead.skip()
		n++
	}
	if ahead.bad != nil {
		return 1 // the error will come again
	}
	return n
}
