package amqp

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// A pipe returns bytes in the order in which they were written, after writes and reads of many
// sizes, which make its ring wrap around and grow.
func TestPipeKeepsOrder(t *testing.T) {
	p := newPipe()
	var in, out []byte
	next := byte(0)
	for _, step := range []struct{ write, read int }{{100, 30}, {60, 100}, {90, 20}, {300, 350}, {7, 0}, {pipeHighWater, 1000}, {streamThreshold, 5}} {
		b := make([]byte, step.write)
		for i := range b {
			b[i] = next
			next += 7
		}
		in = append(in, b...)
		_, _ = p.Write(b) //nolint:errcheck // it never fails
		got := make([]byte, step.read)
		if _, err := io.ReadFull(p, got); err != nil {
			t.Fatal(err)
		}
		out = append(out, got...)
	}
	p.closeWriter(io.EOF)
	p.closeWriter(errDeliveryBrokenOff) // ignored
	rest, err := io.ReadAll(iotest.HalfReader(p))
	if out = append(out, rest...); err != nil || !bytes.Equal(in, out) {
		t.Errorf("read %d bytes of %d, or other bytes, %v", len(out), len(in), err)
	}
}

// A pipe that is broken off returns no further bytes and accepts none. Only the first end counts. A
// waiting writer continues when the pipe ends, and when the reader closes it.
func TestPipeEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		end   func(*pipe)
		reads bool // a reader is waiting
	}{
		"broken off": {func(p *pipe) { p.closeWriter(errDeliveryBrokenOff); p.closeWriter(io.EOF) }, true},
		"left":       {(*pipe).closeReader, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPipe()
			write := func() { _, _ = p.Write(make([]byte, pipeHighWater+1)) } //nolint:errcheck // it never fails
			write()
			if !p.full() {
				t.Error("the pipe is not full")
			}
			tc.end(p)
			select {
			case <-p.roomSignal:
			default:
				t.Error("the writer gets no signal")
			}
			if write(); p.full() {
				t.Error("the pipe is still full")
			}
			if !tc.reads {
				return
			}
			if n, err := p.Read(make([]byte, 10)); n != 0 || !errors.Is(err, errDeliveryBrokenOff) {
				t.Errorf("Read returned %d bytes and %v", n, err)
			}
		})
	}
}
