package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/search"
)

// These are how many messages a search looks at in one turn: few at first, so that there is
// something to show.
const (
	firstSearchSlice = 64
	searchSlice      = 256
)

// searchRestFactor is how many times as long as it worked a search that reads bodies rests when
// something else has happened since its last turn: other callers have the rest of the
// processor, and without any, the search has all of it.
const searchRestFactor = 2

// A SearchRequest looks for the messages that a query matches, subqueue by subqueue in the order of
// entities and by number in each. It sees the messages that existed when it began, each as it
// is when its turn comes: a message that moves meanwhile may be found twice, or not at all.
type SearchRequest struct {
	Query *search.Query // nil means every message
	From  SearchCursor  // where to go on; zero means at the beginning
	Max   int64         // matches after which it ends; zero means no limit
}

// A SearchProgress is a search's progress, and its latest matches.
type SearchProgress struct {
	Hits      []engine.Row   // since the last SearchProgress, in order; never more than a turn's
	Now       engine.Instant // when they were seen
	Scanned   int64          // messages looked at so far
	Total     int64          // messages that existed when it began
	Matched   int64          // hits so far
	Bytes     int64          // of bodies read so far
	Truncated int64          // bodies so far of which only the first search.MaxBody bytes were looked at
	Next      SearchCursor   // where another search would continue
	Done      bool           // there is nothing after Next
}

// Search calls tell again and again until everything was looked at or Max hits were found. It
// delays no one: the owner gives it a few messages in a turn, and it reads bodies, if the
// query needs them, outside the owner. The error is tell's, or ctx's cause, or the broker's. A
// search is not use of an entity (DEC-6).
func (b *Broker) Search(ctx context.Context, in SearchRequest, tell func(SearchProgress) error) error {
	var subqueues []engine.Subqueue
	class := in.Query.Class()
	if err := b.Read(ctx, func(r Reader) error { subqueues = r.SubqueuesWith(class); return nil }); err != nil {
		return err
	}
	s := searchRun{b: b, request: in, class: class, slice: firstSearchSlice, report: tell, matcher: in.Query.Matcher()}
	todo := subqueues[:0]
	for _, subqueue := range subqueues {
		if !in.Query.Covers(subqueue.Path) || in.From.Path != "" && pathBefore(subqueue.Path, in.From.Path) {
			continue
		}
		s.progress.Total += int64(subqueue.Messages)
		todo = append(todo, subqueue)
	}
	for _, subqueue := range todo {
		from := engine.Seq(1)
		if subqueue.Path.Fold() == in.From.Path.Fold() {
			from = in.From.Seq
		}
		if full, err := s.searchSubqueue(ctx, subqueue, from); err != nil || full {
			return err
		}
	}
	s.progress.Done = true
	return tell(s.progress)
}

// pathBefore reports whether a subqueue comes before another in a search.
func pathBefore(a, b engine.Path) bool {
	rank := func(p engine.Path) int {
		switch {
		case p.IsTransfer():
			return 2
		case p.IsDeadLetter():
			return 1
		default:
			return 0
		}
	}
	return cmp.Or(strings.Compare(a.Entity().Fold(), b.Entity().Fold()), cmp.Compare(rank(a), rank(b))) < 0
}

// reported marks a body that has been passed on, in place of its position.
const reported = -1

// A searchRun is a Search while it runs.
type searchRun struct {
	b         *Broker
	request   SearchRequest
	class     engine.Class
	slice     int
	report    func(SearchProgress) error
	progress  SearchProgress
	matcher   *search.Matcher
	rows      []engine.Row    // of this turn
	results   []search.Result // of each of them
	keys      []engine.Key    // of bodies that are read together
	positions []int           // where they are among the rows, or told
	n         uint64          // the latest event at the last turn
	since     time.Time       // when the work of this turn began
	read      int64           // so.Bytes at the last rest
}

// searchSubqueue goes through a subqueue. It reports whether Max hits were found.
func (s *searchRun) searchSubqueue(ctx context.Context, subqueue engine.Subqueue, from engine.Seq) (full bool, err error) {
	for from < subqueue.EndSeq {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		var rows []engine.Row
		var now engine.Instant
		var n uint64
		err := s.b.Read(ctx, func(r Reader) (err error) {
			now, n = r.Now, r.N
			rows, err = r.Browse(engine.Browse{Path: subqueue.Path, Class: s.class, From: from, Limit: s.slice, Buffer: s.rows})
			return err
		})
		switch {
		case errors.Is(err, engine.ErrNotFound): // it was deleted meanwhile
			return false, nil
		case err != nil:
			return false, err
		}
		s.rows = rows
		more := len(rows) == s.slice
		for len(rows) > 0 && rows[len(rows)-1].Message.Seq >= subqueue.EndSeq {
			rows, more = rows[:len(rows)-1], false
		}
		s.since = time.Now()
		if full, err = s.decideAll(ctx, rows, now); err != nil || full || !more {
			return full, err
		}
		if err := s.yield(ctx, n); err != nil {
			return false, err
		}
		from = s.progress.Next.Seq
	}
	return false, nil
}

