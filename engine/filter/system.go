package filter

import (
	"slices"
	"strings"

	"mayfly/engine/value"
)

// A system is one of the system properties that SQL can name (FILT-21).
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
	sysSequenceNumber // it and those below are the broker's: no action may set them
	sysEnqueuedSequenceNumber
	sysEnqueuedTime
	sysScheduled // only actions know it, and what they do to it has no effect (SCH-15)
)

// systemNames are in the order of the constants.
var systemNames = [...]string{
	"MessageId", "CorrelationId", "SessionId", "ReplyTo", "ReplyToSessionId", "Label", "To", "ContentType", "PartitionKey",
	"SequenceNumber", "EnqueuedSequenceNumber", "EnqueuedTimeUtc", "ScheduledEnqueueTimeUtc",
}

// systemNamed is the property called name, in any case (FILT-20).
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

// systems are the names of those that may stand where p is: the target of an
// action can be none of the broker's own.
func (p *parser) systems() string {
	names := systemNames[:sysScheduled]
	if p.inTarget {
		names = append(slices.Clone(systemNames[:sysSequenceNumber]), systemNames[sysScheduled])
	}
	return strings.Join(names, ", ")
}

func (s system) String() string { return systemNames[s] }

// late tells that the property is known only once the message is stored.
func (s system) late() bool {
	return s == sysSequenceNumber || s == sysEnqueuedSequenceNumber || s == sysEnqueuedTime
}

// text is where m keeps a property that its sender set, nil for the others.
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
	default:
		return nil
	}
}

// system is the value of a property, null and not ok when m does not have it.
func (m *Message) system(s system) (v value.Value, ok bool) {
	number := int64(0)
	switch s {
	case sysSequenceNumber:
		number = m.SequenceNumber
	case sysEnqueuedSequenceNumber:
		number = m.EnqueuedSequenceNumber
	case sysEnqueuedTime:
		if m.EnqueuedTime != 0 {
			return value.OfTimestamp(m.EnqueuedTime), true
		}
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
