package filter

import (
	"math"
	"strconv"
	"strings"

	"mayfly/engine/value"
)

// decimalJSON returns a decimal as value.Value.DecimalText does, and a non-canonical one as the
// standard interprets it: an infinity, a NaN, or zero.
func decimalJSON(v value.Value) string {
	s := v.DecimalText()
	hex, ok := strings.CutPrefix(s, "0x")
	if !ok {
		return s
	}
	top, err := strconv.ParseUint(hex[:2], 16, 8)
	if err != nil {
		return "NaN"
	}
	sign := ""
	if top>>7 != 0 {
		sign = "-"
	}
	switch top >> 2 & 0b11111 {
	case 0b11111:
		return sign + "NaN"
	case 0b11110:
		return sign + "Inf"
	default:
		return sign + "0"
	}
}

// decimalDouble returns the double nearest to a decimal.
func decimalDouble(v value.Value) float64 {
	f, err := strconv.ParseFloat(decimalJSON(v), 64)
	if err != nil && !math.IsInf(f, 0) { // -NaN
		return math.NaN()
	}
	return f
}

// decimalNumber returns a text that depends on a decimal's number only: it is the same for 1.0 and
// 1.00, for 0 and -0, and for all NaNs.
func decimalNumber(v value.Value) string {
	s, minus := strings.CutPrefix(decimalJSON(v), "-")
	sign := ""
	if minus {
		sign = "-"
	}
	switch s {
	case "NaN":
		return s
	case "Inf":
		return sign + s
	}
	mantissa, exp, _ := strings.Cut(s, "E")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	e := 0
	if exp != "" {
		e, _ = strconv.Atoi(exp) //nolint:errcheck // Text writes a whole number there
	}
	short := strings.TrimRight(digits, "0")
	return sign + short + "E" + strconv.Itoa(e+len(digits)-len(short)-len(fraction))
}
