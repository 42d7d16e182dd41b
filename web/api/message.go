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
	"mayfly/web/exchange"
)

// Outgoing is a message to send.
type Outgoing = exchange.Outgoing

// A Message is a stored message, or one that was. The sender's part is as in Outgoing;
// properties that settlements changed, and those that explain why it is a dead letter, are
// among its properties.
type Message struct {
	Key                    string     `json:"key"`                              // identifies the message for its whole life
	Path                   string     `json:"path"`                             // where it is
	SequenceNumber         int64      `json:"sequenceNumber"`                   // in that path
	EnqueuedSequenceNumber int64      `json:"enqueuedSequenceNumber,omitempty"` // in the entity that it was sent to, if that is another
	State                  string     `json:"state"`                            // active, deferred or scheduled
	EnqueuedTime           time.Time  `json:"enqueuedTime"`                     // when it became active, or was sent
	ExpiresAt              *time.Time `json:"expiresAt,omitempty"`              // when its time to live or the entity's default ends; missing if it never expires
	DeliveryCount          uint32     `json:"deliveryCount"`                    // number of failed deliveries
	LockToken              string     `json:"lockToken,omitempty"`              // of this delivery
	LockedUntil            *time.Time `json:"lockedUntil,omitempty"`            // when the lock expires
	LockedBy               string     `json:"lockedBy,omitempty"`               // the client that has the lock, if known; only for messages that are peeked at
	DeadLetterSource       string     `json:"deadLetterSource,omitempty"`       // the entity in which it became a dead letter
	TransferTo             string     `json:"transferTo,omitempty"`             // for a transfer dead letter: its destination
	Size                   int64      `json:"size"`                             // bytes of the body
	BodyOmitted            bool       `json:"bodyOmitted,omitempty"`            // the body is too large to be included
	LockHistory
	Outgoing
}

func presentMessage(m engine.Message, packed engine.Packed, at engine.Path, expires engine.Instant) (Message, error) {
	c, err := packed.Content()
	if err != nil {
		return Message{}, fmt.Errorf("read message %d: %w", m.Key, err)
	}
	out := Message{
		Key: fmt.Sprint(uint64(m.Key)), Path: string(at), SequenceNumber: int64(m.Seq), EnqueuedSequenceNumber: int64(m.EnqueuedSeq),
		State: strings.ToLower(m.State.String()), EnqueuedTime: m.EnqueuedAt.Time(), ExpiresAt: timeOf(expires),
		DeliveryCount: m.DeliveryCount, LockedUntil: timeOf(m.LockedUntil), Size: c.BodySize,
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
	if at := cmp.Or(m.ScheduledFor, c.ScheduledFor); at != 0 { // the message may have been rescheduled since
		out.ScheduledEnqueueTime = at.Time().Format(time.RFC3339Nano)
	}
	if m.Extra != nil {
		out.DeadLetterSource, out.TransferTo = m.Extra.Source, m.Extra.To // DLQ-9, FWD-14
	}
	return out, nil
}

// presentRow presents a message that is only viewed, with information about its lock.
func presentRow(r engine.Row) (Message, error) {
	m, err := presentMessage(r.Message, r.Content, r.Path, r.Expires)
	m.LockedBy, m.LockHistory = r.Lock.By, presentLockHistory(r.Lock)
	return m, err
}

// setBody reads a whole body into m.
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
