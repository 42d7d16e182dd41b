package codec_test

import (
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/filter"
	"mayfly/engine/value"
	"mayfly/web/amqp/codec"
	"mayfly/web/amqp/wire"
)

// propertiesOf is a properties section with any value in each field, whatever type the
// standard requires.
type propertiesOf [13]value.Value

const (
	messageIDField   = 0
	correlationField = 5
	groupField       = 10
	replyGroupField  = 12
)

func (p propertiesOf) encode() []byte {
	b := append([]byte{0x00, 0x53, byte(wire.SectionProperties)}, wire.AppendList(nil, p[:]...)...)
	return append(b, 0x00, 0x53, byte(wire.SectionData), 0xa0, 0x00)
}

// MSG-11: an id has one text, whatever its type, in every field that is an id.
func TestIDs(t *testing.T) {
	uuid := value.OfUUID([16]byte{0: 1, 15: 2})
	for name, tc := range map[string]struct {
		id   value.Value
		text string
	}{
		"MSG-11 string":               {value.OfString("a-ü"), "a-ü"},
		"MSG-11 binary":               {value.OfBinary([]byte("a-ü")), "a-ü"},
		"MSG-11 symbol":               {value.OfSymbol("a"), "a"},
		"MSG-11 binary that is bytes": {value.OfBinary([]byte{0xff, 0}), "/wA="},
		"MSG-11 uuid":                 {uuid, "01000000-0000-0000-0000-000000000002"},
		"MSG-11 ulong":                {value.OfULong(1<<64 - 1), "18446744073709551615"},
		"MSG-11 int":                  {value.OfInt(-7), "-7"},
	} {
		t.Run(name, func(t *testing.T) {
			c := must[broker.Outgoing](t)(codec.DecodeMessage(propertiesOf{messageIDField: tc.id, correlationField: tc.id, groupField: tc.id, replyGroupField: tc.id}.encode())).Content
			a := must[broker.Outgoing](t)(codec.DecodeMessage(annotated("x-opt-partition-key", tc.id, "x-opt-via-partition-key", tc.id).encode())).Content
			for place, got := range map[string]string{
				"message id": c.MessageID, "correlation id": c.CorrelationID, "session id": c.SessionID, "reply-to session id": c.ReplyToSessionID,
				"partition key": a.PartitionKey, "via partition key": a.ViaPartitionKey,
			} {
				if got != tc.text {
					t.Errorf("the %s is %q, want %q", place, got, tc.text)
				}
			}
		})
	}
}

// Messages that Python's SDK forwards have binary ids in place of strings. Duplicates are
// detected, filters match, and the session is the same. The ids keep their types.
func TestIDsOfPython(t *testing.T) {
	w := start(t)
	python := propertiesOf{messageIDField: value.OfBinary([]byte("m")), correlationField: value.OfBinary([]byte("c")), groupField: value.OfBinary([]byte("s"))}
	sent := variant(func(s *spoken) {
		s.Properties.CorrelationID, s.Properties.GroupID = value.OfString("c"), wire.Some("s")
	})
	w.CreateQueue("once", engine.Config{RequiresDuplicateDetection: true, DuplicateDetectionHistoryTimeWindow: time.Minute})
	w.send("once", sent)
	out := must[broker.Outgoing](t)(codec.DecodeMessage(python.encode()))
	must[[]engine.Seq](t)(w.Send(w.Context(), "once", []broker.Outgoing{out}, ""))
	w.receive("once", engine.ReceiveAndDelete)
	if rows := must[[]engine.Row](t)(w.Peek(w.Context(), "once", 1, 1, "")); len(rows) != 0 {
		t.Error("MSG-11: the duplicate was not detected")
	}

	w.CreateEntity(engine.Topic, "t", engine.Config{})
	rule := engine.Rule{Name: "r", Filter: engine.Filter{Kind: engine.CorrelationFilter, Text: (&filter.Correlation{MessageID: "m", CorrelationID: "c", SessionID: "s"}).Text()}}
	must[engine.Entity](t)(w.CreateWithRules(w.Context(), engine.Subscription, "t/Subscriptions/s", engine.Config{}, []engine.Rule{rule}, ""))
	out = must[broker.Outgoing](t)(codec.DecodeMessage(python.encode()))
	must[[]engine.Seq](t)(w.Send(w.Context(), "t", []broker.Outgoing{out}, ""))
	_, got := w.receive("t/Subscriptions/s", engine.ReceiveAndDelete)
	diff(t, wire.Properties{MessageID: value.OfBinary([]byte("m")), CorrelationID: value.OfBinary([]byte("c")), GroupID: wire.Some("s")}, got.Properties)
}
