package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// MinMaxFrameSize is the least that a peer may announce as its largest frame;
// until an open has said more, frames are no larger (AMQP 1.0, part 2, 2.8.19).
const MinMaxFrameSize = 512

// FrameType says what the body of a frame is (part 2, 2.3.1; part 5, 5.3.1).
type FrameType uint8

// The types of frames.
const (
	FrameAMQP FrameType = 0
	FrameSASL FrameType = 1
)

// frameHead is the size of a frame's header, without an extended one.
const frameHead = 8

// A Frame is one frame as it was read.
type Frame struct {
	Type    FrameType
	Channel uint16 // of no meaning in a SASL frame
	Body    []byte // a performative and what follows it; empty: a heartbeat
}

// Heartbeat says whether f is an empty frame, whose only meaning is that the
// peer is alive.
func (f Frame) Heartbeat() bool { return f.Type == FrameAMQP && len(f.Body) == 0 }

// Append is the frame as it travels.
func (f Frame) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(frameHead+len(f.Body))) //nolint:gosec // as it was read
	b = append(b, frameHead/4, byte(f.Type))
	return append(binary.BigEndian.AppendUint16(b, f.Channel), f.Body...)
}

// A Reader reads protocol headers and frames. It reads ahead, so that many small
// frames cost one read, and is not safe for concurrent use.
type Reader struct {
	From io.Reader
	// MaxFrame is the largest frame to accept, as announced to the peer; less than
	// MinMaxFrameSize, in particular zero, stands for that. It may be raised
	// between frames.
	MaxFrame uint32

	buf  []byte // what is read is buf[from:to]
	from int
	to   int
}

const (
	firstBuffer  = 8 << 10
	largerBuffer = 64 << 10 // for a peer that fills the smaller ones
)

// Protocol reads a protocol header. At the end of the stream the error is io.EOF
// if there was none of it.
func (r *Reader) Protocol() (Protocol, error) {
	if err := r.fill(ProtocolHeaderSize); err != nil {
		return 0, err
	}
	p, err := ParseProtocol([ProtocolHeaderSize]byte(r.buf[r.from:]))
	r.from += ProtocolHeaderSize
	return p, err
}

// Frame reads a frame, whose body is valid until the next call. At the end of
// the stream the error is io.EOF between frames, io.ErrUnexpectedEOF within one.
// After an error that is a [ProtocolError] nothing more can be read.
func (r *Reader) Frame() (Frame, error) {
	if err := r.fill(frameHead); err != nil {
		return Frame{}, err
	}
	size, err := r.head()
	if err != nil {
		return Frame{}, err
	}
	if err := r.fill(size); err != nil {
		return Frame{}, err
	}
	b := r.buf[r.from : r.from+size : r.from+size]
	r.from += size
	return Frame{Type: FrameType(b[5]), Channel: binary.BigEndian.Uint16(b[6:]), Body: b[4*int(b[4]):]}, nil
}

// head checks the header of the next frame, which was read, and is its size.
func (r *Reader) head() (size int, err error) {
	b := r.buf[r.from:]
	n, doff, kind := binary.BigEndian.Uint32(b), b[4], b[5]
	var text string
	switch most := max(r.MaxFrame, MinMaxFrameSize); {
	case n < frameHead:
		text = fmt.Sprintf("a frame of %d bytes is shorter than its header", n)
	case n > most:
		text = fmt.Sprintf("a frame of %d bytes is larger than the %d announced", n, most)
	case doff < 2 || uint32(doff)*4 > n:
		text = fmt.Sprintf("the body of a frame of %d bytes cannot begin at byte %d", n, uint32(doff)*4)
	case kind > uint8(FrameSASL):
		text = fmt.Sprintf("no frame is of type %d", kind)
	default:
		return int(n), nil
	}
	return 0, &ProtocolError{Condition: CondFramingError, Text: text}
}

// Buffered says whether Frame would return at once, be it with an error. Who
// answers frames can wait with flushing until it would not.
func (r *Reader) Buffered() bool {
	if r.to-r.from < frameHead {
		return false
	}
	size, err := r.head()
	return err != nil || size <= r.to-r.from
}

// Ahead is what was read and not returned yet, until the next call.
func (r *Reader) Ahead() []byte { return r.buf[r.from:r.to] }

// Large says whether r keeps more memory than it needs for a peer that says
// little.
func (r *Reader) Large() bool { return len(r.buf) > firstBuffer && r.to-r.from <= firstBuffer }

// Shrink gives back the memory by which r is Large. It may be called after Frame
// has failed because of a deadline, and Frame again after it.
func (r *Reader) Shrink() {
	if !r.Large() {
		return
	}
	small := make([]byte, firstBuffer)
	r.to = copy(small, r.buf[r.from:r.to])
	r.buf, r.from = small, 0
}

// fill reads until n bytes are there. The buffer grows with what has come, not
// with what a header claims will.
func (r *Reader) fill(n int) error {
	for empty := 0; r.to-r.from < n; {
		r.room(n)
		got, err := r.From.Read(r.buf[r.to:])
		r.to += got
		switch {
		case r.to-r.from >= n:
			return nil // an error comes again
		case err == io.EOF && r.to > r.from:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case got == 0:
			if empty++; empty == 100 {
				return io.ErrNoProgress
			}
		}
	}
	return nil
}

// room makes room for at least one byte of the next n.
func (r *Reader) room(n int) {
	switch have := r.to - r.from; {
	case r.buf == nil:
		r.buf = make([]byte, firstBuffer)
	case r.to == len(r.buf) && (have == len(r.buf) || len(r.buf) < largerBuffer):
		// Full: of one frame, or by a peer that sends more at a time than fits.
		larger := make([]byte, min(2*len(r.buf), max(n, largerBuffer)))
		copy(larger, r.buf[r.from:r.to])
		r.buf, r.from, r.to = larger, 0, have
	case r.from > 0 && (have == 0 || len(r.buf)-r.from < n):
		copy(r.buf, r.buf[r.from:r.to])
		r.from, r.to = 0, have
	}
}

// AppendFrame appends p in a frame to b. With a [Transfer] goes its payload: a
// [Splitter] keeps to a largest size of frame. The channel of a SASL frame is 0.
func AppendFrame(b []byte, channel uint16, p Performative) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, 2, 0, byte(channel>>8), byte(channel))
	b = appendPerformative(b, p)
	b[start+5] = byte(frameType(Code(b[start+frameHead+2]))) // by the smallulong
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start))
	return b
}

func frameType(code Code) FrameType {
	if code >= CodeMechanisms && code <= CodeOutcome {
		return FrameSASL
	}
	return FrameAMQP
}

// AppendHeartbeat appends an empty frame to b.
func AppendHeartbeat(b []byte) []byte {
	return append(b, 0, 0, 0, frameHead, 2, byte(FrameAMQP), 0, 0)
}
