package atom

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"mayfly/engine/shorten"
	"mayfly/engine/value"
)

// schemaKinds are the value types of XML Schema, and those of .NET that XML Schema lacks.
// Each is written as it was read (FILT-32).
var schemaKinds = map[string]value.Kind{
	"string": value.String, "boolean": value.Bool, "int": value.Int, "integer": value.Long, "long": value.Long, "short": value.Short, "byte": value.Byte,
	"unsignedInt": value.UInt, "unsignedLong": value.ULong, "unsignedShort": value.UShort, "unsignedByte": value.UByte,
	"float": value.Float, "double": value.Double, "decimal": value.Decimal128, "guid": value.UUID, "anyURI": value.URI, "char": value.Char,
	"base64Binary": value.Binary, "duration": value.Timespan,
}

var (
	errType   = errors.New("its type is not an XML Schema type")
	errTime   = errors.New("its value is not a dateTime, as in 2026-01-02T03:04:05Z")
	errBytes  = errors.New("its value is not base64")
	errMoment = errors.New("it is not between the years 1 and 9999")
	errZone   = errors.New("its OffsetMinutes is not a whole number from -840 to 840")
)

// readValue parses a value by its type. A value without a type is a string.
func readValue(n *node) (value.Value, error) {
	space, name := n.typed()
	if name == offsetType && (space == system || space == "") {
		return readDateTimeOffset(n)
	}
	if space != "" && space != schema && space != serialization {
		return value.Value{}, errType
	}
	text := strings.TrimSpace(n.text)
	switch kind, ok := schemaKinds[name]; {
	case name == "" || kind == value.String && ok:
		return value.OfString(n.text), nil
	case name == dateType:
		return readTime(text)
	case !ok:
		return value.Value{}, errors.New("values of the type '" + shorten.Quote(name) + "' are not supported")
	case kind == value.Char: // .NET writes the character's number
		if n, err := strconv.ParseUint(text, 10, 16); err == nil {
			return value.OfChar(rune(n)), nil
		}
		return value.Parse(kind, text)
	case kind == value.Int: // Go's client writes whole numbers of every size with this type
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n != int64(int32(n)) {
			return value.OfLong(n), nil
		}
		return value.Parse(kind, text)
	case kind == value.Bool && (text == "1" || text == "0"):
		return value.OfBool(text == "1"), nil
	case kind == value.Binary:
		b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			return value.Value{}, errBytes
		}
		return value.OfBinary(b), nil
	default:
		return value.Parse(kind, text)
	}
}

// readDateTimeOffset parses .NET's DateTimeOffset, a time in UTC and the offset for display. It
// keeps only the time, as a message's datetime-offset does (FILT-32). A DateTime without a time
// zone is local to the offset, as in .NET.
func readDateTimeOffset(n *node) (value.Value, error) {
	var text, minutes string
	for _, c := range n.children {
		switch c.name {
		case dateTimePart:
			text = strings.TrimSpace(c.text)
		case minutesPart:
			minutes = strings.TrimSpace(c.text)
		}
	}
	const most = 14 * 60 // as in .NET
	offset, err := strconv.Atoi(minutes)
	if minutes == "" {
		offset, err = 0, nil
	}
	if err != nil || offset < -most || offset > most {
		return value.Value{}, errZone
	}
	v, err := readTime(text)
	if err != nil {
		return value.Value{}, err
	}
	t, _ := v.Time()
	ticks := ticksOf(t)
	if !v.Zone() {
		ticks -= int64(offset) * 60_000 * perMilli
	}
	if ticks < 0 || ticks > lastTick {
		return value.Value{}, errMoment
	}
	return value.OfDateTimeOffset(ticks), nil
}

// ticksOf returns a time in ticks of 100 ns since 0001-01-01.
func ticksOf(t time.Time) int64 {
	return t.Unix()*1000*perMilli + int64(t.Nanosecond()/100) + ticksOf1970
}

const (
	ticksOf1970 = 621_355_968_000_000_000   // 1970-01-01, in ticks of 100 ns since 0001-01-01
	lastTick    = 3_155_378_975_999_999_999 // the last tick of the year 9999
	perMilli    = 10_000
)

// readTime parses a time with a precision of 100 ns. It returns a timestamp if that can hold the
// time, so that the value equals a message's timestamp. Otherwise it returns a DateTime, which has
// ticks and may lack a time zone.
func readTime(text string) (value.Value, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", time.DateOnly} {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		ticks := ticksOf(t)
		if zone := layout == time.RFC3339Nano; !zone || ticks%perMilli != 0 {
			return value.OfDateTime(ticks, zone), nil
		}
		return value.OfTimestamp(t.UnixMilli()), nil
	}
	return value.Value{}, errTime
}
