package listing

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// Compare orders values of one column: by number where both are that, by time, else as
// texts whatever their case. What is of different kinds goes by kind, and nothing
// comes last.
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

// longestNumber is how many digits are compared as a number; what has more, or a larger
// exponent than anybody needs, is compared as a text.
const longestNumber = 64

func compareNumbers(a, b string) (by int, ok bool) {
	if max(len(a), len(b)) > longestNumber {
		return 0, false
	}
	if x, err := strconv.ParseInt(a, 10, 64); err == nil { // nearly all are, and a list compares each with many
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

// Sorts tells whether lists can be sorted by c: not by what is in bodies, which would
// all have to be read.
func (c Column) Sorts() bool { return c.text != "" && !c.NeedsBody() }
