package wire

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine/value"
)

// bounded runs parse and fails the test if it allocates more than 150 bytes per byte of input, plus
// a constant. The smallest array element with a descriptor needs that factor; errors and buffers
// need the constant.
func bounded(t *testing.T, input int, parse func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	parse()
	runtime.ReadMemStats(&after)
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(150*input+32<<10); got > most {
		t.Fatalf("%d bytes of input caused allocations of %d bytes", input, got)
	}
}

func ours(t *testing.T, err error) {
	t.Helper()
	if e, ok := errors.AsType[*ProtocolError](err); err != nil && (!ok || e.Offset < 0) {
		t.Fatalf("%v is not an error for peers", err)
	}
}

func FuzzValue(f *testing.F) {
	for _, seed := range [][]byte{
		null, x("56 01"), x("70 ffffffff"), x("81 8000000000000000"), str8("a"), sym8("a"), bin8("\xff"), list8(null, list8(str8("b"))),
		map8(sym8("k"), x("54 ff")), x("e0 04 02 50 0102"), x("e0 0a 01 f0 00000004 00000000"), x("f0 00000005 00000100 40"),
		join(x("00"), sym8("com.microsoft:timespan"), x("55 ff")), x("e0 09 02 00 53 70 c0 01 00 01 00"), bytes.Repeat(x("00 40"), 40),
		join(x("00 80 000000137000000c"), str8("s1")),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var v value.Value
		var rest []byte
		var n int
		var err, skipErr error
		bounded(t, len(in), func() {
			n, skipErr = Skip(in)
			v, rest, err = ParseValue(in)
		})
		ours(t, err)
		ours(t, skipErr)
		if (err == nil) != (skipErr == nil) || err == nil && n != len(in)-len(rest) {
			t.Fatalf("parsed %d of %d (%v), skipped %d (%v)", len(in)-len(rest), len(in), err, n, skipErr)
		}
		if err != nil {
			return
		}
		one := in[:n]
		again, err := ParseSingleValue(AppendValue(nil, v))
		if err != nil || again != v {
			t.Fatalf("% x is %v, written again %v (%v)", one, v, again, err)
		}
		if raw, ok := v.Bytes(); ok && v.Kind() == value.Raw && !bytes.Equal(raw, one) {
			t.Fatalf("% x became % x", one, raw)
		}
		takenApart(t, one)
	})
}

// takenApart parses the contents of a compound, and checks that encoding them gives the
// same value.
func takenApart(t *testing.T, one []byte) {
	for _, parse := range []func() error{
		func() error { _, err := ParseList(one); return err },
		func() error { _, err := ParseMap(one); return err },
		func() error { _, err := ParseArray(one); return err },
		func() error { _, _, err := ParseDescribed(one); return err },
	} {
		var err error
		bounded(t, len(one), func() { err = parse() })
		ours(t, err)
	}
	if vs, err := ParseList(one); err == nil {
		got, err := ParseList(AppendList(nil, vs...))
		if err != nil || !cmp.Equal(got, vs, equal) && len(vs) > 0 {
			t.Fatalf("list %v became %v (%v)", vs, got, err)
		}
	}
	if p, err := ParseMap(one); err == nil {
		got, err := ParseMap(AppendMap(nil, p))
		if err != nil || !cmp.Equal(got, p, equal) && len(p) > 0 {
			t.Fatalf("map %v became %v (%v)", p, got, err)
		}
	}
	if vs, err := ParseArray(one); err == nil && len(vs) > 0 && widest(vs[0].Kind()) != 0 {
		got, err := ParseArray(AppendArray(nil, vs[0].Kind(), vs...))
		if err != nil || !cmp.Equal(got, vs, equal) {
			t.Fatalf("array %v became %v (%v)", vs, got, err)
		}
	}
	if d, v, err := ParseDescribed(one); err == nil {
		d2, v2, err := ParseDescribed(AppendDescribed(nil, d, v))
		if err != nil || d2 != d || v2 != v {
			t.Fatalf("described %v %v became %v %v (%v)", d, v, d2, v2, err)
		}
	}
}

