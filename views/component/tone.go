// Package component holds the pieces pages are made of: clocks, rings and
// hourglasses, tables, fields, buttons. A piece takes plain values and decides
// nothing but how they look; the words that are always the same it finds in
// the catalogue.
package component

import "time"

// A Tone is the colour of time left, or of a fate. It is written as data-tone,
// which colours everything inside.
type Tone string

// limits are from how much left on something is Low, and Critical: a fifth and a
// twentieth of how long it lasts, but not hours before something that lasts for days
// ends, and shares of less than a minute are too short to be seen. Of what lasts nobody
// knows how long, zero, it is a minute and ten seconds.
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

// Urgency is the tone of what runs out in d and lasts of in all, and there is no other
// rule: the same message has the same tone on every page. The script has it from there.
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
