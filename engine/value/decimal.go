package value

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// format is one of IEEE 754's decimal formats in AMQP's encoding, with the significand as a
// binary integer: a sign, then an exponent, then the significand. If the top two bits of the
// exponent are set, the significand starts with an implied 100, which only some of the largest
// ones need. If the top four are set, it is an infinity or a NaN.
type format struct {
	bits   uint // total width
	exp    uint // width of the exponent
	digits int  // maximum number of digits of the significand
	bias   int
}

var formats = map[Kind]format{
	Decimal32:  {32, 8, 7, 101},
	Decimal64:  {64, 10, 16, 398},
	Decimal128: {128, 14, 34, 6176},
}

// IEEE is appended to the text of a decimal128 that is in the standard form although .NET's form
// could hold its number.
const IEEE = " (IEEE 754)"

// The following describe .NET's form of a decimal128. Microsoft's AMQP library shifts the exponent
// by 9 bits, where the standard shifts it by 7. It reads both forms; the Python SDK reads only
// .NET's form, although it writes the standard one. Read as the standard form, .NET's 5 is 5E-4608.
// Since numbers that small do not occur, .NET's form can be recognized: by the exponents of a
// System.Decimal, 0 to -28, and its 96 bits. Such bits are read as .NET's form, and a text is parsed
// to .NET's form if that can hold it.
const (
	netTop    = 6176 >> 9 & 0x7f // in the first byte, below the sign
	netBias   = 6176 & 0x7f      // in the second byte, times 2, less the scale
	netScale  = 28
	netDigits = 96 // bits of the significand
)

// net reports whether v is a decimal128 in .NET's form, and returns its parts.
func (v Value) net() (sig *big.Int, scale int, ok bool) {
	if v.kind != Decimal128 {
		return nil, 0, false
	}
	b := v.str
	scale = netBias - int(b[1]>>1)
	if b[0]&0x7f != netTop || b[1]&1 != 0 || scale < 0 || scale > netScale || b[2] != 0 || b[3] != 0 {
		return nil, 0, false
	}
	return new(big.Int).SetBytes([]byte(b[4:])), scale, true
}

// ofNet returns a number in .NET's form; ok is false if .NET's form cannot hold it.
func ofNet(minus bool, sig *big.Int, e int) (v Value, ok bool) {
	if e < -netScale || e > netScale {
		return Value{}, false
	}
	if e > 0 {
		sig = new(big.Int).Mul(sig, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(e)), nil))
		e = 0
	}
	if sig.BitLen() > netDigits {
		return Value{}, false
	}
	b := [16]byte{netTop, byte(netBias+e) << 1}
	if minus {
		b[0] |= 0x80
	}
	sig.FillBytes(b[4:])
	return OfDecimal128(b), true
}

// DecimalText returns the number of a decimal in the usual notation, for comparisons and for
// display. It is the same for both forms. Non-canonical bits are written in hexadecimal.
func (v Value) DecimalText() string {
	return strings.TrimSuffix(v.Text(), IEEE)
}

// decimalText returns a text that parses to the same bits, so that 1.0 and 1.00 stay different:
// 12.34 or 1.234E+9, followed by IEEE if it would otherwise be parsed to .NET's form. A
// non-canonical bit pattern is written in hexadecimal.
func (v Value) decimalText() string {
	if sig, scale, ok := v.net(); ok {
		sign := ""
		if v.str[0]&0x80 != 0 {
			sign = "-"
		}
		return sign + decimalNotation(sig.String(), -scale)
	}
	f := formats[v.kind]
	hi, lo := v.decimal()
	bits := new(big.Int).SetUint64(hi)
	bits.Lsh(bits, 64).Or(bits, new(big.Int).SetUint64(lo))
	for _, text := range []string{f.text(bits), f.text(bits) + IEEE} {
		if same, err := parseDecimal(v.kind, text); err == nil && same == v {
			return text
		}
	}
	return "0x" + fmt.Sprintf("%0*x", f.bits/4, bits)
}

// text formats bits in the format. The caller parses the text to check whether it is right.
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
	return sign + decimalNotation(sig.String(), int(exp.Int64())-f.bias)
}

// decimalNotation returns digits times ten to the power of e in the usual notation.
func decimalNotation(digits string, e int) string {
	adjusted := e + len(digits) - 1
	switch {
	case e == 0:
		return digits
	case e < 0 && adjusted >= 0:
		return digits[:adjusted+1] + "." + digits[adjusted+1:]
	case e < 0 && adjusted >= -6:
		return "0." + strings.Repeat("0", -adjusted-1) + digits
	case len(digits) > 1:
		digits = digits[:1] + "." + digits[1:]
	}
	return digits + fmt.Sprintf("E%+d", adjusted)
}

func parseDecimal(k Kind, s string) (Value, error) {
	f := formats[k]
	if h, ok := strings.CutPrefix(s, "0x"); ok {
		b, err := hex.DecodeString(h)
		if err != nil || len(b)*8 != int(f.bits) {
			return Value{}, fmt.Errorf("write %d hexadecimal digits after 0x", f.bits/4)
		}
		return ofDecimal(k, new(big.Int).SetBytes(b)), nil
	}
	s, standard := strings.CutSuffix(s, IEEE)
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
	if k == Decimal128 && !standard {
		if v, ok := ofNet(minus, sig, e); ok {
			return v, nil
		}
	}
	at := f.bits - 1 - f.exp
	exp := big.NewInt(int64(e + f.bias))
	if sig.BitLen() > int(at) {
		sig.Sub(sig, pow2(at)) // the leading 100 is implied, as the bits 11 indicate
		sign.Or(sign, new(big.Int).Lsh(big.NewInt(0b11), f.bits-3))
		at -= 2
	}
	sign.Or(sign, exp.Lsh(exp, at))
	return ofDecimal(k, sign.Or(sign, sig)), nil
}

// number parses digits[.digits][E±n], which must fit f without rounding.
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
		return nil, 0, fmt.Errorf("use at most %d digits", f.digits)
	}
	if has {
		if e, err = strconv.Atoi(exponent); err != nil {
			return nil, 0, fmt.Errorf("write a number such as -12.50 or 1.5E+9")
		}
	}
	// Compare before the subtraction, which would overflow for a huge exponent.
	most := 3<<(f.exp-2) - 1 - f.bias
	if e > most+len(fraction) || e < len(fraction)-f.bias {
		return nil, 0, fmt.Errorf("its last digit must be between 1E%+d and 1E%+d", -f.bias, most)
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
