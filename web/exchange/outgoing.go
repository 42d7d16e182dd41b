package exchange

import (
	"encoding/base64"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/engine/value"
)

// Outgoing is a message as its sender writes it. Members that are left out are unset.
type Outgoing struct {
	MessageID            string           `json:"messageId,omitempty"`            // at most 128 characters; generated if it is left out. Duplicate detection compares it
	SessionID            *string          `json:"sessionId,omitempty"`            // may be the empty text
	PartitionKey         string           `json:"partitionKey,omitempty"`         // at most 128 characters
	ViaPartitionKey      string           `json:"viaPartitionKey,omitempty"`      // at most 128 characters
	CorrelationID        string           `json:"correlationId,omitempty"`        // such as the MessageId that this answers
	Subject              string           `json:"subject,omitempty"`              // the application's label for it; called Label in older SDKs
	To                   string           `json:"to,omitempty"`                   // stored and shown; nothing is sent there
	ReplyTo              string           `json:"replyTo,omitempty"`              // the entity that replies go to
	ReplyToSessionID     string           `json:"replyToSessionId,omitempty"`     // the session that replies go to
	ContentType          string           `json:"contentType,omitempty"`          // of the body, such as application/json
	TimeToLive           string           `json:"timeToLive,omitempty"`           // a duration, or never
	ScheduledEnqueueTime string           `json:"scheduledEnqueueTime,omitempty"` // when it may be received, RFC 3339; a past time means now
	Properties           value.Properties `json:"properties,omitempty"`           // application properties, by name
	Body                 *string          `json:"body,omitempty"`                 // as text
	BodyBase64           *string          `json:"bodyBase64,omitempty"`           // instead of body, if the body is not UTF-8
}

// Compose converts m for the broker. The error is engine.ErrArgument or engine.ErrOutOfRange,
// and names members as JSON does.
func (m Outgoing) Compose() (broker.Outgoing, error) {
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
			return out, engine.Refuse(engine.ErrArgument, "%s", engine.DurationErrorText("timeToLive", m.TimeToLive))
		case !never && d <= 0:
			return out, engine.Refuse(engine.ErrOutOfRange, "The value for 'timeToLive' must be positive, not '%s'.", shorten.Quote(m.TimeToLive))
		}
		out.Content.TTL = d
	}
	if m.ScheduledEnqueueTime != "" {
		at, err := time.Parse(time.RFC3339Nano, strings.ToUpper(m.ScheduledEnqueueTime))
		if err != nil {
			return out, engine.Refuse(engine.ErrArgument, "The value for 'scheduledEnqueueTime' must be a time such as 2026-07-14T10:04:12Z, not '%s'.", shorten.Quote(m.ScheduledEnqueueTime))
		}
		out.Content.ScheduledFor = engine.At(at)
	}
	switch {
	case m.Body != nil && m.BodyBase64 != nil:
		return out, engine.Refuse(engine.ErrArgument, "A message has 'body' or 'bodyBase64', not both.")
	case m.Body != nil:
		out.Body = []byte(*m.Body)
	case m.BodyBase64 != nil:
		b, err := base64.StdEncoding.DecodeString(*m.BodyBase64)
		if err != nil {
			return out, engine.Refuse(engine.ErrArgument, "The value for 'bodyBase64' is not base64.")
		}
		out.Body = b
	}
	return out, nil
}
