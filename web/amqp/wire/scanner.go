package wire

import (
	"cmp"
	"fmt"
	"io"
)

// DefaultLimit is what a [Scanner] keeps at most unless told otherwise.
const DefaultLimit = 1 << 20

// A Scanner finds the sections of one encoded message that arrives in pieces of
// any size: write them to it, then ask for the Message. The bytes of data
// sections are passed on as they come, so that a large message is never in
// memory as a whole; all other sections are kept, copied from the pieces. The
// zero Scanner keeps data as well.
//
// It finds the same in a message as [Message.Decode] does.
type Scanner struct {
	// Data takes the bytes of data sections in order, joined; [Scanner.Ends] tells
	// where each ended. When its Write is called first, Head is complete. Nil: data
	// sections are kept like all others.
	Data io.Writer
	// Limit is the most bytes to keep; beyond, the message is refused with
	// CondMessageSizeExceeded. Zero stands for DefaultLimit.
	Limit int

	err   error
	order sequence
	kept  []byte
	start int // in kept, where the section being read begins
	read  int // how many bytes were, to the start of that section

	parts []extentAt // sections in kept
	body  Body       // of data that was passed on
	left  uint64     // of the data section being passed on
	ends  []int64
}

type extentAt struct {
	extent
	at int // in kept
}

// Write takes the next piece, of which it keeps nothing. After an error there
// is no use in more.
func (s *Scanner) Write(piece []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	rest := piece
	for s.err == nil {
		if s.left > 0 {
			if len(rest) == 0 {
				break
			}
			rest = s.pass(rest)
			continue
		}
		x, need, err := sectionAt(s.kept[s.start:])
		if err != nil {
			s.fail(err)
			break
		}
		have := uint64(len(s.kept) - s.start)
		want := uint64(need)
		if need == 0 {
			if want = x.end; s.Data != nil && x.section == SectionData {
				s.begin(x)
				continue
			}
			if have == want {
				s.finish(x)
				continue
			}
		}
		if have+uint64(len(rest)) == 0 || s.tooLarge(uint64(s.start)+want) || len(rest) == 0 {
			break
		}
		more := min(want-have, uint64(len(rest)))
		s.kept = append(s.kept, rest[:more]...)
		rest = rest[more:]
	}
	return len(piece) - len(rest), s.err
}

func (s *Scanner) fail(err *ProtocolError) {
	err.Offset += s.read
	s.err = err
}

func (s *Scanner) tooLarge(kept uint64) bool {
	if most := cmp.Or(s.Limit, DefaultLimit); kept+8*uint64(len(s.ends)) > uint64(most) {
		s.fail(&ProtocolError{Condition: CondMessageSizeExceeded, Text: fmt.Sprintf("a message has more than %d bytes to be kept in memory", most)})
		return true
	}
	return false
}

// finish ends a section that was kept.
func (s *Scanner) finish(x extent) {
	err := s.order.admit(x.section)
	if err == nil {
		err = x.check(s.kept[s.start:])
	}
	if err != nil {
		s.fail(err)
		return
	}
	s.parts = append(s.parts, extentAt{x, s.start})
	s.start += int(x.end)
	s.read += int(x.end)
}

// begin forgets the head of a data section, whose bytes are passed on.
func (s *Scanner) begin(x extent) {
	if err := s.order.admit(SectionData); err != nil {
		s.fail(err)
		return
	}
	s.kept = s.kept[:s.start]
	s.read += x.content
	s.left = x.end - uint64(x.content)
	s.body.Kind = DataBody
	s.body.Sections++
	s.ended()
}

func (s *Scanner) pass(rest []byte) []byte {
	n := int(min(s.left, uint64(len(rest))))
	if _, err := s.Data.Write(rest[:n]); err != nil {
		s.err = fmt.Errorf("pass on the data of a message: %w", err)
		return rest
	}
	s.left -= uint64(n)
	s.read += n
	s.body.Size += int64(n)
	s.ended()
	return rest[n:]
}

// ended notes the end of a data section when nothing is left of it.
func (s *Scanner) ended() {
	if s.left == 0 && !s.tooLarge(uint64(len(s.kept))) {
		s.ends = append(s.ends, s.body.Size)
	}
}

// Head is the message without its body and footer, once the body has begun.
func (s *Scanner) Head() (m Message, ok bool) {
	if !s.order.bodied() {
		return m, false
	}
	m = s.message()
	m.Body, m.Footer = Body{}, nil
	return m, true
}

// Ends is how many bytes of data there were at the end of each data section that
// was passed on.
func (s *Scanner) Ends() []int64 { return s.ends }

// Message is the whole message, after the last piece. Its slices are valid until
// the next Write.
func (s *Scanner) Message() (Message, error) {
	if s.err == nil && (s.left > 0 || len(s.kept) > s.start) {
		s.fail(&ProtocolError{Condition: CondDecodeError, Text: "the message ends within a section", Offset: len(s.kept) - s.start})
	}
	if s.err != nil {
		return Message{}, s.err
	}
	return s.message(), nil
}

func (s *Scanner) message() (m Message) {
	for _, p := range s.parts {
		m.add(p.extent, s.kept[p.at:])
	}
	if s.body.Kind != NoBody {
		m.Body = s.body
	}
	return m
}
