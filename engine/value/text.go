package value

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mayfly/engine/shorten"
)

const (
	plainNaN32 = 0x7fc00000
	plainNaN64 = 0x7ff8000000000000

	ticksOf9999 = 3_155_378_975_999_999_999 // the last tick of year 9999
	msOf9999    = 253_402_300_799_999
	msOf0001    = -secondsToUnix * 1000

	withoutZone = "2006-01-02T15:04:05.9999999"
)

// Text returns v as a text from which Parse(v.Kind(), v.Text()) returns exactly v: numbers in
// decimal, times in RFC 3339, timespans in .NET's form (1.02:03:04.5), bytes in base64, and text
// unchanged. A value without such a form, such as a NaN with a payload or a year beyond 9999, is
// written as its number.
func (v Value) Text() string {
	switch v.kind {
	case Null:
		return ""
	case Bool:
		return strconv.FormatBool(v.bits != 0)
	case UByte, UShort, UInt, ULong:
		return strconv.FormatUint(v.bits, 10)
	case Byte, Short, Int, Long:
		return strconv.FormatInt(int64(v.bits), 10)
	case Char:
		if r := rune(uint32(v.bits)); utf8.ValidRune(r) && unicode.IsGraphic(r) && !unicode.IsSpace(r) {
			return string(r)
		}
		return fmt.Sprintf("U+%04X", v.bits)
	case Float:
		f := math.Float32frombits(uint32(v.bits))
		if f != f && v.bits != plainNaN32 {
			return fmt.Sprintf("NaN(0x%08x)", v.bits)
		}
		return strconv.FormatFloat(float64(f), 'g', -1, 32)
	case Double:
		f := math.Float64frombits(v.bits)
		if f != f && v.bits != plainNaN64 {
			return fmt.Sprintf("NaN(0x%016x)", v.bits)
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	case Decimal32, Decimal64, Decimal128:
		return v.decimalText()
	case String, Symbol, URI:
		return v.str
	case Binary, Raw:
		return base64.StdEncoding.EncodeToString([]byte(v.str))
	case UUID:
		h := hex.EncodeToString([]byte(v.str))
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	case Timespan:
		return timespanText(int64(v.bits))
	case Timestamp:
		if n := int64(v.bits); n < msOf0001 || n > msOf9999 {
			return strconv.FormatInt(n, 10)
		}
		t, _ := v.Time()
		return t.Format("2006-01-02T15:04:05.999Z07:00")
	case DateTimeOffset:
		if n := int64(v.bits); n < 0 || n > ticksOf9999 {
			return strconv.FormatInt(n, 10)
		}
		t, _ := v.Time()
		return t.Format("2006-01-02T15:04:05.9999999Z07:00")
	case DateTime:
		if n, _ := v.Ticks(); n < 0 || n > ticksOf9999 {
			return strconv.FormatInt(int64(v.bits), 10)
		}
		t, _ := v.Time()
		if !v.Zone() {
			return t.Format(withoutZone)
		}
		return t.Format("2006-01-02T15:04:05.9999999Z07:00")
	default:
		panic(fmt.Sprintf("unknown %v", v.kind))
	}
}

// Parse parses a user's text as a value of kind k. It accepts the output of Text and some other
// forms. A moment may have any offset from UTC and is truncated to the precision of its kind; it may
// also be the number of its milliseconds or ticks. A timespan may also be written 1h30m or PT1H30M.
// The errors are texts for the user.
func Parse(k Kind, text string) (Value, error) {
	if k >= kinds {
		return Value{}, fmt.Errorf("%v is not a type of property", k)
	}
	if k == String || k == Symbol || k == URI {
		return Value{kind: k, str: text}, nil
	}
	v, err := parse(k, strings.TrimSpace(text))
	if err != nil {
		return Value{}, fmt.Errorf("%q is not a value of type %v: %w", shorten.Quote(text), k, err)
	}
	return v, nil
}

func parse(k Kind, s string) (Value, error) {
	switch k {
	case Null:
		if s != "" && !strings.EqualFold(s, "null") {
			return Value{}, fmt.Errorf("leave it empty")
		}
		return Value{}, nil
	case Bool:
		if !strings.EqualFold(s, "true") && !strings.EqualFold(s, "false") {
			return Value{}, fmt.Errorf("write true or false")
		}
		return OfBool(strings.EqualFold(s, "true")), nil
	case UByte, UShort, UInt, ULong, Byte, Short, Int, Long:
		return parseInteger(k, s)
	case Char:
		return parseChar(s)
	case Float, Double:
		return parseFloat(k, s)
	case Decimal32, Decimal64, Decimal128:
		return parseDecimal(k, s)
	case Binary, Raw:
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return Value{}, fmt.Errorf("write the bytes in base64")
		}
		return Value{kind: k, str: string(b)}, nil
	case UUID:
		return parseUUID(s)
	case Timespan:
		n, ok := parseTimespan(s)
		if !ok {
			return Value{}, fmt.Errorf("write it as 1.02:03:04.5, 90s, 1h30m or PT1H30M, at most 10675199 days")
		}
		return OfTimespan(n), nil
	case Timestamp, DateTimeOffset, DateTime:
		return parseMoment(k, s)
	default:
		panic(fmt.Sprintf("unknown %v", k))
	}
}

