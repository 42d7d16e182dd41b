package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine/value"
)

// Frames as the SDKs write them (§18.1).
func TestGoldenFrames(t *testing.T) {
	u := Some[uint32]
	sessionFilter := "com.microsoft:session-filter"
	txnCapabilities := small(0xe0, 2, join(x("a3 17"), []byte("amqp:local-transactions"), x("17"), []byte("amqp:multi-txns-per-ssn")))
	described := join(x("00 80 000000137000000c"), null)
	nonExclusive := join(x("00 80 000000137000000e"), list8(str8("s1"), x("98 00112233445566778899aabbccddeeff")))
	for name, tc := range map[string]struct {
		kind FrameType
		body []byte
		want Performative
	}{
		"Go: SASL":     {1, of(0x41, list8(sym8("ANONYMOUS"), bin8("anonymous"), str8("localhost"))), &Init{"ANONYMOUS", []byte("anonymous"), Some("localhost")}},
		"Python: SASL": {1, of(0x41, list32(sym8("ANONYMOUS"), bin8(""), str8("localhost"))), &Init{"ANONYMOUS", []byte{}, Some("localhost")}},
		"JS: SASL":     {1, of(0x41, list8(sym8("ANONYMOUS"), bin8("\x00RootManageSharedAccessKey"), str8("localhost"))), &Init{"ANONYMOUS", []byte("\x00RootManageSharedAccessKey"), Some("localhost")}},
		".NET: SASL":   {1, of(0x41, list8(sym8("MSSBCBS"))), &Init{Mechanism: "MSSBCBS"}},
		"JMS: SASL":    {1, of(0x41, list8(sym8("PLAIN"), bin8("\x00key\x00secret"))), &Init{Mechanism: "PLAIN", InitialResponse: []byte("\x00key\x00secret")}},

		"Go: open":     {0, of(0x10, list8(str8("abc"), str8("localhost"), x("70 00010000"), x("60 ffff"), x("70 00007530"))), &Open{ContainerID: "abc", Hostname: Some("localhost"), MaxFrameSize: u(65536), ChannelMax: Some(uint16(65535)), IdleTimeOut: u(30000)}},
		"Python: open": {0, of(0x10, list32(str8("abc"), str8("localhost"), x("70 00100000"), x("60 ffff"), null, null, null, null, null, map32(sym8("product"), str8("azsdk-python")))), &Open{ContainerID: "abc", Hostname: Some("localhost"), MaxFrameSize: u(1 << 20), ChannelMax: Some(uint16(65535)), Properties: value.Properties{{Name: "product", Value: value.OfString("azsdk-python")}}}},
		"JS: open":     {0, of(0x10, list8(str8("connection-1"), str8("localhost"), null, null, x("70 0000ea60"), null, null, null, null, map8(sym8("product"), str8("MSJSClient")))), &Open{ContainerID: "connection-1", Hostname: Some("localhost"), IdleTimeOut: u(60000), Properties: value.Properties{{Name: "product", Value: value.OfString("MSJSClient")}}}},
		"Java: open":   {0, of(0x10, list8(str8("MF_1"), str8("localhost:5672"), x("70 00010000"), x("60 ffff"), x("70 0000ea60"), null, null, x("e0 11 02 a3 06 6c61796f7574 07 646174612d3031"), sym8("one"))), &Open{ContainerID: "MF_1", Hostname: Some("localhost:5672"), MaxFrameSize: u(65536), ChannelMax: Some(uint16(65535)), IdleTimeOut: u(60000), OfferedCapabilities: []string{"layout", "data-01"}, DesiredCapabilities: []string{"one"}}},
		"JS: begin":    {0, of(0x11, list8(null, zero, x("70 00000800"), x("70 ffffffff"))), &Begin{IncomingWindow: 2048, OutgoingWindow: 0xffffffff}},
		"Go: begin":    {0, of(0x11, list8(null, zero, x("70 00001388"), x("70 00001388"), x("70 ffffffff"))), &Begin{IncomingWindow: 5000, OutgoingWindow: 5000, HandleMax: u(0xffffffff)}},
		"Python: begin": {0, of(0x11, list32(null, x("52 00"), x("70 00010000"), x("70 00010000"), x("70 ffffffff"), null, null, null)),
			&Begin{IncomingWindow: 65536, OutgoingWindow: 65536, HandleMax: u(0xffffffff)}},

		"Go: sender": {0, of(0x12, list8(str8("x9Zz"), zero, no, x("50 02"), x("50 00"), of(0x28, x("45")), of(0x29, list8(str8("q1"))), null, no, zero)),
			&Attach{Name: "x9Zz", Role: RoleSender, SenderSettleMode: Some(SenderMixed), ReceiverSettleMode: Some(ReceiverFirst), Source: &Source{}, Target: &Target{Address: Some("q1")}, InitialDeliveryCount: u(0)}},
		"Go: receiver": {0, of(0x12, list8(str8("x9Zz"), x("52 01"), yes, null, x("50 01"), of(0x28, list8(str8("q1"))), of(0x29, x("45")))),
			&Attach{Name: "x9Zz", Handle: 1, Role: RoleReceiver, ReceiverSettleMode: Some(ReceiverSecond), Source: &Source{Address: Some("q1")}, Target: &Target{}}},
		"Go: session": {0, of(0x12, list8(str8("x9Zz"), zero, yes, null, x("50 01"), of(0x28, list8(str8("qs"), null, null, null, null, null, null, map8(sym8("com.microsoft:session-filter"), described))), of(0x29, x("45")), null, null, null, null, null, null, map8(sym8("com.microsoft:timeout"), x("70 0000ea60")))),
			&Attach{Name: "x9Zz", Role: RoleReceiver, ReceiverSettleMode: Some(ReceiverSecond), Source: &Source{Address: Some("qs"), Filter: value.Properties{{Name: sessionFilter, Value: value.OfRaw(described)}}}, Target: &Target{}, Properties: value.Properties{{Name: "com.microsoft:timeout", Value: value.OfUInt(60000)}}}},
		"JS: receiver": {0, of(0x12, list8(str8("q1-1"), zero, yes, x("50 01"), x("50 00"), of(0x28, list8(str8("q1"))), of(0x29, list8(str8("q1-1"))), null, null, null, null, null, null, map8(sym8("com.microsoft:receiver-name"), str8("q1-1")))),
			&Attach{Name: "q1-1", Role: RoleReceiver, SenderSettleMode: Some(SenderSettled), ReceiverSettleMode: Some(ReceiverFirst), Source: &Source{Address: Some("q1")}, Target: &Target{Address: Some("q1-1")}, Properties: value.Properties{{Name: "com.microsoft:receiver-name", Value: value.OfString("q1-1")}}}},
		"JS: cbs receiver": {0, of(0x12, list8(str8("cbs-1"), zero, yes, null, null, of(0x28, list8(str8("$cbs"))), of(0x29, x("45")))),
			&Attach{Name: "cbs-1", Role: RoleReceiver, Source: &Source{Address: Some("$cbs")}, Target: &Target{}}},
		"JS: named session": {0, of(0x12, list8(str8("qs-1"), zero, yes, null, null, of(0x28, list8(str8("qs"), null, null, null, null, null, null, map8(sym8("com.microsoft:session-filter"), str8("")))))),
			&Attach{Name: "qs-1", Role: RoleReceiver, Source: &Source{Address: Some("qs"), Filter: value.Properties{{Name: sessionFilter, Value: value.OfString("")}}}}},
		"Python: sender": {0, of(0x12, list32(str8("link"), x("70 00000001"), x("56 00"), x("50 00"), x("50 01"), of(0x28, list32(str8("sender-link-1"), zero, null, zero, x("56 00"), null, null, null, null, null, null)), of(0x29, list32(str8("amqps://localhost/q1"), zero, null, zero, x("56 00"), null, null)), null, null, x("70 00000000"), x("80 0000000000000000"), null, null, null)),
			&Attach{Name: "link", Handle: 1, Role: RoleSender, SenderSettleMode: Some(SenderUnsettled), ReceiverSettleMode: Some(ReceiverSecond), Source: &Source{Address: Some("sender-link-1"), Durable: u(0), Timeout: u(0)}, Target: &Target{Address: Some("amqps://localhost/q1"), Durable: u(0), Timeout: u(0)}, InitialDeliveryCount: u(0), MaxMessageSize: Some(uint64(0))}},
		".NET: non-exclusive session": {0, of(0x12, list8(str8("n"), zero, yes, x("50 00"), x("50 01"), of(0x28, list8(str8("/qs"), null, null, null, null, null, null, map8(sym8("com.microsoft:non-exclusive-session-filter"), nonExclusive))))),
			&Attach{Name: "n", Role: RoleReceiver, SenderSettleMode: Some(SenderUnsettled), ReceiverSettleMode: Some(ReceiverSecond), Source: &Source{Address: Some("/qs"), Filter: value.Properties{{Name: "com.microsoft:non-exclusive-session-filter", Value: value.OfRaw(nonExclusive)}}}}},
		".NET: coordinator": {0, of(0x12, list8(str8("t"), zero, no, null, null, of(0x28, list8(null, null, null, null, null, null, null, null, of(0x24, x("45")), sym8("amqp:accepted:list"))), of(0x30, list8(txnCapabilities)), null, null, zero)),
			&Attach{Name: "t", Source: &Source{DefaultOutcome: Accepted{}, Outcomes: []string{"amqp:accepted:list"}}, Coordinator: &Coordinator{[]string{"amqp:local-transactions", "amqp:multi-txns-per-ssn"}}, InitialDeliveryCount: u(0)}},

		"Python: first flow":      {0, of(0x13, list32(x("70 00000000"), x("70 00010000"), x("70 00000000"), x("70 00010000"), x("70 00000001"), x("70 00000000"), x("70 00000000"), null, x("56 00"), x("56 00"), null)), &Flow{NextIncomingID: u(0), IncomingWindow: 65536, OutgoingWindow: 65536, Handle: u(1), DeliveryCount: u(0), LinkCredit: u(0)}},
		"Python: sender's credit": {0, of(0x13, list32(zero, x("70 00010000"), zero, x("70 00010000"), x("52 01"), zero, x("70 00002710"), null, no, no, null)), &Flow{NextIncomingID: u(0), IncomingWindow: 65536, OutgoingWindow: 65536, Handle: u(1), DeliveryCount: u(0), LinkCredit: u(10000)}},
		"JS: drain":               {0, of(0x13, list8(x("52 03"), x("70 00000800"), zero, x("70 ffffffff"), zero, x("52 03"), x("52 07"), null, yes)), &Flow{NextIncomingID: u(3), IncomingWindow: 2048, OutgoingWindow: 0xffffffff, Handle: u(0), DeliveryCount: u(3), LinkCredit: u(7), Drain: true}},
		"session flow":            {0, of(0x13, list8(null, x("52 01"), zero, zero)), &Flow{IncomingWindow: 1}},

		"Go: send":             {0, join(of(0x14, list8(zero, zero, bin8("\x00"), zero, no)), x("00537540")), &Transfer{DeliveryID: u(0), DeliveryTag: []byte{0}, MessageFormat: u(0), Settled: Some(false), Payload: x("00537540")}},
		"Go: continuation":     {0, join(of(0x14, list8(zero, null, null, null, null, yes)), []byte("more")), &Transfer{More: true, Payload: []byte("more")}},
		"JS: batch":            {0, of(0x14, list8(zero, x("52 05"), bin8("5"), x("70 80013700"), no, no)), &Transfer{DeliveryID: u(5), DeliveryTag: []byte("5"), MessageFormat: u(2147563264), Settled: Some(false), Payload: []byte{}}},
		"Python: send":         {0, of(0x14, list32(x("70 00000001"), x("70 00000000"), bin8("0"), x("70 00000000"), x("56 00"), x("56 00"), null, null, null, null, null)), &Transfer{Handle: 1, DeliveryID: u(0), DeliveryTag: []byte("0"), MessageFormat: u(0), Settled: Some(false), Payload: []byte{}}},
		".NET: request":        {0, of(0x14, list8(zero, zero, bin8(""), null, yes)), &Transfer{DeliveryID: u(0), DeliveryTag: []byte{}, Settled: Some(true), Payload: []byte{}}},
		".NET: in transaction": {0, of(0x14, list8(zero, zero, bin8("t"), null, null, null, null, of(0x34, list8(bin8("txn1"))))), &Transfer{DeliveryID: u(0), DeliveryTag: []byte("t"), State: Transactional{TxnID: []byte("txn1")}, Payload: []byte{}}},
		"aborted":              {0, of(0x14, list8(zero, null, null, null, null, null, null, null, null, yes)), &Transfer{Aborted: true, Payload: []byte{}}},

		"Go: complete":        {0, of(0x15, list8(yes, x("52 02"), null, null, of(0x24, x("45")))), &Disposition{Role: RoleReceiver, First: 2, State: Accepted{}}},
		"JS: dead-letter":     {0, of(0x15, list8(yes, zero, zero, no, of(0x25, list8(of(0x1d, list8(sym8("com.microsoft:dead-letter"), null, map8(sym8("DeadLetterReason"), str8("why")))))))), &Disposition{Role: RoleReceiver, Last: u(0), State: Rejected{&Error{Condition: "com.microsoft:dead-letter", Info: value.Properties{{Name: "DeadLetterReason", Value: value.OfString("why")}}}}}},
		"Python: dead-letter": {0, of(0x15, list32(yes, zero, zero, no, of(0x25, list32(of(0x1d, list32(sym8("com.microsoft:dead-letter"), str8("d"), map32(str8("DeadLetterReason"), str8("why")))))), no)), &Disposition{Role: RoleReceiver, Last: u(0), State: Rejected{&Error{"com.microsoft:dead-letter", "d", value.Properties{{Name: "DeadLetterReason", Value: value.OfString("why")}}}}}},
		"Python: defer":       {0, of(0x15, list32(yes, zero, zero, yes, of(0x27, list32(yes, yes, null)), no)), &Disposition{Role: RoleReceiver, Last: u(0), Settled: true, State: Modified{true, true, nil}}},
		"JS: abandon":         {0, of(0x15, list8(yes, zero, x("52 03"), no, of(0x27, list8(null, no, map8(sym8("tries"), x("52 02")))))), &Disposition{Role: RoleReceiver, Last: u(3), State: Modified{MessageAnnotations: value.Properties{{Name: "tries", Value: value.OfUInt(2)}}}}},
		"Go: release":         {0, of(0x15, list8(yes, zero, x("52 09"), yes, of(0x26, x("45")))), &Disposition{Role: RoleReceiver, Last: u(9), Settled: true, State: Released{}}},
		".NET: transactional": {0, of(0x15, list8(yes, zero, null, no, of(0x34, list8(bin8("txn1"), of(0x24, x("45")))))), &Disposition{Role: RoleReceiver, State: Transactional{[]byte("txn1"), Accepted{}}}},

		"Python: late detach": {0, of(0x16, list32(x("70 00000001"), x("56 00"), null)), &Detach{Handle: 1}},
		"Go: detach":          {0, of(0x16, list8(zero, yes)), &Detach{Closed: true}},
		"JS: end":             {0, of(0x17, x("45")), &End{}},
		"Go: close":           {0, of(0x18, list8()), &Close{}},
		"close with an error": {0, of(0x18, list8(of(0x1d, list8(sym8("amqp:connection:forced"), str8("idle"))))), &Close{&Error{Condition: CondConnectionForced, Description: "idle"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(Frame{Type: tc.kind, Body: tc.body})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got, equal); d != "" {
				t.Error(d)
			}
		})
	}
}

