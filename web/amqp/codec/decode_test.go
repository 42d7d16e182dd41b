package codec_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/codec"
	"mayfly/web/amqp/wire"
	"mayfly/web/errorcodes"
)

var plain = spoken{Kind: wire.DataBody, Body: []string{"hello"}}

func variant(change func(*spoken)) spoken {
	s := plain
	s.Properties.MessageID = value.OfString("m")
	change(&s)
	return s
}

func annotated(all ...any) spoken { return variant(func(s *spoken) { s.Message = pairs(all...) }) }

// TestIncoming checks which fields of the content a decoded message sets, and whether its Wire is
// empty.
func TestIncoming(t *testing.T) {
	const day = 24 * time.Hour
	uuid := value.OfUUID([16]byte{0: 1, 15: 2})
	lives := func(ttl uint32, creation, expiry int64) spoken {
		return variant(func(s *spoken) {
			s.Header.TTL = wire.Some(ttl)
			s.Properties.CreationTime, s.Properties.AbsoluteExpiryTime = wire.Some(creation), wire.Some(expiry)
		})
	}
	for name, tc := range map[string]struct {
		original spoken
		want     engine.Content
		wired    bool
	}{
		"a plain one": {variant(func(s *spoken) { s.Application = pairs("a", value.OfInt(1)) }), engine.Content{Properties: pairs("a", value.OfInt(1))}, false},
		"texts": {variant(func(s *spoken) {
			s.Properties = wire.Properties{
				MessageID: value.OfString("m"), To: wire.Some("to"), Subject: wire.Some("subject"), ReplyTo: wire.Some("reply"),
				CorrelationID: value.OfString("c"), ContentType: wire.Some("type"), GroupID: wire.Some("s"), ReplyToGroupID: wire.Some("rs"),
			}
			s.Message = pairs("x-opt-partition-key", value.OfString("s"), "x-opt-via-partition-key", value.OfSymbol("v"))
		}), engine.Content{
			To: "to", Subject: "subject", ReplyTo: "reply", CorrelationID: "c", ContentType: "type", SessionID: "s", ReplyToSessionID: "rs", PartitionKey: "s", ViaPartitionKey: "v",
		}, false},
		"empty texts":             {variant(func(s *spoken) { s.Properties.To, s.Properties.Subject = wire.Some(""), wire.Some("") }), engine.Content{}, true},
		"SES-1 an empty id":       {variant(func(s *spoken) { s.Properties.GroupID = wire.Some("") }), engine.Content{EmptySessionID: true}, false},
		"ids that are no strings": {variant(func(s *spoken) { s.Properties.MessageID, s.Properties.CorrelationID = uuid, value.OfULong(7) }), engine.Content{MessageID: "01000000-0000-0000-0000-000000000002", CorrelationID: "7"}, true},

		"TTL-1":              {variant(func(s *spoken) { s.Header.TTL = wire.Some(uint32(1500)) }), engine.Content{TTL: 1500 * time.Millisecond}, false},
		"TTL-8":              {variant(func(s *spoken) { s.Header.TTL = wire.Some(uint32(0)) }), engine.Content{TTL: -time.Millisecond}, false},
		"TTL-9":              {lives(math.MaxUint32, 1000, 1000+(60*day).Milliseconds()), engine.Content{TTL: 60 * day}, true},
		"TTL-9 at its edge":  {lives(math.MaxUint32, 0, math.MaxUint32), engine.Content{TTL: math.MaxUint32 * time.Millisecond}, true},
		"TTL-9 one more":     {lives(math.MaxUint32, 0, math.MaxUint32+1), engine.Content{TTL: (math.MaxUint32 + 1) * time.Millisecond}, true},
		"TTL-9 too close":    {lives(math.MaxUint32, 0, 1000), engine.Content{TTL: math.MaxUint32 * time.Millisecond}, true},
		"TTL-9 only then":    {lives(1000, 1000, 1000+(60*day).Milliseconds()), engine.Content{TTL: time.Second}, true},
		"TTL-9 backwards":    {lives(math.MaxUint32, 1000, 10), engine.Content{TTL: math.MaxUint32 * time.Millisecond}, true},
		"TTL-2 for ever":     {lives(math.MaxUint32, math.MinInt64, math.MaxInt64), engine.Content{}, true},
		"TTL-9 the one time": {variant(func(s *spoken) { s.Properties.AbsoluteExpiryTime = wire.Some(int64(1)) }), engine.Content{}, true},

		"SCH-1":                 {annotated("x-opt-scheduled-enqueue-time", value.OfTimestamp(77)), engine.Content{ScheduledFor: 77}, false},
		"SCH-2 year 1":          {annotated("x-opt-scheduled-enqueue-time", value.OfTimestamp(-62_135_596_800_000)), engine.Content{ScheduledFor: -62_135_596_800_000}, false},
		"SCH-2 at 1970":         {annotated("x-opt-scheduled-enqueue-time", value.OfTimestamp(0)), engine.Content{}, true},
		"MSG-1":                 {annotated("x-opt-sequence-number", value.OfLong(5), "x-opt-enqueued-time", value.OfTimestamp(5), "x-opt-enqueue-sequence-number", value.OfLong(5), "x-opt-locked-until", value.OfTimestamp(5), "x-opt-message-state", value.OfInt(1), "x-opt-deadletter-source", value.OfString("q"), "x-opt-partition-id", value.OfShort(1)), engine.Content{}, false},
		"MSG-1 by null":         {annotated("x-opt-sequence-number", value.Value{}), engine.Content{}, false},
		"as Python sends it on": {annotated("x-opt-partition-key", value.OfBinary([]byte("k"))), engine.Content{PartitionKey: "k"}, false},
		"null is kept":          {annotated("x-opt-partition-key", value.Value{}), engine.Content{}, true},
		"others":                {annotated("mine", value.OfInt(1)), engine.Content{}, true},
		"a lock token":          {variant(func(s *spoken) { s.Delivery = pairs("x-opt-lock-token", uuid) }), engine.Content{}, true}, // the section is present, though empty
		"a footer":              {variant(func(s *spoken) { s.Footer = pairs("f", uuid) }), engine.Content{}, true},
		"of the header":         {variant(func(s *spoken) { s.Header = wire.Header{DeliveryCount: wire.Some(uint32(9))} }), engine.Content{}, false},
		"priority":              {variant(func(s *spoken) { s.Header.Priority = wire.Some(uint8(4)) }), engine.Content{}, true},
		"no properties":         {variant(func(s *spoken) { s.Application = value.Properties{} }), engine.Content{}, true},
		"no body":               {variant(func(s *spoken) { s.Kind, s.Body = wire.NoBody, nil }), engine.Content{}, true},
		"an empty body":         {variant(func(s *spoken) { s.Body = []string{""} }), engine.Content{}, false},
		"a body in two":         {variant(func(s *spoken) { s.Body = []string{"hel", "lo"} }), engine.Content{}, true},
		"a text for a body":     {variant(func(s *spoken) { s.Kind, s.Body = wire.ValueBody, []string{"\xa1\x02hi"} }), engine.Content{BodyKind: engine.ValueBody, Preview: "hi"}, false},
		"null for a body":       {variant(func(s *spoken) { s.Kind, s.Body = wire.ValueBody, []string{"\x40"} }), engine.Content{BodyKind: engine.ValueBody}, false},
		"a list for a body":     {variant(func(s *spoken) { s.Kind, s.Body = wire.SequenceBody, []string{"\x45"} }), engine.Content{BodyKind: engine.SequenceBody}, false},
		"binary for a body":     {variant(func(s *spoken) { s.Kind, s.Body = wire.ValueBody, []string{"\xa0\x02hi"} }), engine.Content{BodyKind: engine.ValueBody, Preview: "hi"}, false},
		"MSG-3 every type":      {variant(func(s *spoken) { s.Application = everyType() }), engine.Content{Properties: everyType()}, false},
		"a name twice":          {variant(func(s *spoken) { s.Application = pairs("a", value.OfInt(1), "a", value.OfInt(2)) }), engine.Content{Properties: pairs("a", value.OfInt(1), "a", value.OfInt(2))}, false},
		"an empty message id":   {variant(func(s *spoken) { s.Properties.MessageID = value.OfString("") }), engine.Content{MessageID: ""}, true},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := codec.DecodeMessage(tc.original.encode())
			if err != nil {
				t.Fatal(err)
			}
			got := out.Content
			if (got.Wire != "") != tc.wired {
				t.Errorf("Wire has %q", got.Wire)
			}
			if s, _ := tc.original.Properties.MessageID.Str(); tc.want.MessageID == "" {
				tc.want.MessageID = s
			}
			got.Wire = ""
			diff(t, tc.want, got)
			if string(out.Body) != strings.Join(tc.original.Body, "") {
				t.Errorf("the body is %q", out.Body)
			}
		})
	}
}

