package intake

import (
	"encoding/base64"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
)

// Outgoing is a message as a sender writes it. What is left out is unset.
type Outgoing struct {
	MessageID            string           `json:"messageId,omitempty"`            // at most 128 characters; made if it is left out. A queue that looks for duplicates knows one by it
	SessionID            *string          `json:"sessionId,omitempty"`            // the empty text is an id too
	PartitionKey         string           `json:"partitionKey,omitempty"`         // at most 128 characters
	ViaPartitionKey      string           `json:"viaPartitionKey,omitempty"`      // at most 128 characters
	CorrelationID        string           `json:"correlationId,omitempty"`        // such as the MessageId that this answers
	Subject              string           `json:"subject,omitempty"`              // what it is about; Label in older SDKs
	To                   string           `json:"to,omitempty"`                   // kept and shown; nothing is sent there
	ReplyTo              string           `json:"replyTo,omitempty"`              // where an answer is to go
	ReplyToSessionID     string           `json:"replyToSessionId,omitempty"`     // the session an answer is to be in
	ContentType          string           `json:"contentType,omitempty"`          // of the body, such as application/json
	TimeToLive           string           `json:"timeToLive,omitempty"`           // a duration, or never
	ScheduledEnqueueTime string           `json:"scheduledEnqueueTime,omitempty"` // when it may be received, RFC 3339; what has passed is now
	Properties           value.Properties `json:"properties,omitempty"`           // those of the application, by name
	Body                 *string          `json:"body,omitempty"`                 // as text
	BodyBase64           *string          `json:"bodyBase64,omitempty"`           // instead of body, where that is not UTF-8
}

// Compose is m as the broker takes it. The error is engine.ErrArgument or
// engine.ErrOutOfRange, in the words of whoever wrote m.
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
