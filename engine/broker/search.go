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

// The number of messages that a search examines in one turn: few at first, so that the first
// result comes soon.
const (
	firstSearchSlice = 64
	searchSlice      = 256
)

// searchRestFactor is the length of a search's pause, as a multiple of the time that it worked
// since its last turn. A search pauses only if it has read bodies and other operations ran: then
// these get most of the processor.
const searchRestFactor = 2

// A SearchRequest describes a search for the messages that a query matches, subqueue by subqueue in
// the order of entities, and by sequence number in each. The search sees the messages that existed
// when it began, each in its state when the search reaches it: a message that is moved meanwhile
// may be found twice, or not at all.
type SearchRequest struct {
	Query *search.Query // nil means every message
	From  SearchCursor  // where to continue; zero means at the beginning
	Max   int64         // matches after which the search ends; zero means no limit
}

// A SearchProgress is a search's progress, and its latest matches.
type SearchProgress struct {
	Hits      []engine.Row   // matches since the last SearchProgress, in order; never more than one turn finds
	Now       engine.Instant // when Hits were read
	Scanned   int64          // messages examined so far
	Total     int64          // messages that existed when the search began
	Matched   int64          // hits so far
	Bytes     int64          // of bodies read so far
	Truncated int64          // bodies so far of which only the first search.MaxBody bytes were examined
	Next      SearchCursor   // where another search would continue
	Done      bool           // there is nothing after Next
}

// Search passes its progress to `tell` repeatedly, until all messages were examined or in.Max
// matches were found. It hardly delays other operations: it reads a few messages in each turn, and
// bodies, if the query needs them, outside the owner. The error is that of `tell`, the cause of
// ctx, or the broker's. A search does not count as use of an entity (DEC-6).
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

// reported replaces the position of a body in searchRun.positions once the body has been read.
const reported = -1

// A searchRun is the state of a running Search.
type searchRun struct {
	b         *Broker
	request   SearchRequest
	class     engine.Class
	slice     int
	report    func(SearchProgress) error
	progress  SearchProgress
	matcher   *search.Matcher
	rows      []engine.Row    // of this turn
	results   []search.Result // of rows, in the same order
	keys      []engine.Key    // of bodies that are read together
	positions []int           // the indexes of their rows, or reported
	n         uint64          // number of the latest event at the last turn
	since     time.Time       // when the work of this turn began
	read      int64           // progress.Bytes at the last pause
}

// searchSubqueue searches a subqueue from sequence number `from` on. It reports whether the search
// has found request.Max matches.
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
		case errors.Is(err, engine.ErrNotFound): // the entity was deleted in the meantime
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

// yield pauses if bodies were read and other operations ran since the last turn. n is the number of
// the latest event.
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

// decideAll determines which messages match, and reports them: all at once or, if many bytes of
// bodies must be read, after about every maxBytesPerRead of them, so that a search with little time
// makes progress even if the bodies are large. full reports whether request.Max matches were found.
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
	var open []int // messages whose bodies decide
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

// bodies reads the bodies of the rows with the indexes in `open`, and calls `found` with each index
// and body. A body is valid until the next call. Messages that no longer exist are skipped.
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
				if err := s.readBody(ctx, rows[i], i, found); err != nil { // SmallBodies may leave out bodies that exist
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

// readBody is bodies for one row, which has index i. It reads at most search.MaxBody bytes of the
// body.
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
