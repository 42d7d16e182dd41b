package filter_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine/filter"
	"mayfly/engine/value"
)

func matches(x *filter.Index[int], m *filter.Message) map[int]int {
	found := map[int]int{}
	x.Match(m, func(t int) { found[t]++ })
	return found
}

// FILT-18: the cost of Match depends on the number of key sets, not of filters.
func TestIndexOfMany(t *testing.T) {
	var x filter.Index[int]
	for i := range 100_000 {
		x.Add(tenant(i), i)
	}
	if x.Len() != 100_000 || x.Groups() != 1 {
		t.Errorf("FILT-18 %d filters in %d groups", x.Len(), x.Groups())
	}
	m := &filter.Message{Label: "x", Properties: props("Tenant", value.OfULong(77))}
	if d := cmp.Diff(map[int]int{77: 1}, matches(&x, m)); d != "" {
		t.Error(d)
	}
	found := 0
	count := func(int) { found++ }
	if n := testing.AllocsPerRun(100, func() { x.Match(m, count) }); n != 0 {
		t.Errorf("FILT-18 a match allocates %v times", n)
	}
	for i := range 100_000 {
		x.Remove(tenant(i), i)
	}
	if x.Len() != 0 || x.Groups() != 0 {
		t.Errorf("%d filters in %d groups are left", x.Len(), x.Groups())
	}
}

// FILT-18: filters with the same hash are distinguished.
func TestIndexCollisions(t *testing.T) {
	const n = 20
	var x filter.Index[int]
	for i := range n {
		x.Add(tenant(i), i%2)
	}
	x.Collide()
	message := func(i int) *filter.Message {
		return &filter.Message{Label: "x", Properties: value.Properties{{Name: "tenant", Value: value.OfLong(int64(i))}}}
	}
	for i := range n {
		if d := cmp.Diff(map[int]int{i % 2: 1}, matches(&x, message(i))); d != "" {
			t.Error(d)
		}
		x.Remove(tenant(i), i%2)
		if d := cmp.Diff(map[int]int{}, matches(&x, message(i))); d != "" {
			t.Errorf("after removal: %s", d)
		}
	}
}

// TestIndexAgainstMatches checks that an index finds the same random filters for a random message
// as Matches, called for one filter after another.
func TestIndexAgainstMatches(t *testing.T) {
	d := drawer{rand.New(rand.NewPCG(18, 1))}
	names := []string{"a", "A", "b", "c"}
	text := func() string { return pick(d, "", "", "x", "y") }
	own := func() value.Value {
		return pick(d, value.OfInt(1), value.OfLong(1), value.OfString("1"), value.OfULong(2), value.OfByte(2), value.OfBool(true), value.Value{})
	}
	draw := func() *filter.Correlation {
		c := &filter.Correlation{ContentType: text(), To: text()}
		for _, n := range names {
			if d.IntN(4) == 0 {
				c.Properties = append(c.Properties, value.Property{Name: n, Value: own()})
			}
		}
		d.Shuffle(len(c.Properties), func(i, j int) { c.Properties[i], c.Properties[j] = c.Properties[j], c.Properties[i] })
		return c
	}
	type filed struct {
		c *filter.Correlation
		t int
	}
	var x filter.Index[int]
	var in []filed
	most := 0
	for step := range 6_000 {
		switch n := d.IntN(10); {
		case n < 5 && len(in) < 300:
			f := filed{draw(), d.IntN(20)}
			x.Add(f.c, f.t)
			in = append(in, f)
		case n < 8 && len(in) > 0:
			i := d.IntN(len(in))
			c := *in[i].c
			c.Properties = append(value.Properties(nil), c.Properties...) // an equal filter is enough
			x.Remove(&c, in[i].t)
			in = append(in[:i], in[i+1:]...)
		case n == 8:
			c, before := draw(), x.Len()
			x.Remove(c, 99) // not in the index
			if x.Len() != before {
				t.Fatalf("step %d: something else was removed", step)
			}
		}
		if x.Len() != len(in) {
			t.Fatalf("step %d: %d filters, want %d", step, x.Len(), len(in))
		}
		m := &filter.Message{ContentType: text(), To: text()}
		for range d.IntN(6) {
			m.Properties = append(m.Properties, value.Property{Name: pick(d, "a", "A", "b", "B", "c"), Value: own()})
		}
		want := map[int]int{}
		for _, f := range in {
			if f.c.Matches(m) {
				want[f.t]++
			}
		}
		if got := matches(&x, m); !maps.Equal(got, want) {
			t.Fatalf("step %d: %+v finds %v, want %v", step, m, got, want)
		}
		most = max(most, len(want))
	}
	if most < 5 {
		t.Errorf("at most %d different filters were found", most)
	}
	for _, f := range in {
		x.Remove(f.c, f.t)
	}
	if x.Groups() != 0 {
		t.Errorf("%d groups are left in an empty index", x.Groups())
	}
}

func ExampleIndex() {
	var x filter.Index[string]
	for name, text := range map[string]string{"red": `{"Properties":{"color":"red"}}`, "blue": `{"Properties":{"color":"blue"}}`} {
		c, err := filter.ParseCorrelation(text)
		if err != nil {
			panic(err)
		}
		x.Add(c, name)
	}
	m := &filter.Message{Properties: value.Properties{{Name: "Color", Value: value.OfString("red")}}}
	x.Match(m, func(name string) { fmt.Println(name) })
	// Output: red
}
