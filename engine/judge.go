package engine

import "time"

// A Verdict is what time has done to a message.
type Verdict uint8

// The verdicts of Judge.
const (
	Keep                Verdict = iota
	Activate                    // its schedule has come
	Unlock                      // its lock has run out
	Drop                        // expired, no trace
	DeadLetterExpired           // expired, kept
	DeadLetterExhausted         // failed too often
)

// Terms are the parts of a holder's configuration that Judge needs.
type Terms struct {
	TTL             time.Duration // ceiling and default; zero: none (TTL-3 … TTL-7)
	Deliveries      int32         // failed deliveries that are one too many (DC-4)
	KeepExpired     bool          // DeadLetteringOnMessageExpiration
	DeadLetterQueue bool          // nothing expires or wears out here (DLQ-6)
	Forwards        bool          // nothing expires here: it goes on (TTL-18)
}

// ExpiresAt is when m stops being deliverable, zero for never. A message with
// a TTL of its own carries the instant; for others the entity's default in
// force counts (TTL-13, TTL-14, TTL-16).
func (t Terms) ExpiresAt(m Message) Instant {
	switch {
	case t.DeadLetterQueue || t.Forwards || m.State == Scheduled:
		return 0
	case m.ExpiresAt != 0:
		return m.ExpiresAt
	case t.TTL != 0:
		return m.EnqueuedAt.Add(t.TTL)
	default:
		return 0
	}
}

// NextLook is when time alone will next change m, zero for never.
func (t Terms) NextLook(m Message) Instant {
	switch {
	case m.State == Scheduled:
		return m.ScheduledFor
	case m.LockedUntil != 0: // a lock outlives the time to live (TTL-20)
		return m.LockedUntil
	case m.State == Active:
		return t.ExpiresAt(m)
	default: // a deferred message expires only when somebody asks for it (DEF-9)
		return 0
	}
}

// Judge decides what has become of m at now. No other code lets time change a
// message.
func Judge(t Terms, m Message, now Instant) Verdict {
	expired := m.State == Active && t.ExpiresAt(m).Passed(now)
	switch {
	case m.State == Scheduled && m.ScheduledFor.Passed(now): // SCH-3
		return Activate
	case m.LockedUntil.Passed(now):
		return Unlock
	case m.State == Scheduled, m.LockedUntil != 0, t.DeadLetterQueue: // TTL-20, TTL-33, DC-6
		return Keep
	case expired && t.KeepExpired: // before the count is looked at (TTL-26)
		return DeadLetterExpired
	case int64(m.DeliveryCount) >= int64(t.Deliveries):
		return DeadLetterExhausted
	case expired:
		return Drop
	default:
		return Keep
	}
}
