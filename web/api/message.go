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
	"mayfly/web/intake"
)

// Outgoing is a message as a sender writes it.
type Outgoing = intake.Outgoing

// A Message is one that is stored, or was. What the sender wrote is as in
// Outgoing; properties changed by settlements, and why a message is a dead
// letter, are among its properties.
type Message struct {
	Key                    string     `json:"key"`                              // identifies it for its whole life
	Path                   string     `json:"path"`                             // where it is
	SequenceNumber         int64      `json:"sequenceNumber"`                   // of the place where it is
	EnqueuedSequenceNumber int64      `json:"enqueuedSequenceNumber,omitempty"` // of the entity that it was sent to, if that is another
	State                  string     `json:"state"`                            // active, deferred or scheduled
	EnqueuedTime           time.Time  `json:"enqueuedTime"`                     // when it became active, or was sent
	ExpiresAt              *time.Time `json:"expiresAt,omitempty"`              // with the entity's default; missing: never
	DeliveryCount          uint32     `json:"deliveryCount"`                    // deliveries that failed
	LockToken              string     `json:"lockToken,omitempty"`              // of this delivery
	LockedUntil            *time.Time `json:"lockedUntil,omitempty"`            // when the lock runs out
	LockedBy               string     `json:"lockedBy,omitempty"`               // who has it, as far as known; told of messages that are looked at
	DeadLetterSource       string     `json:"deadLetterSource,omitempty"`       // the entity in which it became a dead letter
	TransferTo             string     `json:"transferTo,omitempty"`             // in a transfer dead-letter queue: where it was to go
	Size                   int64      `json:"size"`                             // bytes of the body
	BodyOmitted            bool       `json:"bodyOmitted,omitempty"`            // it is too large to stand here
	Tenure
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

// presentRow is a message that somebody only looks at: with what is known of its
// lock.
func presentRow(r engine.Row) (Message, error) {
	m, err := presentMessage(r.Message, r.Content, r.Path, r.Expires)
	m.LockedBy, m.Tenure = r.Lock.By, presentTenure(r.Lock)
	return m, err
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
