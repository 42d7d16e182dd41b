package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A Splitter splits one delivery into transfers, each in a frame of at most MaxFrame bytes. Each
// call of Next returns one, so that the caller counts them against the session's window and
// continues when there is room. The message is Head, Body, Stream and Tail in this order, any of
// which may be empty. Their bytes are copied once, into the frames.
type Splitter struct {
	// Transfer is the first transfer without More and Payload. In later ones, delivery
	// id, tag, format and state are null.
	Transfer Transfer
	Channel  uint16
	MaxFrame uint32 // as announced by the peer; values below MinMaxFrameSize count as MinMaxFrameSize

	Head       []byte    // usually the sections before the body
	Body       []byte    // a body that is in memory
	Stream     io.Reader // a body that is not in memory; each part is read just before it is sent
	StreamSize int64     // how many bytes of Stream to send
	Tail       []byte    // usually the footer

	begun bool
	done  bool
}

// Done reports whether Next has returned the last transfer.
func (s *Splitter) Done() bool { return s.done }

// Remaining returns how many bytes of the message are not in a frame yet.
func (s *Splitter) Remaining() int64 {
	return int64(len(s.Head)) + int64(len(s.Body)) + s.StreamSize + int64(len(s.Tail))
}

// Next appends the frame of the next transfer to b. It fails if Stream does, or if the frames are
// too small for any payload. After an error b is unchanged, and the caller can only abort the
// delivery or detach the link. Next panics if Done is true.
func (s *Splitter) Next(b []byte) ([]byte, error) {
	if s.done {
		panic("a delivery has no transfer after its last")
	}
	start := len(b)
	t := &s.Transfer
	t.More, t.Payload = false, nil
	b = AppendFrame(b, s.Channel, t)
	overhead := len(b) - start // the length is the same with and without more
	room := int64(max(s.MaxFrame, MinMaxFrameSize)) - int64(overhead)
	left := s.Remaining()
	if room <= 0 && left > 0 || room < 0 {
		return b[:start], &ProtocolError{Condition: CondFrameSizeTooSmall, Text: fmt.Sprintf("a transfer of %d bytes without a payload does not fit the largest frame of %d", overhead, s.MaxFrame)}
	}
	if left > room {
		t.More = true
		b = AppendFrame(b[:start], s.Channel, t)
		left = room
	}
	b, err := s.appendPayload(b, left)
	if err != nil {
		return b[:start], err
	}
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start))
	s.done = !t.More
	if !s.begun {
		s.begun = true
		t.DeliveryID, t.DeliveryTag, t.MessageFormat, t.State = Opt[uint32]{}, nil, Opt[uint32]{}, nil
	}
	return b, nil
}

// appendPayload appends the next n bytes of the message.
func (s *Splitter) appendPayload(b []byte, n int64) ([]byte, error) {
	b, s.Head, n = appendUpTo(b, s.Head, n)
	b, s.Body, n = appendUpTo(b, s.Body, n)
	if k := min(n, s.StreamSize); k > 0 {
		at := len(b)
		b = append(b, make([]byte, k)...) // grows b without another allocation
		if _, err := io.ReadFull(s.Stream, b[at:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return b, fmt.Errorf("read the body of a delivery: %w", err)
		}
		s.StreamSize -= k
		n -= k
	}
	b, s.Tail, _ = appendUpTo(b, s.Tail, n)
	return b, nil
}

// appendUpTo appends up to n bytes of `from` to b.
func appendUpTo(b, from []byte, n int64) (_, rest []byte, left int64) {
	k := min(n, int64(len(from)))
	return append(b, from[:k]...), from[k:], n - k
}
