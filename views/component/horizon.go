package component

import (
	"math"
	"strconv"
)

// A Horizon is how many messages run out how soon.
type Horizon struct {
	Buckets []Bucket // soonest first
}

// A Bucket is one stretch of the horizon: what runs out within it and not
// before it.
type Bucket struct {
	Key  string // names it in the page and in addresses: "10s"
	Name string // as shown: "10s", or the word for "later"
	Href string // what runs out in it
	Last bool   // whether it has no end
	Tone Tone   // the Urgency of what is in it; Critical and Low draw their shapes beside the name

	Dead, Lost int     // how many will be dead-lettered, how many are lost
	Slices     []Slice // the same over time; any number, at least one when there is anything
}

// A Slice is a part of a bucket.
type Slice struct{ Dead, Lost int }

// top is the count that fills the height: a power of ten, so that the scale
// rarely moves, and the same above and below the water.
func (h Horizon) top() float64 {
	most := 100
	for _, b := range h.Buckets {
		for _, s := range b.Slices {
			most = max(most, s.Dead, s.Lost)
		}
	}
	return math.Pow(10, math.Ceil(math.Log10(float64(most))))
}

// A bar of the horizon, in per cent.
type bar struct{ x, width, height string }

func bars(slices []Slice, count func(Slice) int, top float64) []bar {
	if len(slices) == 0 {
		return nil
	}
	var out []bar
	step := 92 / float64(len(slices))
	for i, s := range slices {
		n := count(s)
		if n == 0 {
			continue
		}
		// Logarithmic: three messages must be seen beside three thousand.
		height := 6 + 90*math.Log1p(float64(n))/math.Log1p(top)
		out = append(out, bar{pc(4 + float64(i)*step + step*.09), pc(step * .82), pc(height)})
	}
	return out
}

func deadOf(s Slice) int { return s.Dead }
func lostOf(s Slice) int { return s.Lost }

func pc(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) + "%" }