// yield yields the processor to others after bodies were read, if there are others.
func (s *searchRun) yield(ctx context.Context, n uint64) error {
	busy := s.n != n && s.n != 0
	s.n = n
	if !busy || s.progress.Bytes == s.read {
		return nil
	}
	s.read = s.progress.Bytes
	timer := time.NewTimer(searchRestFactor * time.Since(s.since))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// decideAll finds out which of some messages match, and reports them: all at once unless it
// has to read many bytes for that, so that a search with little time makes progress however
// large the bodies are.
func (s *searchRun) decideAll(ctx context.Context, rows []engine.Row, now engine.Instant) (full bool, err error) {
	s.results = append(s.results[:0], make([]search.Result, len(rows))...)
	verdicts := s.results
	s.slice = searchSlice
	for i := range rows {
		verdicts[i] = s.matcher.Match(&rows[i], now)
	}
	for len(rows) > 0 && !full {
		n, bytes := 0, int64(0)
		for ; n < len(rows) && bytes < maxBytesPerRead; n++ {
			if verdicts[n] == search.NeedBody {
				bytes += rows[n].Content.BodySize()
			}
		}
		if full, err = s.decide(ctx, rows[:n], verdicts[:n], now); err != nil {
			return false, err
		}
		rows, verdicts = rows[n:], verdicts[n:]
	}
	return full, nil
}

// decide is decideAll for messages whose bodies are read together.
func (s *searchRun) decide(ctx context.Context, rows []engine.Row, verdicts []search.Result, now engine.Instant) (full bool, err error) {
	var open []int // those whose bodies decide
	for i, v := range verdicts {
		if v == search.NeedBody {
			open = append(open, i)
			verdicts[i] = search.No
		}
	}
	err = s.bodies(ctx, rows, open, func(i int, body []byte) {
		if s.matcher.MatchBody(&rows[i], now, body) {
			verdicts[i] = search.Yes
		}
	})
	if err != nil {
		return false, err
	}
	s.progress.Now = now
	for i, r := range rows {
		s.progress.Scanned++
		s.progress.Next = SearchCursor{r.Path, r.Message.Seq + 1}
		if verdicts[i] != search.Yes {
			continue
		}
		s.progress.Hits = append(s.progress.Hits, r)
		if s.progress.Matched++; s.progress.Matched == s.request.Max {
			full = true
			break
		}
	}
	if err := s.report(s.progress); err != nil {
		return false, err
	}
	s.progress.Hits = nil
	return full, nil
}

// bodies passes the bodies of some rows to found, each valid until the next call. A body that
// went with its message meanwhile is left out.
func (s *searchRun) bodies(ctx context.Context, rows []engine.Row, open []int, found func(i int, body []byte)) error {
	small, together := s.b.store.Load().Store.(engine.SmallBodies)
	for len(open) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		keys, at := s.keys[:0], s.positions[:0]
		for size := int64(0); together && len(open) > 0 && len(keys) < maxBodiesPerRead && size < maxBytesPerRead; open = open[1:] {
			k, n := rows[open[0]].Message.Content, rows[open[0]].Content.BodySize()
			if n > stageThreshold {
				break
			}
			if have, ok := s.b.bodies.body(k); ok {
				s.progress.Bytes += n
				found(open[0], have)
				continue
			}
			keys, at = append(keys, k), append(at, open[0])
			size += n
		}
		s.keys, s.positions = keys, at
		if len(keys) > 0 {
			err := small.SmallBodies(context.WithoutCancel(ctx), keys, func(n int, body []byte) {
				s.progress.Bytes += int64(len(body))
				found(at[n], body)
				at[n] = reported
			})
			if err != nil {
				return readError(ctx, fmt.Errorf("read bodies: %w", err))
			}
			for _, i := range at {
				if i == reported {
					continue
				}
				if err := s.readBody(ctx, rows[i], i, found); err != nil { // the store may leave out what it has
					return err
				}
			}
			continue
		}
		if len(open) > 0 {
			if err := s.readBody(ctx, rows[open[0]], open[0], found); err != nil {
				return err
			}
			open = open[1:]
		}
	}
	return nil
}

// readBody is bodies for one row, whatever the size of its body.
func (s *searchRun) readBody(ctx context.Context, r engine.Row, i int, found func(i int, body []byte)) error {
	size := r.Content.BodySize()
	body, err := s.b.Body(ctx, r.Message.Content, size)
	if errors.Is(err, engine.ErrMessageNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer body.Close()
	head, err := io.ReadAll(io.LimitReader(body, search.MaxBody))
	if err != nil {
		return readError(ctx, fmt.Errorf("read a body: %w", err))
	}
	if s.progress.Bytes += int64(len(head)); size > search.MaxBody {
		s.progress.Truncated++
	}
	found(i, head)
	return nil
}
