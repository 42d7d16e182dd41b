package wire

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mayfly/engine/value"
)

func opt[T comparable](of *rapid.Generator[T]) *rapid.Generator[Opt[T]] {
	return rapid.OneOf(rapid.Just(Opt[T]{}), rapid.Map(of, Some[T]))
}

func anySymbols() *rapid.Generator[[]string] {
	return rapid.OneOf(rapid.Just([]string(nil)), rapid.SliceOfN(anyASCII(300), 0, 3))
}

func anyError() *rapid.Generator[*Error] {
	return rapid.Custom(func(t *rapid.T) *Error {
		if rapid.Bool().Draw(t, "none") {
			return nil
		}
		return &Error{Condition(anyASCII(20).Draw(t, "condition")), rapid.String().Draw(t, "description"), anyProperties().Draw(t, "info")}
	})
}

func anyOutcome() *rapid.Generator[State] {
	return rapid.OneOf(
		rapid.Just(State(nil)), rapid.Just(State(Accepted{})), rapid.Just(State(Released{})),
		rapid.Map(anyError(), func(e *Error) State { return Rejected{e} }),
		rapid.Custom(func(t *rapid.T) State {
			return Modified{rapid.Bool().Draw(t, "failed"), rapid.Bool().Draw(t, "undeliverable"), anyProperties().Draw(t, "annotations")}
		}),
	)
}

func anyState() *rapid.Generator[State] {
	id := rapid.SliceOfN(rapid.Byte(), 0, 8)
	return rapid.OneOf(
		anyOutcome(),
		rapid.Map(rapid.Uint32(), func(n uint32) State { return Received{n, uint64(n) << 32} }),
		rapid.Map(id, func(b []byte) State { return Declared{b} }),
		rapid.Custom(func(t *rapid.T) State { return Transactional{id.Draw(t, "txn"), anyOutcome().Draw(t, "outcome")} }),
	)
}

