package columns

import (
	"slices"
	"testing"

	"mayfly/engine"
)

func TestValuesAreSorted(t *testing.T) {
	number := func(text string) Value { return Value{Kind: Number, Text: text} }
	want := []Value{
		{Kind: Text, Text: "a"}, {Kind: Text, Text: "B"}, {Kind: Text, Text: "b"}, {Kind: Text, Text: "c"},
		number("-1e400"), number("-2"), number("9"), number("10"), number("9007199254740992"), number("9007199254740993"), number("1e400"),
		{Kind: Moment, At: engine.Instant(9)}, {Kind: Moment, At: engine.Instant(10)},
		{Kind: Bytes, Text: "9"}, {Kind: Bytes, Text: "10"},
		{},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, Value.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	for _, a := range want {
		for _, b := range want {
			if a.Compare(b) != -b.Compare(a) {
				t.Errorf("%v and %v have no consistent order", a, b)
			}
		}
	}
	for text, sorts := range map[string]bool{"subject": true, "prop.a": true, "json.a": false, "json[0]": false} {
		if c, err := Parse(text); err != nil || c.Sortable() != sorts {
			t.Errorf("%s: %v, %v", text, c.Sortable(), err)
		}
	}
}
