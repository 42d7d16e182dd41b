package filter

import (
	"math"
	"strconv"

	"mayfly/engine/value"
)

// convert returns d as a value of kind k, much as C# converts (ACT-2): numbers must fit and are
// rounded, to integers half to even; a text is parsed as k, and everything but bytes can become a
// text. ok is false for impossible conversions and for unknown values.
func convert(d datum, k value.Kind) (v value.Value, ok bool) {
	if d.value.Kind() == k {
		return d.value, true
	}
	if d.class == boolean {
		d = datumOf(value.OfLong(d.n))
		if isText(k) {
			d = datumOf(value.OfString(strconv.FormatBool(d.n != 0)))
		}
	}
	switch {
	case d.class == unknown:
		return v, false
	case isText(k):
		text, ok := d.written()
		return parseValue(text, k, ok)
	case d.class == textual && k != value.Binary && k != value.Raw && k != value.Null:
		return parseValue(d.text(), k, true)
	case d.class == moment:
		return d.moment(k)
	case d.numeric():
		return d.number(k)
	default:
		return v, false
	}
}

func isText(k value.Kind) bool {
	return k == value.String || k == value.Symbol || k == value.URI
}

// parseValue parses text as a value of kind k. If its argument ok is false, it returns false:
// callers pass it the result of datum.written.
func parseValue(text string, k value.Kind, ok bool) (value.Value, bool) {
	if !ok {
		return value.Value{}, false
	}
	v, err := value.Parse(k, text)
	return v, err == nil
}

// written returns d as a text, which is empty if d is unknown. ok is false for bytes.
func (d datum) written() (text string, ok bool) {
	switch d.value.Kind() {
	case value.Binary, value.Raw:
		return "", false
	default:
		return d.value.Text(), true
	}
}

func (d datum) moment(k value.Kind) (value.Value, bool) {
	switch k {
	case value.Timestamp:
		return value.OfTimestamp(d.n), true
	case value.DateTimeOffset, value.DateTime:
		m := addTicks(datum{value: value.OfDateTimeOffset(0), class: moment, n: d.n, ticks: d.ticks}, 0)
		if t, ok := m.value.Ticks(); k == value.DateTime && ok {
			m.value = value.OfDateTime(t, true)
		}
		return m.value, m.class == moment
	default:
		return value.Value{}, false
	}
}

func (d datum) number(k value.Kind) (value.Value, bool) {
	switch k {
	case value.Bool:
		return value.OfBool(d.double() != 0), true
	case value.Float:
		return value.OfFloat(d.single()), true
	case value.Double:
		return value.OfDouble(d.double()), true
	case value.Decimal32, value.Decimal64, value.Decimal128:
		text := d.value.Text()
		if d.class == floating && d.value.Kind() != value.Float && d.value.Kind() != value.Double {
			text = d.value.DecimalText()
		}
		if v, ok := parseValue(text, k, true); ok {
			return v, true
		}
		digits := map[value.Kind]int{value.Decimal32: 7, value.Decimal64: 16, value.Decimal128: 17}[k]
		return parseValue(strconv.FormatFloat(d.double(), 'E', digits-1, 64), k, true)
	case value.UByte, value.Byte, value.UShort, value.Short, value.UInt, value.Int, value.ULong, value.Long:
		if d.class == floating {
			return parseValue(strconv.FormatFloat(math.RoundToEven(d.double()), 'f', -1, 64), k, true)
		}
		return parseValue(d.value.Text(), k, true)
	default:
		return value.Value{}, false
	}
}