func anyPerformative() *rapid.Generator[Performative] {
	u32, o32, o16 := rapid.Uint32(), opt(rapid.Uint32()), opt(rapid.Uint16())
	text, flag := opt(rapid.StringN(0, 20, -1)), rapid.Bool()
	symbol := opt(anyASCII(20))
	blob := rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOfN(rapid.Byte(), 0, 32))
	second := opt(rapid.Map(flag, func(b bool) ReceiverSettleMode {
		if b {
			return ReceiverSecond
		}
		return ReceiverFirst
	}))
	return rapid.Custom(func(t *rapid.T) Performative {
		switch rapid.IntRange(0, 13).Draw(t, "which") {
		case 0:
			return &Open{rapid.String().Draw(t, "id"), text.Draw(t, "host"), o32.Draw(t, "max"), o16.Draw(t, "channels"), o32.Draw(t, "idle"),
				anySymbols().Draw(t, "out"), anySymbols().Draw(t, "in"), anySymbols().Draw(t, "offered"), anySymbols().Draw(t, "desired"), anyProperties().Draw(t, "properties")}
		case 1:
			return &Begin{o16.Draw(t, "remote"), u32.Draw(t, "next"), u32.Draw(t, "in"), u32.Draw(t, "out"), o32.Draw(t, "handles"),
				anySymbols().Draw(t, "offered"), anySymbols().Draw(t, "desired"), anyProperties().Draw(t, "properties")}
		case 2:
			a := &Attach{Name: rapid.String().Draw(t, "name"), Handle: u32.Draw(t, "handle"), Role: RoleReceiver,
				ReceiverSettleMode: second.Draw(t, "rcv"), IncompleteUnsettled: flag.Draw(t, "incomplete"), MaxMessageSize: opt(rapid.Uint64()).Draw(t, "size"),
				OfferedCapabilities: anySymbols().Draw(t, "offered"), DesiredCapabilities: anySymbols().Draw(t, "desired"), Properties: anyProperties().Draw(t, "properties")}
			if flag.Draw(t, "sender") {
				a.Role, a.InitialDeliveryCount, a.SenderSettleMode = RoleSender, Some(u32.Draw(t, "count")), Some(SenderMixed)
			}
			if flag.Draw(t, "source") {
				a.Source = &Source{text.Draw(t, "address"), o32.Draw(t, "durable"), symbol.Draw(t, "expiry"), o32.Draw(t, "timeout"), flag.Draw(t, "dynamic"), anyProperties().Draw(t, "node"),
					symbol.Draw(t, "mode"), anyProperties().Draw(t, "filter"), anyOutcome().Draw(t, "default"), anySymbols().Draw(t, "outcomes"), anySymbols().Draw(t, "capabilities")}
			}
			switch rapid.IntRange(0, 2).Draw(t, "target") {
			case 1:
				a.Target = &Target{text.Draw(t, "address"), o32.Draw(t, "durable"), symbol.Draw(t, "expiry"), o32.Draw(t, "timeout"), flag.Draw(t, "dynamic"), anyProperties().Draw(t, "node"), anySymbols().Draw(t, "capabilities")}
			case 2:
				a.Coordinator = &Coordinator{anySymbols().Draw(t, "capabilities")}
			}
			return a
		case 3:
			return &Flow{o32.Draw(t, "next in"), u32.Draw(t, "in"), u32.Draw(t, "next out"), u32.Draw(t, "out"), o32.Draw(t, "handle"), o32.Draw(t, "count"), o32.Draw(t, "credit"), o32.Draw(t, "available"),
				flag.Draw(t, "drain"), flag.Draw(t, "echo"), anyProperties().Draw(t, "properties")}
		case 4:
			return &Transfer{u32.Draw(t, "handle"), o32.Draw(t, "id"), blob.Draw(t, "tag"), o32.Draw(t, "format"), opt(flag).Draw(t, "settled"), flag.Draw(t, "more"), second.Draw(t, "rcv"),
				anyState().Draw(t, "state"), flag.Draw(t, "resume"), flag.Draw(t, "aborted"), flag.Draw(t, "batchable"), rapid.SliceOf(rapid.Byte()).Draw(t, "payload")}
		case 5:
			return &Disposition{Role(flag.Draw(t, "role")), u32.Draw(t, "first"), o32.Draw(t, "last"), flag.Draw(t, "settled"), anyState().Draw(t, "state"), flag.Draw(t, "batchable")}
		case 6:
			return &Detach{u32.Draw(t, "handle"), flag.Draw(t, "closed"), anyError().Draw(t, "error")}
		case 7:
			return &End{anyError().Draw(t, "error")}
		case 8:
			return &Close{anyError().Draw(t, "error")}
		case 9:
			return &Mechanisms{rapid.SliceOfN(anyASCII(10), 0, 4).Draw(t, "mechanisms")}
		case 10:
			return &Init{anyASCII(10).Draw(t, "mechanism"), blob.Draw(t, "response"), text.Draw(t, "host")}
		case 11:
			return &Challenge{rapid.SliceOf(rapid.Byte()).Draw(t, "challenge")}
		case 12:
			return &Response{rapid.SliceOf(rapid.Byte()).Draw(t, "response")}
		default:
			return &Outcome{SASLCode(rapid.Byte().Draw(t, "code")), blob.Draw(t, "data")}
		}
	})
}

func TestPerformativeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyPerformative().Draw(t, "performative")
		channel := rapid.Uint16().Draw(t, "channel")
		b := AppendFrame([]byte("before"), channel, want)[len("before"):]
		r := Reader{From: bytes.NewReader(b), MaxFrame: 1 << 20}
		f, err := r.Frame()
		if err != nil || f.Channel != channel {
			t.Fatalf("frame on channel %d, want %d: %v", f.Channel, channel, err)
		}
		got, err := Decode(f)
		if err != nil {
			t.Fatalf("%+v\n%x\n%v", want, f.Body, err)
		}
		if d := cmp.Diff(want, got, equal); d != "" {
			t.Fatal(d)
		}
		// A list may be in the long form as well, and descriptors may be ulongs or
		// symbols.
		code := want.Code()
		forms := [][]byte{join(x("00 80 00000000000000"), f.Body[2:]), join(x("00"), sym8(code.String()), f.Body[3:])}
		if f.Body[3] == 0xc0 {
			n := int(f.Body[4])
			forms = append(forms, join(f.Body[:3], x("d0"), long(n+3), long(int(f.Body[5])), f.Body[6:]))
		}
		for _, other := range forms {
			got, err := Decode(Frame{Type: f.Type, Body: other})
			if err != nil {
				t.Fatalf("%x: %v", other, err)
			}
			if d := cmp.Diff(want, got, equal); d != "" {
				t.Fatal(d)
			}
		}
	})
}

