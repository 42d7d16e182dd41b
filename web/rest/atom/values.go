package atom

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"mayfly/engine/value"
	"mayfly/web/rest/fault"
)

// schemaKinds are the types of XML Schema, and of .NET where there are none, that
// a value can have. What is missing here is taken for a text.
var schemaKinds = map[string]value.Kind{
	"string": value.String, "boolean": value.Bool, "int": value.Int, "integer": value.Long, "long": value.Long, "short": value.Short, "byte": value.Byte,
	"unsignedInt": value.UInt, "unsignedLong": value.ULong, "unsignedShort": value.UShort, "unsignedByte": value.UByte,
	"float": value.Float, "double": value.Double, "decimal": value.Decimal128, "guid": value.UUID, "anyURI": value.URI, "char": value.Char,
}

var (
	errType = errors.New("its type is none of XML Schema's")
	errTime = errors.New("its value is no dateTime, as in 2026-01-02T03:04:05Z")
)

// readValue reads a value by its type. One without a type is a text.
func readValue(n *node) (value.Value, error) {
	space, name := n.typed()
	if space != "" && space != schema && space != serialization {
		return value.Value{}, errType
	}
	text := strings.TrimSpace(n.text)
	switch kind, ok := schemaKinds[name]; {
	case name == "" || kind == value.String && ok:
		return value.OfString(n.text), nil
	case name == "dateTime":
		return readTime(text)
	case !ok:
		return value.Value{}, errors.New("there are no values of the type '" + fault.Cut(name) + "' here") //nolint:err113 // for people
	case kind == value.Char: // .NET writes the number of it
		if n, err := strconv.ParseUint(text, 10, 16); err == nil {
			return value.OfChar(rune(n)), nil
		}
		return value.Parse(kind, text)
	case kind == value.Int: // clients write whole numbers of every size by this type
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n != int64(int32(n)) {
			return value.OfLong(n), nil
		}
		return value.Parse(kind, text)
	case kind == value.Bool:
		return value.Parse(kind, strings.ToLower(text))
	default:
		return value.Parse(kind, text)
	}
}

// readTime reads a time; without a zone it is in UTC.
func readTime(text string) (value.Value, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return value.OfTimestamp(t.UnixMilli()), nil
		}
	}
	return value.Value{}, errTime
}

// writeValue is a value by the types that every client knows: whole numbers are
// int whatever their size, fractions double, and what has no type there is a text.
func writeValue(v value.Value) (kind, text string) {
	switch k := v.Kind(); k {
	case value.Bool:
		return "boolean", v.Text()
	case value.Byte, value.UByte, value.Short, value.UShort, value.Int, value.UInt, value.Long, value.ULong:
		return "int", v.Text()
	case value.Float, value.Double, value.Decimal32, value.Decimal64, value.Decimal128:
		return "double", fraction(v)
	case value.Timestamp:
		ms, _ := v.Millis()
		return "dateTime", moment(time.UnixMilli(ms).UTC())
	default:
		return "string", v.Text()
	}
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

// moment is a time as the service writes it: seven digits of a second.
func moment(t time.Time) string {
	if t.IsZero() {
		return "0001-01-01T00:00:00Z"
	}
	return t.UTC().Format("2006-01-02T15:04:05.0000000Z")
}
