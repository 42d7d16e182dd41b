package history

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mayfly/engine"
)

// An Event is an event of the history, as JSON.
type Event struct {
	At             time.Time `json:"at"`
	Epoch          uint64    `json:"epoch"` // with N identifies it
	N              uint64    `json:"n"`
	Kind           string    `json:"kind"`
	Group          Group     `json:"group,omitempty"`
	Audited        bool      `json:"audited,omitempty"` // an operator caused it
	Path           string    `json:"path,omitempty"`    // where it happened; missing for the server itself
	To             string    `json:"to,omitempty"`      // where the message went
	EntityKind     string    `json:"entityKind,omitempty"`
	Actor          string    `json:"actor,omitempty"` // missing: the broker itself
	Reason         string    `json:"reason,omitempty"`
	Count          int64     `json:"count,omitempty"`   // messages concerned
	Message        string    `json:"message,omitempty"` // the key of the message concerned
	SequenceNumber int64     `json:"sequenceNumber,omitempty"`
	DeliveryCount  uint32    `json:"deliveryCount,omitempty"`
	MessageID      string    `json:"messageId,omitempty"` // if the store keeps headers in the history
	Subject        string    `json:"subject,omitempty"`   // if the store keeps headers in the history
}

// NewEvent returns the JSON form of e.
func NewEvent(e engine.HistoryEvent) Event {
	out := Event{
		At: e.At.Time(), Epoch: e.Epoch, N: e.N, Kind: e.Kind.String(), Group: GroupOf(e.Kind), Audited: e.Audit,
		Path: string(e.Path), To: string(e.To), Actor: e.Actor, Reason: e.Reason, Count: e.Count,
	}
	if e.Entity != nil {
		out.EntityKind = strings.ToLower(e.Entity.Kind.String())
	}
	if m := e.Message; m.Key != 0 {
		out.Message, out.SequenceNumber, out.DeliveryCount = strconv.FormatUint(uint64(m.Key), 10), int64(m.Seq), m.DeliveryCount
		out.MessageID, out.Subject = e.Content.MessageID(), e.Content.Subject()
	}
	return out
}

// Columns returns the headings of Cells.
func Columns() []string {
	return []string{
		"at", "epoch", "n", "kind", "group", "audited", "path", "to", "entity_kind", "actor", "reason", "count",
		"message", "sequence_number", "delivery_count", "message_id", "subject",
	}
}

// Cells returns e as a row of a table. Texts that a spreadsheet would take for formulas are
// escaped.
func (e Event) Cells() []string {
	n := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	return []string{
		e.At.UTC().Format("2006-01-02T15:04:05.000Z07:00"), strconv.FormatUint(e.Epoch, 10), strconv.FormatUint(e.N, 10), e.Kind, string(e.Group),
		strconv.FormatBool(e.Audited), escapeFormula(e.Path), escapeFormula(e.To), e.EntityKind, escapeFormula(e.Actor), escapeFormula(e.Reason), n(e.Count),
		e.Message, n(e.SequenceNumber), n(int64(e.DeliveryCount)), escapeFormula(e.MessageID), escapeFormula(e.Subject),
	}
}

// escapeFormula puts an apostrophe before a text that a spreadsheet would run as a formula; the
// spreadsheet shows the text without the apostrophe.
func escapeFormula(s string) string {
	if first, _ := utf8.DecodeRuneInString(s); s != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + s
	}
	return s
}
