package search

import (
	"cmp"
	"strconv"
	"strings"

	"mayfly/engine/value"
)

// A number is an exact decimal number: 0.digits times ten to the power of exp. The zero number
// is zero.
type number struct {
	digits string // without zeros at either end; empty means zero
	exp    int
	minus  bool
}

// parseNumber parses a decimal number such as 12, -12.50 or 1.5e+9.
func parseNumber(s string) (n number, ok bool) {
	if s == "" || len(s) > maxQueryBytes {
		return number{}, false
	}
	s, n.minus = strings.CutPrefix(s, "-")
	if !n.minus {
		s = strings.TrimPrefix(s, "+")
	}
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i+1:]
		var err error
		if n.exp, err = strconv.Atoi(exponent); err != nil || n.exp > maxExponent || n.exp < -maxExponent {
			return number{}, false
		}
	}
	whole, fraction, point := strings.Cut(mantissa, ".")
	if whole == "" || point && fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return number{}, false
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	n.exp += len(digits) - len(fraction)
	if n.digits = strings.TrimRight(digits, "0"); n.digits == "" {
		return number{}, true
	}
	return n, true
}

// maxExponent is larger than the exponent of any type of number in a message.
const maxExponent = 1_000_000

// numberOf returns v as a number if it is one; infinities and NaNs are not. A float becomes the
// shortest decimal number that converts to it, which is usually what the sender wrote.
func numberOf(v value.Value) (number, bool) {
	switch v.Kind() {
	case value.UByte, value.Byte, value.UShort, value.Short, value.UInt, value.Int, value.ULong, value.Long,
		value.Float, value.Double, value.Decimal32, value.Decimal64, value.Decimal128:
		return parseNumber(v.Text())
	default:
		return number{}, false
	}
}

func (n number) compare(o number) int {
	switch {
	case n.sign() != o.sign():
		return cmp.Compare(n.sign(), o.sign())
	case n.sign() < 0:
		n, o = o, n
	}
	return cmp.Or(cmp.Compare(n.exp, o.exp), strings.Compare(n.digits, o.digits))
}

func (n number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.minus:
		return -1
	default:
		return +1
	}
}
