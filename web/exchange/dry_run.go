package exchange

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
	// BatchMessages is the most messages that go to the broker together, and BatchBytes the most
	// bytes of them, which the last message may exceed.
	BatchMessages = 256
	BatchBytes    = 128 << 10
	// MaxFailures is how many unreadable lines and refused messages are listed.
	MaxFailures = 100
	// maxIDs is how many MessageIds of one file are compared with each other: 16 bytes each
	// plus the map's overhead.
	maxIDs = 200_000
)

// A Failure is an unreadable line or a refused message.
type Failure struct {
	Line int64 // from 1
	Err  error
}

// A DryRun is the result of a dry run of an import.
type DryRun struct {
	Lines        int64 // lines read: messages and unreadable lines
	Importable   int64 // messages that the target would accept
	Bytes        int64 // bytes of these
	Duplicates   int64 // in Importable: accepted and dropped (DUP-2). Among the file's own messages the first 200,000 ids are compared
	Expired      int64 // left out under ttl=remaining
	ExpireAtOnce int64 // in Importable: would expire at once
	Scheduled    int64 // in Importable: would stay scheduled
	Late         int64 // in Importable: their scheduled time has passed, so they would be sent at once
	Unreadable   int64 // lines
	Refused      int64 // messages
	Failures     []Failure
	Full         *Failure // where the target would be full; nothing after it would be accepted
}

// RunDry reads all lines and sends nothing. Its error is that of a send if the target accepts no
// messages now.
func RunDry(ctx context.Context, b *broker.Broker, r *Reader, to engine.Path) (DryRun, error) {
	s := dryRun{b: b, r: r, to: to, seen: map[engine.Digest]struct{}{}}
	r.Flush = s.flush
	if err := b.Read(ctx, func(r broker.Reader) error { _, err := r.MaxMessageSize(to); return err }); err != nil {
		return s.out, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return s.out, context.Cause(ctx)
		}
		item, err := r.Next(ctx)
		if err == nil && item.Expired {
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
		if item.Expired {
			s.out.Expired++
			continue
		}
		if err := s.add(ctx, item); err != nil {
			return s.out, err
		}
	}
}

// dryRun is a dry run in progress.
type dryRun struct {
	b       *broker.Broker
	r       *Reader
	to      engine.Path
	out     DryRun
	pending []engine.Submission
	lines   []int64
	late    []bool
	size    int64
	taken   int64 // bytes that the target would have accepted so far
	seen    map[engine.Digest]struct{}
}

func (s *dryRun) fail(line int64, err error) {
	if len(s.out.Failures) < MaxFailures {
		s.out.Failures = append(s.out.Failures, Failure{line, err})
	}
}

// add queues a message for the next flush.
func (s *dryRun) add(ctx context.Context, item Item) error {
	m, staged := item.Message, int64(0)
	if m.Reader != nil {
		n, err := io.Copy(io.Discard, m.Reader)
		if err != nil {
			s.out.Unreadable++
			bad := &LineError{Line: item.Line, Err: err}
			_ = errors.As(err, &bad)
			s.fail(bad.Line, bad.Err)
			s.r.body = nil // it was reported
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
	one.Body = nil // its size is recorded
	s.pending, s.lines, s.late, s.size = append(s.pending, one), append(s.lines, item.Line), append(s.late, item.Late), s.size+item.Size
	if len(s.pending) == BatchMessages || s.size >= BatchBytes {
		return s.flush(ctx)
	}
	return nil
}

// flush counts what a send of the queued messages would do, and empties the queue.
func (s *dryRun) flush(ctx context.Context) error {
	defer s.r.Release()
	if len(s.pending) == 0 {
		return nil
	}
	var all []engine.SendPreview
	err := s.b.Read(ctx, func(r broker.Reader) (err error) {
		all, err = r.PreviewSend(s.to, s.pending, s.taken)
		return err
	})
	if err != nil {
		return err
	}
	for i, a := range all {
		s.count(s.pending[i], a, s.lines[i], s.late[i])
	}
	s.pending, s.lines, s.late, s.size = s.pending[:0], s.lines[:0], s.late[:0], 0
	return nil
}

func (s *dryRun) count(m engine.Submission, a engine.SendPreview, line int64, late bool) {
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
	s.out.Importable++
	if _, again := s.seen[m.Digest]; a.Duplicate || again {
		s.out.Duplicates++
		return
	}
	if a.Remembered && len(s.seen) < maxIDs {
		s.seen[m.Digest] = struct{}{}
	}
	s.taken += a.Charge
	s.out.Bytes += m.Size()
	switch {
	case a.Scheduled:
		s.out.Scheduled++
	case m.TTL < 0:
		s.out.ExpireAtOnce++
	}
	if late {
		s.out.Late++
	}
}
