package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine/value"
)

// Messages as the SDKs write them: put-token (§18.1), requests to $management (§18.2),
// single messages and batches (§18.1).
func TestGoldenMessages(t *testing.T) {
	id := x("98 00112233445566778899aabbccddeeff")
	uuid := value.OfUUID([16]byte(id[1:]))
	token := str8("SharedAccessSignature sr=a&sig=b&se=1&skn=c")
	app := func(pairs ...[]byte) []byte { return of(0x74, map8(pairs...)) }
	putToken := func(more ...[]byte) []byte {
		return app(append([][]byte{str8("operation"), str8("put-token"), str8("name"), str8("sb://localhost/q1")}, more...)...)
	}
	put := func(more ...value.Property) value.Properties {
		return append(value.Properties{{Name: "operation", Value: value.OfString("put-token")}, {Name: "name", Value: value.OfString("sb://localhost/q1")}}, more...)
	}
	text := func(name, v string) value.Property { return value.Property{Name: name, Value: value.OfString(v)} }
	for name, tc := range map[string]struct {
		in         []byte
		properties Properties
		app        value.Properties
		kind       BodyKind
		body       []byte
	}{
		"Go: put-token": {join(of(0x73, list8(str8("id"), null, null, null, str8("cbs"))), putToken(str8("type"), str8("servicebus.windows.net:sastoken"), str8("expiration"), str8("2026-01-02 03:04:05 +0000 UTC")), of(0x77, token)),
			Properties{MessageID: value.OfString("id"), ReplyTo: Some("cbs")}, put(text("type", "servicebus.windows.net:sastoken"), text("expiration", "2026-01-02 03:04:05 +0000 UTC")), ValueBody, token},
		"Python: put-token": {join(of(0x70, list32(null, null, null, null, null)), of(0x73, list32(id, null, null, null, null, null, null, null, null, null, null, null, null)), putToken(str8("type"), str8("jwt"), str8("expiration"), x("83 0000019b00000000")), of(0x77, token)),
			Properties{MessageID: uuid}, put(text("type", "jwt"), value.Property{Name: "expiration", Value: value.OfTimestamp(0x19b00000000)}), ValueBody, token},
		"JS: put-token": {join(of(0x73, list8(str8("id"), null, str8("$cbs"), null, str8("cbs-1"))), putToken(str8("type"), str8("servicebus.windows.net:sastoken")), of(0x77, token)),
			Properties{MessageID: value.OfString("id"), To: Some("$cbs"), ReplyTo: Some("cbs-1")}, put(text("type", "servicebus.windows.net:sastoken")), ValueBody, token},
		".NET: put-token": {join(of(0x73, list8(x("53 01"), null, null, null, str8("r"))), putToken(str8("type"), str8("servicebus.windows.net:sastoken"), str8("expiration"), x("83 0000019b00000000")), of(0x77, token)),
			Properties{MessageID: value.OfULong(1), ReplyTo: Some("r")}, put(text("type", "servicebus.windows.net:sastoken"), value.Property{Name: "expiration", Value: value.OfTimestamp(0x19b00000000)}), ValueBody, token},
		"JS: renew-lock": {join(of(0x73, list8(str8("id"), null, null, null, str8("r"))), app(str8("operation"), str8("com.microsoft:renew-lock")), of(0x77, map8(str8("lock-tokens"), small(0xe0, 1, id)))),
			Properties{MessageID: value.OfString("id"), ReplyTo: Some("r")}, value.Properties{text("operation", "com.microsoft:renew-lock")}, ValueBody, map8(str8("lock-tokens"), small(0xe0, 1, id))},
		".NET: empty properties": {join(of(0x70, x("45")), of(0x72, x("c1 01 00")), of(0x73, x("45")), of(0x77, null)), Properties{}, nil, ValueBody, null},
		".NET: application properties": {join(app(str8("u"), join(x("00"), sym8("com.microsoft:uri"), str8("http://a")), str8("t"), join(x("00"), sym8("com.microsoft:timespan"), x("55 0a")), str8("d"), join(x("00"), sym8("com.microsoft:datetime-offset"), x("81 08d0000000000000")), str8("x"), x("94 00000000000000000000000000000007")), of(0x75, bin8("b"))),
			Properties{}, value.Properties{{Name: "u", Value: value.OfURI("http://a")}, {Name: "t", Value: value.OfTimespan(10)}, {Name: "d", Value: value.OfDateTimeOffset(0x08d0000000000000)}, {Name: "x", Value: value.OfDecimal128([16]byte{15: 7})}}, DataBody, []byte("b")},
		"JS: numbers": {join(app(str8("a"), x("52 05"), str8("b"), x("80 0000000100000000"), str8("c"), x("54 ff"), str8("d"), x("82 3ff8000000000000")), of(0x75, bin8(`"b"`))),
			Properties{}, value.Properties{{Name: "a", Value: value.OfUInt(5)}, {Name: "b", Value: value.OfULong(1 << 32)}, {Name: "c", Value: value.OfInt(-1)}, {Name: "d", Value: value.OfDouble(1.5)}}, DataBody, []byte(`"b"`)},
		"no body": {of(0x73, list8(str8("id"))), Properties{MessageID: value.OfString("id")}, nil, NoBody, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var m Message
			var p Properties
			if err := m.Decode(tc.in); err != nil {
				t.Fatal(err)
			}
			if err := p.Decode(m.Properties); err != nil {
				t.Fatal(err)
			}
			app, err := ParseMap(m.ApplicationProperties)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.properties, p, equal) + cmp.Diff(tc.app, app, equal); d != "" {
				t.Error(d)
			}
			if m.Body.Kind != tc.kind {
				t.Errorf("the body is of kind %d", m.Body.Kind)
			}
			check(t, "body", m.Body.Content(), tc.body)
		})
	}
}

