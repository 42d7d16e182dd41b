package codec_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/codec"
	"mayfly/web/amqp/wire"
)

// TestGolden compares encoded messages byte for byte: clients read some fields by their position,
// and compare sizes.
func TestGolden(t *testing.T) {
	s := spoken{
		Header:      wire.Header{TTL: wire.Some(uint32(60_000))},
		Properties:  wire.Properties{MessageID: value.OfString("m"), GroupID: wire.Some("s")},
		Application: pairs("a", value.OfInt(1)),
		Kind:        wire.DataBody, Body: []string{"hello"},
	}
	const (
		rest = `005373 c0 12 0d a1016d 40 40 40 40 40 40 40 40 40 a10173 40 40
			005374 c1 06 02 a10161 5401
			005375 a0 05 68656c6c6f`
		annotations = "a3 15 782d6f70742d73657175656e63652d6e756d626572 5503 a3 13 782d6f70742d656e7175657565642d74696d65 83 0000019f6011b100"
	)
	for name, tc := range map[string]struct {
		change func(*engine.Delivery)
		want   string
	}{
		"under a lock": {nil, `005370 c0 0a 05 40 40 70 0000ea60 40 43
			005371 c1 24 02 a3 10 782d6f70742d6c6f636b2d746f6b656e 98 0000000000000007 0000000000000009
			005372 c1 55 06 ` + annotations + ` a3 12 782d6f70742d6c6f636b65642d756e74696c 83 0000019f60129b60
			` + rest},
		"for good": {func(d *engine.Delivery) { d.Deleted = true }, `005370 c0 0a 05 40 40 70 0000ea60 40 43
			005371 c1 01 00
			005372 c1 38 04 ` + annotations + `
			` + rest},
	} {
		t.Run(name, func(t *testing.T) {
			packed, body := submit(t, must[broker.Outgoing](t)(codec.DecodeMessage(s.encode())))
			d := stored(packed)
			if tc.change != nil {
				tc.change(&d)
			}
			var e codec.Envelope
			must[[]byte](t)(e.EncodeDelivery(nil, &d))
			want := strings.Join(strings.Fields(tc.want), "")
			if got := hex.EncodeToString(e.AppendMessage(nil, body)); got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

// TestGoldenExtras compares Content.Wire of a decoded message byte for byte, because it is stored.
func TestGoldenExtras(t *testing.T) {
	s := sender()
	s.Header = wire.Header{Durable: wire.Some(true), Priority: wire.Some(uint8(7)), FirstAcquirer: wire.Some(false)}
	s.Properties.CorrelationID, s.Properties.ContentEncoding = value.OfULong(7), wire.Some("gzip")
	s.Properties.AbsoluteExpiryTime, s.Properties.CreationTime, s.Properties.GroupSequence = wire.Some(int64(5)), wire.Some(int64(-5)), wire.Some(uint32(300))
	out := must[broker.Outgoing](t)(codec.DecodeMessage(s.encode()))
	want := strings.Join(strings.Fields(`
		01 02 9c01  02 01 07  04 01 75  05 04 677a6970  06 01 0a  07 01 09  08 02 ac02
		09 11 98 01000000000000000000000000000000  0a 02 5307
		0b 0a c108 02 a3036f776e 5505  0c 0b c109 02 a3046d696e65 5401  0d 0a c108 02 a304666f6f74 41  0e 02 0300`), "")
	if got := hex.EncodeToString([]byte(out.Content.Wire)); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}