// §18.1: all fields are written, after smallulong descriptors, whether set or not.
// Python's client reads fields by their position.
func TestFieldCounts(t *testing.T) {
	for _, tc := range []struct {
		p    Performative
		code byte
		want int
	}{
		{&Open{}, 0x10, 10}, {&Begin{}, 0x11, 8}, {&Attach{}, 0x12, 14}, {&Flow{}, 0x13, 11}, {&Transfer{}, 0x14, 11},
		{&Disposition{}, 0x15, 6}, {&Detach{}, 0x16, 3}, {&End{}, 0x17, 1}, {&Close{}, 0x18, 1},
		{&Mechanisms{}, 0x40, 1}, {&Init{}, 0x41, 3}, {&Challenge{}, 0x42, 1}, {&Response{}, 0x43, 1}, {&Outcome{}, 0x44, 2},
	} {
		body := AppendFrame(nil, 0, tc.p)[8:]
		if !bytes.HasPrefix(body, []byte{0, 0x53, tc.code, 0xc0}) || int(body[5]) != tc.want {
			t.Errorf("%T is % x…, want a list of %d", tc.p, body[:6], tc.want)
		}
	}
	for name, tc := range map[string]struct {
		b    []byte
		code byte
		want int
	}{
		"error":               {(&Error{}).append(nil), 0x1d, 3},
		"received":            {appendState(nil, Received{}), 0x23, 2},
		"rejected":            {appendState(nil, Rejected{}), 0x25, 1},
		"modified":            {appendState(nil, Modified{}), 0x27, 3},
		"source":              {(&Source{}).append(nil), 0x28, 11},
		"target":              {(&Target{}).append(nil), 0x29, 7},
		"coordinator":         {(&Coordinator{}).append(nil), 0x30, 1},
		"declare":             {(&Declare{}).Append(nil), 0x31, 1},
		"discharge":           {(&Discharge{}).Append(nil), 0x32, 2},
		"declared":            {appendState(nil, Declared{}), 0x33, 1},
		"transactional-state": {appendState(nil, Transactional{}), 0x34, 2},
		"header":              {(&Header{}).Append(nil), 0x70, 5},
		"properties":          {(&Properties{}).Append(nil), 0x73, 13},
	} {
		if !bytes.HasPrefix(tc.b, []byte{0, 0x53, tc.code, 0xc0}) || int(tc.b[5]) != tc.want {
			t.Errorf("%s is % x…, want a list of %d", name, tc.b[:6], tc.want)
		}
	}
	check(t, "accepted", appendState(nil, Accepted{}), x("00 53 24 45"))
	check(t, "released", appendState(nil, Released{}), x("00 53 26 45"))
}

// Fields omitted at the end are absent, for all types and any number of fields down to
// the mandatory ones.
func TestFieldsLeftOut(t *testing.T) {
	for _, tc := range []struct {
		fields    [][]byte
		code      byte
		mandatory int
	}{
		{[][]byte{str8("c"), null, null, null, null, null, null, null, null, null}, 0x10, 1},
		{[][]byte{null, zero, zero, zero, null, null, null, null}, 0x11, 4},
		{[][]byte{str8("l"), zero, yes, null, null, null, null, null, null, null, null, null, null, null}, 0x12, 3},
		{[][]byte{null, zero, zero, zero, null, null, null, null, null, null, null}, 0x13, 4},
		{[][]byte{zero, null, null, null, null, null, null, null, null, null, null}, 0x14, 1},
		{[][]byte{yes, zero, null, null, null, null}, 0x15, 2},
		{[][]byte{zero, null, null}, 0x16, 1},
		{[][]byte{null}, 0x17, 0},
		{[][]byte{null}, 0x18, 0},
	} {
		for n := range len(tc.fields) + 1 {
			_, err := Decode(Frame{Body: of(tc.code, list8(tc.fields[:n]...))})
			if n < tc.mandatory {
				refused(t, err, CondInvalidField)
			} else if err != nil {
				t.Errorf("%v with %d fields: %v", Code(tc.code), n, err)
			}
		}
		for i := range tc.mandatory {
			fields := append([][]byte(nil), tc.fields...)
			if bytes.Equal(fields[i], null) {
				continue
			}
			fields[i] = null
			_, err := Decode(Frame{Body: of(tc.code, list8(fields...))})
			refused(t, err, CondInvalidField)
		}
		_, err := Decode(Frame{Body: of(tc.code, list8(append(tc.fields, null)...))})
		refused(t, err, CondInvalidField)
	}
	if _, err := Decode(Frame{Body: of(0x18, x("45"))}); err != nil {
		t.Errorf("close with a list0: %v", err)
	}
	_, err := Decode(Frame{Body: of(0x14, x("45"))})
	refused(t, err, CondInvalidField)
}

