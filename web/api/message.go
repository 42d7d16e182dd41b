package api

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
)

// Outgoing is a message as a sender writes it. What is left out is unset.
type Outgoing struct {
	MessageID            string           `json:"messageId,omitempty"`
	SessionID            *string          `json:"sessionId,omitempty"` // the empty text is an id too
	PartitionKey         string           `json:"partitionKey,omitempty"`
	ViaPartitionKey      string           `json:"viaPartitionKey,omitempty"`
	CorrelationID        string           `json:"correlationId,omitempty"`
	Subject              string           `json:"subject,omitempty"`
	To                   string           `json:"to,omitempty"`
	ReplyTo              string           `json:"replyTo,omitempty"`
	ReplyToSessionID     string           `json:"replyToSessionId,omitempty"`
	ContentType          string           `json:"contentType,omitempty"`
	TimeToLive           string           `json:"timeToLive,omitempty"`           // a duration, or never
	ScheduledEnqueueTime string           `json:"scheduledEnqueueTime,omitempty"` // RFC 3339
	Properties           value.Properties `json:"properties,omitempty"`
	Body                 *string          `json:"body,omitempty"`
	BodyBase64           *string          `json:"bodyBase64,omitempty"` // instead of Body
}

// outgoing is m as the broker takes it.
func (m Outgoing) outgoing() (broker.Outgoing, error) {
	out := broker.Outgoing{Content: engine.Content{
		MessageID: m.MessageID, PartitionKey: m.PartitionKey, ViaPartitionKey: m.ViaPartitionKey,
		CorrelationID: m.CorrelationID, Subject: m.Subject, To: m.To, ReplyTo: m.ReplyTo, ReplyToSessionID: m.ReplyToSessionID,
		ContentType: m.ContentType, Properties: m.Properties,
	}}
	if m.SessionID != nil {
		out.Content.SessionID, out.Content.EmptySessionID = *m.SessionID, *m.SessionID == ""
	}
	if m.TimeToLive != "" {
		d, never, err := engine.ParseDuration(m.TimeToLive)
		switch {
		case err != nil:
			return out, argument("%s", engine.WrongDuration("timeToLive", m.TimeToLive))
		case !never && d <= 0:
			return out, outOfRange("The value for 'timeToLive' must be positive, not '%s'.", cut(m.TimeToLive))
		}
		out.Content.TTL = d
	}
	if m.ScheduledEnqueueTime != "" {
		at, err := time.Parse(time.RFC3339Nano, strings.ToUpper(m.ScheduledEnqueueTime))
		if err != nil {
			return out, argument("The value for 'scheduledEnqueueTime' is a time such as 2026-07-14T10:04:12Z, not '%s'.", cut(m.ScheduledEnqueueTime))
		}
		out.Content.ScheduledFor = engine.At(at)
	}
	switch {
	case m.Body != nil && m.BodyBase64 != nil:
		return out, argument("A message has 'body' or 'bodyBase64', not both.")
	case m.Body != nil:
		out.Body = []byte(*m.Body)
	case m.BodyBase64 != nil:
		b, err := base64.StdEncoding.DecodeString(*m.BodyBase64)
		if err != nil {
			return out, argument("The value for 'bodyBase64' is not base64.")
		}
		out.Body = b
	}
	return out, nil
}

// A Message is one that is stored, or was. What the sender wrote is as in
// Outgoing; properties changed by settlements, and why a message is a dead
// letter, are among its properties.
type Message struct {
	Key                    string     `json:"key"` // identifies it for its whole life
	Path                   string     `json:"path"`
	SequenceNumber         int64      `json:"sequenceNumber"`
	EnqueuedSequenceNumber int64      `json:"enqueuedSequenceNumber,omitempty"`
	State                  string     `json:"state"` // active, deferred or scheduled
	EnqueuedTime           time.Time  `json:"enqueuedTime"`
	ExpiresAt              *time.Time `json:"expiresAt,omitempty"` // with the entity's default; missing: never
	DeliveryCount          uint32     `json:"deliveryCount"`       // deliveries that failed
	LockToken              string     `json:"lockToken,omitempty"` // of this delivery
	LockedUntil            *time.Time `json:"lockedUntil,omitempty"`
	LockedBy               string     `json:"lockedBy,omitempty"`
	DeadLetterSource       string     `json:"deadLetterSource,omitempty"`
	TransferTo             string     `json:"transferTo,omitempty"`  // in a transfer dead-letter queue: where it was to go
	Size                   int64      `json:"size"`                  // bytes of the body
	BodyOmitted            bool       `json:"bodyOmitted,omitempty"` // it is too large to stand here
	Outgoing
}

func presentMessage(m engine.Message, packed engine.Packed, at engine.Path, expires engine.Instant) (Message, error) {
	c, err := packed.Content()
	if err != nil {
		return Message{}, fmt.Errorf("read message %d: %w", m.Key, err)
	}
	out := Message{
		Key: fmt.Sprint(uint64(m.Key)), Path: string(at), SequenceNumber: int64(m.Seq), EnqueuedSequenceNumber: int64(m.EnqueuedSeq),
		State: strings.ToLower(m.State.String()), EnqueuedTime: m.EnqueuedAt.Time(), ExpiresAt: moment(expires),
		DeliveryCount: m.DeliveryCount, LockedUntil: moment(m.LockedUntil), Size: c.BodySize,
		Outgoing: Outgoing{
			MessageID: c.MessageID, PartitionKey: c.PartitionKey, ViaPartitionKey: c.ViaPartitionKey,
			CorrelationID: c.CorrelationID, Subject: c.Subject, To: c.To, ReplyTo: c.ReplyTo, ReplyToSessionID: c.ReplyToSessionID,
			ContentType: c.ContentType, Properties: m.Properties(c),
		},
	}
	if c.HasSessionID() {
		out.SessionID = &c.SessionID
	}
	if c.TTL > 0 && c.TTL < math.MaxInt64 {
		out.TimeToLive = engine.FormatDuration(c.TTL)
	}
	if at := cmp.Or(m.ScheduledFor, c.ScheduledFor); at != 0 { // it may have been rescheduled since
		out.ScheduledEnqueueTime = at.Time().Format(time.RFC3339Nano)
	}
	if m.Extra != nil {
		out.DeadLetterSource, out.TransferTo = m.Extra.Source, m.Extra.To // DLQ-9, FWD-14
	}
	return out, nil
}

// setBody reads the whole of a body into m.
func (m *Message) setBody(body io.Reader) error {
	raw, err := io.ReadAll(body)
	if err != nil {
		return fmt.Errorf("read the body of message %s: %w", m.Key, err)
	}
	text := string(raw)
	if utf8.ValidString(text) {
		m.Body = &text
		return nil
	}
	text = base64.StdEncoding.EncodeToString(raw)
	m.BodyBase64 = &text
	return nil
}
