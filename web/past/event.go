package past

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mayfly/engine"
)

// An Event is what happened, as JSON.
type Event struct {
	At             time.Time `json:"at"`
	Epoch          uint64    `json:"epoch"` // with N identifies it
	N              uint64    `json:"n"`
	Kind           string    `json:"kind"`
	Group          Group     `json:"group,omitempty"`
	Audited        bool      `json:"audited,omitempty"` // an operator did it
	Path           string    `json:"path,omitempty"`    // where it happened; missing for the server itself
	To             string    `json:"to,omitempty"`      // where the message went
	EntityKind     string    `json:"entityKind,omitempty"`
	Actor          string    `json:"actor,omitempty"` // missing: the broker itself
	Reason         string    `json:"reason,omitempty"`
	Count          int64     `json:"count,omitempty"`   // messages concerned
	Message        string    `json:"message,omitempty"` // the key of the one concerned
	SequenceNumber int64     `json:"sequenceNumber,omitempty"`
	DeliveryCount  uint32    `json:"deliveryCount,omitempty"`
	MessageID      string    `json:"messageId,omitempty"` // where its headers are kept
	Subject        string    `json:"subject,omitempty"`   // likewise
}

// Present is e as JSON has it.
func Present(e engine.PastEvent) Event {
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

// Columns are the headings over Cells.
func Columns() []string {
	return []string{
		"at", "epoch", "n", "kind", "group", "audited", "path", "to", "entity_kind", "actor", "reason", "count",
		"message", "sequence_number", "delivery_count", "message_id", "subject",
	}
}

// Cells is e as a line of a table, for spreadsheets: texts that these would take
// for formulas are made harmless.
func (e Event) Cells() []string {
	n := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	return []string{
		e.At.UTC().Format("2006-01-02T15:04:05.000Z07:00"), strconv.FormatUint(e.Epoch, 10), strconv.FormatUint(e.N, 10), e.Kind, string(e.Group),
		strconv.FormatBool(e.Audited), harmless(e.Path), harmless(e.To), e.EntityKind, harmless(e.Actor), harmless(e.Reason), n(e.Count),
		e.Message, n(e.SequenceNumber), n(int64(e.DeliveryCount)), harmless(e.MessageID), harmless(e.Subject),
	}
}

// harmless puts an apostrophe before what a spreadsheet would run: it shows the
// text without it.
func harmless(s string) string {
	if first, _ := utf8.DecodeRuneInString(s); s != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + s
	}
	return s
}
