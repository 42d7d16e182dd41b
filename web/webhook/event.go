package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"mayfly/engine/alert"
)

// Event is the CloudEvent that is posted.
type Event struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"` // the namespace's page
	Type            string    `json:"type"`   // mayfly.alert.expiring
	Subject         string    `json:"subject"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            Data      `json:"data"`
}

// Data is the payload of an Event.
type Data struct {
	Rule   Rule   `json:"rule"`
	Count  int64  `json:"count"`            // messages or entities
	Done   int64  `json:"done,omitempty"`   // messages that were extended or dead-lettered
	Failed int64  `json:"failed,omitempty"` // messages for which the action was refused
	Missed int64  `json:"missed,omitempty"` // events that were not evaluated: they came too fast, or a body could not be read
	Test   bool   `json:"test,omitempty"`   // an operator asked for a test; nothing has happened
	Items  []Item `json:"items"`            // the first hundred
}

// Rule is the rule that fired.
type Rule struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	When string `json:"when"`
	Then string `json:"then"`
}

// Item is a message or an entity.
type Item struct {
	Path           string     `json:"path"`
	Message        string     `json:"message,omitempty"` // its key
	SequenceNumber int64      `json:"sequenceNumber,omitempty"`
	Subject        string     `json:"subject,omitempty"`
	MessageID      string     `json:"messageId,omitempty"`
	ExpiresAt      *time.Time `json:"expiresAt,omitempty"` // of an entity: when it is deleted automatically
	Reason         string     `json:"reason,omitempty"`
	Count          int64      `json:"count,omitempty"` // dead letters in the entity, or messages deleted with it
}

func encode(id, source string, a alert.Alert) []byte {
	e := Event{
		SpecVersion: "1.0", ID: id, Source: source, Type: "mayfly.alert." + string(a.Condition), Subject: a.Name, Time: a.At.Time(), DataContentType: "application/json",
		Data: Data{
			Rule: Rule{int64(a.Rule), a.Name, string(a.Condition), string(a.Action)}, Count: a.Count, Done: a.Done, Failed: a.Failed, Missed: a.Missed, Test: isTest(a), Items: []Item{},
		},
	}
	for _, it := range a.Items {
		out := Item{Path: string(it.Path), SequenceNumber: int64(it.Seq), Subject: it.Subject, MessageID: it.MessageID, Reason: it.Reason, Count: it.Count}
		if it.Key != 0 {
			out.Message = strconv.FormatUint(uint64(it.Key), 10)
		}
		if it.Expires != 0 {
			at := it.Expires.Time()
			out.ExpiresAt = &at
		}
		e.Data.Items = append(e.Data.Items, out)
	}
	raw, err := json.Marshal(e)
	if err != nil {
		panic(err) // texts and numbers
	}
	return raw
}

// isTest reports whether an alert is only a test. A test that was merged with real alerts must
// not be skipped.
func isTest(a alert.Alert) bool { return a.Test && a.Count == 0 }

// SignatureHeader is the name of the header that carries the signature.
const SignatureHeader = "Mayfly-Signature"

// Sign returns the signature of a request with the given body that is made at the time `at`.
func Sign(secret string, at time.Time, body []byte) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write(append(strconv.AppendInt(nil, at.Unix(), 10), '.'))
	h.Write(body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(h.Sum(nil)))
}
