package component

import (
	"math"
	"strconv"
)

// An ExpiryHorizon counts the messages that will expire, by their remaining time.
type ExpiryHorizon struct {
	Buckets []Bucket // soonest first
}

// A Bucket is one range of the horizon: the messages that expire within it.
type Bucket struct {
	Key  string // identifies it in the page and in addresses: "10s"
	Name string // as shown: "10s", or the word for "later"
	Href string // page of its messages
	Last bool   // it has no upper limit
	Tone Tone   // the Urgency of its messages; Critical and Low also draw their shapes beside the name

	Dead, Lost int     // how many will be dead-lettered, and how many lost
	Slices     []Slice // the same counts by smaller ranges of time; at least one if there are messages
}

// A Slice counts the messages that expire in a part of a bucket's range.
type Slice struct{ Dead, Lost int }

// top returns the count at which a bar has its full height: a power of ten, so that the scale rarely
// changes. It is the same above and below the line.
func (h ExpiryHorizon) top() float64 {
	most := 100
	for _, b := range h.Buckets {
		for _, s := range b.Slices {
			most = max(most, s.Dead, s.Lost)
		}
	}
	return math.Pow(10, math.Ceil(math.Log10(float64(most))))
}

// A bar is the position and the size of a slice's bar, in per cent of the bucket.
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
		// Logarithmic, so that three messages are visible beside three thousand.
		height := 6 + 90*math.Log1p(float64(n))/math.Log1p(top)
		out = append(out, bar{formatPercent(4 + float64(i)*step + step*.09), formatPercent(step * .82), formatPercent(height)})
	}
	return out
}

func deadOf(s Slice) int { return s.Dead }
func lostOf(s Slice) int { return s.Lost }

func formatPercent(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) + "%" }
