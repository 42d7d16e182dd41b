package wire

import (
	"encoding/binary"
	"fmt"
	"math"

	"mayfly/engine/value"
)

// What is inside of a list, map, array or described value is read one level at a
// time: an element that is a compound itself is a [value.Raw] again. Null stands
// for an empty list, map or array everywhere.

// ParseList reads b, which must be one list.
func ParseList(b []byte) ([]value.Value, error) {
	c := over(b)
	var all []value.Value
	switch code := c.byte(); code {
	case codeNull, codeList0:
	case codeList8, codeList32:
		outer, n := c.span(layouts[code] & widthMask)
		all = make([]value.Value, 0, n)
		for ; n > 0 && c.err == nil; n-- {
			all = append(all, c.value())
		}
		c.widen(outer)
	default:
		c.off = 0
		c.wrongType("", "a list", code)
	}
	return all, c.finish()
}

// maxConstructor bounds what is repeated for each element of an array that is
// taken apart: the longest descriptor of Service Bus has 45 bytes.
const maxConstructor = 64

// ParseArray reads b, which must be one array. Compound elements and those of
// described types come out as they would stand in a list.
func ParseArray(b []byte) ([]value.Value, error) {
	c := over(b)
	var all []value.Value
	switch code := c.byte(); code {
	case codeNull:
	case codeArray8, codeArray32:
		a := c.enterArray(layouts[code]&widthMask, MaxDepth)
		if len(a.constructor) > maxConstructor {
			c.fail(CondDecodeError, "the constructor of an array's elements is of %d bytes", len(a.constructor))
		}
		all = make([]value.Value, 0, a.count)
		for n := a.count; n > 0 && c.err == nil; n-- {
			all = append(all, c.element(a))
		}
		c.widen(a.outer)
	default:
		c.off = 0
		c.wrongType("", "an array", code)
	}
	return all, c.finish()
}

// element is the next element of an array.
func (c *cursor) element(a elements) value.Value {
	if layouts[a.code]&^widthMask == fixed && len(a.constructor) == 1 && a.code != codeList0 {
		return c.fixed(a.code)
	}
	start := c.off
	c.skipContent(a.code, MaxDepth-1)
	if c.err != nil {
		return value.Value{}
	}
	one := over(append(append(make([]byte, 0, len(a.constructor)+c.off-start), a.constructor...), c.b[start:c.off]...))
	v := one.value()
	if one.err != nil {
		c.fail(one.err.Condition, "%s", one.err.Text)
	}
	return v
}

// ParseMap reads b, which must be one map with strings or symbols for keys: the
// body of a request to $management, or a section of a [Message] that is a map.
// One that is absent, which is nil, is nil, and so is null.
func ParseMap(b []byte) (value.Properties, error) {
	if len(b) == 0 {
		return nil, nil
	}
	c := over(b)
	c.whole = len(b)
	p := c.entries("a map")
	return p, c.finish()
}

// ParseDescribed takes a described value apart. The descriptor is a ulong or a
// symbol in all that is known; a compound value is a [value.Raw] again.
func ParseDescribed(b []byte) (descriptor, of value.Value, err error) {
	c := over(b)
	if code := c.byte(); code != codeDescribed {
		c.off = 0
		c.wrongType("", "a described value", code)
	}
	descriptor, of = c.value(), c.value()
	return descriptor, of, c.finish()
}

// finish is the error of a cursor that should have come to the end.
func (c *cursor) finish() error {
	if c.err == nil && c.rest() > 0 {
		c.fail(CondDecodeError, "%d bytes are left over after a value", c.rest())
	}
	return c.result()
}