// everyType returns properties of every type of MSG-3, and of some that Service Bus' own
// clients never send.
func everyType() value.Properties {
	return pairs("null", value.Value{}, "bool", value.OfBool(true), "byte", value.OfUByte(200), "sbyte", value.OfByte(-5), "char", value.OfChar('é'),
		"int16", value.OfShort(-5), "uint16", value.OfUShort(65000), "int32", value.OfInt(-5), "uint32", value.OfUInt(5), "int64", value.OfLong(-5), "uint64", value.OfULong(5),
		"float", value.OfFloat(1.5), "double", value.OfDouble(math.Copysign(0, -1)), "decimal", value.OfDecimal128([16]byte{0: 0x22}), "string", value.OfString("é"), "symbol", value.OfSymbol("s"),
		"guid", value.OfUUID([16]byte{1, 2, 3}), "time", value.OfTimestamp(-1), "timespan", value.OfTimespan(5), "uri", value.OfURI("http://host"),
		"offset", value.OfDateTimeOffset(6e17), "binary", value.OfBinary([]byte{0, 255}), "list", value.OfRaw(wire.AppendList(nil, value.OfInt(1))))
}

// A message that is sent without a message-id gets one.
func TestMessageIDGiven(t *testing.T) {
	a, b := must[broker.Outgoing](t)(codec.DecodeMessage(plain.encode())), must[broker.Outgoing](t)(codec.DecodeMessage(plain.encode()))
	if len(a.Content.MessageID) != 32 || a.Content.MessageID == b.Content.MessageID {
		t.Errorf("the generated ids are %q and %q", a.Content.MessageID, b.Content.MessageID)
	}
}

