// Package value represents the values of application properties, which have one of the AMQP types
// that Service Bus supports (MSG-3). It keeps their exact types, and converts them to and from text
// for display, JSON for the API and bytes for storage.
package value

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"time"
)

// A Kind is the AMQP type of a Value. The numbers are stored: a new kind gets the next one,
// and none is ever reused.
type Kind uint8

// The comments describe the value of each kind.
const (
	Null           Kind = iota
	Bool                // true or false
	UByte               // uint8
	Byte                // int8
	Char                // one UTF-32 code point, which may be invalid
	UShort              // uint16
	Short               // int16
	UInt                // uint32
	Int                 // int32
	ULong               // uint64
	Long                // int64
	Float               // the bits of a float32
	Double              // the bits of a float64
	Decimal32           // the bits of an IEEE 754 decimal, binary integer significand
	Decimal64           // the bits of an IEEE 754 decimal, binary integer significand
	Decimal128          // the bits of an IEEE 754 decimal, 16 bytes with the sign first
	String              // text, which should be UTF-8
	Symbol              // text, which should be ASCII
	Binary              // bytes
	UUID                // 16 bytes in the order in which they are written
	Timestamp           // milliseconds since the Unix epoch
	Timespan            // com.microsoft:timespan, a duration in ticks of 100 ns
	URI                 // com.microsoft:uri, text
	DateTimeOffset      // com.microsoft:datetime-offset, UTC in ticks of 100 ns since 0001-01-01
	Raw                 // any other AMQP value, as its encoded bytes with the constructor
	DateTime            // a date and time in a rule that no Timestamp can hold: ticks of 100 ns since 0001-01-01, in UTC or without a zone
	kinds               // the number of kinds
)

// A Value is one AMQP value. The zero Value is null. Two Values are == if and only if their types
// and bits are the same: a NaN equals itself, 0.0 and -0.0 differ, and int 1 differs from long 1.
type Value struct {
	str  string // data that does not fit in bits
	bits uint64 // signed kinds are extended to 64 bits, so that == works
	kind Kind
}

// Each Of… function returns a Value of the kind in its name and copies its argument.

func OfBool(b bool) Value { //nolint:revive // the bool is the value, not a switch
	if b {
		return Value{kind: Bool, bits: 1}
	}
	return Value{kind: Bool}
}

func OfUByte(n uint8) Value   { return Value{kind: UByte, bits: uint64(n)} }
func OfByte(n int8) Value     { return signed(Byte, int64(n)) }
func OfUShort(n uint16) Value { return Value{kind: UShort, bits: uint64(n)} }
func OfShort(n int16) Value   { return signed(Short, int64(n)) }
func OfUInt(n uint32) Value   { return Value{kind: UInt, bits: uint64(n)} }
func OfInt(n int32) Value     { return signed(Int, int64(n)) }
func OfULong(n uint64) Value  { return Value{kind: ULong, bits: n} }
func OfLong(n int64) Value    { return signed(Long, n) }

// OfChar returns a Char with all 32 bits of r, even if r is no valid code point.
func OfChar(r rune) Value { return Value{kind: Char, bits: uint64(uint32(r))} }

func OfFloat(f float32) Value  { return Value{kind: Float, bits: uint64(math.Float32bits(f))} }
func OfDouble(f float64) Value { return Value{kind: Double, bits: math.Float64bits(f)} }

func OfDecimal32(bits uint32) Value  { return Value{kind: Decimal32, bits: uint64(bits)} }
func OfDecimal64(bits uint64) Value  { return Value{kind: Decimal64, bits: bits} }
func OfDecimal128(b [16]byte) Value  { return Value{kind: Decimal128, str: string(b[:])} }
func OfString(s string) Value        { return Value{kind: String, str: s} }
func OfSymbol(s string) Value        { return Value{kind: Symbol, str: s} }
func OfBinary(b []byte) Value        { return Value{kind: Binary, str: string(b)} }
func OfUUID(id [16]byte) Value       { return Value{kind: UUID, str: string(id[:])} }
func OfURI(s string) Value           { return Value{kind: URI, str: s} }
func OfRaw(encoded []byte) Value     { return Value{kind: Raw, str: string(encoded)} }
func OfTimestamp(ms int64) Value     { return signed(Timestamp, ms) }
func OfTimespan(ticks int64) Value   { return signed(Timespan, ticks) }
func OfDateTimeOffset(t int64) Value { return signed(DateTimeOffset, t) }

// OfDateTime returns a DateTime of ticks of 100 ns since 0001-01-01, in UTC if zone is set, else
// without a time zone. Both are compared by their ticks.
func OfDateTime(ticks int64, zone bool) Value { //nolint:revive // zone is part of the value, not a switch
	n := ticks << 1
	if !zone {
		n |= 1
	}
	return signed(DateTime, n)
}

func signed(k Kind, n int64) Value { return Value{kind: k, bits: uint64(n)} }

// Kind returns the type of v.
func (v Value) Kind() Kind { return v.kind }

// Len returns how many bytes of memory v takes besides the Value itself.
func (v Value) Len() int { return len(v.str) }

