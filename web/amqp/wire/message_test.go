package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mayfly/engine/value"
)

// messages are encoded messages that must be decoded, as clients write them.
func messages() map[string][]byte {
	id := x("98 00112233445566778899aabbccddeeff")
	return map[string][]byte{
		"empty":                    {},
		"empty header, no body":    of(0x70, x("45")),
		"data":                     of(0x75, bin8("body")),
		"data of none":             of(0x75, bin8("")),
		"null data":                of(0x75, null),
		"long data":                of(0x75, join(x("b0"), long(len(many)), []byte(many))),
		"several data":             join(of(0x75, bin8("one")), of(0x75, bin8("")), of(0x75, bin8("three"))),
		"value":                    of(0x77, list8(str8("a"), zero)),
		"null value":               of(0x77, null),
		"described value":          of(0x77, join(x("00"), sym8("com.microsoft:uri"), str8("a:b"))),
		"value described twice":    of(0x77, of(1, of(2, str8("deep")))),
		"long value":               of(0x77, join(x("b1"), long(len(many)), []byte(many))),
		"sequences":                join(of(0x76, list8(zero, yes)), of(0x76, x("45")), of(0x76, list32(str8(many[:100])))),
		"footer":                   join(of(0x75, bin8("body")), of(0x78, map8(sym8("sum"), x("52 07")))),
		"delivery annotations 1st": join(of(0x71, map8(sym8("x-opt-lock-token"), id)), of(0x70, list8(no, x("50 04"), x("70 00000064"))), of(0x75, bin8("b"))),
		"Python":                   join(of(0x70, list32(x("56 00"), x("50 04"), null, null, null)), of(0x71, map32()), of(0x72, map32()), of(0x73, list32(str8("id"), null, null, null, null, null, null, null, null, null, null, null, null)), of(0x74, map32(str8("n"), x("71 00000001"))), of(0x75, join(x("b0"), long(4), []byte("body"))), of(0x78, map32())),
		"Python's annotations":     join(of(0x75, bin8("body")), of(0x78, map8(sym8("sum"), x("52 07"))), of(0x71, map8(sym8("d"), zero))),
		"annotations, footer":      join(of(0x75, bin8("bo")), of(0x75, bin8("dy")), of(0x71, map8(sym8("d"), zero)), of(0x78, map8(sym8("sum"), x("52 07")))),
		"rhea's footer":            join(of(0x70, x("45")), of(0x78, map8(sym8("sum"), x("52 07"))), of(0x75, bin8("bo")), of(0x75, bin8("dy"))),
		"symbolic":                 join(x("00"), sym8("amqp:message-annotations:map"), map8(sym8("a"), null), x("00"), sym8("amqp:data:binary"), bin8("b")),
		"by ulongs":                join(x("00 80 0000000000000073"), list8(id), x("00 80 0000000000000077"), null),
		"null annotations":         join(of(0x71, null), of(0x72, null), of(0x74, null), of(0x70, null), of(0x73, null)),
	}
}

// scanned returns the message that a Scanner finds in b, written in pieces of the given
// sizes, the last of which is repeated. If data is not nil, it gets the data.
func scanned(b []byte, data io.Writer, sizes ...int) (Message, error) {
	s := Scanner{Data: data}
	for i := 0; len(b) > 0; i++ {
		n := min(max(sizes[min(i, len(sizes)-1)], 1), len(b))
		piece := bytes.Clone(b[:n])
		if k, err := s.Write(piece); err != nil || k != n {
			return Message{}, err
		}
		clear(piece) // the Scanner must not keep a reference to it
		b = b[n:]
	}
	return s.Message()
}

func TestMessages(t *testing.T) {
	for name, in := range messages() {
		t.Run(name, func(t *testing.T) {
			var want Message
			if err := want.Decode(in); err != nil {
				t.Fatal(err)
			}
			again := want.Append(nil)
			var m Message
			if err := m.Decode(again); err != nil {
				t.Errorf("written again: %v", err)
			}
			if d := cmp.Diff(want, m, equal); d != "" {
				t.Errorf("written again:\n%s", d)
			}
			for _, size := range []int{1, 2, 3, 7, len(in) + 1} {
				got, err := scanned(in, nil, size)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(want, got, equal); d != "" {
					t.Errorf("in pieces of %d:\n%s", size, d)
				}
				var data bytes.Buffer
				got, err = scanned(in, &data, size)
				if err != nil {
					t.Fatal(err)
				}
				if want.Body.Kind == DataBody {
					if got.Body.Encoded() != nil || !bytes.Equal(data.Bytes(), want.Body.Content()) {
						t.Errorf("in pieces of %d: passed on %q, want %q", size, data.Bytes(), want.Body.Content())
					}
					got.Body.encoded = want.Body.encoded
				}
				if d := cmp.Diff(want, got, equal); d != "" {
					t.Errorf("in pieces of %d, data passed on:\n%s", size, d)
				}
			}
		})
	}
}

