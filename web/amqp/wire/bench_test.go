package wire

import (
	"bytes"
	"io"
	"testing"

	"mayfly/engine/value"
)

// sent returns the frame of a message of 1 KiB as a client sends it.
func sent() []byte {
	m := (&Header{Durable: Some(true)}).Append(nil)
	m = (&Properties{MessageID: value.OfString("3e4b7f0e7d3d4c7f8f6c"), Subject: Some("orders"), ContentType: Some("application/json"), GroupID: Some("s1")}).Append(m)
	m = AppendAnnotations(m, SectionApplicationProperties, value.Properties{
		{Name: "region", Value: value.OfString("eu")}, {Name: "amount", Value: value.OfDouble(12.5)}, {Name: "tries", Value: value.OfInt(3)},
	})
	m = append(AppendDataHeader(m, 1024), make([]byte, 1024)...)
	return AppendFrame(nil, 1, &Transfer{DeliveryID: Some(uint32(1000)), DeliveryTag: []byte("1000"), MessageFormat: Some(uint32(0)), Settled: Some(false), Payload: m})
}

func BenchmarkTransferDecode(b *testing.B) {
	body := sent()[8:]
	b.ReportAllocs()
	for b.Loop() {
		var t Transfer
		if err := t.Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSectionsFind(b *testing.B) {
	var in Transfer
	if err := in.Decode(sent()[8:]); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var m Message
		if err := m.Decode(in.Payload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPropertiesDecode(b *testing.B) {
	var in Transfer
	var m Message
	if err := in.Decode(sent()[8:]); err != nil {
		b.Fatal(err)
	}
	if err := m.Decode(in.Payload); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var p Properties
		if err := p.Decode(m.Properties); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMessageDecode measures all decoding of a received message: transfer, sections,
// properties, application properties.
func BenchmarkMessageDecode(b *testing.B) {
	body := sent()[8:]
	b.ReportAllocs()
	for b.Loop() {
		var t Transfer
		var m Message
		var h Header
		var p Properties
		err := t.Decode(body)
		if err == nil {
			err = m.Decode(t.Payload)
		}
		if err == nil {
			err = h.Decode(m.Header)
		}
		if err == nil {
			err = p.Decode(m.Properties)
		}
		if err == nil {
			_, err = ParseMap(m.ApplicationProperties)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFrameRead reads frames, many of which arrive in one read.
func BenchmarkFrameRead(b *testing.B) {
	r := Reader{From: endless{sent()}, MaxFrame: 65536}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Frame(); err != nil {
			b.Fatal(err)
		}
	}
}

type endless struct{ frame []byte }

func (e endless) Read(p []byte) (n int, err error) {
	for len(p)-n >= len(e.frame) {
		n += copy(p[n:], e.frame)
	}
	return n, nil
}

// BenchmarkTransferEncode encodes a delivery whose sections have been encoded before.
func BenchmarkTransferEncode(b *testing.B) {
	var in Transfer
	if err := in.Decode(sent()[8:]); err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 0, 4096)
	t := Transfer{Handle: 1, DeliveryID: Some(uint32(1000)), DeliveryTag: make([]byte, 16), MessageFormat: Some(uint32(0)), Settled: Some(false), Payload: in.Payload}
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendFrame(buf[:0], 1, &t)
	}
}

func BenchmarkTransferSplit(b *testing.B) {
	var in Transfer
	if err := in.Decode(sent()[8:]); err != nil {
		b.Fatal(err)
	}
	tag := make([]byte, 16)
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		s := Splitter{
			Transfer: Transfer{Handle: 1, DeliveryID: Some(uint32(1000)), DeliveryTag: tag, MessageFormat: Some(uint32(0)), Settled: Some(false)},
			Channel:  1, MaxFrame: 65536, Head: in.Payload[:100], Body: in.Payload[100:],
		}
		var err error
		if buf, err = s.Next(buf[:0]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSectionsEncode(b *testing.B) {
	buf := make([]byte, 0, 4096)
	p := Properties{MessageID: value.OfString("3e4b7f0e7d3d4c7f8f6c"), Subject: Some("orders"), ContentType: Some("application/json"), GroupID: Some("s1")}
	annotations := value.Properties{
		{Name: "x-opt-sequence-number", Value: value.OfLong(1000)}, {Name: "x-opt-enqueued-time", Value: value.OfTimestamp(1700000000000)},
		{Name: "x-opt-locked-until", Value: value.OfTimestamp(1700000000000)},
	}
	application := value.Properties{
		{Name: "region", Value: value.OfString("eu")}, {Name: "amount", Value: value.OfDouble(12.5)}, {Name: "tries", Value: value.OfInt(3)},
	}
	b.ReportAllocs()
	for b.Loop() {
		buf = (&Header{TTL: Some(uint32(60000)), DeliveryCount: Some(uint32(0))}).Append(buf[:0])
		buf = AppendAnnotations(buf, SectionMessageAnnotations, annotations)
		buf = p.Append(buf)
		buf = AppendAnnotations(buf, SectionApplicationProperties, application)
		buf = AppendDataHeader(buf, 1024)
	}
}

func BenchmarkDispositionDecode(b *testing.B) {
	body := AppendFrame(nil, 1, &Disposition{Role: RoleReceiver, First: 1000, Last: Some(uint32(1000)), State: Accepted{}})[8:]
	b.ReportAllocs()
	for b.Loop() {
		var d Disposition
		if err := d.Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDispositionEncode(b *testing.B) {
	buf := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		d := Disposition{First: 1000, Last: Some(uint32(1000)), Settled: true, State: Accepted{}}
		buf = AppendFrame(buf[:0], 1, &d)
	}
}

func BenchmarkFlowDecode(b *testing.B) {
	body := AppendFrame(nil, 1, &Flow{NextIncomingID: Some(uint32(1000)), IncomingWindow: 5000, NextOutgoingID: 1000, OutgoingWindow: 5000, Handle: Some(uint32(1)), DeliveryCount: Some(uint32(1000)), LinkCredit: Some(uint32(100))})[8:]
	b.ReportAllocs()
	for b.Loop() {
		var f Flow
		if err := f.Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFlowEncode(b *testing.B) {
	buf := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		f := Flow{NextIncomingID: Some(uint32(1000)), IncomingWindow: 5000, NextOutgoingID: 1000, OutgoingWindow: 5000, Handle: Some(uint32(1)), DeliveryCount: Some(uint32(1000)), LinkCredit: Some(uint32(100))}
		buf = AppendFrame(buf[:0], 1, &f)
	}
}

// BenchmarkScanner scans 16 MB that arrive in frames of 64 KB.
func BenchmarkScanner(b *testing.B) {
	const size = 16 << 20
	message := append(AppendDataHeader((&Header{}).Append(nil), size), make([]byte, size)...)
	b.SetBytes(int64(len(message)))
	b.ReportAllocs()
	for b.Loop() {
		s := Scanner{Data: io.Discard}
		if _, err := io.CopyBuffer(&s, struct{ io.Reader }{bytes.NewReader(message)}, make([]byte, 65000)); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Message(); err != nil {
			b.Fatal(err)
		}
	}
}

// The operations that each message needs allocate nothing.
func TestNoAllocations(t *testing.T) {
	frame := sent()
	var in Transfer
	if err := in.Decode(frame[8:]); err != nil {
		t.Fatal(err)
	}
	disposition := AppendFrame(nil, 1, &Disposition{Role: RoleReceiver, State: Accepted{}})[8:]
	flow := AppendFrame(nil, 1, &Flow{Handle: Some(uint32(1))})[8:]
	buf := make([]byte, 0, 4096)
	reader := Reader{From: endless{frame}, MaxFrame: 65536}
	for name, f := range map[string]func() error{
		"read a frame":         func() error { _, err := reader.Frame(); return err },
		"decode a transfer":    func() error { var p Transfer; return p.Decode(frame[8:]) },
		"decode a disposition": func() error { var p Disposition; return p.Decode(disposition) },
		"decode a flow":        func() error { var p Flow; return p.Decode(flow) },
		"find sections":        func() error { var m Message; return m.Decode(in.Payload) },
		"skip":                 func() error { _, err := Skip(in.Payload); return err },
		"encode a transfer":    func() error { buf = AppendFrame(buf[:0], 1, &in); return nil },
		"encode a disposition": func() error { buf = AppendFrame(buf[:0], 1, &Disposition{State: Accepted{}}); return nil },
		"encode a flow":        func() error { buf = AppendFrame(buf[:0], 1, &Flow{Handle: Some(uint32(1))}); return nil },
		"split": func() (err error) {
			s := Splitter{Transfer: Transfer{DeliveryTag: in.DeliveryTag}, Body: in.Payload}
			for !s.Done() && err == nil {
				buf, err = s.Next(buf[:0])
			}
			return err
		},
	} {
		var err error
		if n := testing.AllocsPerRun(100, func() { err = f() }); n != 0 || err != nil {
			t.Errorf("%s: %v allocations, %v", name, n, err)
		}
	}
}
