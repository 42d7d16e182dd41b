package filter

import (
	"math"
	"strings"
	"time"

	"mayfly/engine/value"
)

// A system is a system property that SQL can name (FILT-21): one of those that the documentation
// lists for a message.
type system uint8

const (
	sysMessageID system = iota
	sysCorrelationID
	sysSessionID
	sysReplyTo
	sysReplyToSessionID
	sysLabel
	sysTo
	sysContentType
	sysPartitionKey
	sysViaPartitionKey
	sysTimeToLive // actions may set this one and those above, which are texts
	sysScheduled  // setting it has no effect (SCH-15)
	sysPersistence
	sysSequenceNumber // the broker sets this one and those below; no action may
	sysEnqueuedSequenceNumber
	sysEnqueuedTime
	sysExpiresAt
	sysSize
	sysDeadLetterSource
	sysDeliveryCount
	sysState
	sysLockedUntil // a message has no lock while rules evaluate it
	sysLockToken
)

// systemNames holds the names in the order of the constants.
var systemNames = [...]string{
	"MessageId", "CorrelationId", "SessionId", "ReplyTo", "ReplyToSessionId", "Label", "To", "ContentType", "PartitionKey", "ViaPartitionKey",
	"TimeToLive", "ScheduledEnqueueTimeUtc", "ForcePersistence",
	"SequenceNumber", "EnqueuedSequenceNumber", "EnqueuedTimeUtc", "ExpiresAtUtc", "Size", "DeadLetterSource", "DeliveryCount", "State", "LockedUntilUtc", "LockToken",
}

// systemNamed returns the property called name, ignoring case (FILT-20).
func systemNamed(name string) (system, bool) {
	for s, n := range systemNames {
		if strings.EqualFold(n, name) {
			return system(s), true
		}
	}
	switch {
	case strings.EqualFold(name, "Subject"):
		return sysLabel, true
	case strings.EqualFold(name, "ScheduledEnqueueTime"):
		return sysScheduled, true
	}
	return 0, false
}

// systems returns the names that are allowed at the parser's position, for an error message. The
// target of an action must not be read-only.
func (p *parser) systems() string {
	names := systemNames[:]
	if p.inTarget {
		names = systemNames[:sysSequenceNumber]
	}
	return strings.Join(names, ", ")
}

func (s system) String() string { return systemNames[s] }

// readOnly reports whether no action may set the property.
func (s system) readOnly() bool { return s >= sysSequenceNumber }

// late reports whether the property is known only once the message is stored.
func (s system) late() bool { return s >= sysSequenceNumber && s <= sysDeadLetterSource }

// text returns a pointer to the field of m with a text property, nil for other properties.
func (m *Message) text(s system) *string {
	switch s {
	case sysMessageID:
		return &m.MessageID
	case sysCorrelationID:
		return &m.CorrelationID
	case sysSessionID:
		return &m.SessionID
	case sysReplyTo:
		return &m.ReplyTo
	case sysReplyToSessionID:
		return &m.ReplyToSessionID
	case sysLabel:
		return &m.Label
	case sysTo:
		return &m.To
	case sysContentType:
		return &m.ContentType
	case sysPartitionKey:
		return &m.PartitionKey
	case sysViaPartitionKey:
		return &m.ViaPartitionKey
	case sysDeadLetterSource:
		return &m.DeadLetterSource
	default:
		return nil
	}
}

// system returns the value of a property. If m does not have it, the value is null and ok is false.
func (m *Message) system(s system) (v value.Value, ok bool) {
	number := int64(0)
	switch s {
	case sysSequenceNumber:
		number = m.SequenceNumber
	case sysEnqueuedSequenceNumber:
		number = m.EnqueuedSequenceNumber
	case sysSize:
		number = m.Size
	case sysEnqueuedTime:
		return timestampOf(m.EnqueuedTime)
	case sysExpiresAt:
		return timestampOf(m.ExpiresAt)
	case sysScheduled:
		return timestampOf(m.ScheduledFor)
	case sysTimeToLive:
		return value.OfTimespan(m.timeToLive()), true
	case sysPersistence:
		return value.OfBool(false), true // the broker has no express entities, whose messages would not be persistent
	case sysDeliveryCount:
		return value.OfInt(m.DeliveryCount), true
	case sysState:
		return value.OfInt(m.State), true
	default:
		if p := m.text(s); p != nil && (*p != "" || s == sysSessionID && m.EmptySessionID) {
			return value.OfString(*p), true
		}
	}
	if number != 0 {
		return value.OfLong(number), true
	}
	return value.Value{}, false
}

// timestampOf returns a timestamp for milliseconds since 1970; ok is false for zero, which means none.
func timestampOf(ms int64) (value.Value, bool) {
	if ms == 0 {
		return value.Value{}, false
	}
	return value.OfTimestamp(ms), true
}

// timeToLive returns the time to live in ticks of 100 ns; for a message without one, .NET's largest
// TimeSpan.
func (m *Message) timeToLive() int64 {
	switch {
	case m.TimeToLive == 0:
		return math.MaxInt64
	case m.TimeToLive < 0:
		return 0
	default:
		return int64(m.TimeToLive / 100)
	}
}

// setTimeToLive executes SET sys.TimeToLive. The result `why` says what the value would have to be,
// or is empty if the value is valid.
func (m *Message) setTimeToLive(to datum) (why string) {
	if to.class == unknown {
		m.TimeToLive = 0
		return ""
	}
	v, ok := convert(to, value.Timespan)
	ticks, _ := v.Ticks()
	switch {
	case !ok:
		return "needs a duration such as '0:02:00'"
	case ticks <= 0:
		return "needs a duration above zero"
	case ticks > math.MaxInt64/100:
		m.TimeToLive = 0 // longer than any time to live, so it never expires
	default:
		m.TimeToLive = time.Duration(ticks * 100)
	}
	return ""
}
