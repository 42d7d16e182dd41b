package wire

import (
	"encoding/binary"
	"fmt"
	"math"

	"mayfly/engine/value"
)

// Lists, maps, arrays and described values are decoded one level at a time: an element
// that is itself a compound becomes a [value.Raw]. Null stands for an empty list, map or
// array everywhere.

// MaxElements is the maximum number of elements in a parsed list, array or map. A null takes one
// byte on the wire and some forty in memory. Requests and the properties of a message have stricter
// limits.
const MaxElements = 32 << 10

// elementCapacity returns n, the number of elements of a compound. If it exceeds MaxElements, it
// fails c and returns 0.
func (c *cursor) elementCapacity(n int) int {
	if n > MaxElements {
		c.fail(CondDecodeError, "there are %d elements; at most %d are read", n, MaxElements)
		return 0
	}
	return n
}

// ParseList decodes b, which must be exactly one list.
func ParseList(b []byte) ([]value.Value, error) {
	c := newCursor(b)
	var all []value.Value
	switch code := c.byte(); code {
	case codeNull, codeList0:
	case codeList8, codeList32:
		outer, n := c.enterCompound(layouts[code] & widthMask)
		n = c.elementCapacity(n)
		all = make([]value.Value, 0, n)
		for ; n > 0 && c.err == nil; n-- {
			all = append(all, c.value())
		}
		c.leaveCompound(outer)
	default:
		c.off = 0
		c.wrongType("", "a list", code)
	}
	return all, c.checkEnd()
}

// maxConstructor is the maximum length, in bytes, of the constructor of a parsed array's elements,
// including their descriptors: ParseArray copies it for each element that is not of fixed width.
// The longest descriptor of Service Bus has 45 bytes.
const maxConstructor = 64

// ParseArray decodes b, which must be exactly one array. Compound and described elements are
// returned as they are from a list.
func ParseArray(b []byte) ([]value.Value, error) {
	c := newCursor(b)
	var all []value.Value
	switch code := c.byte(); code {
	case codeNull:
	case codeArray8, codeArray32:
		a := c.enterArray(layouts[code]&widthMask, MaxDepth)
		if len(a.constructor) > maxConstructor {
			c.fail(CondDecodeError, "the constructor of an array's elements is of %d bytes", len(a.constructor))
		}
		count := c.elementCapacity(a.count)
		all = make([]value.Value, 0, count)
		for n := count; n > 0 && c.err == nil; n-- {
			all = append(all, c.element(a))
		}
		c.leaveCompound(a.outer)
	default:
		c.off = 0
		c.wrongType("", "an array", code)
	}
	return all, c.checkEnd()
}

// element reads the next element of an array.
func (c *cursor) element(a elements) value.Value {
	if layouts[a.code]&^widthMask == fixed && len(a.constructor) == 1 && a.code != codeList0 {
		return c.fixed(a.code)
	}
	start := c.off
	c.skipContent(a.code, MaxDepth-1)
	if c.err != nil {
		return value.Value{}
	}
	one := newCursor(append(append(make([]byte, 0, len(a.constructor)+c.off-start), a.constructor...), c.b[start:c.off]...))
	v := one.value()
	if one.err != nil {
		c.fail(one.err.Condition, "%s", one.err.Text)
	}
	return v
}

// ParseMap decodes b, which must be exactly one map whose keys are strings or symbols: the body of
// a request to $management, or a section of a [Message] that is a map. It returns nil for null, and
// for a nil b, which is an absent section.
func ParseMap(b []byte) (value.Properties, error) {
	if len(b) == 0 {
		return nil, nil
	}
	c := newCursor(b)
	c.whole = len(b)
	p := c.entries("a map")
	return p, c.checkEnd()
}

// ParseDescribed decodes b, which must be exactly one described value, into its descriptor and the
// value `of` that it describes. A compound value becomes a [value.Raw].
func ParseDescribed(b []byte) (descriptor, of value.Value, err error) {
	c := newCursor(b)
	if code := c.byte(); code != codeDescribed {
		c.off = 0
		c.wrongType("", "a described value", code)
	}
	descriptor, of = c.value(), c.value()
	return descriptor, of, c.checkEnd()
}

// checkEnd returns the error of c, or an error if bytes are left over.
func (c *cursor) checkEnd() error {
	if c.err == nil && c.remaining() > 0 {
		c.fail(CondDecodeError, "%d bytes are left over after a value", c.remaining())
	}
	return c.result()
}

// entries reads a map whose keys are strings or symbols. It returns nil for null. `what` names the
// map in errors.
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
	outer, n := c.enterCompound(layouts[code] & widthMask)
	c.checkPairs(code, n)
	const shortest = 3 // two bytes of key and one of value
	if n/2*shortest > c.remaining() {
		c.fail(CondDecodeError, "%d bytes cannot hold a map of %d", c.remaining(), n/2)
	}
	c.elementCapacity(n / 2)
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
		name := c.takeString(len(c.bytes(key)))
		p = append(p, value.Property{Name: name, Value: c.value()})
	}
	c.leaveCompound(outer)
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

// AppendMap appends a map whose keys are strings. A nil p is written as an empty map, because null
// is not valid where a map is mandatory.
func AppendMap(b []byte, p value.Properties) []byte {
	b, at := openCompound(b)
	for i := range p {
		b = AppendValue(appendString(b, p[i].Name), p[i].Value)
	}
	return closeCompound(b, at, codeMap8, 2*len(p))
}

// AppendFields appends a map whose keys are symbols ("fields" and "annotations", part 2,
// 2.8.11; part 3, 3.2.10). A nil p is null, an empty one an empty map.
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

// AppendArray appends an array of values of one kind, or an empty one. It panics if an element has
// another kind, or if arrays of the kind are not supported: null, raw and the described kinds.
func AppendArray(b []byte, of value.Kind, elements ...value.Value) []byte {
	code := widest(of)
	if code == 0 {
		panic(fmt.Sprintf("an array of %v is not possible", of))
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

// text returns the content of a value of variable width as AppendValue writes it, with invalid text
// replaced. For other values it returns nil.
func text(v value.Value) []byte {
	switch v.Kind() {
	case value.String, value.Symbol, value.Binary:
		c := newCursor(AppendValue(nil, v))
		return c.bytes(c.byte())
	default:
		return nil
	}
}

// AppendDescribed appends a described value. A descriptor is a ulong or a symbol. Invalid
// values are replaced as by [AppendValue].
func AppendDescribed(b []byte, descriptor, of value.Value) []byte {
	return AppendValue(AppendValue(append(b, codeDescribed), descriptor), of)
}
