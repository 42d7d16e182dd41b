package alert

import "mayfly/engine"

// A Decision says what a rule does about a message.
type Decision uint8

const (
	NotApplicable Decision = iota // the message does not expire, or has expired
	TooEarly                      // the message has more time left than Within, or is locked and cannot be dead-lettered yet
	AlreadyFired                  // the rule has fired for the message's present expiry time
	Fire                          // the rule fires now
	LimitReached                  // the message was extended as often as allowed: now the rule only alerts
)

// A FireRecord records for which expiry time of a message a rule fired last, and how often it
// extended the message. The zero FireRecord means that the rule never fired.
type FireRecord struct {
	Expires    engine.Instant
	Extensions int
}

// Decide returns what an ExpiringSoon rule does about a message at the instant `now`, regardless of
// the rule's query. `was` is the rule's record of the message. A message whose lock ends after its
// expiry time expires with the lock (TTL-20).
func (r Rule) Decide(m engine.Row, was FireRecord, now engine.Instant) Decision {
	locked := m.Message.Locked()
	switch {
	case m.Expires == 0 || m.Message.State != engine.Active:
		return NotApplicable
	case m.Expires.Passed(now) && !locked: // the next sweep removes it
		return NotApplicable
	case was.Expires == m.Expires:
		return AlreadyFired
	case !m.Expires.Add(-r.Within).Passed(now):
		return TooEarly
	case r.Action == DeadLetter && locked: // the rule fires once the message is unlocked
		return TooEarly
	case r.Action == Extend && was.Extensions >= r.MaxExtensions:
		return LimitReached
	default:
		return Fire
	}
}