func parseInteger(k Kind, s string) (Value, error) {
	f := forms[k]
	var n uint64
	var err error
	if f.shape == unsigned {
		if n, err = strconv.ParseUint(strings.TrimPrefix(s, "+"), 10, 64); err == nil && n <= f.max {
			return Value{kind: k, bits: n}, nil
		}
		return Value{}, fmt.Errorf("write a whole number from 0 to %d", f.max)
	}
	i, err := strconv.ParseInt(s, 10, 64)
	if err != nil || i > int64(f.max) || i < -int64(f.max)-1 {
		return Value{}, fmt.Errorf("write a whole number from %d to %d", -int64(f.max)-1, f.max)
	}
	return signed(k, i), nil
}

func parseChar(s string) (Value, error) {
	if r, size := utf8.DecodeRuneInString(s); size > 0 && size == len(s) && (r != utf8.RuneError || size > 1) {
		return OfChar(r), nil
	}
	if len(s) > 2 && (s[0] == 'U' || s[0] == 'u') && s[1] == '+' {
		if n, err := strconv.ParseUint(s[2:], 16, 32); err == nil {
			return OfChar(rune(uint32(n))), nil
		}
	}
	return Value{}, fmt.Errorf("write one character, or its number as in U+00E9")
}

func parseFloat(k Kind, s string) (Value, error) {
	size := forms[k].size * 8
	if h, ok := strings.CutPrefix(s, "NaN(0x"); ok {
		n, err := strconv.ParseUint(strings.TrimSuffix(h, ")"), 16, size)
		v := Value{kind: k, bits: n}
		if f, _ := v.Float64(); err != nil || f == f || !strings.HasSuffix(h, ")") {
			return Value{}, fmt.Errorf("write the bits of a NaN between the brackets")
		}
		return v, nil
	}
	f, err := strconv.ParseFloat(s, size)
	switch {
	case err != nil && math.IsInf(f, 0):
		return Value{}, fmt.Errorf("it is too large")
	case err != nil:
		return Value{}, fmt.Errorf("write a number such as -12.5 or 1e9")
	case f != f && k == Float:
		return Value{kind: Float, bits: plainNaN32}, nil
	case f != f:
		return Value{kind: Double, bits: plainNaN64}, nil
	case k == Float:
		return OfFloat(float32(f)), nil
	default:
		return OfDouble(f), nil
	}
}

func parseUUID(s string) (Value, error) {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "{"), "}")
	if len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		s = s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	}
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != 16 {
		return Value{}, fmt.Errorf("write it as 6f1c3a52-0d4e-4b7a-9c11-2f6e5d7a8b90")
	}
	return Value{kind: UUID, str: string(b)}, nil
}

func parseMoment(k Kind, s string) (Value, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return signed(k, n), nil
	}
	t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s))
	zone := err == nil
	if k == DateTime && !zone {
		t, err = time.Parse(withoutZone, strings.ToUpper(s))
	}
	if err != nil {
		return Value{}, fmt.Errorf("write it as 2026-07-14T10:04:12.345Z")
	}
	ticks := (t.Unix()+secondsToUnix)*ticksPerSecond + int64(t.Nanosecond()/100)
	switch k {
	case Timestamp:
		return OfTimestamp(t.UnixMilli()), nil
	case DateTime:
		return OfDateTime(ticks, zone), nil
	default:
		return OfDateTimeOffset(ticks), nil
	}
}