func TestMessagesRefused(t *testing.T) {
	header, data, footer := of(0x70, x("45")), of(0x75, bin8("a")), of(0x78, map8())
	for name, in := range map[string][]byte{
		"not described":              null,
		"body around a footer":       join(data, footer, data),
		"body around annotations":    join(data, of(0x71, map8()), data),
		"annotations without end":    join(data, of(0x71, map8()), of(0x72, map8())),
		"annotations before, after":  join(of(0x71, map8()), data, of(0x71, map8())),
		"a performative":             of(0x14, x("45")),
		"a section too many":         of(0x79, x("45")),
		"a section too few":          of(0x6f, x("45")),
		"a huge descriptor":          join(x("00 80 0000000100000073"), x("45")),
		"a descriptor of no section": join(x("00"), sym8("amqp:open:list"), x("45")),
		"an endless descriptor":      join(x("00 b3 ffffffff"), bytes.Repeat([]byte("a"), 100)),
		"a list for a descriptor":    x("00 45 45"),
		"two headers":                join(header, header),
		"two values":                 join(of(0x77, null), of(0x77, null)),
		"two footers":                join(footer, footer),
		"data after a value":         join(of(0x77, null), data),
		"a value after data":         join(data, of(0x77, null)),
		"sequence after data":        join(data, of(0x76, x("45"))),
		"header after the body":      join(data, header),
		"a header that is a map":     of(0x70, map8()),
		"annotations of a list":      of(0x72, x("45")),
		"data that is a string":      of(0x75, str8("a")),
		"a sequence of a map":        of(0x76, map8()),
		"a value that is none":       of(0x77, x("46")),
		"a value described too deep": of(0x77, append(bytes.Repeat(x("00 40"), MaxDepth+1), 0x40)),
		"descriptors too deep":       of(0x77, bytes.Repeat(x("00"), 100)),
		"a section cut":              data[:len(data)-1],
		"a head cut":                 data[:2],
		"data far too short":         of(0x75, x("b0 000fff00 00")),
		"bad UTF-8 in annotations":   of(0x72, map8(sym8("a"), x("a1 01 ff"))),
		"an odd map":                 of(0x74, small(0xc1, 1, str8("a"))),
		"bytes left in a list":       of(0x73, small(0xc0, 1, x("4040"))),
	} {
		t.Run(name, func(t *testing.T) {
			var m Message
			refused(t, m.Decode(in), CondDecodeError)
			for _, size := range []int{1, 2, 5, 1000} {
				_, err := scanned(in, nil, size)
				refused(t, err, CondDecodeError)
				_, err = scanned(in, io.Discard, size)
				refused(t, err, CondDecodeError)
			}
		})
	}
}

// Decode and a Scanner return the same message, into whatever pieces it is cut.
func TestScannerAgrees(t *testing.T) {
	all := messages()
	rapid.Check(t, func(t *rapid.T) {
		h, p := anyHeader().Draw(t, "header"), anyMessageProperties().Draw(t, "properties")
		b := AppendAnnotations(nil, SectionDeliveryAnnotations, anyProperties().Draw(t, "delivery"))
		b = p.Append(h.Append(b))
		b = AppendAnnotations(b, SectionMessageAnnotations, anyProperties().Draw(t, "message"))
		b = AppendAnnotations(b, SectionApplicationProperties, anyProperties().Draw(t, "application"))
		b = append(b, all[rapid.SampledFrom([]string{"empty", "value", "sequences", "several data", "long data", "data"}).Draw(t, "body")]...)
		b = AppendAnnotations(b, SectionFooter, anyProperties().Draw(t, "footer"))
		var want Message
		if err := want.Decode(b); err != nil {
			t.Fatal(err)
		}
		got, err := scanned(b, nil, rapid.SliceOfN(rapid.IntRange(1, 40), 1, 20).Draw(t, "pieces")...)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, equal); d != "" {
			t.Fatal(d)
		}
		var h2 Header
		var p2 Properties
		if err := errors.Join(h2.Decode(got.Header), p2.Decode(got.Properties)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(h, h2) + cmp.Diff(p, p2, equal); d != "" {
			t.Fatal(d)
		}
	})
}

