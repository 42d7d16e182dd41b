// Package component holds the pieces pages are made of: clocks, rings and
// hourglasses, tables, fields, buttons. A piece takes plain values and decides
// nothing but how they look; the words that are always the same it finds in
// the catalogue.
package component

import "time"

// A Tone is the colour of time left, or of a fate. It is written as data-tone,
// which colours everything inside.
type Tone string

// When something runs out, its tone is by how long that is away, and by nothing else:
// the same message has the same colour on every page. Pages have these for the script.
const (
	LowAt      = time.Minute
	CriticalAt = 10 * time.Second
)

// Urgency is the tone of what runs out in d.
func Urgency(d time.Duration) Tone {
	switch {
	case d > LowAt:
		return Plenty
	case d > CriticalAt:
		return Low
	default:
		return Critical
	}
}

// The tones there are. Shape and words always repeat what a tone says.
const (
	Plenty   Tone = "plenty"   // time in hand
	Low      Tone = "low"      // LowAt or less is left
	Critical Tone = "critical" // CriticalAt or less is left; errors
	Never    Tone = "never"    // has no end; stands still
	Dead     Tone = "dead"     // dead letters
	Lost     Tone = "lost"     // gone without a trace; neutral
	Lock     Tone = "lock"     // locks
	Yes      Tone = "yes"      // what is true
)
