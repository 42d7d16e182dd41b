package codec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/codec"
	"mayfly/web/amqp/wire"
)

// The sender's sections are returned one by one, with their types, including the values that are
// stored in fields of the content (MSG-2).
func TestSentSectionsAreKept(t *testing.T) {
	sections := func(s spoken) string {
		packed, body := submit(t, must[broker.Outgoing](t)(codec.DecodeMessage(s.encode())))
		c, err := packed.Content()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, section := range must[[]codec.Section](t)(codec.SentSections(c, body)) {
			for _, f := range section.Fields {
				fmt.Fprintf(&b, "%s: %s %s %q\n", section.Name, f.Name, f.Type, f.Value)
			}
		}
		return b.String()
	}
	for name, tc := range map[string]struct {
		original spoken
		want     string
	}{
		"plain": {variant(func(*spoken) {}), `properties: message-id string "m"
body: data bytes "5"
`},
		"everything": {spoken{
			Header:   wire.Header{Durable: wire.Some(true), Priority: wire.Some(uint8(7)), TTL: wire.Some(uint32(1500))},
			Delivery: pairs("x-d", value.OfBool(true)), Message: pairs("x-opt-partition-key", value.OfString("p"), "x-own", value.OfInt(-3)),
			Properties: wire.Properties{
				MessageID: value.OfULong(7), UserID: []byte{1, 2}, Subject: wire.Some(""), ContentType: wire.Some("text/plain"),
				ContentEncoding: wire.Some("gzip"), GroupSequence: wire.Some(uint32(4)),
			},
			Application: pairs("n", value.OfUShort(5), "precise", value.OfString("1.10")), Kind: wire.DataBody, Body: []string{"ab", "cde"},
			Footer: pairs("x-f", value.OfString("end")),
		}, `header: durable boolean "true"
header: priority ubyte "7"
header: ttl milliseconds "1500"
delivery-annotations: x-d boolean "true"
message-annotations: x-own int "-3"
message-annotations: x-opt-partition-key string "p"
properties: message-id ulong "7"
properties: user-id binary "0102"
properties: subject string ""
properties: content-type symbol "text/plain"
properties: content-encoding symbol "gzip"
properties: group-sequence uint "4"
application-properties: n ushort "5"
application-properties: precise string "1.10"
body: data bytes "2"
body: data bytes "3"
footer: x-f string "end"
`},
		"a value": {variant(func(s *spoken) {
			s.Kind, s.Body = wire.ValueBody, []string{string(wire.AppendValue(nil, value.OfString("hello")))}
		}), `properties: message-id string "m"
body: amqp-value string "hello"
`},
		"TTL-8": {variant(func(s *spoken) { s.Header.TTL = wire.Some(uint32(0)) }), `header: ttl milliseconds "0"
properties: message-id string "m"
body: data bytes "5"
`},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, sections(tc.original)); d != "" {
				t.Error(d)
			}
		})
	}
}