// The replies to requests, byte for byte (§18.1, §18.2).
func TestGoldenReplies(t *testing.T) {
	for name, tc := range map[string]struct{ got, want []byte }{
		"put-token accepted": {
			AppendSection(AppendAnnotations((&Properties{CorrelationID: value.OfUUID([16]byte{1})}).Append(nil), SectionApplicationProperties, value.Properties{
				{Name: "status-code", Value: value.OfInt(202)}, {Name: "status-description", Value: value.OfString("Accepted")},
			}), SectionValue, AppendValue(nil, value.Value{})),
			join(of(0x73, list8(null, null, null, null, null, x("98 01000000000000000000000000000000"), null, null, null, null, null, null, null)),
				of(0x74, map8(str8("status-code"), x("71 000000ca"), str8("status-description"), str8("Accepted"))), of(0x77, null)),
		},
		"renew-lock": {
			AppendSection(nil, SectionValue, AppendMap(nil, value.Properties{{Name: "expirations", Value: value.OfRaw(AppendArray(nil, value.Timestamp, value.OfTimestamp(7)))}})),
			of(0x77, map8(str8("expirations"), x("e0 0a 01 83 0000000000000007"))),
		},
		"peek": {
			AppendMap(nil, value.Properties{{Name: "messages", Value: value.OfRaw(AppendList(nil, value.OfRaw(AppendMap(nil, value.Properties{{Name: "message", Value: value.OfBinary([]byte("encoded"))}}))))}}),
			map8(str8("messages"), list8(map8(str8("message"), bin8("encoded")))),
		},
		"nothing": {AppendMap(nil, nil), map8()},
		"failure": {
			AppendAnnotations(nil, SectionApplicationProperties, value.Properties{{Name: "statusCode", Value: value.OfInt(410)}, {Name: "errorCondition", Value: value.OfSymbol("com.microsoft:message-lock-lost")}}),
			of(0x74, map8(str8("statusCode"), x("71 0000019a"), str8("errorCondition"), sym8("com.microsoft:message-lock-lost"))),
		},
	} {
		t.Run(name, func(t *testing.T) { check(t, "reply", tc.got, tc.want) })
	}
}
