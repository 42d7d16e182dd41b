package wire

import (
	"encoding/binary"
	"fmt"
	"math"

	"mayfly/engine/value"
)

// Descriptors of .NET's types, whose values are strings or longs. [value.Value] has kinds for these
// types.
const (
	symbolURI            = "com.microsoft:uri"
	symbolDateTimeOffset = "com.microsoft:datetime-offset"
	symbolTimespan       = "com.microsoft:timespan"
)

// ParseValue decodes the value at the beginning of b and returns the bytes after it. Lists, maps,
// arrays and unknown described types become a [value.Raw] with their bytes unchanged.
func ParseValue(b []byte) (v value.Value, rest []byte, err error) {
	c := newCursor(b)
	v = c.value()
	if c.err != nil {
		return value.Value{}, nil, c.err
	}
	return v, b[c.off:], nil
}

// ParseSingleValue decodes b, which must be exactly one value.
func ParseSingleValue(b []byte) (value.Value, error) {
	v, rest, err := ParseValue(b)
	if err == nil && len(rest) > 0 {
		err = &ProtocolError{CondDecodeError, fmt.Sprintf("%d bytes are left over after a value", len(rest)), len(b) - len(rest)}
	}
	return v, err
}

func (c *cursor) value() value.Value {
	start := c.off
	code := c.byte()
	if c.err != nil {
		return value.Value{}
	}
	switch code {
	case codeString8, codeString32:
		return value.OfString(c.takeString(len(c.bytes(code))))
	case codeSymbol8, codeSymbol32:
		return value.OfSymbol(c.takeString(len(c.bytes(code))))
	case codeBinary8, codeBinary32:
		return value.OfBinary(c.bytes(code))
	case codeDescribed:
		if v, ok := c.dotNetValue(); ok {
			return v
		}
		c.off = start
		return c.raw()
	}
	if layouts[code]&^widthMask == fixed && code != codeList0 {
		return c.fixed(code)
	}
	c.off = start
	return c.raw()
}

// raw returns the next value as a Raw.
func (c *cursor) raw() value.Value {
	if b := c.encoded(); b != nil {
		return value.OfRaw(b)
	}
	return value.Value{}
}

// encoded returns the bytes of the next value without copying them, or nil after an
// error.
func (c *cursor) encoded() []byte {
	start := c.off
	c.skip(MaxDepth)
	if c.err != nil {
		return nil
	}
	return c.b[start:c.off]
}

// dotNetValue reads the rest of a described value whose descriptor is one of the symbols above. For
// any other value it reports false, and the cursor does not move.
func (c *cursor) dotNetValue() (v value.Value, ok bool) {
	d := *c
	code := d.byte()
	if code != codeSymbol8 && code != codeSymbol32 {
		return v, false
	}
	name := d.bytes(code)
	content := d.byte()
	switch string(name) {
	case symbolURI:
		if content == codeString8 || content == codeString32 {
			v, ok = value.OfURI(d.takeString(len(d.bytes(content)))), true
		}
	case symbolDateTimeOffset, symbolTimespan:
		if content == codeLong || content == codeSmallLong {
			ticks, _ := d.fixed(content).Int64()
			v, ok = value.OfTimespan(ticks), true
			if string(name) == symbolDateTimeOffset {
				v = value.OfDateTimeOffset(ticks)
			}
		}
	}
	if d.err != nil || !ok {
		return value.Value{}, false
	}
	*c = d
	return v, true
}

// fixed reads the content of a value of fixed width whose constructor has been read.
func (c *cursor) fixed(code byte) value.Value {
	switch code {
	case codeNull:
		return value.Value{}
	case codeTrue, codeFalse:
		return value.OfBool(code == codeTrue)
	case codeBool:
		return value.OfBool(c.bool())
	case codeUByte:
		return value.OfUByte(c.byte())
	case codeByte:
		return value.OfByte(int8(c.byte()))
	case codeUShort:
		return value.OfUShort(c.uint16())
	case codeShort:
		return value.OfShort(int16(c.uint16()))
	case codeUInt0:
		return value.OfUInt(0)
	case codeSmallUInt:
		return value.OfUInt(uint32(c.byte()))
	case codeUInt:
		return value.OfUInt(c.uint32())
	case codeSmallInt:
		return value.OfInt(int32(int8(c.byte())))
	case codeInt:
		return value.OfInt(int32(c.uint32()))
	case codeLong0:
		return value.OfULong(0)
	case codeSmallULong:
		return value.OfULong(uint64(c.byte()))
	case codeULong:
		return value.OfULong(c.uint64())
	case codeSmallLong:
		return value.OfLong(int64(int8(c.byte())))
	case codeLong:
		return value.OfLong(int64(c.uint64()))
	case codeFloat:
		return value.OfFloat(math.Float32frombits(c.uint32()))
	case codeDouble:
		return value.OfDouble(math.Float64frombits(c.uint64()))
	case codeChar:
		return value.OfChar(rune(c.uint32()))
	case codeTimestamp:
		return value.OfTimestamp(int64(c.uint64()))
	case codeDecimal32:
		return value.OfDecimal32(c.uint32())
	case codeDecimal64:
		return value.OfDecimal64(c.uint64())
	case codeDecimal128:
		return value.OfDecimal128(c.bytes16())
	case codeUUID:
		return value.OfUUID(c.bytes16())
	default:
		c.fail(CondDecodeError, "no type has the constructor %#02x", code)
		return value.Value{}
	}
}

