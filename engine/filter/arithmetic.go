package filter

import (
	"math"
	"math/big"
	"math/bits"

	"mayfly/engine/value"
)

// maxText is the maximum length in bytes of a text that an expression computes: the limit on all
// properties of a message. Without it, a few statements that each double a text would fill the
// memory.
const maxText = 64 << 10

// An operator is an arithmetic operator, as it is written.
type operator byte

// apply computes a op b (FILT-26); neither operand may be a failure. If the result cannot be
// computed, it is a failure, whose text begins with a verb.
func apply(op operator, a, b datum) datum {
	switch {
	case a.class == unknown || b.class == unknown:
		return datum{}
	case a.numeric() && b.numeric():
		if a.class == floating || b.class == floating {
			return computeDouble(op, a, b)
		}
		return computeIntegers(op, a, b)
	case op == '+' && a.class == textual && b.class == textual:
		x, y := a.text(), b.text()
		if len(x)+len(y) > maxText {
			return failure("makes a string of more than 65536 bytes")
		}
		return datumOf(value.OfString(x + y))
	case op == '+' && a.class == span && b.class == moment:
		return addTicks(b, a.n)
	case a.class == moment && b.class == span && op == '+':
		return addTicks(a, b.n)
	case a.class == moment && b.class == span && op == '-':
		if b.n == math.MinInt64 {
			return failure("is outside the range of a date")
		}
		return addTicks(a, -b.n)
	case a.class == moment && b.class == moment && op == '-':
		return distance(a, b)
	case a.class == span && b.class == span && (op == '+' || op == '-'):
		return computeTimespans(op, a.n, b.n)
	default:
		return failure("cannot be computed from " + a.value.Kind().String() + " and " + b.value.Kind().String())
	}
}

// negate computes -d; d must not be a failure.
func negate(d datum) datum {
	switch d.class {
	case unknown:
		return datum{}
	case whole, huge:
		return computeIntegers('-', datum{value: value.OfInt(0), class: whole}, d)
	case floating:
		if f, ok := d.value.Float32(); ok {
			return datumOf(value.OfFloat(-f))
		}
		return datumOf(value.OfDouble(-d.double()))
	case span:
		return computeTimespans('-', 0, d.n)
	default:
		return failure("cannot be negated, because it is of type " + d.value.Kind().String())
	}
}

func computeDouble(op operator, a, b datum) datum {
	if !a.fraction() && !b.fraction() && (op == '/' || op == '%') && b.double() == 0 {
		return failure("divides by zero")
	}
	x, y := commonDoubles(a, b)
	var f float64
	switch op {
	case '+':
		f = x + y
	case '-':
		f = x - y
	case '*':
		f = x * y
	case '/':
		f = x / y
	default:
		f = math.Mod(x, y)
	}
	if computesAsFloat(a, b) {
		return datumOf(value.OfFloat(float32(f))) // rounding twice changes nothing: a double has more than twice the bits
	}
	return datumOf(value.OfDouble(f))
}

func computeIntegers(op operator, a, b datum) datum {
	if (op == '/' || op == '%') && b.n == 0 {
		return failure("divides by zero")
	}
	if a.class == whole && b.class == whole {
		if n, ok := computeInt64(op, a.n, b.n); ok {
			return integer(n, a.value.Kind(), b.value.Kind())
		}
	}
	x, y := bigInt(a), bigInt(b)
	switch op {
	case '+':
		x.Add(x, y)
	case '-':
		x.Sub(x, y)
	case '*':
		x.Mul(x, y)
	case '/':
		x.Quo(x, y)
	default:
		x.Rem(x, y)
	}
	switch {
	case x.IsInt64():
		return integer(x.Int64(), a.value.Kind(), b.value.Kind())
	case x.IsUint64():
		return datumOf(value.OfULong(x.Uint64()))
	default:
		return failure("does not fit into 64 bits")
	}
}

// computeInt64 computes in 64 bits; ok is false on overflow.
func computeInt64(op operator, a, b int64) (n int64, ok bool) {
	switch op {
	case '+':
		n = a + b
		return n, (n > a) == (b > 0)
	case '-':
		n = a - b
		return n, (n < a) == (b > 0)
	case '*':
		hi, lo := bits.Mul64(magnitude(a), magnitude(b))
		return a * b, hi == 0 && lo <= math.MaxInt64
	case '/':
		return a / b, a != math.MinInt64 || b != -1
	default:
		return a % b, true
	}
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func bigInt(d datum) *big.Int {
	if d.class == huge {
		return new(big.Int).SetUint64(uint64(d.n))
	}
	return big.NewInt(d.n)
}

// integer returns n in C#'s type for an operation on a and b, or in a wider one.
func integer(n int64, a, b value.Kind) datum {
	switch {
	case n >= 0 && (a == value.ULong || b == value.ULong):
		return datumOf(value.OfULong(uint64(n)))
	case a == value.UInt && b == value.UInt && n >= 0 && n <= math.MaxUint32:
		return datumOf(value.OfUInt(uint32(n)))
	case widensToInt(a) && widensToInt(b) && n >= math.MinInt32 && n <= math.MaxInt32:
		return datumOf(value.OfInt(int32(n)))
	default:
		return datumOf(value.OfLong(n))
	}
}

// widensToInt reports whether integers of kind k compute as ints.
func widensToInt(k value.Kind) bool {
	switch k {
	case value.UByte, value.Byte, value.UShort, value.Short, value.Int:
		return true
	default:
		return false
	}
}

// addTicks adds ticks to a moment.
func addTicks(m datum, by int64) datum {
	ms := floorDivide(by, ticksPerMilli)
	ticks := int64(m.ticks) + by - ms*ticksPerMilli
	n, ok := computeInt64('+', m.n, ms+ticks/ticksPerMilli)
	if !ok {
		return failure("is outside the range of a date")
	}
	m.n, m.ticks = n, uint16(ticks%ticksPerMilli)
	if m.value.Kind() == value.Timestamp {
		m.value = value.OfTimestamp(n) // the ticks still count in later operations
		return m
	}
	n, ok1 := computeInt64('+', n, millisToUnix)
	n, ok2 := computeInt64('*', n, ticksPerMilli)
	n, ok3 := computeInt64('+', n, int64(m.ticks))
	if !ok1 || !ok2 || !ok3 {
		return failure("is outside the range of a date")
	}
	m.value = value.OfDateTimeOffset(n)
	return m
}

// distance returns the timespan from b to a.
func distance(a, b datum) datum {
	n, ok1 := computeInt64('-', a.n, b.n)
	n, ok2 := computeInt64('*', n, ticksPerMilli)
	n, ok3 := computeInt64('+', n, int64(a.ticks)-int64(b.ticks))
	if !ok1 || !ok2 || !ok3 {
		return failure("is outside the range of a timespan")
	}
	return datumOf(value.OfTimespan(n))
}

func computeTimespans(op operator, a, b int64) datum {
	n, ok := computeInt64(op, a, b)
	if !ok {
		return failure("is outside the range of a timespan")
	}
	return datumOf(value.OfTimespan(n))
}
