package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
)

const (
	// AtOnce is how many messages go to the broker together, and BytesAtOnce how many
	// bytes of them, of which the last may have more.
	AtOnce      = 256
	BytesAtOnce = 128 << 10
	// MostFailures is how many lines are told that cannot be read or are refused.
	MostFailures = 100
	// mostIDs is how many MessageIds of one file are compared with each other: 16
	// bytes each, and what a map takes beside them.
	mostIDs = 200_000
)

// A Failure is a line that cannot be read, or a message that is refused.
type Failure struct {
	Line int64 // from 1
	Err  error
}

// A Survey is what would become of the messages of a file.
type Survey struct {
	Lines      int64 // that were read: messages, and lines that are none
	Import     int64 // that the target would take
	Bytes      int64 // that these are
	Duplicates int64 // accepted, and dropped (DUP-2), in Import too; of one file's own the first 200,000 ids are compared
	Expired    int64 // left out with ttl=remaining
	AtOnce     int64 // in Import, and would expire at once
	Scheduled  int64 // in Import, and would wait for their time
	Late       int64 // in Import, scheduled for a time that has passed: they would be sent at once
	Unreadable int64 // lines
	Refused    int64 // messages
	Failures   []Failure
	Full       *Failure // where the target would be full; what follows would not be taken
}

// Take goes through all lines and sends nothing. It is the error of a send if
// nothing may be sent there now.
func Take(ctx context.Context, b *broker.Broker, r *Reader, to engine.Path) (Survey, error) {
	s := surveying{b: b, to: to, seen: map[engine.Digest]struct{}{}}
	if err := b.Read(ctx, func(r broker.Reader) error { _, err := r.Sendable(to); return err }); err != nil { //nolint:wrapcheck // it says what it is about
		return s.out, err //nolint:wrapcheck // likewise
	}
	for {
		if err := ctx.Err(); err != nil {
			return s.out, context.Cause(ctx)
		}
		item, err := r.Next(ctx)
		if err == nil && item.Over {
			err = r.Rest()
		}
		if bad, ok := errors.AsType[*LineError](err); ok {
			s.out.Lines++
			s.out.Unreadable++
			s.fail(bad.Line, bad.Err)
			continue
		}
		if errors.Is(err, io.EOF) {
			err := s.flush(ctx)
			slices.SortStableFunc(s.out.Failures, func(a, b Failure) int { return cmp.Compare(a.Line, b.Line) })
			return s.out, err
		}
		if err != nil {
			return s.out, fmt.Errorf("read the lines: %w", err)
		}
		s.out.Lines++
		if item.Over {
			s.out.Expired++
			continue
		}
		if err := s.add(ctx, r, item); err != nil {
			return s.out, err
		}
	}
}

// surveying is a survey under way.
type surveying struct {
	b     *broker.Broker
	to    engine.Path
	out   Survey
	wait  []engine.Submission
	lines []int64
	late  []bool
	size  int64
	taken int64 // bytes that the target has of them
	seen  map[engine.Digest]struct{}
}

func (s *surveying) fail(line int64, err error) {
	if len(s.out.Failures) < MostFailures {
		s.out.Failures = append(s.out.Failures, Failure{line, err})
	}
}

// add puts a message among those that are asked about together.
func (s *surveying) add(ctx context.Context, r *Reader, item Item) error {
	m, staged := item.Message, int64(0)
	if m.Reader != nil {
		n, err := io.Copy(io.Discard, m.Reader)
		if err != nil {
			s.out.Unreadable++
			bad := &LineError{Line: item.Line, Err: err}
			_ = errors.As(err, &bad)
			s.fail(bad.Line, bad.Err)
			r.body = nil // it was told
			return nil
		}
		staged = n
	}
	one, err := engine.Submit(m.Content, m.Body, staged, 1, s.b.Limits())
	if err != nil {
		s.out.Refused++
		s.fail(item.Line, err)
		return nil
	}
	one.Body = nil // its size is known
	s.wait, s.lines, s.late, s.size = append(s.wait, one), append(s.lines, item.Line), append(s.late, item.Late), s.size+item.Size
	if len(s.wait) == AtOnce || s.size >= BytesAtOnce {
		return s.flush(ctx)
	}
	return nil
}

// flush asks the broker about those that wait.
func (s *surveying) flush(ctx context.Context) error {
	if len(s.wait) == 0 {
		return nil
	}
	var all []engine.Admission
	err := s.b.Read(ctx, func(r broker.Reader) (err error) {
		all, err = r.Admit(s.to, s.wait, s.taken)
		return err //nolint:wrapcheck // it says what it is about
	})
	if err != nil {
		return err //nolint:wrapcheck // likewise
	}
	for i, a := range all {
		s.judge(s.wait[i], a, s.lines[i], s.late[i])
	}
	s.wait, s.lines, s.late, s.size = s.wait[:0], s.lines[:0], s.late[:0], 0
	return nil
}

func (s *surveying) judge(m engine.Submission, a engine.Admission, line int64, late bool) {
	switch {
	case s.out.Full != nil:
		return
	case errors.Is(a.Err, engine.ErrQuota):
		s.out.Full = &Failure{line, a.Err}
		return
	case a.Err != nil:
		s.out.Refused++
		s.fail(line, a.Err)
		return
	}
	s.out.Import++
	if _, again := s.seen[m.Digest]; a.Duplicate || again {
		s.out.Duplicates++
		return
	}
	if a.Remembered && len(s.seen) < mostIDs {
		s.seen[m.Digest] = struct{}{}
	}
	s.taken += a.Bytes
	s.out.Bytes += m.Size()
	switch {
	case a.Scheduled:
		s.out.Scheduled++
	case m.TTL < 0:
		s.out.AtOnce++
	}
	if late {
		s.out.Late++
	}
}