// Frames that the server writes, byte for byte: they have all fields (§18.1).
func TestGoldenAnswers(t *testing.T) {
	u := Some[uint32]
	id := x("02010403 0605 0807 090a0b0c0d0e0f10")
	for name, tc := range map[string]struct {
		kind byte
		p    Performative
		want []byte
	}{
		"mechanisms": {1, &Mechanisms{[]string{"MSSBCBS", "PLAIN", "ANONYMOUS", "EXTERNAL"}},
			of(0x40, list8(small(0xe0, 4, join(x("a3 07"), []byte("MSSBCBS"), x("05"), []byte("PLAIN"), x("09"), []byte("ANONYMOUS"), x("08"), []byte("EXTERNAL")))))},
		"one mechanism": {1, &Mechanisms{[]string{"PLAIN"}}, of(0x40, list8(small(0xe0, 1, join(x("a3 05"), []byte("PLAIN")))))},
		"outcome":       {1, &Outcome{SASLOK, []byte("Welcome!")}, of(0x44, list8(x("50 00"), bin8("Welcome!")))},
		"open": {0, &Open{ContainerID: "f0_G0", MaxFrameSize: u(65536), ChannelMax: Some(uint16(4999)), IdleTimeOut: u(120000)},
			of(0x10, list8(str8("f0_G0"), null, x("70 00010000"), x("60 1387"), x("70 0001d4c0"), null, null, null, null, null))},
		"begin": {0, &Begin{RemoteChannel: Some(uint16(0)), IncomingWindow: 5000, OutgoingWindow: 5000, HandleMax: u(254)},
			of(0x11, list8(x("60 0000"), zero, x("70 00001388"), x("70 00001388"), x("52 fe"), null, null, null))},
		"attach to a session": {0, &Attach{Name: "l", Role: RoleSender, ReceiverSettleMode: Some(ReceiverSecond), Target: &Target{},
			Source:               &Source{Address: Some("qs"), Filter: value.Properties{{Name: "com.microsoft:session-filter", Value: value.OfString("s1")}}},
			InitialDeliveryCount: u(0), MaxMessageSize: Some(uint64(262144)), Properties: value.Properties{{Name: "com.microsoft:locked-until-utc", Value: value.OfLong(621355968000000000)}}},
			of(0x12, list8(str8("l"), zero, no, null, x("50 01"),
				of(0x28, list8(str8("qs"), null, null, null, no, null, null, map8(sym8("com.microsoft:session-filter"), str8("s1")), null, null, null)),
				of(0x29, list8(null, null, null, null, no, null, null)),
				null, no, zero, x("80 0000000000040000"), null, null, map8(sym8("com.microsoft:locked-until-utc"), x("81 089f7ff5f7b58000"))))},
		"attach that refuses": {0, &Attach{Name: "l", Role: RoleReceiver, Source: &Source{}, Properties: value.Properties{}},
			of(0x12, list8(str8("l"), zero, yes, null, null, of(0x28, list8(null, null, null, null, no, null, null, null, null, null, null)), null, null, no, null, null, null, null, map8()))},
		"drained": {0, &Flow{NextIncomingID: u(1), IncomingWindow: 5000, NextOutgoingID: 2, OutgoingWindow: 5000, Handle: u(0), DeliveryCount: u(300), LinkCredit: u(0), Drain: true},
			of(0x13, list8(x("52 01"), x("70 00001388"), x("52 02"), x("70 00001388"), zero, x("70 0000012c"), zero, null, yes, no, null))},
		"transfer": {0, &Transfer{Handle: 1, DeliveryID: u(0), DeliveryTag: id, MessageFormat: u(0), Settled: Some(false), Payload: []byte("message")},
			join(of(0x14, list8(x("52 01"), zero, bin8(string(id)), zero, no, no, null, null, no, no, no)), []byte("message"))},
		"completed":     {0, &Disposition{Role: RoleSender, First: 2, Last: u(2), Settled: true, State: Accepted{}}, of(0x15, list8(no, x("52 02"), x("52 02"), yes, of(0x24, x("45")), no))},
		"dead-lettered": {0, &Disposition{Role: RoleSender, Last: u(0), Settled: true, State: Rejected{}}, of(0x15, list8(no, zero, zero, yes, of(0x25, list8(null)), no))},
		"deferred":      {0, &Disposition{Role: RoleSender, Last: u(0), Settled: true, State: Modified{UndeliverableHere: true}}, of(0x15, list8(no, zero, zero, yes, of(0x27, list8(no, yes, null)), no))},
		"declared":      {0, &Disposition{Role: RoleReceiver, Last: u(0), Settled: true, State: Declared{[]byte("txn1")}}, of(0x15, list8(yes, zero, zero, yes, of(0x33, list8(bin8("txn1"))), no))},
		"detach":        {0, &Detach{Closed: true, Error: &Error{Condition: CondNotFound, Description: "no"}}, of(0x16, list8(zero, yes, of(0x1d, list8(sym8("amqp:not-found"), str8("no"), null))))},
		"end":           {0, &End{}, of(0x17, list8(null))},
		"close":         {0, &Close{&Error{Condition: CondConnectionForced}}, of(0x18, list8(of(0x1d, list8(sym8("amqp:connection:forced"), null, null))))},
	} {
		t.Run(name, func(t *testing.T) {
			channel := uint16(3 * (1 - tc.kind))
			check(t, "frame", AppendFrame(nil, channel, tc.p), inFrame(tc.kind, channel, tc.want))
		})
	}
}
