package filter_test

import (
	"fmt"
	"testing"

	"mayfly/engine/filter"
	"mayfly/engine/value"
)

// BenchmarkSQL evaluates one filter for a message with five properties.
func BenchmarkSQL(b *testing.B) {
	m := &filter.Message{
		MessageID: "6f1c3a52", Label: "order.created", To: "billing",
		Properties: value.Properties{
			{Name: "tenant", Value: value.OfString("a")}, {Name: "region", Value: value.OfString("eu")},
			{Name: "color", Value: value.OfString("red")}, {Name: "price", Value: value.OfInt(12)},
			{Name: "weight", Value: value.OfDouble(0.5)},
		},
	}
	for _, text := range []string{
		"color = 'red' AND price > 10",
		"COLOR = 'red' AND PRICE > 10",
		"sys.Label LIKE 'order.%' AND region IN ('us', 'eu')",
		"NOT EXISTS(gone) OR gone <> 'x'",
		"price * 2 + 1 > weight",
		"sys.Label LIKE '%cre_ted%'",
	} {
		b.Run(text, func(b *testing.B) {
			f, err := filter.ParseSQL(text, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if ok, err := f.Matches(m); err != nil || !ok {
					b.Fatalf("matches: %v, %v", ok, err)
				}
			}
		})
	}
}

// BenchmarkIndex runs a Match that finds one filter, among few filters and among many, all on
// the same properties: the time should be about the same.
func BenchmarkIndex(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprint(n, " filters"), func(b *testing.B) {
			var x filter.Index[int]
			for i := range n {
				x.Add(tenant(i), i)
			}
			m := &filter.Message{Label: "x", Properties: value.Properties{
				{Name: "region", Value: value.OfString("eu")}, {Name: "tenant", Value: value.OfInt(int32(n / 2))},
			}}
			found := 0
			b.ReportAllocs()
			for b.Loop() {
				x.Match(m, func(int) { found++ })
			}
			if found == 0 {
				b.Fatal("nothing was found")
			}
		})
	}
}

// BenchmarkIndexChange runs one Add and one Remove with 100,000 filters in the index.
func BenchmarkIndexChange(b *testing.B) {
	var x filter.Index[int]
	for i := range 100_000 {
		x.Add(tenant(i), i)
	}
	c := tenant(50_000)
	b.ReportAllocs()
	for b.Loop() {
		x.Remove(c, 50_000)
		x.Add(c, 50_000)
	}
}

func tenant(i int) *filter.Correlation {
	return &filter.Correlation{Label: "x", Properties: value.Properties{{Name: "tenant", Value: value.OfLong(int64(i))}}}
}