// FuzzFrame reads a stream in pieces of two kinds. Every frame that it reads and writes
// is read again with the same content.
func FuzzFrame(f *testing.F) {
	f.Add(x("00000008 02 00 0000"), uint16(512))
	f.Add(join(AppendFrame(nil, 3, &Open{ContainerID: "c"}), AppendFrame(nil, 0, &Mechanisms{})), uint16(60000))
	f.Add(x("00000010 03 00 0102 deadbeef 00531845 00010001 02 00 0000"), uint16(0))
	f.Fuzz(func(t *testing.T, in []byte, most uint16) {
		whole := Reader{From: bytes.NewReader(in), MaxFrame: uint32(most)}
		pieces := Reader{From: &short{in}, MaxFrame: uint32(most)}
		for {
			var got Frame
			var err error
			bounded(t, len(in), func() { got, err = whole.Frame() })
			other, err2 := pieces.Frame()
			if (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() || !cmp.Equal(got, other) {
				t.Fatalf("%+v (%v), in pieces %+v (%v)", got, err, other, err2)
			}
			if err != nil {
				if err != io.EOF && err != io.ErrUnexpectedEOF { //nolint:errorlint // they are documented to be unwrapped
					ours(t, err)
				}
				return
			}
			if len(got.Body) > max(int(most), MinMaxFrameSize)-8 {
				t.Fatalf("a body of %d bytes", len(got.Body))
			}
			if p, err := Decode(got); err == nil {
				sameAgain(t, p)
			} else if !got.IsHeartbeat() {
				ours(t, err)
			}
		}
	})
}

// short returns at most seven bytes for each read.
type short struct{ b []byte }

func (s *short) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(7, len(p))], s.b)
	s.b = s.b[n:]
	return n, nil
}

func sameAgain(t *testing.T, p Performative) {
	t.Helper()
	b := AppendFrame(nil, 0, p)
	again, err := Decode(Frame{Type: FrameType(b[5]), Body: b[8:]})
	if err != nil {
		t.Fatalf("%+v, written as % x: %v", p, b, err)
	}
	if d := cmp.Diff(p, again, equal); d != "" {
		t.Fatal(d)
	}
}

func FuzzPerformative(f *testing.F) {
	for _, p := range []Performative{
		&Open{ContainerID: "c", OfferedCapabilities: []string{"a"}}, &Begin{}, &Flow{Handle: Some(uint32(1))}, &End{}, &Close{&Error{Condition: CondNotFound}},
		&Attach{Name: "l", Source: &Source{Filter: value.Properties{{Name: "a"}}, DefaultOutcome: Modified{}}, Target: &Target{}, InitialDeliveryCount: Some(uint32(0))},
		&Attach{Role: RoleReceiver, Coordinator: &Coordinator{}}, &Detach{}, &Transfer{State: Transactional{Outcome: Accepted{}}, Payload: []byte("a")},
		&Disposition{State: Rejected{&Error{Info: value.Properties{}}}}, &Disposition{State: Received{}}, &Disposition{State: Declared{}},
	} {
		f.Add(uint8(FrameAMQP), AppendFrame(nil, 0, p)[8:])
	}
	for _, p := range []Performative{&Mechanisms{}, &Init{Mechanism: "PLAIN"}, &Challenge{}, &Response{}, &Outcome{}} {
		f.Add(uint8(FrameSASL), AppendFrame(nil, 0, p)[8:])
	}
	f.Add(uint8(0), join(x("00"), sym8("amqp:flow:list"), list32(null, zero, zero, zero)))
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		var p Performative
		var err error
		bounded(t, len(body), func() { p, err = Decode(Frame{Type: FrameType(kind), Body: body}) })
		ours(t, err)
		if err == nil {
			sameAgain(t, p)
		}
	})
}