func anyHeader() *rapid.Generator[Header] {
	return rapid.Custom(func(t *rapid.T) Header {
		flag, n := opt(rapid.Bool()), opt(rapid.Uint32())
		return Header{flag.Draw(t, "durable"), opt(rapid.Uint8()).Draw(t, "priority"), n.Draw(t, "ttl"), flag.Draw(t, "first"), n.Draw(t, "count")}
	})
}

func anyMessageProperties() *rapid.Generator[Properties] {
	id := rapid.OneOf(
		rapid.Just(value.Value{}), rapid.Map(rapid.Uint64(), value.OfULong), rapid.Map(rapid.String(), value.OfString),
		rapid.Map(rapid.SliceOf(rapid.Byte()), value.OfBinary),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 16, 16), func(b []byte) value.Value { return value.OfUUID([16]byte(b)) }),
	)
	return rapid.Custom(func(t *rapid.T) Properties {
		text, symbol, moment := opt(rapid.String()), opt(anyASCII(20)), opt(rapid.Int64())
		return Properties{
			id.Draw(t, "message-id"), rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOf(rapid.Byte())).Draw(t, "user-id"),
			text.Draw(t, "to"), text.Draw(t, "subject"), text.Draw(t, "reply-to"), id.Draw(t, "correlation-id"),
			symbol.Draw(t, "type"), symbol.Draw(t, "encoding"), moment.Draw(t, "expiry"), moment.Draw(t, "creation"),
			text.Draw(t, "group"), opt(rapid.Uint32()).Draw(t, "sequence"), text.Draw(t, "reply group"),
		}
	})
}

func TestBodies(t *testing.T) {
	all := messages()
	for name, tc := range map[string]struct {
		kind     BodyKind
		sections int
		content  []byte // nil without a body
	}{
		"empty":        {NoBody, 0, nil},
		"data":         {DataBody, 1, []byte("body")},
		"data of none": {DataBody, 1, []byte{}},
		"null data":    {DataBody, 1, []byte{}},
		"several data": {DataBody, 3, []byte("onethree")},
		"value":        {ValueBody, 1, list8(str8("a"), zero)},
		"null value":   {ValueBody, 1, null},
		"sequences":    {SequenceBody, 3, join(list8(zero, yes), x("45"), list32(str8(many[:100])))},
	} {
		t.Run(name, func(t *testing.T) {
			var m Message
			if err := m.Decode(all[name]); err != nil {
				t.Fatal(err)
			}
			b := m.Body
			if b.Kind != tc.kind || b.Sections != tc.sections || b.Size != int64(len(tc.content)) {
				t.Errorf("%d of kind %d with %d bytes", b.Sections, b.Kind, b.Size)
			}
			if got := b.Content(); !bytes.Equal(got, tc.content) || (got == nil) != (tc.content == nil) {
				t.Errorf("%q, not %q", got, tc.content)
			}
			check(t, "encoded", b.Encoded(), all[name])
			if tc.kind == SequenceBody {
				again, err := AppendSequences(nil, b.Content())
				if err != nil {
					t.Error(err)
				}
				check(t, "encoded again", again, all[name])
			}
		})
	}
	_, err := AppendSequences(nil, null[:0:0])
	if err != nil {
		t.Error(err)
	}
	for name, lists := range map[string][]byte{"a map": map8(), "cut": x("c0 05")} {
		if b, err := AppendSequences([]byte("before"), lists); err == nil || string(b) != "before" {
			t.Errorf("%s: % x %v", name, b, err)
		}
	}
}

func TestHeaders(t *testing.T) {
	for name, tc := range map[string]struct {
		in   []byte
		want Header
	}{
		"absent": {nil, Header{}},
		"null":   {null, Header{}},
		"list0":  {x("45"), Header{}},
		"ttl":    {list8(null, null, x("70 0000ea60")), Header{TTL: Some(uint32(60000))}},
		"all":    {list32(x("56 01"), x("50 09"), zero, no, x("52 02")), Header{Some(true), Some(uint8(9)), Some(uint32(0)), Some(false), Some(uint32(2))}},
	} {
		var h Header
		if err := h.Decode(tc.in); err != nil || h != tc.want {
			t.Errorf("%s: %+v %v", name, h, err)
		}
	}
	var h Header
	refused(t, h.Decode(list8(null, x("52 04"))), CondInvalidField)
	refused(t, h.Decode(list8(null, null, null, null, null, null)), CondInvalidField)
	refused(t, h.Decode(x("c0 02 02 40")), CondDecodeError)
	h = Header{TTL: Some(uint32(1000)), DeliveryCount: Some(uint32(0))}
	check(t, "as delivered", h.Append(nil), of(0x70, list8(null, null, x("70 000003e8"), null, zero)))
}

