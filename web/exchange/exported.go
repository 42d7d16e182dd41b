package exchange

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/shorten"
)

// An Exported is a message as a line of an export: what its sender wrote and, in System, what
// the broker recorded about it. An import reads the former, and only the times of the latter.
type Exported struct {
	Outgoing
	// BodyKind is data if it is missing, else value or sequence: then the body is one encoded
	// AMQP value, or AMQP sequences.
	BodyKind string `json:"bodyKind,omitempty"`
	// BodyParts is the number of lines that follow with Parts of the body, if the body is too
	// large for this line.
	BodyParts int64 `json:"bodyParts,omitempty"`
	// AMQP holds the AMQP sections of the message that have no member here, as the broker
	// keeps them, in base64.
	AMQP string `json:"amqp,omitempty"`
	// Content is the message without its body as the broker keeps it, in base64, if the
	// message has texts that are not UTF-8. It overrides all other members.
	Content string  `json:"content,omitempty"`
	System  *System `json:"system,omitempty"` // what the broker recorded about it; an import reads only the times
}

// A Part is a line of an export that follows a message with BodyParts.
type Part struct {
	Part *string `json:"part"` // base64
}

// A System is what the broker recorded about an exported message.
type System struct {
	Key                    string     `json:"key"`                                  // identifies it for its whole life
	Path                   string     `json:"path"`                                 // where it was
	SequenceNumber         int64      `json:"sequenceNumber"`                       // in the queue or subqueue where it was
	EnqueuedSequenceNumber int64      `json:"enqueuedSequenceNumber"`               // of the entity that it was sent to
	State                  string     `json:"state"`                                // active, deferred or scheduled
	EnqueuedTime           time.Time  `json:"enqueuedTime"`                         // when it became active, or was sent
	ExpiresAt              *time.Time `json:"expiresAt,omitempty"`                  // when its time to live or the entity's default ended; missing if it never expired
	ScheduledFor           *time.Time `json:"scheduledFor,omitempty"`               // while it is scheduled; it may have been rescheduled
	DeliveryCount          uint32     `json:"deliveryCount"`                        // failed deliveries
	LockedUntil            *time.Time `json:"lockedUntil,omitempty"`                // missing if it was not locked
	LockedBy               string     `json:"lockedBy,omitempty"`                   // the client that held the lock
	DeadLettered           *time.Time `json:"deadLettered,omitempty"`               // when it was dead-lettered
	DeadLetterReason       string     `json:"deadLetterReason,omitempty"`           // missing if it was not a dead letter
	DeadLetterDescription  string     `json:"deadLetterErrorDescription,omitempty"` // more about the reason
	DeadLetterSource       string     `json:"deadLetterSource,omitempty"`           // the entity in which it became a dead letter
	TransferTo             string     `json:"transferTo,omitempty"`                 // in a transfer dead-letter queue: where it was to go
	Deferred               *time.Time `json:"deferred,omitempty"`                   // when it was deferred
	By                     string     `json:"by,omitempty"`                         // the client that deferred or dead-lettered it
	Size                   int64      `json:"size"`                                 // bytes of the body
	ExportedAt             time.Time  `json:"exportedAt"`                           // when this line was written
}

var bodyKinds = [...]string{
	"data", "value", "sequence",
}

