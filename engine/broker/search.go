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

// How many messages a search looks at in one turn: few at first, so that there
// is something to show.
const (
	searchFirst = 64
	searchSlice = 256
)

// searchRest is how many times as long as it worked a search that reads bodies rests
// when something else has happened since its last turn: whom it would slow down has
// the rest of the processor, and where nobody is, it has all of it.
const searchRest = 2

// A Search looks for the messages that a query matches, place by place in the
// order of entities and by number in each. It sees those that were there when it
// began, each as it is when its turn comes: one that moves meanwhile may be met
// twice, or not at all.
type Search struct {
	Query *search.Query // nil: every message
	From  Mark          // where to go on; zero: at the beginning
	Max   int64         // matches after which it ends; zero: all of them
}

// A Glance is how far a search has come, and what it has just found.
type Glance struct {
	Hits    []engine.Row   // since the last one, in order; never more than a turn's
	Now     engine.Instant // when they were seen
	Scanned int64          // messages looked at so far
	Total   int64          // messages there were to look at when it began
	Matched int64          // hits so far
	Bytes   int64          // of bodies that were read so far
	Cut     int64          // bodies so far of which only the first search.MostBody bytes were looked at
	Next    Mark           // where another search would go on
	Done    bool           // there is nothing after Next
}

// Search calls tell again and again until everything was looked at or Max hits
// were found. It holds up nobody: the owner gives it a few messages in a turn,
// and bodies are read, where the query asks for them, beside it. The error is
// tell's, or ctx's cause, or the broker's. Looking is no use (DEC-6).
func (b *Broker) Search(ctx context.Context, in Search, tell func(Glance) error) error {
	var rooms []engine.Room
	class := in.Query.Class()
	if err := b.Read(ctx, func(r Reader) error { rooms = r.Rooms(class); return nil }); err != nil {
		return err
	}
	s := scan{b: b, in: in, class: class, slice: searchFirst, tell: tell, judge: in.Query.Judge()}
	todo := rooms[:0]
	for _, room := range rooms {
		if !in.Query.Covers(room.Path) || in.From.Path != "" && before(room.Path, in.From.Path) {
			continue
		}
		s.so.Total += int64(room.Messages)
		todo = append(todo, room)
	}
	for _, room := range todo {
		from := engine.Seq(1)
		if room.Path.Fold() == in.From.Path.Fold() {
			from = in.From.Seq
		}
		if full, err := s.room(ctx, room, from); err != nil || full {
			return err
		}
	}
	s.so.Done = true
	return tell(s.so)
}

