package wire

import (
	"cmp"
	"fmt"
	"io"
)

// DefaultLimit is the default of a [Scanner]'s Limit, in bytes.
const DefaultLimit = 1 << 20

// A Scanner finds the sections of one encoded message that arrives in pieces of any size: write
// them to it, then call Message. It writes the content of data sections to Data as it arrives, so
// that a large message is never in memory as a whole. It keeps copies of all other sections. The
// zero Scanner keeps data sections as well.
//
// It finds the same sections as [Message.Decode].
type Scanner struct {
	// Data gets the content of all data sections in order, without their heads;
	// [Scanner.SectionEnds] returns where each ended. Head is complete when Data is first written
	// to. If Data is nil, data sections are kept like all others.
	Data io.Writer
	// Limit is the maximum number of bytes to keep. A message that needs more is refused with
	// CondMessageSizeExceeded. Zero means DefaultLimit.
	Limit int

	err   error
	order sectionOrder
	kept  []byte
	start int // in kept, where the current section begins
	read  int // bytes before the current section

	parts []keptSection // the sections in kept
	body  Body          // of the data that was passed on
	left  uint64        // bytes left of the data section being passed on
	ends  []int64
}

type keptSection struct {
	sectionExtent
	offset int // in kept
}

// Write scans the next piece without keeping a reference to it. After an error, further
// calls return the same error.
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
			rest = s.passOn(rest)
			continue
		}
		x, need, err := parseSectionExtent(s.kept[s.start:])
		if err != nil {
			s.fail(err)
			break
		}
		have := uint64(len(s.kept) - s.start)
		want := uint64(need)
		if need == 0 {
			if want = x.end; s.Data != nil && x.section == SectionData {
				s.beginData(x)
				continue
			}
			if have == want {
				s.endSection(x)
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

// endSection ends a section that is kept.
func (s *Scanner) endSection(x sectionExtent) {
	err := s.order.add(x.section)
	if err == nil {
		err = x.check(s.kept[s.start:])
	}
	if err != nil {
		s.fail(err)
		return
	}
	s.parts = append(s.parts, keptSection{x, s.start})
	s.start += int(x.end)
	s.read += int(x.end)
}

// beginData begins a data section whose content goes to Data, and drops the section's head.
func (s *Scanner) beginData(x sectionExtent) {
	if err := s.order.add(SectionData); err != nil {
		s.fail(err)
		return
	}
	s.kept = s.kept[:s.start]
	s.read += x.content
	s.left = x.end - uint64(x.content)
	s.body.Kind = DataBody
	s.body.Sections++
	s.recordDataEnd()
}

func (s *Scanner) passOn(rest []byte) []byte {
	n := int(min(s.left, uint64(len(rest))))
	if _, err := s.Data.Write(rest[:n]); err != nil {
		s.err = fmt.Errorf("forward the data of a message: %w", err)
		return rest
	}
	s.left -= uint64(n)
	s.read += n
	s.body.Size += int64(n)
	s.recordDataEnd()
	return rest[n:]
}

// recordDataEnd records the end of a data section when all of it has been passed on.
func (s *Scanner) recordDataEnd() {
	if s.left == 0 && !s.tooLarge(uint64(len(s.kept))) {
		s.ends = append(s.ends, s.body.Size)
	}
}

// Head returns the message without its body and footer. It reports false until the body
// has begun.
func (s *Scanner) Head() (m Message, ok bool) {
	if !s.order.hasBody() {
		return m, false
	}
	m = s.message()
	m.Body, m.Footer = Body{}, nil
	return m, true
}

// SectionEnds returns, for each data section that was passed on, how many bytes of data had been
// passed on at its end.
func (s *Scanner) SectionEnds() []int64 { return s.ends }

// Message returns the whole message, after the last piece. Its slices are valid until the
// next Write.
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
		m.add(p.sectionExtent, s.kept[p.offset:])
	}
	if s.body.Kind != NoBody {
		m.Body = s.body
	}
	return m
}
