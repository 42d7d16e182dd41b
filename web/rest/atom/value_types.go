package atom

import (
	"math"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mayfly/engine/value"
)

// A dialect is the set of value types that a client can read. It includes those that the
// client can write, so each client gets back what it sent (FILT-32).
type dialect uint8

const (
	allTypes    dialect = iota // what .NET's own serializer writes, as the service does
	commonTypes                // string, boolean, int, long, double, dateTime and duration; other values are sent as strings
	fewTypes                   // the same without long and duration; a rule with another type makes the client fail to read the whole list
)

// dialectOf returns the dialect of the client that sent r. The service writes every type to every
// client, so some clients fail. Here a rule that was written in one language can be read in the
// others.
func dialectOf(r *http.Request) dialect {
	agent := r.UserAgent() + " " + r.Header.Get("X-Ms-Useragent") // browsers send the second header
	switch {
	case strings.Contains(agent, "azsdk-go-"), strings.Contains(agent, "azsdk-js-"):
		return fewTypes
	case strings.Contains(agent, "azsdk-"):
		return commonTypes
	default:
		return allTypes
	}
}

// An xmlType is the XML type of a value: its namespace and its name.
type xmlType struct{ namespace, name string }

// Names of the types that also represent other types, and of DateTimeOffset and its parts.
const (
	stringType = "string"
	intType    = "int"
	longType   = "long"
	doubleType = "double"
	dateType   = "dateTime"

	offsetType   = "DateTimeOffset"
	dateTimePart = "DateTime"
	minutesPart  = "OffsetMinutes"
)

// xmlTypes are the types in which values of each kind are written, as the service does. Types that
// XML Schema lacks, and durations, which XML Schema defines with years and months, are .NET's.
var xmlTypes = map[value.Kind]xmlType{
	value.Bool: {schema, "boolean"}, value.Byte: {schema, "byte"}, value.UByte: {schema, "unsignedByte"}, value.Short: {schema, "short"},
	value.UShort: {schema, "unsignedShort"}, value.Int: {schema, intType}, value.UInt: {schema, "unsignedInt"}, value.Long: {schema, longType},
	value.ULong: {schema, "unsignedLong"}, value.Float: {schema, "float"}, value.Double: {schema, doubleType}, value.Decimal32: {schema, "decimal"},
	value.Decimal64: {schema, "decimal"}, value.Decimal128: {schema, "decimal"}, value.URI: {schema, "anyURI"}, value.Binary: {schema, "base64Binary"},
	value.Timestamp: {schema, dateType}, value.DateTimeOffset: {system, offsetType}, value.DateTime: {schema, dateType},
	value.Timespan: {serialization, "duration"}, value.UUID: {serialization, "guid"}, value.Char: {serialization, "char"},
}

// typeOf returns the type in which v is written.
func (d dialect) typeOf(v value.Value) xmlType {
	as, ok := xmlTypes[v.Kind()]
	if !ok {
		return xmlType{schema, stringType}
	}
	if d == allTypes {
		return as
	}
	n, fits := v.Int64()
	switch v.Kind() {
	case value.Bool, value.Double, value.Timestamp, value.DateTime:
		return as
	case value.DateTimeOffset:
		return xmlType{schema, dateType}
	case value.Float, value.Decimal32, value.Decimal64, value.Decimal128:
		return xmlType{schema, doubleType}
	case value.Timespan:
		if d == commonTypes {
			return as
		}
		return xmlType{schema, stringType}
	}
	switch small := n == int64(int32(n)); {
	case !fits:
		return xmlType{schema, stringType}
	case d == fewTypes, small && v.Kind() != value.Long: // clients with fewTypes read whole numbers of every size as int
		return xmlType{schema, intType}
	default:
		return xmlType{schema, longType}
	}
}

