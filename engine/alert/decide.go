package alert

import "mayfly/engine"

// A Decision is what a rule does about a message.
type Decision uint8

const (
	NotApplicable Decision = iota // it does not expire, or has expired
	TooEarly                      // there is more time left
	AlreadyFired                  // the rule has fired for its present expiry time
	Fire                          // the rule fires now
	LimitReached                  // it was extended as often as allowed: now the rule only alerts
)

// A FireRecord is what a rule remembers of a message: for which expiry time it fired last, and how
// often it extended the message. The zero FireRecord means that it never fired.
type FireRecord struct {
	Expires    engine.Instant
	Extensions int
}

// Decide returns what an ExpiringSoon rule does about a message at now, regardless of its query. A
// message whose lock outlasts its time expires with the lock (TTL-20).
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
	case r.Action == DeadLetter && locked: // once it is unlocked
		return TooEarly
	case r.Action == Extend && was.Extensions >= r.MaxExtensions:
		return LimitReached
	default:
		return Fire
	}
}