// A decoded message shares no memory with the encoded one: overwriting that does not change it.
func TestIncomingCopies(t *testing.T) {
	for name, s := range map[string]spoken{
		"one section": variant(func(s *spoken) { s.Application, s.Message = everyType(), pairs("k", value.OfString("v")) }),
		"two":         variant(func(s *spoken) { s.Body = []string{"a", "b"} }),
	} {
		t.Run(name, func(t *testing.T) {
			encoded := s.encode()
			want, got := must[broker.Outgoing](t)(codec.DecodeMessage(s.encode())), must[broker.Outgoing](t)(codec.DecodeMessage(encoded))
			for i := range encoded {
				encoded[i] = 0xff
			}
			diff(t, want.Content, got.Content)
			diff(t, want.Body, got.Body)
		})
	}
}

func TestIncomingRefused(t *testing.T) {
	list := value.OfRaw(wire.AppendList(nil, value.OfInt(1)))
	for name, tc := range map[string]struct {
		encoded []byte
		cond    wire.Condition
	}{
		"no message":                 {[]byte{0x40}, wire.CondDecodeError},
		"MSG-11 a compound key":      {annotated("x-opt-partition-key", list).encode(), errorcodes.CondArgument},
		"MSG-11 a compound via key":  {annotated("x-opt-via-partition-key", list).encode(), errorcodes.CondArgument},
		"MSG-11 a compound session":  {propertiesOf{10: list}.encode(), wire.CondInvalidField},
		"SCH-1 no time":              {annotated("x-opt-scheduled-enqueue-time", value.OfLong(1)).encode(), errorcodes.CondArgument},
		"SCH-1 beyond time":          {annotated("x-opt-scheduled-enqueue-time", value.OfTimestamp(int64(engine.Forever)+1)).encode(), errorcodes.CondOutOfRange},
		"SCH-1 before time":          {annotated("x-opt-scheduled-enqueue-time", value.OfTimestamp(math.MinInt64)).encode(), errorcodes.CondOutOfRange},
		"an id that is compound":     {[]byte{0x00, 0x53, 0x73, 0xc0, 0x02, 0x01, 0x45}, wire.CondInvalidField},
		"a ttl that is a text":       {[]byte{0x00, 0x53, 0x70, 0xc0, 0x06, 0x03, 0x40, 0x40, 0xa1, 0x01, 'x'}, wire.CondInvalidField},
		"annotations that are a map": {[]byte{0x00, 0x53, 0x72, 0xc1, 0x04, 0x02, 0x53, 0x01, 0x40}, wire.CondInvalidField},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := codec.DecodeMessage(tc.encoded)
			if e, _ := codec.AMQPError(err); err == nil || e.Condition != tc.cond {
				t.Errorf("%v", err)
			}
		})
	}
}

