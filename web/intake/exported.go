package intake

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"mayfly/engine"
)

// An Exported is a message as a line of an export: what its sender wrote, and
// beside it, in System, what the broker knows of it. An import reads the former,
// and of the latter only the times.
type Exported struct {
	Outgoing
	// BodyKind is data if it is missing, else value or sequence: then the body is
	// one encoded AMQP value, or AMQP sequences.
	BodyKind string `json:"bodyKind,omitempty"`
	// BodyParts is how many lines follow that are Parts of the body, where it is
	// too large to stand here.
	BodyParts int64 `json:"bodyParts,omitempty"`
	// AMQP is what only AMQP says of the message, as the broker keeps it, in base64.
	AMQP string `json:"amqp,omitempty"`
	// Content is all but the body as the broker keeps it, in base64, of a message
	// that has texts which are not UTF-8. It wins over everything else.
	Content string  `json:"content,omitempty"`
	System  *System `json:"system,omitempty"` // what the broker knows of it; an import reads the times alone
}

// A Part is a line of an export after that of a message with BodyParts.
type Part struct {
	Part *string `json:"part"` // base64
}

// A System is what the broker knows of an exported message.
type System struct {
	Key                    string     `json:"key"`                                  // identifies it for its whole life
	Path                   string     `json:"path"`                                 // where it was
	SequenceNumber         int64      `json:"sequenceNumber"`                       // of the place where it was
	EnqueuedSequenceNumber int64      `json:"enqueuedSequenceNumber"`               // of the entity that it was sent to
	State                  string     `json:"state"`                                // active, deferred or scheduled
	EnqueuedTime           time.Time  `json:"enqueuedTime"`                         // when it became active, or was sent
	ExpiresAt              *time.Time `json:"expiresAt,omitempty"`                  // with the entity's default; missing: never
	ScheduledFor           *time.Time `json:"scheduledFor,omitempty"`               // while it is scheduled; it may have been rescheduled
	DeliveryCount          uint32     `json:"deliveryCount"`                        // deliveries that failed
	LockedUntil            *time.Time `json:"lockedUntil,omitempty"`                // missing: nobody had it
	LockedBy               string     `json:"lockedBy,omitempty"`                   // who had it
	DeadLettered           *time.Time `json:"deadLettered,omitempty"`               // when
	DeadLetterReason       string     `json:"deadLetterReason,omitempty"`           // missing: it was no dead letter
	DeadLetterDescription  string     `json:"deadLetterErrorDescription,omitempty"` // more about the reason
	DeadLetterSource       string     `json:"deadLetterSource,omitempty"`           // the entity in which it became a dead letter
	TransferTo             string     `json:"transferTo,omitempty"`                 // in a transfer dead-letter queue: where it was to go
	Deferred               *time.Time `json:"deferred,omitempty"`                   // when
	By                     string     `json:"by,omitempty"`                         // who deferred or dead-lettered it
	Size                   int64      `json:"size"`                                 // bytes of the body
	ExportedAt             time.Time  `json:"exportedAt"`                           // when this line was written
}

func bodyKinds() [3]string { return [...]string{"data", "value", "sequence"} }

// Export is a message without its body, as it is now.
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
			State: strings.ToLower(m.State.String()), EnqueuedTime: m.EnqueuedAt.Time(), ExpiresAt: moment(row.Expires), ScheduledFor: moment(m.ScheduledFor),
			DeliveryCount: m.DeliveryCount, LockedUntil: moment(m.LockedUntil), LockedBy: row.Lock.By, Size: c.BodySize, ExportedAt: now.Time(),
		},
	}
	if c.BodyKind != engine.DataBody {
		out.BodyKind = bodyKinds()[c.BodyKind]
	}
	if c.HasSessionID() {
		out.SessionID = &c.SessionID
	}
	if c.ScheduledFor != 0 {
		out.ScheduledEnqueueTime = c.ScheduledFor.Time().Format(time.RFC3339Nano)
	}
	if x := m.Extra; x != nil {
		s := out.System
		s.DeadLettered, s.DeadLetterReason, s.DeadLetterDescription, s.DeadLetterSource = moment(x.DeadAt), x.Reason, x.Description, x.Source
		s.TransferTo, s.Deferred, s.By = x.To, moment(x.DeferredAt), x.By
		m.Extra = &engine.Extra{Properties: x.Properties} // why it is a dead letter is not among its properties here
	}
	c.Properties = m.Properties(c)
	out.Properties = c.Properties
	if !exact(c) {
		c.Preview, c.BodySize = "", 0
		out.Content = base64.StdEncoding.EncodeToString([]byte(c.Pack()))
	}
	return out, nil
}

// exportTTL is a time to live as an export has it; one that is over before it
// begins has a sign.
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

// exact tells whether JSON can carry all texts of c as they are.
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

// content is what the sender wrote, as an export has it, and the body if it
// stands there.
func (x Exported) content() (c engine.Content, body []byte, err error) {
	m := x.Outgoing
	ttl := time.Duration(0)
	if after, over := strings.CutPrefix(m.TimeToLive, "-"); over {
		d, never, err := engine.ParseDuration(after)
		if err != nil || never {
			return c, nil, argument("%s", engine.WrongDuration("timeToLive", m.TimeToLive))
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
		return c, nil, argument("The value for 'amqp' is not base64.")
	}
	c.Wire = string(wire)
	if x.Content != "" {
		packed, err := base64.StdEncoding.DecodeString(x.Content)
		if err == nil {
			c, err = engine.Packed(packed).Content()
		}
		if err != nil || c.BodyKind > engine.SequenceBody {
			return c, nil, argument("The value for 'content' is not a message in base64.")
		}
	}
	switch {
	case x.BodyParts < 0 || x.BodyParts > math.MaxInt32:
		return c, nil, outOfRange("The value for 'bodyParts' is a number of lines, not %d.", x.BodyParts)
	case x.BodyParts > 0 && (m.Body != nil || m.BodyBase64 != nil):
		return c, nil, argument("A message has 'bodyParts' or a body, not both.")
	}
	return c, body, nil
}

func parseBodyKind(text string) (engine.BodyKind, error) {
	for i, kind := range bodyKinds() {
		if text == kind {
			return engine.BodyKind(i), nil
		}
	}
	return 0, argument("The kinds of bodies are data, value and sequence, not '%s'.", cut(text))
}

func moment(i engine.Instant) *time.Time {
	if i == 0 {
		return nil
	}
	t := i.Time()
	return &t
}
