// Package component holds the pieces pages are made of: clocks, rings and
// hourglasses, tables, fields, buttons. A piece takes plain values and decides
// nothing but how they look; the words that are always the same it finds in
// the catalogue.
package component

// A Tone is the colour of time left, or of a fate. It is written as data-tone,
// which colours everything inside.
type Tone string

// The tones there are. Shape and words always repeat what a tone says.
const (
	Plenty   Tone = "plenty"   // time in hand
	Low      Tone = "low"      // under a fifth
	Critical Tone = "critical" // under a twentieth; errors
	Never    Tone = "never"    // has no end; stands still
	Dead     Tone = "dead"     // dead letters
	Lost     Tone = "lost"     // gone without a trace; neutral
	Lock     Tone = "lock"     // locks
	Yes      Tone = "yes"      // what is true
)