// entries is a map with strings or symbols for keys; nil for null.
func (c *cursor) entries(what string) value.Properties {
	start := c.off
	code := c.byte()
	switch code {
	case codeNull:
		return nil
	case codeMap8, codeMap32:
	default:
		c.off = start
		c.wrongType(what, "a map", code)
		return nil
	}
	outer, n := c.span(layouts[code] & widthMask)
	c.even(code, n)
	const shortest = 3 // two bytes of key, one of value
	if n/2*shortest > c.rest() {
		c.fail(CondDecodeError, "%d bytes cannot hold a map of %d", c.rest(), n/2)
	}
	if c.err != nil {
		return nil
	}
	p := make(value.Properties, 0, n/2)
	for ; n > 0 && c.err == nil; n -= 2 {
		key := c.byte()
		switch key {
		case codeString8, codeString32, codeSymbol8, codeSymbol32:
		default:
			c.off--
			c.wrongType(what, "a string or symbol as key", key)
			return nil
		}
		name := c.cut(len(c.bytes(key)))
		p = append(p, value.Property{Name: name, Value: c.value()})
	}
	c.widen(outer)
	return p
}

func (c *cursor) wrongType(what, want string, code byte) {
	if what != "" {
		what += ": "
	}
	c.fail(CondInvalidField, "%s%s is expected, not constructor %#02x", what, want, code)
}

// AppendList appends a list.
func AppendList(b []byte, elements ...value.Value) []byte {
	b, at := openCompound(b)
	for _, v := range elements {
		b = AppendValue(b, v)
	}
	return closeCompound(b, at, codeList8, len(elements))
}

// AppendMap appends a map with strings for keys. A nil p is an empty map: where
// there must be a map, null is not one.
func AppendMap(b []byte, p value.Properties) []byte {
	b, at := openCompound(b)
	for i := range p {
		b = AppendValue(appendString(b, p[i].Name), p[i].Value)
	}
	return closeCompound(b, at, codeMap8, 2*len(p))
}

// AppendFields appends a map with symbols for keys ("fields" and "annotations",
// part 2, 2.8.11; part 3, 3.2.10); null for nil, an empty map for what is merely
// empty.
func AppendFields(b []byte, p value.Properties) []byte {
	if p == nil {
		return append(b, codeNull)
	}
	b, at := openCompound(b)
	for i := range p {
		b = AppendValue(appendSymbol(b, p[i].Name), p[i].Value)
	}
	return closeCompound(b, at, codeMap8, 2*len(p))
}

// AppendArray appends an array of values of one kind, which may be none. It
// panics on an element of another kind, and on the kinds that no array is made
// of here: null, raw and the described ones.
func AppendArray(b []byte, of value.Kind, elements ...value.Value) []byte {
	code := widest(of)
	if code == 0 {
		panic(fmt.Sprintf("no array is made of %v", of))
	}
	long := false
	for _, v := range elements {
		if v.Kind() != of {
			panic(fmt.Sprintf("%v in an array of %v", v.Kind(), of))
		}
		long = long || len(text(v)) > math.MaxUint8
	}
	b, at := openCompound(b)
	switch {
	case layouts[code]&^widthMask == fixed:
		b = append(b, code)
		for _, v := range elements {
			b = appendContent(b, code, v)
		}
	case long:
		b = append(b, code)
		for _, v := range elements {
			s := text(v)
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
		}
	default:
		b = append(b, code-0x10)
		for _, v := range elements {
			s := text(v)
			b = append(append(b, byte(len(s))), s...)
		}
	}
	return closeCompound(b, at, codeArray8, len(elements))
}

// text is the content of a value of variable width, mended as AppendValue mends
// it; empty for others.
func text(v value.Value) []byte {
	switch v.Kind() {
	case value.String, value.Symbol, value.Binary:
		c := over(AppendValue(nil, v))
		return c.bytes(c.byte())
	default:
		return nil
	}
}

// AppendDescribed appends a described value. A descriptor is a ulong or a
// symbol; see [AppendValue] about what is not a value.
func AppendDescribed(b []byte, descriptor, of value.Value) []byte {
	return AppendValue(AppendValue(append(b, codeDescribed), descriptor), of)
}
