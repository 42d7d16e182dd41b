package value

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// format is one of IEEE 754's decimal formats in the encoding AMQP uses, with
// the significand as a binary integer: a sign, then an exponent, then the
// significand. Both bits above the exponent set mean a significand that starts
// with 100, which only some of the largest need; four of them set, no number.
type format struct {
	bits   uint // width of the whole
	exp    uint // width of the exponent
	digits int  // most the significand may have
	bias   int
}

var formats = map[Kind]format{
	Decimal32:  {32, 8, 7, 101},
	Decimal64:  {64, 10, 16, 398},
	Decimal128: {128, 14, 34, 6176},
}

// decimalText writes sign, significand and exponent so that 1.0 and 1.00, which
// are different bits, stay different: as 12.34 or 1.234E+9. A bit pattern that
// is not the canonical one of its number is written in hexadecimal.
func (v Value) decimalText() string {
	f := formats[v.kind]
	hi, lo := v.decimal()
	bits := new(big.Int).SetUint64(hi)
	bits.Lsh(bits, 64).Or(bits, new(big.Int).SetUint64(lo))
	text := f.text(bits)
	if same, err := parseDecimal(v.kind, text); err != nil || same != v {
		return "0x" + fmt.Sprintf("%0*x", f.bits/4, bits)
	}
	return text
}

// text reads bits, which may be anything; whether it reads well is for the
// caller to find out by reading the text back.
func (f format) text(bits *big.Int) string {
	sign := ""
	if bits.Bit(int(f.bits-1)) == 1 {
		sign = "-"
	}
	field := func(from, width uint) *big.Int {
		x := new(big.Int).Rsh(bits, from)
		return x.And(x, new(big.Int).Sub(pow2(width), big.NewInt(1)))
	}
	at := f.bits - 1 - f.exp // where the exponent begins
	switch field(f.bits-6, 5).Uint64() {
	case 0b11111:
		return sign + "NaN"
	case 0b11110:
		return sign + "Inf"
	}
	exp, sig := field(at, f.exp), field(0, at)
	if bits.Bit(int(f.bits-2)) == 1 && bits.Bit(int(f.bits-3)) == 1 {
		exp, sig = field(at-2, f.exp), field(0, at-2)
		sig.Or(sig, pow2(at))
	}
	digits, e := sig.String(), int(exp.Int64())-f.bias
	adjusted := e + len(digits) - 1
	switch {
	case e == 0:
		return sign + digits
	case e < 0 && adjusted >= 0:
		return sign + digits[:adjusted+1] + "." + digits[adjusted+1:]
	case e < 0 && adjusted >= -6:
		return sign + "0." + strings.Repeat("0", -adjusted-1) + digits
	case len(digits) > 1:
		digits = digits[:1] + "." + digits[1:]
	}
	return sign + digits + fmt.Sprintf("E%+d", adjusted)
}

func parseDecimal(k Kind, s string) (Value, error) {
	f := formats[k]
	if h, ok := strings.CutPrefix(s, "0x"); ok {
		b, err := hex.DecodeString(h)
		if err != nil || len(b)*8 != int(f.bits) {
			return Value{}, fmt.Errorf("after 0x belong %d hexadecimal digits", f.bits/4)
		}
		return ofDecimal(k, new(big.Int).SetBytes(b)), nil
	}
	sign := new(big.Int)
	digits, minus := strings.CutPrefix(s, "-")
	if minus {
		sign = pow2(f.bits - 1)
	} else {
		digits = strings.TrimPrefix(s, "+")
	}
	switch strings.ToLower(digits) {
	case "inf", "infinity":
		return ofDecimal(k, sign.Or(sign, new(big.Int).Lsh(big.NewInt(0b11110), f.bits-6))), nil
	case "nan":
		return ofDecimal(k, sign.Or(sign, new(big.Int).Lsh(big.NewInt(0b11111), f.bits-6))), nil
	}
	sig, e, err := f.number(digits)
	if err != nil {
		return Value{}, err
	}
	at := f.bits - 1 - f.exp
	exp := big.NewInt(int64(e + f.bias))
	if sig.BitLen() > int(at) {
		sig.Sub(sig, pow2(at)) // the leading 100 is implied, and 11 says so
		sign.Or(sign, new(big.Int).Lsh(big.NewInt(0b11), f.bits-3))
		at -= 2
	}
	sign.Or(sign, exp.Lsh(exp, at))
	return ofDecimal(k, sign.Or(sign, sig)), nil
}

// number reads digits[.digits][E±n], which must fit f without rounding.
func (f format) number(s string) (sig *big.Int, e int, err error) {
	mantissa, exponent, has := s, "", false
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent, has = s[:i], s[i+1:], true
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return nil, 0, fmt.Errorf("write a number such as -12.50 or 1.5E+9")
	}
	if len(digits) > f.digits {
		return nil, 0, fmt.Errorf("it may have %d digits at most", f.digits)
	}
	if has {
		if e, err = strconv.Atoi(exponent); err != nil {
			return nil, 0, fmt.Errorf("write a number such as -12.50 or 1.5E+9")
		}
	}
	// Compared before the subtraction, which a huge exponent would overflow.
	most := 3<<(f.exp-2) - 1 - f.bias
	if e > most+len(fraction) || e < len(fraction)-f.bias {
		return nil, 0, fmt.Errorf("its last digit must stand between 1E%+d and 1E%+d", -f.bias, most)
	}
	sig, ok := new(big.Int).SetString("0"+digits, 10)
	if !ok {
		return nil, 0, fmt.Errorf("write a number such as -12.50 or 1.5E+9")
	}
	return sig, e - len(fraction), nil
}

func ofDecimal(k Kind, bits *big.Int) Value {
	var b [16]byte
	bits.FillBytes(b[:])
	if k == Decimal128 {
		return OfDecimal128(b)
	}
	return Value{kind: k, bits: binary.BigEndian.Uint64(b[8:])}
}

func pow2(n uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), n) }
