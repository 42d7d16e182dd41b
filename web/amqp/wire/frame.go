package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// MinMaxFrameSize is the smallest maximum frame size, in bytes, that a peer may announce. Until the
// peer's open has announced a larger one, frames must not exceed it (AMQP 1.0, part 2, 2.8.19).
const MinMaxFrameSize = 512

// FrameType is the type of a frame's body (part 2, 2.3.1; part 5, 5.3.1).
type FrameType uint8

// The types of frames.
const (
	FrameAMQP FrameType = 0
	FrameSASL FrameType = 1
)

// frameHeaderSize is the size of a frame's header, without an extended header.
const frameHeaderSize = 8

// A Frame is one decoded frame.
type Frame struct {
	Type    FrameType
	Channel uint16 // meaningless in a SASL frame
	Body    []byte // a performative and its payload; empty in a heartbeat
}

// IsHeartbeat reports whether f is an empty frame, which only shows that the peer is alive.
func (f Frame) IsHeartbeat() bool { return f.Type == FrameAMQP && len(f.Body) == 0 }

// Append appends the encoded frame to b.
func (f Frame) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(frameHeaderSize+len(f.Body)))
	b = append(b, frameHeaderSize/4, byte(f.Type))
	return append(binary.BigEndian.AppendUint16(b, f.Channel), f.Body...)
}

// A Reader reads protocol headers and frames. It reads ahead, so that many small
// frames cost one read, and is not safe for concurrent use.
type Reader struct {
	From io.Reader
	// MaxFrame is the size of the largest frame to accept, as announced to the peer.
	// Values below MinMaxFrameSize, including zero, count as MinMaxFrameSize. It may be
	// raised between frames.
	MaxFrame uint32

	buf  []byte // unread bytes are buf[from:to]
	from int
	to   int
}

const (
	smallBuffer = 8 << 10
	largeBuffer = 64 << 10 // for a peer that fills the smaller one
)

// Protocol reads a protocol header. The error is io.EOF if the stream ends before its
// first byte.
func (r *Reader) Protocol() (Protocol, error) {
	if err := r.fill(ProtocolHeaderSize); err != nil {
		return 0, err
	}
	p, err := ParseProtocol([ProtocolHeaderSize]byte(r.buf[r.from:]))
	r.from += ProtocolHeaderSize
	return p, err
}

// Frame reads a frame, whose body is valid until the next call. At the end of the stream
// the error is io.EOF between frames and io.ErrUnexpectedEOF within one. After a
// [ProtocolError] nothing more can be read.
func (r *Reader) Frame() (Frame, error) {
	if err := r.fill(frameHeaderSize); err != nil {
		return Frame{}, err
	}
	size, err := r.frameSize()
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

// frameSize checks the buffered header of the next frame and returns the frame's size.
func (r *Reader) frameSize() (size int, err error) {
	b := r.buf[r.from:]
	n, doff, kind := binary.BigEndian.Uint32(b), b[4], b[5]
	var text string
	switch most := max(r.MaxFrame, MinMaxFrameSize); {
	case n < frameHeaderSize:
		text = fmt.Sprintf("a frame of %d bytes is shorter than its header", n)
	case n > most:
		text = fmt.Sprintf("a frame of %d bytes is larger than the %d announced", n, most)
	case doff < 2 || uint32(doff)*4 > n:
		text = fmt.Sprintf("the body of a frame of %d bytes cannot begin at byte %d", n, uint32(doff)*4)
	case kind > uint8(FrameSASL):
		text = fmt.Sprintf("unknown frame type %d", kind)
	default:
		return int(n), nil
	}
	return 0, &ProtocolError{Condition: CondFramingError, Text: text}
}

// Buffered reports whether Frame would return at once, with a frame or an error. A caller
// that answers frames can delay flushing until Buffered is false.
func (r *Reader) Buffered() bool {
	if r.to-r.from < frameHeaderSize {
		return false
	}
	size, err := r.frameSize()
	return err != nil || size <= r.to-r.from
}

// ReadAhead returns the bytes that have been read ahead. They are valid until the next call.
func (r *Reader) ReadAhead() []byte { return r.buf[r.from:r.to] }

// IsLarge reports whether r has a large buffer although its unread bytes would fit into a small
// one.
func (r *Reader) IsLarge() bool { return len(r.buf) > smallBuffer && r.to-r.from <= smallBuffer }

// Shrink replaces a large buffer by a small one, if the unread bytes fit into that. It may be
// called after Frame has failed because of a deadline; Frame may be called again afterwards.
func (r *Reader) Shrink() {
	if !r.IsLarge() {
		return
	}
	small := make([]byte, smallBuffer)
	r.to = copy(small, r.buf[r.from:r.to])
	r.buf, r.from = small, 0
}

// fill reads until n bytes are buffered. The buffer grows with the bytes that have
// arrived, not with the size that a header claims.
func (r *Reader) fill(n int) error {
	for empty := 0; r.to-r.from < n; {
		r.makeRoom(n)
		got, err := r.From.Read(r.buf[r.to:])
		r.to += got
		switch {
		case r.to-r.from >= n:
			return nil // the next read returns the error again
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

// makeRoom makes room in the buffer for at least one more byte. n is the number of bytes that fill
// waits for.
func (r *Reader) makeRoom(n int) {
	switch have := r.to - r.from; {
	case r.buf == nil:
		r.buf = make([]byte, smallBuffer)
	case r.to == len(r.buf) && (have == len(r.buf) || len(r.buf) < largeBuffer):
		// Full, because of one large frame or a peer that sends more than fits at a time.
		larger := make([]byte, min(2*len(r.buf), max(n, largeBuffer)))
		copy(larger, r.buf[r.from:r.to])
		r.buf, r.from, r.to = larger, 0, have
	case r.from > 0 && (have == 0 || len(r.buf)-r.from < n):
		copy(r.buf, r.buf[r.from:r.to])
		r.from, r.to = 0, have
	}
}

// AppendFrame appends p in a frame to b, followed by its payload if it is a [Transfer]. The frame
// may have any size; use a [Splitter] to bound it. The channel of a SASL frame is 0.
func AppendFrame(b []byte, channel uint16, p Performative) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, 2, 0, byte(channel>>8), byte(channel))
	b = appendPerformative(b, p)
	b[start+5] = byte(frameType(Code(b[start+frameHeaderSize+2]))) // by the code of the smallulong descriptor
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
	return append(b, 0, 0, 0, frameHeaderSize, 2, byte(FrameAMQP), 0, 0)
}
