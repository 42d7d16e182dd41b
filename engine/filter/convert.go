package filter

import (
	"math"
	"strconv"

	"mayfly/engine/value"
)

// convert is d as a value of kind k, about as C# converts (ACT-2): numbers are
// rounded, integers to even, and must fit; a text is read as whatever k is, and
// everything but bytes can become one. Not ok is what cannot be done, as with
// what is unknown.
func convert(d datum, k value.Kind) (v value.Value, ok bool) {
	if d.value.Kind() == k {
		return d.value, true
	}
	if d.class == boolean {
		d = of(value.OfLong(d.n))
		if isText(k) {
			d = of(value.OfString(strconv.FormatBool(d.n != 0)))
		}
	}
	switch {
	case d.class == unknown:
		return v, false
	case isText(k):
		text, ok := d.written()
		return read(text, k, ok)
	case d.class == textual && k != value.Binary && k != value.Raw && k != value.Null:
		return read(d.text(), k, true)
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

// read is what the text of a value of kind k says, if ok.
func read(text string, k value.Kind, ok bool) (value.Value, bool) {
	if !ok {
		return value.Value{}, false
	}
	v, err := value.Parse(k, text)
	return v, err == nil
}

// written is d as a text, empty when unknown. Bytes have none.
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
	case value.DateTimeOffset:
		m := shift(datum{value: value.OfDateTimeOffset(0), class: moment, n: d.n, ticks: d.ticks}, 0)
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
		if v, ok := read(d.value.Text(), k, true); ok {
			return v, true
		}
		digits := map[value.Kind]int{value.Decimal32: 7, value.Decimal64: 16, value.Decimal128: 17}[k]
		return read(strconv.FormatFloat(d.double(), 'E', digits-1, 64), k, true)
	case value.UByte, value.Byte, value.UShort, value.Short, value.UInt, value.Int, value.ULong, value.Long:
		if d.class == floating {
			return read(strconv.FormatFloat(math.RoundToEven(d.double()), 'f', -1, 64), k, true)
		}
		return read(d.value.Text(), k, true)
	default:
		return value.Value{}, false
	}
}