// Export returns the export of a message without its body.
func Export(row engine.Row, now engine.Instant) (Exported, error) {
	m := row.Message
	c, err := row.Content.Content()
	if err != nil {
		return Exported{}, fmt.Errorf("read message %d: %w", m.Key, err)
	}
	out := Exported{
		Outgoing: Outgoing{
			MessageID: c.MessageID, PartitionKey: c.PartitionKey, ViaPartitionKey: c.ViaPartitionKey, CorrelationID: c.CorrelationID,
			Subject: c.Subject, To: c.To, ReplyTo: c.ReplyTo, ReplyToSessionID: c.ReplyToSessionID, ContentType: c.ContentType,
			TimeToLive: exportTTL(c.TTL),
		},
		AMQP: base64.StdEncoding.EncodeToString([]byte(c.Wire)),
		System: &System{
			Key: fmt.Sprint(uint64(m.Key)), Path: string(row.Path), SequenceNumber: int64(m.Seq), EnqueuedSequenceNumber: int64(m.EnqueuedSeq),
			State: strings.ToLower(m.State.String()), EnqueuedTime: m.EnqueuedAt.Time(), ExpiresAt: timeOf(row.Expires), ScheduledFor: timeOf(m.ScheduledFor),
			DeliveryCount: m.DeliveryCount, LockedUntil: timeOf(m.LockedUntil), LockedBy: row.Lock.By, Size: c.BodySize, ExportedAt: now.Time(),
		},
	}
	if c.BodyKind != engine.DataBody {
		out.BodyKind = bodyKinds[c.BodyKind]
	}
	if c.HasSessionID() {
		out.SessionID = &c.SessionID
	}
	if c.ScheduledFor != 0 {
		out.ScheduledEnqueueTime = c.ScheduledFor.Time().Format(time.RFC3339Nano)
	}
	if x := m.Extra; x != nil {
		s := out.System
		s.DeadLettered, s.DeadLetterReason, s.DeadLetterDescription, s.DeadLetterSource = timeOf(x.DeadAt), x.Reason, x.Description, x.Source
		s.TransferTo, s.Deferred, s.By = x.To, timeOf(x.DeferredAt), x.By
		m.Extra = &engine.Extra{Properties: x.Properties} // the export has the dead-letter reason in System, not among the properties
	}
	c.Properties = m.Properties(c)
	out.Properties = c.Properties
	if !exact(c) {
		c.Preview, c.BodySize = "", 0
		out.Content = base64.StdEncoding.EncodeToString([]byte(c.Pack()))
	}
	return out, nil
}

// exportTTL returns a time to live as an export writes it. A negative one, which is over
// before it begins, has a minus sign.
func exportTTL(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < 0:
		return "-" + engine.FormatDuration(max(-d, 1))
	default:
		return engine.FormatDuration(d)
	}
}

// exact reports whether JSON can carry all texts of c unchanged.
func exact(c engine.Content) bool {
	texts := []string{
		c.MessageID, c.SessionID, c.PartitionKey, c.ViaPartitionKey, c.CorrelationID, c.Subject, c.To, c.ReplyTo, c.ReplyToSessionID, c.ContentType,
	}
	for _, p := range c.Properties {
		texts = append(texts, p.Name)
	}
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return false
		}
	}
	return true
}

// content returns the message that the sender wrote, and its body if the line holds it.
func (x Exported) content() (c engine.Content, body []byte, err error) {
	m := x.Outgoing
	ttl := time.Duration(0)
	if after, over := strings.CutPrefix(m.TimeToLive, "-"); over {
		d, never, err := engine.ParseDuration(after)
		if err != nil || never {
			return c, nil, engine.Refuse(engine.ErrArgument, "%s", engine.DurationErrorText("timeToLive", m.TimeToLive))
		}
		m.TimeToLive, ttl = "", -d
	}
	out, err := m.Compose()
	if err != nil {
		return c, nil, err
	}
	c, body = out.Content, out.Body
	c.TTL = cmp.Or(ttl, c.TTL)
	if x.BodyKind != "" {
		if c.BodyKind, err = parseBodyKind(x.BodyKind); err != nil {
			return c, nil, err
		}
	}
	wire, err := base64.StdEncoding.DecodeString(x.AMQP)
	if err != nil {
		return c, nil, engine.Refuse(engine.ErrArgument, "The value for 'amqp' is not base64.")
	}
	c.Wire = string(wire)
	if x.Content != "" {
		packed, err := base64.StdEncoding.DecodeString(x.Content)
		if err == nil {
			c, err = engine.Packed(packed).Content()
		}
		if err != nil || c.BodyKind > engine.SequenceBody {
			return c, nil, engine.Refuse(engine.ErrArgument, "The value for 'content' is not a message in base64.")
		}
	}
	switch {
	case x.BodyParts < 0 || x.BodyParts > math.MaxInt32:
		return c, nil, engine.Refuse(engine.ErrOutOfRange, "The value for 'bodyParts' must be a number of lines, not %d.", x.BodyParts)
	case x.BodyParts > 0 && (m.Body != nil || m.BodyBase64 != nil):
		return c, nil, engine.Refuse(engine.ErrArgument, "A message has 'bodyParts' or a body, not both.")
	}
	return c, body, nil
}

func parseBodyKind(text string) (engine.BodyKind, error) {
	for i, kind := range bodyKinds {
		if text == kind {
			return engine.BodyKind(i), nil
		}
	}
	return 0, engine.Refuse(engine.ErrArgument, "The kind of a body must be data, value or sequence, not '%s'.", shorten.Quote(text))
}

func timeOf(i engine.Instant) *time.Time {
	if i == 0 {
		return nil
	}
	t := i.Time()
	return &t
}
