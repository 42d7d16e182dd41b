package filter

import (
	"math"
	"strings"
	"unicode/utf8"

	"mayfly/engine/value"
)

// A class is a set of values that can be compared and computed with each other.
type class uint8

const (
	unknown  class = iota // NULL or missing
	failed                // the evaluation failed; the value is a text with the reason
	whole                 // an integer that an int64 holds
	huge                  // an integer that only a uint64 holds
	floating              // a float, double or decimal
	textual               // text of any kind, including a char
	moment                // a timestamp, datetime or datetime-offset
	span                  // a timespan
	boolean
	distinct // anything else, which equals at most itself
)

// A datum is a value during a computation.
type datum struct {
	value value.Value
	n     int64 // whole: the number; huge: its bits; floating: the bits of the double; boolean: 0 or 1; span: ticks; moment: milliseconds since 1970
	class class
	ticks uint16 // moment: ticks to add to n, fewer than ticksPerMilli
}

const (
	ticksPerMilli = 10_000
	millisToUnix  = 62_135_596_800_000 // from 0001-01-01, where datetime-offsets begin, to 1970-01-01
)

// datumOf returns v as a datum.
func datumOf(v value.Value) datum {
	d := datum{value: v, class: distinct}
	switch v.Kind() {
	case value.Null:
		d.class = unknown
	case value.Bool:
		d.class = boolean
		if b, _ := v.Bool(); b {
			d.n = 1
		}
	case value.UByte, value.Byte, value.UShort, value.Short, value.UInt, value.Int, value.Long, value.ULong:
		var fits bool
		if d.n, fits = v.Int64(); fits {
			d.class = whole
		} else {
			u, _ := v.Uint64()
			d.n, d.class = int64(u), huge
		}
	case value.Float, value.Double:
		f, _ := v.Float64()
		d.n, d.class = int64(math.Float64bits(f)), floating
	case value.Decimal32, value.Decimal64, value.Decimal128:
		d.n, d.class = int64(math.Float64bits(decimalDouble(v))), floating
	case value.String, value.Symbol, value.URI:
		d.class = textual
	case value.Char:
		if r, _ := v.Char(); utf8.ValidRune(r) {
			d.class = textual
		}
	case value.Timespan:
		d.n, _ = v.Ticks()
		d.class = span
	case value.Timestamp:
		d.n, _ = v.Millis()
		d.class = moment
	case value.DateTimeOffset, value.DateTime:
		t, _ := v.Ticks()
		ms := floorDivide(t, ticksPerMilli)
		d.n, d.ticks, d.class = ms-millisToUnix, uint16(t-ms*ticksPerMilli), moment
	}
	return d
}

// failure returns a failed datum with a reason.
func failure(why string) datum {
	return datum{value: value.OfString(why), class: failed}
}

// floorDivide divides and rounds down.
func floorDivide(n, by int64) int64 {
	q := n / by
	if n%by < 0 {
		q--
	}
	return q
}

func (d datum) text() string {
	if r, ok := d.value.Char(); ok {
		return string(r)
	}
	s, _ := d.value.Str()
	return s
}

func (d datum) numeric() bool { return d.class == whole || d.class == huge || d.class == floating }

// fraction reports whether d is a float or double, which may be infinite or NaN.
func (d datum) fraction() bool {
	return d.value.Kind() == value.Float || d.value.Kind() == value.Double
}

// double returns a number as the nearest double.
func (d datum) double() float64 {
	switch d.class {
	case whole:
		return float64(d.n)
	case huge:
		return float64(uint64(d.n))
	default:
		return math.Float64frombits(uint64(d.n))
	}
}

// single returns a number as the nearest float.
func (d datum) single() float32 {
	switch d.class {
	case whole:
		return float32(d.n)
	case huge:
		return float32(uint64(d.n))
	default:
		return float32(d.double())
	}
}

// computesAsFloat reports whether two numbers are computed as floats, as in C#: one is a float, the
// other an integer or a float.
func computesAsFloat(a, b datum) bool {
	fa, fb := a.value.Kind() == value.Float, b.value.Kind() == value.Float
	return (fa || fb) && (fa || a.class != floating) && (fb || b.class != floating)
}

// commonDoubles converts two numbers, of which at least one is floating, to their common type.
func commonDoubles(a, b datum) (float64, float64) {
	if computesAsFloat(a, b) {
		return float64(a.single()), float64(b.single())
	}
	return a.double(), b.double()
}

// equal returns a = b (FILT-27).
func equal(a, b datum) Result {
	same := false
	switch {
	case a.class == unknown || b.class == unknown:
		return Unknown
	case a.class == floating && b.numeric() || b.class == floating && a.numeric():
		x, y := commonDoubles(a, b)
		same = x == y
	case a.class != b.class:
	case a.class == textual:
		same = a.text() == b.text()
	case a.class == distinct:
		same = a.value == b.value
	default:
		same = a.n == b.n && a.ticks == b.ticks
	}
	return truth(same)
}

// compareOrder compares a and b. ok is false if values of their classes have no order. nan reports
// that one of them is a NaN, for which no comparison is true.
func compareOrder(a, b datum) (c int, nan, ok bool) {
	switch {
	case a.class == floating && b.numeric() || b.class == floating && a.numeric():
		x, y := commonDoubles(a, b)
		return compare(x, y), x != x || y != y, true
	case a.class == huge && b.class == huge:
		return compare(uint64(a.n), uint64(b.n)), false, true
	case a.class == huge && b.class == whole:
		return +1, false, true
	case a.class == whole && b.class == huge:
		return -1, false, true
	case a.class != b.class:
		return 0, false, false
	case a.class == textual:
		return strings.Compare(a.text(), b.text()), false, true
	case a.class == whole, a.class == span:
		return compare(a.n, b.n), false, true
	case a.class == moment && a.n == b.n:
		return compare(a.ticks, b.ticks), false, true
	case a.class == moment:
		return compare(a.n, b.n), false, true
	default:
		return 0, false, false
	}
}

func compare[N int64 | uint64 | uint16 | float64](a, b N) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return +1
	default:
		return 0
	}
}
