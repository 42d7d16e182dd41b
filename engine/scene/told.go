package scene

import (
	"fmt"
	"slices"
	"strings"

	"mayfly/engine/broker"
)

// A Turning is what was done to a clock, as an engine.EventClockTurned says it.
type Turning struct {
	Glide bool   // a step has it run to its end; else
	Next  Moment // it leapt there; empty:
	Rate  int    // it runs at that; zero: it stands
}

const glides = "running to the next moment of the scene"

// String is the reason of the event. ParseTurning reads it.
func (t Turning) String() string {
	switch {
	case t.Glide:
		return glides
	case t.Next != "":
		return "next " + string(t.Next)
	case t.Rate > 0:
		return fmt.Sprintf("%d×", t.Rate)
	default:
		return "stands"
	}
}

// ParseTurning reads the reason of an event; false: it says something else.
func ParseTurning(reason string) (Turning, bool) {
	t := Turning{Glide: reason == glides}
	if next, ok := strings.CutPrefix(reason, "next "); ok && slices.Contains(Moments(), Moment(next)) {
		t.Next = Moment(next)
	}
	for _, rate := range broker.Rates() {
		if reason == (Turning{Rate: rate}).String() {
			t.Rate = rate
		}
	}
	return t, t.String() == reason
}

// played is the reason of an engine.EventScenePlayed.
func played(n, of int, say string) string { return fmt.Sprintf("step %d of %d, %s", n, of, say) }

// ParsePlayed reads which step such a reason says was played, from 1; false: none of
// this scene.
func (s *Scene) ParsePlayed(reason string) (n int, ok bool) {
	for n := range s.Steps {
		if strings.HasPrefix(reason, played(n+1, len(s.Steps), "")) {
			return n + 1, true
		}
	}
	return 0, false
}
