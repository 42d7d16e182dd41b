// Package component holds the parts that pages are made of: clocks, rings and hourglasses,
// tables, fields, buttons. A component takes plain values and decides only how they look;
// constant texts come from the catalogue.
//
// Every component, here and in the other packages of views, carries a go:noinline
// directive: otherwise the compiler inlines it and compiles its closure again at every
// call.
package component

import "time"

// A Tone is the colour of an urgency or of an outcome. It is written as data-tone, which
// colours everything inside the element.
type Tone string

// limits returns the time left at which something becomes Low, and Critical: a fifth and a
// twentieth of its duration, but at most an hour and five minutes. Below a minute it is ten and
// five seconds, because shares of it would be too short to notice. For an unknown duration, zero,
// it is a minute and ten seconds.
func limits(of time.Duration) (low, critical time.Duration) {
	switch {
	case of <= 0:
		return time.Minute, 10 * time.Second
	case of < time.Minute:
		return 10 * time.Second, 5 * time.Second
	default:
		return min(of/5, time.Hour), min(of/20, 5*time.Minute)
	}
}

// Urgency returns the tone of something that expires in d, where `of` is its total duration. It is
// the only rule: a message has the same tone on every page. The script uses the same rule.
func Urgency(d, of time.Duration) Tone {
	switch low, critical := limits(of); {
	case d > low:
		return Plenty
	case d > critical:
		return Low
	default:
		return Critical
	}
}

// The tones. Shapes and words always repeat a tone's meaning.
const (
	Plenty   Tone = "plenty"   // plenty of time
	Low      Tone = "low"      // less than a fifth left
	Critical Tone = "critical" // less than a twentieth left; errors
	Never    Tone = "never"    // never expires
	Dead     Tone = "dead"     // dead letters
	Lost     Tone = "lost"     // expired messages that are lost; a neutral colour
	Lock     Tone = "lock"     // locks
	Yes      Tone = "yes"      // success, true
)