// Ids keep their type, and properties have any number of fields (§18.1).
func TestProperties(t *testing.T) {
	id := [16]byte(x("00112233445566778899aabbccddeeff"))
	for name, tc := range map[string]struct {
		field []byte
		want  value.Value
	}{
		"uuid":   {append([]byte{0x98}, id[:]...), value.OfUUID(id)},
		"string": {str8("id"), value.OfString("id")},
		"empty":  {str8(""), value.OfString("")},
		"ulong":  {x("53 07"), value.OfULong(7)},
		"binary": {bin8("id"), value.OfBinary([]byte("id"))},
		"int":    {x("54 07"), value.OfInt(7)},
		"null":   {null, value.Value{}},
	} {
		var p Properties
		if err := p.Decode(list8(tc.field, null, null, null, null, tc.field)); err != nil || p.MessageID != tc.want || p.CorrelationID != tc.want {
			t.Errorf("%s: %+v %v", name, p, err)
		}
		check(t, name, (&Properties{CorrelationID: tc.want}).Append(nil), of(0x73, list8(null, null, null, null, null, tc.field, null, null, null, null, null, null, null)))
	}
	fields := [][]byte{str8("id"), bin8("user"), str8("to"), str8("subject"), str8("reply"), null, sym8("text/plain"), str8("gzip"), x("83 0000000000000001"), x("83 0000000000000002"), str8(""), x("52 03"), str8("rs")}
	full := Properties{
		value.OfString("id"), []byte("user"), Some("to"), Some("subject"), Some("reply"), value.Value{}, Some("text/plain"), Some("gzip"),
		Some(int64(1)), Some(int64(2)), Some(""), Some(uint32(3)), Some("rs"),
	}
	var p Properties
	for n := range len(fields) + 1 {
		if err := p.Decode(list8(fields[:n]...)); err != nil {
			t.Errorf("%d fields: %v", n, err)
		}
	}
	if d := cmp.Diff(full, p, equal); d != "" {
		t.Error(d)
	}
	refused(t, p.Decode(list8(append(fields, null)...)), CondInvalidField)
	refused(t, p.Decode(list8(x("45"))), CondInvalidField)
	refused(t, p.Decode(list8(null, str8("user"))), CondInvalidField)
	refused(t, p.Decode(list8(null, null, null, null, null, null, str8("é"))), CondInvalidField)
	own := list8(fields...)
	if err := p.Decode(own); err != nil {
		t.Error(err)
	}
	clear(own)
	if d := cmp.Diff(full, p, equal); d != "" {
		t.Errorf("the decoded message shares memory with the input:\n%s", d)
	}
}