func FuzzMessage(f *testing.F) {
	for _, m := range messages() {
		f.Add(m, uint8(3), uint8(1))
	}
	f.Add(join(of(0x75, bin8("a")), of(0x70, x("45"))), uint8(1), uint8(9))
	f.Add(of(0x77, x("00 b3 ffffffff")), uint8(1), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, first, other uint8) {
		var m Message
		var err error
		bounded(t, 0, func() { err = m.Decode(in) })
		ours(t, err)
		for _, data := range []io.Writer{nil, io.Discard, new(bytes.Buffer)} {
			var got Message
			var scanErr error
			bounded(t, 2*len(in), func() { got, scanErr = scanned(in, data, int(first), int(other)) })
			e, _ := errors.AsType[*ProtocolError](scanErr)
			if (err == nil) != (scanErr == nil) && (e == nil || e.Condition != CondMessageSizeExceeded) {
				t.Fatalf("at once %v, in pieces %v", err, scanErr)
			}
			if err != nil || scanErr != nil {
				continue
			}
			if data != nil && m.Body.Kind == DataBody {
				if data, ok := data.(*bytes.Buffer); ok && !bytes.Equal(data.Bytes(), m.Body.Content()) {
					t.Fatalf("passed on %q, want %q", data.Bytes(), m.Body.Content())
				}
				got.Body.encoded = m.Body.encoded
			}
			if d := cmp.Diff(m, got, equal); d != "" {
				t.Fatal(d)
			}
		}
		if err == nil {
			messageAgain(t, m)
		}
	})
}

// messageAgain encodes a decoded message and decodes that.
func messageAgain(t *testing.T, m Message) {
	var again Message
	if err := again.Decode(m.Append(nil)); err != nil || !cmp.Equal(m, again, equal) {
		t.Fatalf("%+v became %+v (%v)", m, again, err)
	}
	var h, h2 Header
	if err := h.Decode(m.Header); err == nil {
		if err := again.Decode(h.Append(nil)); err != nil || h2.Decode(again.Header) != nil || h2 != h {
			t.Fatalf("%+v became %+v (%v)", h, h2, err)
		}
	} else {
		ours(t, err)
	}
	var p, p2 Properties
	if err := p.Decode(m.Properties); err == nil {
		if err := again.Decode(p.Append(nil)); err != nil || p2.Decode(again.Properties) != nil || !cmp.Equal(p, p2, equal) {
			t.Fatalf("%+v became %+v (%v)", p, p2, err)
		}
	} else {
		ours(t, err)
	}
	for _, section := range [][]byte{m.DeliveryAnnotations, m.MessageAnnotations, m.ApplicationProperties, m.Footer} {
		var err error
		bounded(t, len(section), func() { _, err = ParseMap(section) })
		ours(t, err)
	}
	if m.Body.Kind == SequenceBody {
		b, err := AppendSequences(nil, m.Body.Content())
		if err != nil || again.Decode(b) != nil || again.Body.Sections != m.Body.Sections {
			t.Fatalf("%d sequences became % x (%v)", m.Body.Sections, b, err)
		}
	}
}

func FuzzEnvelope(f *testing.F) {
	one := of(0x75, bin8("one"))
	f.Add(join(of(0x75, bin8(string(one))), of(0x75, bin8(""))))
	f.Add(join(of(0x73, list8(str8("id"))), of(0x75, join(x("b0"), long(len(one)), one)), of(0x78, map8())))
	f.Add(of(0x77, null))
	f.Fuzz(func(t *testing.T, in []byte) {
		var m Message
		if err := m.Decode(in); err != nil {
			ours(t, err)
			return
		}
		var all [][]byte
		var err error
		bounded(t, len(in), func() { all, err = m.Batch() })
		ours(t, err)
		if err != nil {
			return
		}
		var b []byte
		for _, one := range all {
			b = append(AppendDataHeader(b, uint32(len(one))), one...)
			var inner Message
			ours(t, inner.Decode(one))
		}
		var again Message
		if err := again.Decode(b); err != nil {
			t.Fatal(err)
		}
		if got, err := again.Batch(); err != nil || !cmp.Equal(got, all) {
			t.Fatalf("%q became %q (%v)", all, got, err)
		}
	})
}