// A message that the engine refuses gets an AMQP condition.
func TestSubmitRefused(t *testing.T) {
	out := must[broker.Outgoing](t)(codec.DecodeMessage(variant(func(s *spoken) { s.Properties.MessageID = value.OfString(strings.Repeat("x", 129)) }).encode()))
	_, err := engine.Submit(out.Content, out.Body, 0, 1, engine.DefaultLimits())
	if e, status := codec.AMQPError(err); e.Condition != errorcodes.CondArgument || status != 400 {
		t.Errorf("MSG-5: %v", err)
	}
	out = must[broker.Outgoing](t)(codec.DecodeMessage(variant(func(s *spoken) { s.Footer = pairs("f", value.OfBinary(make([]byte, 64<<10))) }).encode()))
	if _, err = engine.Submit(out.Content, out.Body, 0, 1, engine.DefaultLimits()); !errors.Is(err, engine.ErrArgument) {
		t.Errorf("a footer does not count towards the limit of properties: %v", err)
	}
}

func TestBatch(t *testing.T) {
	one := func(id string) string {
		return string(variant(func(s *spoken) { s.Properties.MessageID = value.OfString(id) }).encode())
	}
	envelope := func(inside ...string) []byte {
		return variant(func(s *spoken) { s.Properties.GroupID, s.Body = wire.Some("repeated"), inside }).encode()
	}
	got, err := codec.DecodeBatch(envelope(one("a"), one("b"), one("c")))
	if err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
	for i, want := range []string{"a", "b", "c"} {
		if got[i].Content.MessageID != want || string(got[i].Body) != "hello" || got[i].Content.HasSessionID() {
			t.Errorf("MSG-6: %+v", got[i])
		}
	}
	for name, tc := range map[string]struct {
		encoded []byte
		cond    wire.Condition
		text    string
	}{
		"MSG-6 one is bad":     {envelope(one("a"), "\x40"), wire.CondDecodeError, "The message at position 1 of the batch: "},
		"MSG-6 one is wrong":   {envelope(one("a"), string(annotated("x-opt-scheduled-enqueue-time", value.OfInt(1)).encode())), errorcodes.CondArgument, "The message at position 1 of the batch: "},
		"no batch":             {variant(func(s *spoken) { s.Kind, s.Body = wire.ValueBody, []string{"\x40"} }).encode(), wire.CondDecodeError, ""},
		"a message":            {plain.encode(), wire.CondDecodeError, "The message at position 0 of the batch: "},
		"the envelope is none": {[]byte("hello"), wire.CondDecodeError, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := codec.DecodeBatch(tc.encoded)
			if e, status := codec.AMQPError(err); err == nil || e.Condition != tc.cond || status != 400 || !strings.HasPrefix(e.Description, tc.text) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestScheduled(t *testing.T) {
	entry := func(all ...any) value.Value { return value.OfRaw(wire.AppendMap(nil, pairs(all...))) }
	request := func(entries ...value.Value) []byte {
		return wire.AppendMap(nil, pairs("messages", value.OfRaw(wire.AppendList(nil, entries...))))
	}
	due := value.OfBinary(annotated("x-opt-scheduled-enqueue-time", value.OfTimestamp(77)).encode())
	got, err := codec.DecodeScheduled(request(entry("message-id", value.OfString("x"), "message", due), entry("message", due, "session-id", value.Value{})))
	if err != nil || len(got) != 2 || got[0].Content.ScheduledFor != 77 || got[0].Content.MessageID != "m" || string(got[1].Body) != "hello" {
		t.Errorf("SCH-1: %+v, %v", got, err)
	}
	for name, body := range map[string][]byte{
		"no map":                {0x40, 0x40},
		"nothing":               wire.AppendMap(nil, nil),
		"no list":               wire.AppendMap(nil, pairs("messages", value.OfBinary(wire.AppendList(nil, due)))),
		"SCH-8 none":            request(),
		"no map inside":         request(due),
		"no message":            request(entry("message-id", value.OfString("x"))),
		"a section":             request(entry("message", value.OfRaw(plain.encode()[len(plain.encode())-10:]))),
		"no binary":             request(entry("message", value.OfString("x"))),
		"SCH-8 one of two bad":  request(entry("message", due), entry("message", value.OfBinary([]byte("x")))),
		"null for the messages": wire.AppendMap(nil, pairs("messages", value.Value{})),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := codec.DecodeScheduled(body); err == nil {
				t.Error("the body was accepted")
			} else if _, status := codec.AMQPError(err); status != 400 {
				t.Errorf("%d, %v", status, err)
			}
		})
	}
}
