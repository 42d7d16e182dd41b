package demo

import (
	"fmt"
	"slices"
	"strings"

	"mayfly/engine/broker"
)

// A ClockChange is a change of a clock, as recorded in an engine.EventClockTurned.
type ClockChange struct {
	Running  bool   // an animated step lets the clock run
	JumpedTo Moment // if set, the clock jumped to this moment
	Rate     int    // otherwise the clock runs at this rate; zero means that it is stopped
}

const runningReason = "running to the next moment of the scene"

// String returns the change as the event's reason, which ParseClockChange parses.
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

// ParseClockChange parses the reason of an event, and reports whether it is a ClockChange.
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

// ParsePlayed parses the reason of an engine.EventScenePlayed and returns the step's number, counted
// from 1. ok is false if the reason names no step of this scene.
func (s *Scene) ParsePlayed(reason string) (n int, ok bool) {
	for n := range s.Steps {
		if strings.HasPrefix(reason, playedReason(n+1, len(s.Steps), "")) {
			return n + 1, true
		}
	}
	return 0, false
}
