package demo

import (
	"fmt"
	"slices"
	"strings"

	"mayfly/engine/broker"
)

// A ClockChange is a change of a clock, as recorded in an engine.EventClockTurned.
type ClockChange struct {
	Running  bool   // a step lets it run to its end; else
	JumpedTo Moment // it jumped there; or, if empty,
	Rate     int    // it runs at that; zero means that it stands
}

const runningReason = "running to the next moment of the scene"

// String returns the reason of the event. ParseClockChange reads it.
func (t ClockChange) String() string {
	switch {
	case t.Running:
		return runningReason
	case t.JumpedTo != "":
		return "next " + string(t.JumpedTo)
	case t.Rate > 0:
		return fmt.Sprintf("%d×", t.Rate)
	default:
		return "stands"
	}
}

// ParseClockChange reads the reason of an event; false means that it is no ClockChange.
func ParseClockChange(reason string) (ClockChange, bool) {
	t := ClockChange{Running: reason == runningReason}
	if next, ok := strings.CutPrefix(reason, "next "); ok && slices.Contains(Moments(), Moment(next)) {
		t.JumpedTo = Moment(next)
	}
	for _, rate := range broker.ClockRates() {
		if reason == (ClockChange{Rate: rate}).String() {
			t.Rate = rate
		}
	}
	return t, t.String() == reason
}

// playedReason returns the reason of an engine.EventScenePlayed.
func playedReason(n, of int, say string) string { return fmt.Sprintf("step %d of %d, %s", n, of, say) }

// ParsePlayed returns the number, from 1, of the step that such a reason names; ok is false if
// it is none of this scene.
func (s *Scene) ParsePlayed(reason string) (n int, ok bool) {
	for n := range s.Steps {
		if strings.HasPrefix(reason, playedReason(n+1, len(s.Steps), "")) {
			return n + 1, true
		}
	}
	return 0, false
}
