package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
)

const (
	sliceSize       = 256  // messages that are examined together
	persistAt       = 4096 // messages examined without a commit
	maxUndoMessages = 10_000
	maxUndoableJobs = 20  // jobs that can be undone
	maxJobs         = 100 // jobs that are kept
	maxRunning      = 2

	maxFailureBytes = 64 << 10          // of all failures that a job keeps
	maxRecordGrowth = 2*(64<<10) + 4096 // growth of a job's record after its start
	retryInterval   = time.Second       // pause before a retry when the store was unavailable or memory was full
)

// A lookResult is the result of lookAt.
type lookResult struct {
	rows []engine.Row // messages that match
	seen int64
	next Cursor
	last bool // there was nothing left to read
}

// lookAt reads up to `size` messages of one of a job's subqueues, starting at the cursor `at`, and
// returns those that match. out.next is the cursor behind the messages that were read.
func lookAt(ctx context.Context, b *broker.Broker, p Plan, q *search.Query, subqueues []Subqueue, at Cursor, size int) (out lookResult, err error) {
	out.next = at
	if at.Index >= len(subqueues) {
		out.last = true
		return out, nil
	}
	subqueue := subqueues[at.Index]
	var rows []engine.Row
	var now engine.Instant
	gone := false
	err = b.Read(ctx, func(r broker.Reader) error {
		rows, gone, now = nil, false, b.ClockTime()
		e, err := r.State(subqueue.Path.Entity())
		if errors.Is(err, engine.ErrNotFound) || err == nil && e.ID != subqueue.SubqueueID {
			gone = true
			return nil
		}
		if err == nil {
			rows, err = r.Browse(engine.Browse{Path: subqueue.Path, Class: p.class(), From: max(at.From, 1), Limit: size})
		}
		return err
	})
	if err != nil {
		return out, fmt.Errorf("read %s: %w", subqueue.Path, err)
	}
	over := gone || len(rows) < size
	var found []engine.Row
	for _, r := range rows {
		if r.Message.Seq >= subqueue.Bound {
			over = true
			break
		}
		out.seen++
		out.next.From = r.Message.Seq + 1
		found = append(found, r)
	}
	if over {
		out.next = Cursor{Index: at.Index + 1}
	}
	out.rows, err = matchRows(ctx, b, p, q, found, now)
	return out, err
}

// matchRows returns the messages that match a plan.
func matchRows(ctx context.Context, b *broker.Broker, p Plan, q *search.Query, rows []engine.Row, now engine.Instant) (out []engine.Row, err error) {
	verdicts := make([]search.Result, len(rows))
	var open []engine.Delivery // messages whose bodies decide
	for i, r := range rows {
		if p.appliesTo(r) {
			verdicts[i] = q.Match(r, now)
		}
		if verdicts[i] == search.NeedBody {
			open = append(open, engine.Delivery{Path: r.Path, Message: r.Message, Content: r.Content})
		}
	}
	for i, r := range rows {
		if verdicts[i] == search.NeedBody {
			if len(open[0].Body) == 0 {
				b.ReadBodies(ctx, open)
			}
			d := open[0]
			open = open[1:]
			body := d.Body
			if body == nil {
				if body, err = readBody(ctx, b, r); errors.Is(err, engine.ErrMessageNotFound) {
					continue // the message no longer exists
				} else if err != nil {
					return nil, err
				}
			}
			if !q.MatchBody(r, now, body) {
				continue
			}
		} else if verdicts[i] == search.No {
			continue
		}
		out = append(out, r)
	}
	return out, nil
}

func readBody(ctx context.Context, b *broker.Broker, r engine.Row) ([]byte, error) {
	body, err := b.Body(ctx, r.Message.Content, r.Content.BodySize())
	if err != nil {
		return nil, err
	}
	defer body.Close()
	raw, err := io.ReadAll(io.LimitReader(body, search.MaxBody))
	if err != nil {
		return nil, fmt.Errorf("read the body of message %d: %w", r.Message.Key, err)
	}
	return raw, nil
}

func targetOf(r engine.Row) engine.Target {
	return engine.Target{Key: r.Message.Key, Path: r.Path, Seq: r.Message.Seq}
}

// selectedRows returns the present rows of selected messages, without those that were moved or
// deleted.
func selectedRows(ctx context.Context, b *broker.Broker, targets []engine.Target) (rows []engine.Row, err error) {
	err = b.Read(ctx, func(r broker.Reader) error {
		rows = nil
		for _, t := range targets {
			if row, err := r.Message(t.Key); err == nil && row.Path.Fold() == t.Path.Fold() && row.Message.Seq == t.Seq {
				rows = append(rows, row)
			}
		}
		return nil
	})
	return rows, err
}

// A Preview counts the messages that a plan would change.
type Preview struct {
	Total      int64        // messages that would be examined
	Matching   int64        // messages that match, including locked ones
	Locked     int64        // matching messages that would be skipped because they are locked
	Unexamined int64        // messages that were not examined because there are too many; an upper bound
	Sample     []engine.Row // the first few matching messages
	States     States       // of matching messages
}

// States counts messages by state. Dead letters count only as Dead, and other locked messages only
// as Locked.
type States struct {
	Active, Locked, Deferred, Scheduled, Dead int64
}

func (s *States) add(r engine.Row) {
	switch m := r.Message; {
	case r.Path.IsDeadLetter():
		s.Dead++
	case m.Locked():
		s.Locked++
	case m.State == engine.Deferred:
		s.Deferred++
	case m.State == engine.Scheduled:
		s.Scheduled++
	default:
		s.Active++
	}
}

// AtMost returns how many messages would be changed if all unexamined ones matched too.
func (f Preview) AtMost() int64 { return f.Matching - f.Locked + f.Unexamined }

// preview is Preview for a plan that was checked. It examines little more than `most` messages.
func preview(ctx context.Context, b *broker.Broker, p Plan, q *search.Query, subqueues []Subqueue, total, most int64) (f Preview, err error) {
	f.Total = total
	note := func(rows []engine.Row) {
		for _, r := range rows {
			if f.Matching++; r.Message.Locked() && p.Kind != Extend {
				f.Locked++
			}
			f.States.add(r)
			if len(f.Sample) < 10 {
				f.Sample = append(f.Sample, r)
			}
		}
	}
	if len(p.Messages) > 0 {
		rows, err := selectedRows(ctx, b, p.Messages)
		note(rows)
		return f, err
	}
	seen := int64(0)
	for at := (Cursor{}); seen < most; {
		found, err := lookAt(ctx, b, p, q, subqueues, at, sliceSize)
		if err != nil {
			return f, err
		}
		if found.last {
			return f, nil
		}
		note(found.rows)
		seen, at = seen+found.seen, found.next
	}
	f.Unexamined = max(total-seen, 0)
	return f, nil
}
