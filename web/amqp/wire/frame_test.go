package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestProtocols(t *testing.T) {
	for header, tc := range map[string]struct {
		p    Protocol
		text string
	}{
		"414d5150 00 01 00 00": {ProtocolAMQP, "AMQP 0 1.0.0"},
		"414d5150 02 01 00 00": {ProtocolTLS, "AMQP 2 1.0.0"},
		"414d5150 03 01 00 00": {ProtocolSASL, "AMQP 3 1.0.0"},
		"414d5150 00 00 09 01": {0x00000901, "AMQP 0 0.9.1"},
	} {
		r := Reader{From: iotest.OneByteReader(bytes.NewReader(x(header)))}
		p, err := r.Protocol()
		if p != tc.p || err != nil || p.String() != tc.text {
			t.Errorf("%s is %v: %v", header, p, err)
		}
		check(t, "written", p.Append(nil), x(header))
		if _, err := r.Protocol(); err != io.EOF { //nolint:errorlint // it is documented to be unwrapped
			t.Errorf("at the end: %v", err)
		}
	}
	_, err := (&Reader{From: bytes.NewReader([]byte("GET / HTTP/1.1"))}).Protocol()
	if stranger, ok := errors.AsType[*NotAMQPError](err); !ok || !stranger.IsHTTP() {
		t.Errorf("an HTTP request: %v", err)
	}
}

func TestFramesRead(t *testing.T) {
	stream := join(
		[]byte("AMQP\x00\x01\x00\x00"),
		x("00000008 02 00 0000"),                           // a heartbeat
		x("00000008 02 00 00ff"),                           // a heartbeat on another channel
		x("00000010 03 00 0102 deadbeef 00531845"),         // an extended header
		x("0000000c 03 00 0000 ffffffff"),                  // an extended header and no body
		inFrame(1, 0, x("00534445")),                       // SASL
		inFrame(0, 65535, bytes.Repeat([]byte("a"), 3992)), // the largest frame
	)
	want := []Frame{
		{FrameAMQP, 0, []byte{}}, {FrameAMQP, 255, []byte{}}, {FrameAMQP, 0x0102, x("00531845")}, {FrameAMQP, 0, []byte{}},
		{FrameSASL, 0, x("00534445")}, {FrameAMQP, 65535, bytes.Repeat([]byte("a"), 3992)},
	}
	for name, from := range map[string]io.Reader{
		"at once":         bytes.NewReader(stream),
		"byte by byte":    iotest.OneByteReader(bytes.NewReader(stream)),
		"half at a time":  iotest.HalfReader(bytes.NewReader(stream)),
		"error with data": iotest.DataErrReader(bytes.NewReader(stream)),
	} {
		t.Run(name, func(t *testing.T) {
			r := Reader{From: from, MaxFrame: 4000}
			if p, err := r.Protocol(); p != ProtocolAMQP || err != nil {
				t.Fatal(p, err)
			}
			for i, f := range want {
				got, err := r.Frame()
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(f, got); d != "" {
					t.Errorf("frame %d:\n%s", i, d)
				}
				if got.IsHeartbeat() != (i < 2 || i == 3) {
					t.Errorf("frame %d: a heartbeat is %v", i, got.IsHeartbeat())
				}
			}
			if _, err := r.Frame(); err != io.EOF { //nolint:errorlint // it is documented to be unwrapped
				t.Errorf("at the end: %v", err)
			}
		})
	}
	if (Frame{Type: FrameSASL}).IsHeartbeat() {
		t.Error("an empty SASL frame is a heartbeat")
	}
}

func TestFramesRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		in  []byte
		max uint32
	}{
		"shorter than its header":     {x("00000007 02 00 0000"), 0},
		"of no size":                  {x("00000000 02 00 0000"), 0},
		"larger than announced":       {x("00010001 02 00 0000"), 65536},
		"larger than the least":       {x("00000201 02 00 0000"), 0},
		"far larger":                  {x("ffffffff 02 00 0000"), 65536},
		"body within the header":      {x("00000008 01 00 0000"), 0},
		"body beyond the end":         {x("00000008 03 00 0000"), 0},
		"body far beyond the end":     {x("00000100 ff 00 0000"), 0},
		"of a type nobody here knows": {x("00000008 02 02 0000"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := Reader{From: bytes.NewReader(append(tc.in, make([]byte, 4096)...)), MaxFrame: tc.max}
			_, err := r.Frame()
			refused(t, err, CondFramingError)
			if !r.Buffered() {
				t.Error("a further read would wait")
			}
			_, err = r.Frame()
			refused(t, err, CondFramingError)
		})
	}
}

