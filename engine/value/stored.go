package value

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrCorrupt is wrapped by the errors of ParseProperties and ParseStored, for bytes that Append did
// not write.
var ErrCorrupt = errors.New("stored properties are corrupt")

// Append appends the stored form of p to b:
//
//	properties = count *( name value )
//	name       = length bytes
//	value      = kind payload
//
// count and length are unsigned varints, kind is one byte, the number of a Kind. The payload
// is empty for null; an unsigned varint for booleans, unsigned integers and chars; a zigzag
// varint for signed integers, times and timespans; 4 or 8 bytes, big-endian, for floats and
// the smaller decimals; 16 bytes for decimal128 and uuid; a length and bytes for all others.
// Varints are as short as possible, so that equal properties have equal bytes. Many numbers of
// kinds are still unused. A program that reads an unknown kind returns an error, because it does
// not know the length of the value.
func (p Properties) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(p)))
	for i := range p {
		b = binary.AppendUvarint(b, uint64(len(p[i].Name)))
		b = append(b, p[i].Name...)
		b = p[i].Value.Append(b)
	}
	return b
}

// Append appends the stored form of v, a value as described for [Properties.Append].
func (v Value) Append(b []byte) []byte {
	b = append(b, byte(v.kind))
	switch f := &forms[v.kind]; f.shape {
	case nothing:
		return b
	case unsigned:
		return binary.AppendUvarint(b, v.bits)
	case extended:
		return binary.AppendVarint(b, int64(v.bits))
	case fixed:
		if f.size == 4 {
			return binary.BigEndian.AppendUint32(b, uint32(v.bits))
		}
		return binary.BigEndian.AppendUint64(b, v.bits)
	case block:
		return append(b, v.str...)
	case length:
		b = binary.AppendUvarint(b, uint64(len(v.str)))
		return append(b, v.str...)
	default:
		panic(fmt.Sprintf("unknown shape %d of %v", f.shape, v.kind))
	}
}

// ParseProperties parses what Properties.Append wrote at the start of b, and returns the rest of b.
// The result shares no memory with b. It allocates in proportion to the bytes that it reads, even if
// lengths in them are wrong. Its errors wrap ErrCorrupt.
func ParseProperties(b []byte) (p Properties, rest []byte, err error) {
	// A first pass finds the end, so that the second can slice all names and texts from one
	// string. So two allocations suffice for any number of them.
	skim := reader{b: b}
	n := skim.uvarint()
	if skim.bad == nil && n > uint64(len(b)-skim.off)/2 { // a name and a kind take at least a byte each
		skim.fail("%d bytes are too few for %d properties", len(b)-skim.off, n)
	}
	for i := uint64(0); i < n && skim.bad == nil; i++ {
		skim.bytes(skim.uvarint())
		skim.value()
	}
	if skim.bad != nil {
		return nil, nil, skim.bad
	}
	if n == 0 {
		return nil, b[skim.off:], nil
	}
	p = make(Properties, n)
	r := reader{b: b, text: string(b[:skim.off])}
	r.uvarint()
	for i := range p {
		p[i].Name = r.bytes(r.uvarint())
		p[i].Value = r.value()
	}
	return p, b[skim.off:], nil
}

// ParseStored parses what Value.Append wrote at the start of b, as ParseProperties does.
func ParseStored(b []byte) (v Value, rest []byte, err error) {
	skim := reader{b: b}
	skim.value()
	if skim.bad != nil {
		return Value{}, nil, skim.bad
	}
	r := reader{b: b, text: string(b[:skim.off])}
	return r.value(), b[skim.off:], nil
}

// A reader reads the stored form. After an error it returns zero values.
type reader struct {
	b    []byte
	text string // b up to the end of the value; empty in the first pass
	off  int
	bad  error
}

func (r *reader) fail(format string, args ...any) {
	if r.bad == nil {
		r.bad = fmt.Errorf("%w: at byte %d "+format, append([]any{ErrCorrupt, r.off}, args...)...)
		r.off = len(r.b)
	}
}

func (r *reader) uvarint() uint64 {
	u, n := binary.Uvarint(r.b[r.off:])
	if n <= 0 || n > 1 && r.b[r.off+n-1] == 0 {
		r.fail("a number is missing")
		return 0
	}
	r.off += n
	return u
}

// bytes returns the next n bytes, or "" in the first pass.
func (r *reader) bytes(n uint64) string {
	if n > uint64(len(r.b)-r.off) {
		r.fail("%d bytes are missing", n-uint64(len(r.b)-r.off))
		return ""
	}
	from := r.off
	r.off += int(n)
	if r.text == "" {
		return ""
	}
	return r.text[from:r.off]
}

func (r *reader) value() Value {
	if r.off == len(r.b) {
		r.fail("a value is missing")
		return Value{}
	}
	k := Kind(r.b[r.off])
	if k >= kinds {
		r.fail("the %v is unknown", k)
		return Value{}
	}
	r.off++
	v := Value{kind: k}
	switch f := &forms[k]; f.shape {
	case nothing:
	case unsigned:
		if v.bits = r.uvarint(); v.bits > f.max {
			r.fail("%d is not of type %v", v.bits, k)
		}
	case extended:
		u := r.uvarint()
		if u>>1 > f.max {
			r.fail("a number is not of type %v", k)
		}
		v.bits = u>>1 ^ -(u & 1)
	case fixed:
		from := r.off
		if r.bytes(uint64(f.size)); r.bad != nil {
			return Value{}
		}
		for _, c := range r.b[from:r.off] {
			v.bits = v.bits<<8 | uint64(c)
		}
	case block:
		v.str = r.bytes(uint64(f.size))
	case length:
		v.str = r.bytes(r.uvarint())
	default:
		panic(fmt.Sprintf("unknown shape %d of %v", f.shape, k))
	}
	return v
}
