package component

import (
	"strconv"
	"strings"
)

// A Tile is one figure of a strip, with how it went lately.
type Tile struct {
	Slot        string // the live slot of its content
	Icon, Label string
	Value, Unit string    // "48.2", "/s"; no unit: empty
	Line        []float64 // how it went, oldest first; fewer than two: no line
	Tone        Tone      // of the line
	Note        []Text    // one short line below; empty: none
	Href        string    // empty: not a link
}

// A StateCount is how many messages are in one state.
type StateCount struct {
	Slot        string // the live slot of the figure
	Icon, Label string
	N           int
	Tone        Tone
	Href        string // empty: not a link
}

// sparkline returns the points of a line over a field of 96 × 28.
func sparkline(line []float64) string {
	low, high := line[0], line[0]
	for _, v := range line {
		low, high = min(low, v), max(high, v)
	}
	var b strings.Builder
	for i, v := range line {
		y := 25.0 // a line that never moved lies at the bottom
		if high > low {
			y = 25 - 22*(v-low)/(high-low)
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.FormatFloat(96*float64(i)/float64(len(line)-1), 'f', 1, 64))
		b.WriteByte(',')
		b.WriteString(strconv.FormatFloat(y, 'f', 1, 64))
	}
	return b.String()
}
