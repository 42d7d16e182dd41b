package columns

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// Compare orders values of one column: numbers by value, moments by time, others as texts
// regardless of case. Values of different kinds are ordered by kind, and absent ones come
// last.
func (v Value) Compare(o Value) int {
	switch {
	case v.Kind == Nothing || o.Kind == Nothing:
		return cmp.Compare(rank(v), rank(o))
	case v.Kind != o.Kind:
		return cmp.Compare(v.Kind, o.Kind)
	case v.Kind == Moment:
		return cmp.Compare(v.At, o.At)
	case v.Kind == Number || v.Kind == Bytes:
		if by, ok := compareNumbers(v.Text, o.Text); ok {
			return by
		}
	}
	return cmp.Or(strings.Compare(strings.ToLower(v.Text), strings.ToLower(o.Text)), strings.Compare(v.Text, o.Text))
}

func rank(v Value) int {
	if v.Kind == Nothing {
		return 1
	}
	return 0
}

// maxDigits is how many digits are compared as a number; a longer number, or one with a
// huge exponent, is compared as a text.
const maxDigits = 64

func compareNumbers(a, b string) (by int, ok bool) {
	if max(len(a), len(b)) > maxDigits {
		return 0, false
	}
	if x, err := strconv.ParseInt(a, 10, 64); err == nil { // the common case, which must be fast for sorting
		if y, err := strconv.ParseInt(b, 10, 64); err == nil {
			return cmp.Compare(x, y), true
		}
	}
	x, _, err := big.ParseFloat(a, 10, 256, big.ToNearestEven)
	if err != nil {
		return 0, false
	}
	y, _, err := big.ParseFloat(b, 10, 256, big.ToNearestEven)
	if err != nil {
		return 0, false
	}
	return x.Cmp(y), true
}

// Sortable reports whether lists can be sorted by c. They cannot be sorted by values in bodies,
// since all bodies would have to be read.
func (c Column) Sortable() bool { return c.text != "" && !c.NeedsBody() }
