package component

import (
	"strconv"
	"strings"
)

// A Tile shows one figure of a strip, with its recent values.
type Tile struct {
	Slot        string // the live slot of its content
	Icon, Label string
	Value, Unit string    // "48.2", "/s"; Unit is empty if there is none
	Line        []float64 // recent values, oldest first; with fewer than two no line is drawn
	Tone        Tone      // of the line
	Note        []Text    // one short line below; empty means none
	Href        string    // empty if not a link
}

// A StateCount is the number of messages in one state.
type StateCount struct {
	Slot        string // the live slot of the figure
	Icon, Label string
	N           int
	Tone        Tone
	Href        string // empty if not a link
}

// sparkline returns the points of a line in an area of 96 × 28.
func sparkline(line []float64) string {
	low, high := line[0], line[0]
	for _, v := range line {
		low, high = min(low, v), max(high, v)
	}
	var b strings.Builder
	for i, v := range line {
		y := 25.0 // a constant line is at the bottom
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