// Equal is ==, for packages that use such a method if there is one.
func (v Value) Equal(o Value) bool { return v == o }

// Bool returns the value of a Bool.
func (v Value) Bool() (b, ok bool) { return v.bits != 0, v.kind == Bool }

// Int64 returns the number of any of the eight integer kinds, if it fits.
func (v Value) Int64() (n int64, ok bool) {
	if !v.kind.integer() || v.kind == ULong && v.bits > math.MaxInt64 {
		return 0, false
	}
	return int64(v.bits), true
}

// Uint64 returns the number of any of the eight integer kinds, unless negative.
func (v Value) Uint64() (n uint64, ok bool) {
	if !v.kind.integer() || v.kind.signed() && int64(v.bits) < 0 {
		return 0, false
	}
	return v.bits, true
}

// Float32 returns the value of a Float, bit for bit.
func (v Value) Float32() (f float32, ok bool) {
	if v.kind != Float {
		return 0, false
	}
	return math.Float32frombits(uint32(v.bits)), true
}

// Float64 returns the value of a Double, bit for bit, or the number of a Float.
func (v Value) Float64() (f float64, ok bool) {
	switch v.kind {
	case Double:
		return math.Float64frombits(v.bits), true
	case Float:
		return float64(math.Float32frombits(uint32(v.bits))), true
	default:
		return 0, false
	}
}

// Char returns the value of a Char, which may be no valid code point.
func (v Value) Char() (r rune, ok bool) {
	if v.kind != Char {
		return 0, false
	}
	return rune(uint32(v.bits)), true
}

// Decimal32 returns the bits of a Decimal32.
func (v Value) Decimal32() (bits uint32, ok bool) {
	if v.kind != Decimal32 {
		return 0, false
	}
	return uint32(v.bits), true
}

// Decimal64 returns the bits of a Decimal64.
func (v Value) Decimal64() (bits uint64, ok bool) {
	if v.kind != Decimal64 {
		return 0, false
	}
	return v.bits, true
}

// Decimal128 returns the bits of a Decimal128, sign first.
func (v Value) Decimal128() (b [16]byte, ok bool) {
	if v.kind != Decimal128 {
		return b, false
	}
	copy(b[:], v.str)
	return b, true
}

// Str returns the text of a String, Symbol or URI.
func (v Value) Str() (s string, ok bool) {
	if v.kind != String && v.kind != Symbol && v.kind != URI {
		return "", false
	}
	return v.str, true
}

// Bytes returns a copy of the bytes of a Binary or Raw.
func (v Value) Bytes() (b []byte, ok bool) {
	if v.kind != Binary && v.kind != Raw {
		return nil, false
	}
	return []byte(v.str), true
}

// UUID returns the value of a UUID.
func (v Value) UUID() (id [16]byte, ok bool) {
	if v.kind != UUID {
		return id, false
	}
	copy(id[:], v.str)
	return id, true
}

// Millis returns the value of a Timestamp: milliseconds since the Unix epoch.
func (v Value) Millis() (ms int64, ok bool) {
	if v.kind != Timestamp {
		return 0, false
	}
	return int64(v.bits), true
}

// Ticks returns the value of a Timespan, DateTimeOffset or DateTime, in units of 100 ns.
func (v Value) Ticks() (n int64, ok bool) {
	if v.kind == DateTime {
		return int64(v.bits) >> 1, true
	}
	if v.kind != Timespan && v.kind != DateTimeOffset {
		return 0, false
	}
	return int64(v.bits), true
}

// Zone reports whether a moment has a time zone. All moments do, except some DateTimes.
func (v Value) Zone() bool { return v.kind != DateTime || v.bits&1 == 0 }

// Time returns the moment, in UTC, of a Timestamp, DateTimeOffset or DateTime. A DateTime
// without a time zone counts as UTC.
func (v Value) Time() (t time.Time, ok bool) {
	switch v.kind {
	case Timestamp:
		return time.UnixMilli(int64(v.bits)).UTC(), true
	case DateTimeOffset, DateTime:
		n, _ := v.Ticks()
		return time.Unix(n/ticksPerSecond-secondsToUnix, n%ticksPerSecond*100).UTC(), true
	default:
		return time.Time{}, false
	}
}

const (
	ticksPerSecond = 10_000_000
	secondsToUnix  = 62_135_596_800 // from 0001-01-01 to 1970-01-01
)

// String returns v for display: its Text, except that null is "null", bytes are in hexadecimal and
// cut if there are many, and both forms of a decimal128 look the same.
func (v Value) String() string {
	const most = 32
	switch v.kind {
	case Decimal128:
		return v.DecimalText()
	case Null:
		return "null"
	case Binary, Raw:
		if len(v.str) > most {
			return hex.EncodeToString([]byte(v.str[:most])) + "…"
		}
		return hex.EncodeToString([]byte(v.str))
	default:
		return v.Text()
	}
}

// decimal returns the bits of a decimal of any width, as their high and low half.
func (v Value) decimal() (hi, lo uint64) {
	if v.kind != Decimal128 {
		return 0, v.bits
	}
	b := []byte(v.str)
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
}
