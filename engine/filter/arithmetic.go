package filter

import (
	"math"
	"math/big"
	"math/bits"

	"mayfly/engine/value"
)

// maxText is how long, in bytes, a text may get that an expression makes: the
// room all properties of a message have. Without it a few statements that
// double a text fill the memory.
const maxText = 64 << 10

// An operator of arithmetic, as it is written.
type operator byte

// apply computes a op b (FILT-26). Neither has failed. What cannot be computed
// gives a failure, whose text begins with a verb.
func apply(op operator, a, b datum) datum {
	switch {
	case a.class == unknown || b.class == unknown:
		return datum{}
	case a.numeric() && b.numeric():
		if a.class == floating || b.class == floating {
			return reals(op, a, b)
		}
		return integers(op, a, b)
	case op == '+' && a.class == textual && b.class == textual:
		x, y := a.text(), b.text()
		if len(x)+len(y) > maxText {
			return failure("makes a text of more than 65536 bytes")
		}
		return of(value.OfString(x + y))
	case op == '+' && a.class == span && b.class == moment:
		return shift(b, a.n)
	case a.class == moment && b.class == span && op == '+':
		return shift(a, b.n)
	case a.class == moment && b.class == span && op == '-':
		if b.n == math.MinInt64 {
			return failure("is too far away")
		}
		return shift(a, -b.n)
	case a.class == moment && b.class == moment && op == '-':
		return distance(a, b)
	case a.class == span && b.class == span && (op == '+' || op == '-'):
		return spans(op, a.n, b.n)
	default:
		return failure("cannot be computed from " + a.value.Kind().String() + " and " + b.value.Kind().String())
	}
}

// negate computes -d; d has not failed.
func negate(d datum) datum {
	switch d.class {
	case unknown:
		return datum{}
	case whole, huge:
		return integers('-', datum{value: value.OfInt(0), class: whole}, d)
	case floating:
		if f, ok := d.value.Float32(); ok {
			return of(value.OfFloat(-f))
		}
		return of(value.OfDouble(-d.double()))
	case span:
		return spans('-', 0, d.n)
	default:
		return failure("has no opposite, being of type " + d.value.Kind().String())
	}
}

func reals(op operator, a, b datum) datum {
	if !a.fraction() && !b.fraction() && (op == '/' || op == '%') && b.double() == 0 {
		return failure("divides by zero")
	}
	x, y := common(a, b)
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
	if narrow(a, b) {
		return of(value.OfFloat(float32(f))) // rounding twice changes nothing: a double has more than twice the bits
	}
	return of(value.OfDouble(f))
}

func integers(op operator, a, b datum) datum {
	if (op == '/' || op == '%') && b.n == 0 {
		return failure("divides by zero")
	}
	if a.class == whole && b.class == whole {
		if n, ok := small(op, a.n, b.n); ok {
			return integer(n, a.value.Kind(), b.value.Kind())
		}
	}
	x, y := large(a), large(b)
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
		return of(value.OfULong(x.Uint64()))
	default:
		return failure("is beyond 64 bits")
	}
}

// small computes in 64 bits; not ok if they are too few.
func small(op operator, a, b int64) (n int64, ok bool) {
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

func large(d datum) *big.Int {
	if d.class == huge {
		return new(big.Int).SetUint64(uint64(d.n))
	}
	return big.NewInt(d.n)
}

// integer is n in the type that C# would give what comes of a and b, or in a
// wider one.
func integer(n int64, a, b value.Kind) datum {
	switch {
	case n >= 0 && (a == value.ULong || b == value.ULong):
		return of(value.OfULong(uint64(n)))
	case a == value.UInt && b == value.UInt && n >= 0 && n <= math.MaxUint32:
		return of(value.OfUInt(uint32(n)))
	case promoted(a) && promoted(b) && n >= math.MinInt32 && n <= math.MaxInt32:
		return of(value.OfInt(int32(n)))
	default:
		return of(value.OfLong(n))
	}
}

// promoted tells that integers of kind k compute as ints.
func promoted(k value.Kind) bool {
	switch k {
	case value.UByte, value.Byte, value.UShort, value.Short, value.Int:
		return true
	default:
		return false
	}
}

// shift is a moment and ticks later.
func shift(m datum, by int64) datum {
	ms := floor(by, ticksPerMilli)
	ticks := int64(m.ticks) + by - ms*ticksPerMilli
	n, ok := small('+', m.n, ms+ticks/ticksPerMilli)
	if !ok {
		return failure("is too far away")
	}
	m.n, m.ticks = n, uint16(ticks%ticksPerMilli)
	if m.value.Kind() == value.Timestamp {
		m.value = value.OfTimestamp(n) // the ticks still count in what follows
		return m
	}
	n, ok1 := small('+', n, millisToUnix)
	n, ok2 := small('*', n, ticksPerMilli)
	n, ok3 := small('+', n, int64(m.ticks))
	if !ok1 || !ok2 || !ok3 {
		return failure("is too far away")
	}
	m.value = value.OfDateTimeOffset(n)
	return m
}

// distance is the timespan from b to a.
func distance(a, b datum) datum {
	n, ok1 := small('-', a.n, b.n)
	n, ok2 := small('*', n, ticksPerMilli)
	n, ok3 := small('+', n, int64(a.ticks)-int64(b.ticks))
	if !ok1 || !ok2 || !ok3 {
		return failure("is longer than a timespan can be")
	}
	return of(value.OfTimespan(n))
}

func spans(op operator, a, b int64) datum {
	n, ok := small(op, a, b)
	if !ok {
		return failure("is longer than a timespan can be")
	}
	return of(value.OfTimespan(n))
}