// write returns v as XML: its type and its text. A value that has no XML type, or is
// outside its range, becomes a string.
func (d dialect) write(v value.Value) (xmlType, string) {
	text, ok := v.Text(), true
	switch v.Kind() {
	case value.Float, value.Double:
		text = fraction(v)
	case value.Decimal32, value.Decimal64, value.Decimal128:
		text, ok = withoutExponent(v.DecimalText())
	case value.Timestamp, value.DateTimeOffset, value.DateTime:
		text, ok = dateTime(v, d == fewTypes)
	case value.Timespan:
		if d == fewTypes {
			break
		}
		ticks, _ := v.Ticks()
		text = duration(ticks)
	case value.Char:
		var r rune
		if r, ok = v.Char(); d == allTypes && ok && r >= 0 && r <= math.MaxUint16 {
			text = number(r)
		} else {
			ok = false
		}
	}
	if !ok {
		return xmlType{schema, stringType}, v.Text()
	}
	return d.typeOf(v), text
}

func fraction(v value.Value) string {
	f, ok := v.Float64()
	if f32, is := v.Float32(); is {
		f, ok = float64(f32), true
	}
	switch {
	case !ok:
		return v.Text()
	case math.IsInf(f, 1):
		return "INF"
	case math.IsInf(f, -1):
		return "-INF"
	case math.IsNaN(f):
		return "NaN"
	}
	bits := 64
	if v.Kind() == value.Float {
		bits = 32
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

// withoutExponent returns a decimal in XML Schema's format, with all its digits. It reports false
// if text is not a number, or has an exponent below -100 or above 100.
func withoutExponent(text string) (plain string, ok bool) {
	mantissa, exponent, has := strings.Cut(text, "E")
	if !has {
		_, ok = new(big.Rat).SetString(text) // Inf, NaN and bit patterns are not numbers
		return text, ok && !strings.HasPrefix(text, "0x")
	}
	const most = 100 // a number with more zeros is not realistic
	e, err := strconv.Atoi(exponent)
	r, ok := new(big.Rat).SetString(text)
	if err != nil || !ok || e < -most || e > most {
		return text, false
	}
	_, after, _ := strings.Cut(mantissa, ".")
	return r.FloatString(max(0, len(after)-e)), true
}

// dateTime formats a time with seven digits of a second, as the service does. If zone is true, a
// time without a zone gets UTC, for clients that need one. It reports false if v is not a time in
// the years 1 to 9999.
func dateTime(v value.Value, zone bool) (text string, ok bool) {
	t, ok := v.Time()
	if !ok || t.Year() < 1 || t.Year() > 9999 {
		return "", false
	}
	if !v.Zone() && !zone {
		return t.Format("2006-01-02T15:04:05.0000000"), true
	}
	return moment(t), true
}

// duration formats ticks of 100 ns as an XML duration without years and months.
func duration(ticks int64) string {
	sign, n := "", uint64(ticks)
	if ticks < 0 {
		sign, n = "-", -n
	}
	var b strings.Builder
	b.WriteString(sign + "P")
	part := func(ticks uint64, unit string) {
		if n >= ticks {
			b.WriteString(strconv.FormatUint(n/ticks, 10) + unit)
		}
		n %= ticks
	}
	const second = 10_000_000
	part(24*60*60*second, "D")
	if n == 0 && ticks != 0 {
		return b.String()
	}
	b.WriteString("T")
	part(60*60*second, "H")
	part(60*second, "M")
	if n > 0 || ticks == 0 {
		b.WriteString(strconv.FormatUint(n/second, 10))
		if f := n % second; f > 0 {
			b.WriteString("." + strings.TrimRight(strconv.FormatUint(second+f, 10)[1:], "0"))
		}
		b.WriteString("S")
	}
	return b.String()
}

// moment formats a time as the service does, with seven digits of a second.
func moment(t time.Time) string {
	if t.IsZero() {
		return "0001-01-01T00:00:00Z"
	}
	return t.UTC().Format("2006-01-02T15:04:05.0000000Z")
}