func TestScannerStreams(t *testing.T) {
	head := join(of(0x70, x("45")), of(0x73, list8(str8("id"))))
	message := join(head, of(0x75, bin8("one")), of(0x75, bin8("")), of(0x75, join(x("b0"), long(5), []byte("three"))), of(0x78, map8()))
	var data strings.Builder
	var s Scanner
	s.Data = writer(func(b []byte) (int, error) {
		if m, ok := s.Head(); !ok || m.Header == nil || m.Properties == nil || m.Body.Kind != NoBody {
			t.Errorf("the head is %+v %v when data arrive", m, ok)
		}
		return data.Write(b)
	})
	for i := range message {
		if _, ok := s.Head(); ok != (i >= len(head)+5) {
			t.Errorf("after %d bytes the head is %v", i, ok)
		}
		if n, err := s.Write(message[i : i+1]); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	m, err := s.Message()
	if err != nil || data.String() != "onethree" || m.Footer == nil || m.Body.Sections != 3 || m.Body.Size != 8 {
		t.Errorf("%+v %q %v", m, data.String(), err)
	}
	if d := cmp.Diff([]int64{3, 3, 8}, s.SectionEnds()); d != "" {
		t.Error(d)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

func TestScannerFails(t *testing.T) {
	full := errors.New("disk full")
	s := Scanner{Data: writer(func([]byte) (int, error) { return 0, full })}
	message := of(0x75, bin8("body"))
	if n, err := s.Write(message); !errors.Is(err, full) || n != 5 {
		t.Errorf("%d %v", n, err)
	}
	if n, err := s.Write(message); !errors.Is(err, full) || n != 0 {
		t.Errorf("%d %v", n, err)
	}
	if _, err := s.Message(); !errors.Is(err, full) {
		t.Error(err)
	}
	for _, data := range []io.Writer{nil, io.Discard} {
		at := Scanner{Data: data}
		if _, err := at.Write(of(0x70, x("45"))); err != nil {
			t.Fatal(err)
		}
		_, err := at.Write(join(of(0x75, bin8("a")), of(0x70, x("45"))))
		refused(t, err, CondDecodeError)
		if e := err.(*ProtocolError); e.Offset != 4+6 { //nolint:errorlint // it is documented to be unwrapped
			t.Errorf("got %v, want offset 10", e)
		}
	}
}

// The number of kept bytes is bounded, and that of passed-on data is not. A size that is only
// claimed causes no allocation.
func TestScannerLimit(t *testing.T) {
	big := make([]byte, 3000)
	data := of(0x75, join(x("b0"), long(len(big)), big))
	for name, tc := range map[string]struct {
		in    []byte
		limit int
		pass  io.Writer
		want  Condition
	}{
		"annotations":          {of(0x72, join(x("d1"), long(len(big)), big)), 1000, io.Discard, CondMessageSizeExceeded},
		"data kept":            {data, 3007, nil, CondMessageSizeExceeded},
		"data kept, just":      {data, 3008, nil, ""},
		"data passed on":       {data, 100, io.Discard, ""},
		"a claim":              {of(0x72, x("d1 ffffffff")), 0, nil, CondMessageSizeExceeded},
		"a claim of data":      {of(0x75, x("b0 7fffffff")), 0, nil, CondMessageSizeExceeded},
		"countless data":       {bytes.Repeat(of(0x75, x("a0 00")), 1000), 4000, io.Discard, CondMessageSizeExceeded},
		"countless data, less": {bytes.Repeat(of(0x75, x("a0 00")), 400), 4000, io.Discard, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := Scanner{Data: tc.pass, Limit: tc.limit}
			_, err := s.Write(tc.in)
			if tc.want != "" {
				refused(t, err, tc.want)
			} else if _, err := s.Message(); err != nil {
				t.Error(err)
			}
			if cap(s.kept) > 2*len(tc.in)+64 {
				t.Errorf("%d bytes are kept of %d", cap(s.kept), len(tc.in))
			}
		})
	}
}

// §18.1: each data section of a batch is an encoded message.
func TestBatch(t *testing.T) {
	one, two := of(0x75, bin8("one")), join(of(0x73, list8(str8("id"))), of(0x77, null))
	envelope := join(of(0x73, list8(str8("id"))), of(0x75, bin8(string(one))), of(0x75, bin8(string(two))))
	var m Message
	if err := m.Decode(envelope); err != nil {
		t.Fatal(err)
	}
	got, err := m.Batch()
	if err != nil || !cmp.Equal(got, [][]byte{one, two}) {
		t.Errorf("%q %v", got, err)
	}
	for name, in := range map[string][]byte{"value": of(0x77, null), "nothing": {}} {
		if err := m.Decode(in); err != nil {
			t.Fatal(name, err)
		}
		_, err := m.Batch()
		refused(t, err, CondDecodeError)
	}
}

// The sections of a message, and the header of its body, are appended one by one, so that the body
// itself need not be copied.
func TestMessageWritten(t *testing.T) {
	b := (&Header{TTL: Some(uint32(5)), DeliveryCount: Some(uint32(0))}).Append(nil)
	b = AppendAnnotations(b, SectionDeliveryAnnotations, nil)
	b = AppendAnnotations(b, SectionMessageAnnotations, value.Properties{{Name: "x-opt-sequence-number", Value: value.OfLong(1)}})
	b = (&Properties{GroupID: Some("")}).Append(b)
	b = AppendAnnotations(b, SectionApplicationProperties, value.Properties{})
	b = AppendDataHeader(b, 4)
	check(t, "message", append(b, "body"...), join(
		of(0x70, list8(null, null, x("52 05"), null, zero)),
		of(0x72, map8(sym8("x-opt-sequence-number"), x("55 01"))),
		of(0x73, list8(null, null, null, null, null, null, null, null, null, null, str8(""), null, null)),
		of(0x74, map8()),
		of(0x75, bin8("body")),
	))
	check(t, "255", AppendDataHeader(nil, 255), x("00 53 75 a0 ff"))
	check(t, "256", AppendDataHeader(nil, 256), x("00 53 75 b0 00000100"))
	check(t, "value", AppendSection(nil, SectionValue, null), x("00 53 77 40"))
	check(t, "none", AppendSection(nil, SectionFooter, nil), nil)
	check(t, "footer", AppendAnnotations(nil, SectionFooter, value.Properties{{Name: "a", Value: value.OfBool(true)}}), of(0x78, map8(sym8("a"), yes)))
}