func TestPerformativesRefused(t *testing.T) {
	open := AppendFrame(nil, 0, &Open{ContainerID: "c"})[8:]
	for name, tc := range map[string]struct {
		f    Frame
		want Condition
	}{
		"nothing":                     {Frame{}, CondDecodeError},
		"not described":               {Frame{Body: str8("open")}, CondInvalidField},
		"a section":                   {Frame{Body: of(0x70, x("45"))}, CondInvalidField},
		"an unknown number":           {Frame{Body: of(0x19, x("45"))}, CondInvalidField},
		"an unknown symbol":           {Frame{Body: join(x("00"), sym8("amqp:opens:list"), x("45"))}, CondNotImplemented},
		"a string for a descriptor":   {Frame{Body: join(x("00"), str8("amqp:open:list"), x("45"))}, CondInvalidField},
		"open in a SASL frame":        {Frame{Type: FrameSASL, Body: open}, CondInvalidField},
		"mechanisms in an AMQP frame": {Frame{Body: AppendFrame(nil, 0, &Mechanisms{})[8:]}, CondInvalidField},
		"bytes behind an open":        {Frame{Body: join(open, null)}, CondDecodeError},
		"a map of fields":             {Frame{Body: of(0x18, map8(null, null))}, CondInvalidField},
		"an end cut short":            {Frame{Body: open[:len(open)-1]}, CondDecodeError},
		"bytes within a close":        {Frame{Body: of(0x18, small(0xc0, 1, x("4040")))}, CondDecodeError},
		"a handle that is an int":     {Frame{Body: of(0x16, list8(x("54 01")))}, CondInvalidField},
		"a handle that is a ulong":    {Frame{Body: of(0x16, list8(x("53 01")))}, CondInvalidField},
		"a channel that is a uint":    {Frame{Body: of(0x11, list8(zero, zero, zero, zero))}, CondInvalidField},
		"a role that is null":         {Frame{Body: of(0x15, list8(null, zero))}, CondInvalidField},
		"settle mode 3":               {Frame{Body: of(0x12, list8(str8("l"), zero, yes, x("50 03")))}, CondInvalidField},
		"settle mode 2 of a receiver": {Frame{Body: of(0x12, list8(str8("l"), zero, yes, null, x("50 02")))}, CondInvalidField},
		"a source that is a target":   {Frame{Body: of(0x12, list8(str8("l"), zero, yes, null, null, of(0x29, x("45"))))}, CondInvalidField},
		"a target that is a source":   {Frame{Body: of(0x12, list8(str8("l"), zero, yes, null, null, null, of(0x28, x("45"))))}, CondInvalidField},
		"an address that is a number": {Frame{Body: of(0x12, list8(str8("l"), zero, yes, null, null, of(0x28, list8(zero))))}, CondInvalidField},
		"a tag of 257 bytes":          {Frame{Body: of(0x14, list32(zero, zero, join([]byte{0xb0}, long(257), make([]byte, 257))))}, CondInvalidField},
		"a state that is an error":    {Frame{Body: of(0x15, list8(yes, zero, null, yes, of(0x1d, list8(sym8("a")))))}, CondInvalidField},
		"a transaction's transaction": {Frame{Body: of(0x15, list8(yes, zero, null, yes, of(0x34, list8(bin8("t"), of(0x34, list8(bin8("t")))))))}, CondInvalidField},
		"declared without an id":      {Frame{Body: of(0x15, list8(yes, zero, null, yes, of(0x33, list8(null))))}, CondInvalidField},
		"an error without condition":  {Frame{Body: of(0x18, list8(of(0x1d, list8(null, str8("why")))))}, CondInvalidField},
		"capabilities of strings":     {Frame{Body: of(0x10, list8(str8("c"), null, null, null, null, x("e0 05 01 a1 02 6161")))}, CondInvalidField},
		"a symbol that is not ASCII":  {Frame{Body: of(0x18, list8(of(0x1d, list8(str8("é")))))}, CondInvalidField},
		"SASL without a mechanism":    {Frame{Type: FrameSASL, Body: of(0x41, list8(null, bin8("a")))}, CondInvalidField},
		"an outcome without a code":   {Frame{Type: FrameSASL, Body: of(0x44, list8(null))}, CondInvalidField},
		"no mechanisms":               {Frame{Type: FrameSASL, Body: of(0x40, list8(null))}, CondInvalidField},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(tc.f)
			refused(t, err, tc.want)
		})
	}
}

