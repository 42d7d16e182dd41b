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
	sliceSize  = 256  // messages that are looked at together
	persistAt  = 4096 // looked at without a commit
	undoMost   = 10_000
	undoKept   = 20  // jobs that can be taken back
	jobsKept   = 100 // jobs that are remembered
	jobsAtOnce = 2

	mostFailureBytes = 64 << 10          // of all failures that a job remembers
	mostGrowth       = 2*(64<<10) + 4096 // of a job's record after its start
	busyPause        = time.Second       // until a store that was away is asked again
)

// A page is what a look found.
type page struct {
	rows []engine.Row // that are to be done to
	seen int64
	next Cursor
	end  bool // there is nothing behind it
}

// look takes the next messages of the places of a job and finds out which of them
// are meant.
func look(ctx context.Context, b *broker.Broker, p Plan, q *search.Query, places []Place, at Cursor) (out page, err error) {
	out.next = at
	if at.At >= len(places) {
		out.end = true
		return out, nil
	}
	place := places[at.At]
	var rows []engine.Row
	var now engine.Instant
	gone := false
	err = b.Read(ctx, func(r broker.Reader) error {
		rows, gone, now = nil, false, b.Clock()
		e, err := r.State(place.Path.Entity())
		if errors.Is(err, engine.ErrNotFound) || err == nil && e.ID != place.Entity {
			gone = true
			return nil
		}
		if err == nil {
			rows, err = r.Browse(engine.Browse{Path: place.Path, Class: p.class(), From: max(at.From, 1), Limit: sliceSize})
		}
		return err //nolint:wrapcheck // it says what it is about
	})
	if err != nil {
		return out, fmt.Errorf("look at %s: %w", place.Path, err)
	}
	over := gone || len(rows) < sliceSize
	var found []engine.Row
	for _, r := range rows {
		if r.Message.Seq >= place.Bound {
			over = true
			break
		}
		out.seen++
		out.next.From = r.Message.Seq + 1
		found = append(found, r)
	}
	if over {
		out.next = Cursor{At: at.At + 1}
	}
	out.rows, err = matching(ctx, b, p, q, found, now)
	return out, err
}

// matching are those of some messages that a plan means.
func matching(ctx context.Context, b *broker.Broker, p Plan, q *search.Query, rows []engine.Row, now engine.Instant) (out []engine.Row, err error) {
	verdicts := make([]search.Result, len(rows))
	var open []engine.Delivery // whose bodies decide
	for i, r := range rows {
		if p.suits(r) {
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
				if body, err = bodyOf(ctx, b, r); errors.Is(err, engine.ErrMessageNotFound) {
					continue // it has gone meanwhile
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

func bodyOf(ctx context.Context, b *broker.Broker, r engine.Row) ([]byte, error) {
	body, err := b.Body(ctx, r.Message.Content, r.Content.BodySize())
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	defer body.Close()
	raw, err := io.ReadAll(io.LimitReader(body, search.MostBody))
	if err != nil {
		return nil, fmt.Errorf("read the body of message %d: %w", r.Message.Key, err)
	}
	return raw, nil
}

func target(r engine.Row) engine.Target {
	return engine.Target{Key: r.Message.Key, Path: r.Path, Seq: r.Message.Seq}
}

// chosen are messages that were chosen, as they are now; those that are elsewhere
// are left out.
func chosen(ctx context.Context, b *broker.Broker, targets []engine.Target) (rows []engine.Row, err error) {
	err = b.Read(ctx, func(r broker.Reader) error {
		rows = nil
		for _, t := range targets {
			if row, err := r.Message(t.Key); err == nil && row.Path.Fold() == t.Path.Fold() && row.Message.Seq == t.Seq {
				rows = append(rows, row)
			}
		}
		return nil
	})
	return rows, err //nolint:wrapcheck // it says what it is about
}

// A Forecast is what a plan would do.
type Forecast struct {
	Total    int64        // messages that would be looked at
	Matching int64        // that are meant, locked ones among them
	Locked   int64        // of these, which would be skipped
	Unseen   int64        // were too many to look at; this many at the most are meant too
	Sample   []engine.Row // the first few that are meant
	States   States       // of those that are meant
}

// States are messages by where they stand. A dead letter is one whatever else it is,
// and what is locked is nothing else.
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

// AtMost is how many would be done to if all that was not looked at is meant too.
func (f Forecast) AtMost() int64 { return f.Matching - f.Locked + f.Unseen }

// foresee looks at not many more than most messages.
func foresee(ctx context.Context, b *broker.Broker, p Plan, q *search.Query, places []Place, total, most int64) (f Forecast, err error) {
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
		rows, err := chosen(ctx, b, p.Messages)
		note(rows)
		return f, err
	}
	seen := int64(0)
	for at := (Cursor{}); seen < most; {
		found, err := look(ctx, b, p, q, places, at)
		if err != nil {
			return f, err
		}
		if found.end {
			return f, nil
		}
		note(found.rows)
		seen, at = seen+found.seen, found.next
	}
	f.Unseen = max(total-seen, 0)
	return f, nil
}
