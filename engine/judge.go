package engine

import "time"

// A Verdict is the change of a message that is due without a request.
type Verdict uint8

// The verdicts of Judge.
const (
	Keep                Verdict = iota
	Activate                    // its scheduled time has come
	Unlock                      // its lock has expired
	Drop                        // expired, and is lost
	DeadLetterExpired           // expired, and is dead-lettered
	DeadLetterExhausted         // failed too many deliveries
)

// Terms are the parts of a subqueue's configuration that Judge needs.
type Terms struct {
	TTL             time.Duration // ceiling and default; zero if none (TTL-3 … TTL-7)
	MaxDeliveries   int32         // the number of failed deliveries that dead-letters a message (DC-4)
	KeepExpired     bool          // DeadLetteringOnMessageExpiration
	DeadLetterQueue bool          // messages here neither expire nor exceed MaxDeliveries (DLQ-6)
	Forwards        bool          // messages here are forwarded and do not expire (TTL-18)
}

// ExpiresAt returns when m expires, or zero if never. For a message with its own time to live, this
// is m.ExpiresAt; for others, it follows from the entity's present default (TTL-13, TTL-14, TTL-16).
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

// NextChange returns when m will next change without a request, or zero if never.
func (t Terms) NextChange(m Message) Instant {
	switch {
	case m.State == Scheduled:
		return m.ScheduledFor
	case m.LockedUntil != 0: // a lock outlives the time to live (TTL-20)
		return m.LockedUntil
	case m.State == Active:
		return t.ExpiresAt(m)
	default: // a deferred message expires only when it is requested (DEF-9)
		return 0
	}
}

// Judge returns the change of m that is due at now. No other code decides how a message changes
// without a request.
func Judge(t Terms, m Message, now Instant) Verdict {
	expired := m.State == Active && t.ExpiresAt(m).Passed(now)
	switch {
	case m.State == Scheduled && m.ScheduledFor.Passed(now): // SCH-3
		return Activate
	case m.LockedUntil.Passed(now):
		return Unlock
	case m.State == Scheduled, m.LockedUntil != 0, t.DeadLetterQueue: // TTL-20, TTL-33, DC-6
		return Keep
	case expired && t.KeepExpired: // takes precedence over the delivery count (TTL-26)
		return DeadLetterExpired
	case int64(m.DeliveryCount) >= int64(t.MaxDeliveries):
		return DeadLetterExhausted
	case expired:
		return Drop
	default:
		return Keep
	}
}