// A decoded optional field that is absent differs from one that is zero, empty or false.
func TestAbsentIsNotZero(t *testing.T) {
	var got Transfer
	for name, tc := range map[string]struct {
		in   []byte
		want Transfer
	}{
		"all absent":  {list8(zero), Transfer{}},
		"all there":   {list8(zero, zero, bin8(""), zero, no), Transfer{DeliveryID: Some(uint32(0)), DeliveryTag: []byte{}, MessageFormat: Some(uint32(0)), Settled: Some(false)}},
		"long falses": {list8(zero, null, null, null, x("56 00"), x("56 01")), Transfer{Settled: Some(false), More: true}},
	} {
		if err := got.Decode(of(0x14, tc.in)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		tc.want.Payload = []byte{}
		if d := cmp.Diff(tc.want, got, equal); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
	var d Disposition
	if err := d.Decode(of(0x15, list8(yes, x("52 05"), null, null, x("00 53 24 45")))); err != nil { // as go-amqp settles
		t.Fatal(err)
	}
	if diff := cmp.Diff(Disposition{Role: RoleReceiver, First: 5, State: Accepted{}}, d); diff != "" {
		t.Error(diff)
	}
}

func TestStatesAreCopies(t *testing.T) {
	body := of(0x15, list8(yes, zero, null, yes, of(0x34, list8(bin8("txn"), of(0x25, list8(of(0x1d, list8(sym8("a"), str8("why")))))))))
	var d Disposition
	if err := d.Decode(body); err != nil {
		t.Fatal(err)
	}
	clear(body)
	if diff := cmp.Diff(Transactional{[]byte("txn"), Rejected{&Error{Condition: "a", Description: "why"}}}, d.State, equal); diff != "" {
		t.Error(diff)
	}
}

func TestTransfersShareTheFrame(t *testing.T) {
	body := AppendFrame(nil, 0, &Transfer{DeliveryTag: []byte("tag"), Payload: []byte("payload")})[8:]
	var got Transfer
	if err := got.Decode(body); err != nil {
		t.Fatal(err)
	}
	clear(body)
	if string(got.DeliveryTag) != "\x00\x00\x00" || string(got.Payload) != "\x00\x00\x00\x00\x00\x00\x00" {
		t.Errorf("%+v was copied", got)
	}
	if cap(got.DeliveryTag) != 3 {
		t.Error("appending to the tag would write into the frame")
	}
}

func TestLifetimePolicy(t *testing.T) {
	for code := CodeDeleteOnClose; code <= CodeDeleteOnNoLinksOrMessages; code++ {
		if got, err := LifetimePolicy(value.OfRaw(of(byte(code), x("45")))); got != code || err != nil {
			t.Errorf("%v: %v %v", code, got, err)
		}
	}
	for name, v := range map[string]value.Value{"a symbol": value.OfSymbol("delete-on-close"), "an outcome": value.OfRaw(of(0x24, x("45"))), "fields": value.OfRaw(of(0x2b, list8(null)))} {
		if got, err := LifetimePolicy(v); err == nil {
			t.Errorf("%s is %v", name, got)
		}
	}
}

func TestTransactions(t *testing.T) {
	var d Discharge
	if err := d.Decode(of(0x32, list8(bin8("txn"), yes))); err != nil || string(d.TxnID) != "txn" || !d.Fail {
		t.Errorf("%+v %v", d, err)
	}
	check(t, "discharge", d.Append(nil), of(0x32, list8(bin8("txn"), yes)))
	if err := d.Decode(of(0x32, list8(bin8("txn")))); err != nil || d.Fail {
		t.Errorf("%+v %v", d, err)
	}
	refused(t, d.Decode(of(0x32, list8())), CondInvalidField)
	refused(t, d.Decode(of(0x31, list8())), CondInvalidField)
	var begin Declare
	for _, in := range [][]byte{x("45"), list8(), list8(null)} {
		if err := begin.Decode(of(0x31, in)); err != nil {
			t.Errorf("% x: %v", in, err)
		}
	}
	refused(t, begin.Decode(of(0x31, list8(bin8("of others")))), CondNotImplemented)
	if code, err := CodeOf(begin.Append(nil)); code != CodeDeclare || err != nil {
		t.Errorf("%v %v", code, err)
	}
}

func TestCodeNames(t *testing.T) {
	if got := CodeTransfer.String(); got != "amqp:transfer:list" {
		t.Error(got)
	}
	if got := Code(0x137000000c).String(); got != "0x137000000c" {
		t.Error(got)
	}
	if RoleSender.String() != "sender" || RoleReceiver.String() != "receiver" {
		t.Error("roles")
	}
}