// before tells whether a place comes before another in a search.
func before(a, b engine.Path) bool {
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

// told is where a body was that has been given.
const told = -1

// A scan is a Search while it runs.
type scan struct {
	b     *Broker
	in    Search
	class engine.Class
	slice int
	tell  func(Glance) error
	so    Glance
	judge *search.Judge
	rows  []engine.Row    // of this turn
	found []search.Result // of each of them
	keys  []engine.Key    // that are read together
	at    []int           // where they are among the rows, or told
	n     uint64          // the latest event at the last turn
	since time.Time       // when the work of this turn began
	read  int64           // what so.Bytes was at the last rest
}

// room goes through a place. It tells whether Max hits were found.
func (s *scan) room(ctx context.Context, room engine.Room, from engine.Seq) (full bool, err error) {
	for from < room.Bound {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		var rows []engine.Row
		var now engine.Instant
		var n uint64
		err := s.b.Read(ctx, func(r Reader) (err error) {
			now, n = r.Now, r.N
			rows, err = r.Browse(engine.Browse{Path: room.Path, Class: s.class, From: from, Limit: s.slice, Into: s.rows})
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
		for len(rows) > 0 && rows[len(rows)-1].Message.Seq >= room.Bound {
			rows, more = rows[:len(rows)-1], false
		}
		s.since = time.Now()
		if full, err = s.decideAll(ctx, rows, now); err != nil || full || !more {
			return full, err
		}
		if err := s.rest(ctx, n); err != nil {
			return false, err
		}
		from = s.so.Next.Seq
	}
	return false, nil
}

// rest lets others have the processor after bodies were read, if there are others.
func (s *scan) rest(ctx context.Context, n uint64) error {
	busy := s.n != n && s.n != 0
	s.n = n
	if !busy || s.so.Bytes == s.read {
		return nil
	}
	s.read = s.so.Bytes
	timer := time.NewTimer(searchRest * time.Since(s.since))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// decideAll finds out which of some messages match, and tells: of all of them at once
// unless it has to read many bytes for that, so that whoever has little time gets on
// however large bodies are.
func (s *scan) decideAll(ctx context.Context, rows []engine.Row, now engine.Instant) (full bool, err error) {
	s.found = append(s.found[:0], make([]search.Result, len(rows))...)
	verdicts := s.found
	s.slice = searchSlice
	for i := range rows {
		verdicts[i] = s.judge.Match(&rows[i], now)
	}
	for len(rows) > 0 && !full {
		n, bytes := 0, int64(0)
		for ; n < len(rows) && bytes < mostBytesTogether; n++ {
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
func (s *scan) decide(ctx context.Context, rows []engine.Row, verdicts []search.Result, now engine.Instant) (full bool, err error) {
	var open []int // those whose bodies decide
	for i, v := range verdicts {
		if v == search.NeedBody {
			open = append(open, i)
			verdicts[i] = search.No
		}
	}
	err = s.bodies(ctx, rows, open, func(i int, body []byte) {
		if s.judge.MatchBody(&rows[i], now, body) {
			verdicts[i] = search.Yes
		}
	})
	if err != nil {
		return false, err
	}
	s.so.Now = now
	for i, r := range rows {
		s.so.Scanned++
		s.so.Next = Mark{r.Path, r.Message.Seq + 1}
		if verdicts[i] != search.Yes {
			continue
		}
		s.so.Hits = append(s.so.Hits, r)
		if s.so.Matched++; s.so.Matched == s.in.Max {
			full = true
			break
		}
	}
	if err := s.tell(s.so); err != nil {
		return false, err
	}
	s.so.Hits = nil
	return full, nil
}

// bodies gives found the bodies of some rows, each until the next is asked for.
// One that went with its message meanwhile is left out.
func (s *scan) bodies(ctx context.Context, rows []engine.Row, open []int, found func(i int, body []byte)) error {
	small, together := s.b.store.Load().Store.(engine.SmallBodies)
	for len(open) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		keys, at := s.keys[:0], s.at[:0]
		for size := int64(0); together && len(open) > 0 && len(keys) < mostTogether && size < mostBytesTogether; open = open[1:] {
			k, n := rows[open[0]].Message.Content, rows[open[0]].Content.BodySize()
			if n > stageOver {
				break
			}
			if have, ok := s.b.bodies.body(k); ok {
				s.so.Bytes += n
				found(open[0], have)
				continue
			}
			keys, at = append(keys, k), append(at, open[0])
			size += n
		}
		s.keys, s.at = keys, at
		if len(keys) > 0 {
			err := small.SmallBodies(context.WithoutCancel(ctx), keys, func(n int, body []byte) {
				s.so.Bytes += int64(len(body))
				found(at[n], body)
				at[n] = told
			})
			if err != nil {
				return unread(ctx, fmt.Errorf("read bodies: %w", err))
			}
			for _, i := range at {
				if i == told {
					continue
				}
				if err := s.readOne(ctx, rows[i], i, found); err != nil { // the store may leave out what it has
					return err
				}
			}
			continue
		}
		if len(open) > 0 {
			if err := s.readOne(ctx, rows[open[0]], open[0], found); err != nil {
				return err
			}
			open = open[1:]
		}
	}
	return nil
}

// readOne is bodies for one row, whatever the size of its body.
func (s *scan) readOne(ctx context.Context, r engine.Row, i int, found func(i int, body []byte)) error {
	size := r.Content.BodySize()
	body, err := s.b.Body(ctx, r.Message.Content, size)
	if errors.Is(err, engine.ErrMessageNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer body.Close()
	head, err := io.ReadAll(io.LimitReader(body, search.MostBody))
	if err != nil {
		return unread(ctx, fmt.Errorf("read a body: %w", err))
	}
	if s.so.Bytes += int64(len(head)); size > search.MostBody {
		s.so.Cut++
	}
	found(i, head)
	return nil
}
