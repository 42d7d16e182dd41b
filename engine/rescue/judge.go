package rescue

import "mayfly/engine"

// A Verdict is what a rule does about a message.
type Verdict uint8

// The verdicts of Judge.
const (
	Not   Verdict = iota // it does not run out, or it has
	Later                // there is more time left
	Told                 // it was done, for the time at which it runs out now
	Fire                 // now
	Spent                // it was extended as often as it may be: now it is only told
)

// A Mark is what is remembered of a message by a rule: for which end of its time the
// rule fired last, and how often it was extended. The zero Mark is of one that it
// never fired for.
type Mark struct {
	Expires engine.Instant
	Times   int
}

// Judge is what a rule of RunningOut does about a message at now; what the query says is
// left aside. A message whose lock outlasts its time runs out with the lock (TTL-20).
func (r Rule) Judge(m engine.Row, was Mark, now engine.Instant) Verdict {
	locked := m.Message.Locked()
	switch {
	case m.Expires == 0 || m.Message.State != engine.Active:
		return Not
	case m.Expires.Passed(now) && !locked: // the next sweep has it
		return Not
	case was.Expires == m.Expires:
		return Told
	case !m.Expires.Add(-r.Within).Passed(now):
		return Later
	case r.Then == DeadLetter && locked: // once it is given back
		return Later
	case r.Then == Extend && was.Times >= r.Times:
		return Spent
	default:
		return Fire
	}
}
