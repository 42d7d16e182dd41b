package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A Splitter turns one delivery into transfers, each in a frame of at most
// MaxFrame bytes, one for each call of Next: the caller counts them against the
// session's window and goes on when there is room. The message is Head, Body,
// Stream and Tail in this order, any of which may be empty; none is copied but
// into the frames.
type Splitter struct {
	// Transfer is the first transfer but for More and Payload. In those after it
	// delivery id, tag, format and state are null.
	Transfer Transfer
	Channel  uint16
	MaxFrame uint32 // as announced by the peer; less than MinMaxFrameSize stands for that

	Head       []byte    // usually the sections in front of the body
	Body       []byte    // a body that is in memory
	Stream     io.Reader // a body that is not; read just before it is sent
	StreamSize int64     // exactly how much of Stream to send
	Tail       []byte    // usually the footer

	begun bool
	done  bool
}

// Done says whether the last transfer was made.
func (s *Splitter) Done() bool { return s.done }

// Left is how many bytes of the message are not yet in a frame.
func (s *Splitter) Left() int64 {
	return int64(len(s.Head)) + int64(len(s.Body)) + s.StreamSize + int64(len(s.Tail))
}

// Next appends the frame of the next transfer to b. After an error, which is
// Stream's or says that no message fits the frames, b is as it was, and the
// delivery can only be aborted or the link given up. It panics when Done.
func (s *Splitter) Next(b []byte) ([]byte, error) {
	if s.done {
		panic("a delivery has no transfer after its last")
	}
	start := len(b)
	t := &s.Transfer
	t.More, t.Payload = false, nil
	b = AppendFrame(b, s.Channel, t)
	overhead := len(b) - start // the same with more, whose two values are of one length
	room := int64(max(s.MaxFrame, MinMaxFrameSize)) - int64(overhead)
	left := s.Left()
	if room <= 0 && left > 0 || room < 0 {
		return b[:start], &ProtocolError{Condition: CondFrameSizeTooSmall, Text: fmt.Sprintf("a transfer of %d bytes without a payload does not fit the largest frame of %d", overhead, s.MaxFrame)}
	}
	if left > room {
		t.More = true
		b = AppendFrame(b[:start], s.Channel, t)
		left = room
	}
	b, err := s.payload(b, left)
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

// payload appends the next n bytes of the message.
func (s *Splitter) payload(b []byte, n int64) ([]byte, error) {
	b, s.Head, n = move(b, s.Head, n)
	b, s.Body, n = move(b, s.Body, n)
	if k := min(n, s.StreamSize); k > 0 {
		at := len(b)
		b = append(b, make([]byte, k)...) // grows b, makes nothing
		if _, err := io.ReadFull(s.Stream, b[at:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return b, fmt.Errorf("read the body of a delivery: %w", err)
		}
		s.StreamSize -= k
		n -= k
	}
	b, s.Tail, _ = move(b, s.Tail, n)
	return b, nil
}

// move appends up to n bytes of from to b.
func move(b, from []byte, n int64) (_, rest []byte, left int64) {
	k := min(n, int64(len(from)))
	return append(b, from[:k]...), from[k:], n - k
}