func TestReaderEnds(t *testing.T) {
	frame := AppendFrame(nil, 1, &Close{})
	for cut := 1; cut < len(frame); cut++ {
		r := Reader{From: bytes.NewReader(frame[:cut])}
		if _, err := r.Frame(); err != io.ErrUnexpectedEOF { //nolint:errorlint // it is documented to be unwrapped
			t.Errorf("after %d bytes: %v", cut, err)
		}
	}
	broken := errors.New("broken")
	r := Reader{From: io.MultiReader(bytes.NewReader(frame), iotest.ErrReader(broken))}
	if _, err := r.Frame(); err != nil {
		t.Error(err)
	}
	if _, err := r.Frame(); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := (&Reader{From: stuck{}}).Frame(); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// TestReaderReadsAhead checks that Buffered reports whether another whole frame has been read
// already, and that a frame that announces a huge size causes no allocation until its bytes arrive.
func TestReaderReadsAhead(t *testing.T) {
	one := AppendFrame(nil, 1, &End{})
	r := Reader{From: bytes.NewReader(join(one, one, one[:9])), MaxFrame: 1 << 30}
	if r.Buffered() {
		t.Error("the reader has not read ahead")
	}
	for i, more := range []bool{true, false} {
		if _, err := r.Frame(); err != nil || r.Buffered() != more {
			t.Errorf("after frame %d: %v, %v", i, err, r.Buffered())
		}
	}
	for _, come := range []int{8, smallBuffer, 3 * largeBuffer} {
		huge := append(x("3fffffff 02 00 0000"), make([]byte, come-8)...)
		r = Reader{From: io.MultiReader(bytes.NewReader(huge), stuck{}), MaxFrame: 1 << 30}
		if _, err := r.Frame(); !errors.Is(err, io.ErrNoProgress) || len(r.buf) > 2*max(come, largeBuffer) {
			t.Errorf("%v, having allocated %d bytes for %d", err, len(r.buf), come)
		}
	}
}

// Frames larger than the buffer arrive among small ones.
func TestReaderGrows(t *testing.T) {
	var stream []byte
	sizes := []int{0, 9000, 10, 100_000, 1, 70_000, 65_536 - 8}
	for _, n := range sizes {
		stream = append(stream, inFrame(0, uint16(n), bytes.Repeat([]byte{byte(n)}, n))...)
	}
	for _, from := range []io.Reader{bytes.NewReader(stream), iotest.HalfReader(bytes.NewReader(stream)), iotest.OneByteReader(bytes.NewReader(stream))} {
		r := Reader{From: from, MaxFrame: 200_000}
		for _, n := range sizes {
			f, err := r.Frame()
			if err != nil || f.Channel != uint16(n) || !bytes.Equal(f.Body, bytes.Repeat([]byte{byte(n)}, n)) {
				t.Fatalf("the frame of %d bytes: %d bytes on channel %d, %v", n, len(f.Body), f.Channel, err)
			}
		}
		if len(r.buf) > 200_000 {
			t.Errorf("the buffer has %d bytes", len(r.buf))
		}
	}
}

func TestHeartbeatWritten(t *testing.T) {
	check(t, "heartbeat", AppendHeartbeat(nil), x("00000008 02 00 0000"))
	check(t, "sasl", AppendFrame(nil, 0, &Outcome{})[:8], x("00000011 02 01 0000"))
}

// A reader that has grown frees its memory without losing the bytes that it has of a
// frame.
func TestShrink(t *testing.T) {
	var sent bytes.Buffer
	for range 40_000 {
		sent.Write(AppendHeartbeat(nil))
	}
	r := &Reader{From: &sent}
	for range 40_000 {
		if _, err := r.Frame(); err != nil {
			t.Fatal(err)
		}
	}
	if !r.IsLarge() {
		t.Fatalf("the buffer has %d bytes", len(r.buf))
	}
	half := AppendHeartbeat(nil)
	sent.Write(half[:5])
	if _, err := r.Frame(); err == nil {
		t.Fatal("half a frame was returned as a frame")
	}
	r.Shrink()
	if r.IsLarge() || len(r.buf) > 8<<10 {
		t.Errorf("the buffer still has %d bytes", len(r.buf))
	}
	sent.Write(half[5:])
	if f, err := r.Frame(); err != nil || !f.IsHeartbeat() {
		t.Errorf("the rest: %v, %v", f, err)
	}
}