func (c *cursor) bytes16() (b [16]byte) {
	copy(b[:], c.take(16))
	return b
}

// AppendValue appends the shortest encoding of v's type to b, or the bytes of a
// [value.Raw]. It replaces what would break the message around it: a Raw that is not
// exactly one valid value becomes null, text that is not UTF-8 gets U+FFFD, and a symbol
// that is not ASCII gets question marks.
func AppendValue(b []byte, v value.Value) []byte {
	switch v.Kind() {
	case value.Null:
		return append(b, codeNull)
	case value.String:
		s, _ := v.Str()
		return appendString(b, s)
	case value.Symbol:
		s, _ := v.Str()
		return appendSymbol(b, s)
	case value.Binary:
		data, _ := v.Bytes()
		return appendBinary(b, data)
	case value.Raw:
		data, _ := v.Bytes()
		if !valid(data) {
			return append(b, codeNull)
		}
		return append(b, data...)
	case value.URI:
		s, _ := v.Str()
		return appendString(appendSymbol(append(b, codeDescribed), symbolURI), s)
	case value.DateTimeOffset:
		n, _ := v.Ticks()
		return appendLong(appendSymbol(append(b, codeDescribed), symbolDateTimeOffset), n)
	case value.DateTime: // AMQP's clients support milliseconds only
		t, _ := v.Time()
		return AppendValue(b, value.OfTimestamp(t.UnixMilli()))
	case value.Timespan:
		n, _ := v.Ticks()
		return appendLong(appendSymbol(append(b, codeDescribed), symbolTimespan), n)
	case value.Bool:
		is, _ := v.Bool()
		return appendBool(b, is)
	case value.UInt:
		n, _ := v.Uint64()
		return appendUInt(b, uint32(n))
	case value.ULong:
		n, _ := v.Uint64()
		return appendULong(b, n)
	case value.Int:
		n, _ := v.Int64()
		return appendInt(b, int32(n))
	case value.Long:
		n, _ := v.Int64()
		return appendLong(b, n)
	default:
		code := widest(v.Kind())
		return appendContent(append(b, code), code, v)
	}
}

// widest returns the constructor that is wide enough for every value of a kind, or zero for a kind
// of which [AppendArray] makes no arrays. For short texts, AppendArray uses the constructor with a
// size of one byte instead.
func widest(k value.Kind) byte {
	return [...]byte{
		value.Bool: codeBool, value.UByte: codeUByte, value.Byte: codeByte, value.Char: codeChar,
		value.UShort: codeUShort, value.Short: codeShort, value.UInt: codeUInt, value.Int: codeInt,
		value.ULong: codeULong, value.Long: codeLong, value.Float: codeFloat, value.Double: codeDouble,
		value.Decimal32: codeDecimal32, value.Decimal64: codeDecimal64, value.Decimal128: codeDecimal128,
		value.String: codeString32, value.Symbol: codeSymbol32, value.Binary: codeBinary32,
		value.UUID: codeUUID, value.Timestamp: codeTimestamp, value.Raw: 0, value.DateTime: 0,
	}[k]
}

// appendContent appends the content of v. code is the constructor that widest returns for its kind.
func appendContent(b []byte, code byte, v value.Value) []byte {
	switch code {
	case codeBool:
		if is, _ := v.Bool(); is {
			return append(b, 1)
		}
		return append(b, 0)
	case codeUByte, codeByte, codeUShort, codeShort, codeUInt, codeInt, codeULong, codeLong:
		n, ok := v.Uint64()
		if !ok {
			signed, _ := v.Int64()
			n = uint64(signed)
		}
		return appendWidth(b, code, n)
	case codeChar:
		r, _ := v.Char()
		return appendWidth(b, code, uint64(uint32(r)))
	case codeFloat:
		f, _ := v.Float32()
		return appendWidth(b, code, uint64(math.Float32bits(f)))
	case codeDouble:
		f, _ := v.Float64()
		return appendWidth(b, code, math.Float64bits(f))
	case codeDecimal32:
		bits, _ := v.Decimal32()
		return appendWidth(b, code, uint64(bits))
	case codeDecimal64:
		bits, _ := v.Decimal64()
		return appendWidth(b, code, bits)
	case codeDecimal128:
		bits, _ := v.Decimal128()
		return append(b, bits[:]...)
	case codeUUID:
		id, _ := v.UUID()
		return append(b, id[:]...)
	case codeTimestamp:
		ms, _ := v.Millis()
		return appendWidth(b, code, uint64(ms))
	default:
		panic(fmt.Sprintf("%v has no constructor of fixed width", v.Kind()))
	}
}

// appendWidth appends the low bytes of n, as many as the constructor's width.
func appendWidth(b []byte, code byte, n uint64) []byte {
	switch layouts[code] & widthMask {
	case 1:
		return append(b, byte(n))
	case 2:
		return binary.BigEndian.AppendUint16(b, uint16(n))
	case 4:
		return binary.BigEndian.AppendUint32(b, uint32(n))
	default:
		return binary.BigEndian.AppendUint64(b, n)
	}
}
