package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"mayfly/engine"
	"mayfly/engine/search"
)

// How many messages a search looks at in one turn: few at first, so that there
// is something to show, and fewer where bodies are read.
const (
	searchFirst  = 64
	searchSlice  = 256
	searchBodies = 64
)

// searchYields is how many turns a search that reads bodies lets pass between
// its own. They cost next to nothing while nobody else wants the broker, and a
// commit each while somebody sends: reading gives way to whom it slows down.
const searchYields = 4

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
	s := scan{b: b, in: in, class: class, slice: searchFirst, tell: tell}
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

// A scan is a Search while it runs.
type scan struct {
	b     *Broker
	in    Search
	class engine.Class
	slice int
	tell  func(Glance) error
	so    Glance
	read  int64 // what so.Bytes was at the last yield
}

// room goes through a place. It tells whether Max hits were found.
func (s *scan) room(ctx context.Context, room engine.Room, from engine.Seq) (full bool, err error) {
	for from < room.Bound {
		if err := s.yield(ctx); err != nil {
			return false, err
		}
		var rows []engine.Row
		var now engine.Instant
		err := s.b.Read(ctx, func(r Reader) (err error) {
			now = r.Now
			rows, err = r.Browse(engine.Browse{Path: room.Path, Class: s.class, From: from, Limit: s.slice})
			return err
		})
		switch {
		case errors.Is(err, engine.ErrNotFound): // it was deleted meanwhile
			return false, nil
		case err != nil:
			return false, err
		}
		more := len(rows) == s.slice
		for len(rows) > 0 && rows[len(rows)-1].Message.Seq >= room.Bound {
			rows, more = rows[:len(rows)-1], false
		}
		if full, err = s.judge(ctx, rows, now); err != nil || full || !more {
			return full, err
		}
		from = s.so.Next.Seq
	}
	return false, nil
}

// yield lets others have the broker after bodies were read.
func (s *scan) yield(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.so.Bytes == s.read {
		return nil
	}
	s.read = s.so.Bytes
	for range searchYields {
		if err := s.b.Read(ctx, func(Reader) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// judge finds out which of some messages match, and tells.
func (s *scan) judge(ctx context.Context, rows []engine.Row, now engine.Instant) (full bool, err error) {
	if len(rows) == 0 {
		return false, nil
	}
	matched := make([]bool, len(rows))
	var open []int // those whose bodies decide
	for i, r := range rows {
		switch s.in.Query.Match(r, now) {
		case search.Yes:
			matched[i] = true
		case search.NeedBody:
			open = append(open, i)
		case search.No:
		}
	}
	if err := s.bodies(ctx, rows, open, func(i int, body []byte) { matched[i] = s.in.Query.MatchBody(rows[i], now, body) }); err != nil {
		return false, err
	}
	if s.slice = searchSlice; len(open) > 0 {
		s.slice = searchBodies
	}
	s.so.Now = now
	for i, r := range rows {
		s.so.Scanned++
		s.so.Next = Mark{r.Path, r.Message.Seq + 1}
		if !matched[i] {
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
		var keys []engine.Key
		wanted := map[engine.Key][]int{}
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
			if wanted[k] == nil {
				keys = append(keys, k)
				size += n
			}
			wanted[k] = append(wanted[k], open[0])
		}
		if len(keys) > 0 {
			got := make(map[engine.Key][]byte, len(keys))
			if err := small.SmallBodies(context.WithoutCancel(ctx), keys, func(k engine.Key, body []byte) { got[k] = body }); err != nil {
				return unread(ctx, fmt.Errorf("read bodies: %w", err))
			}
			for _, k := range keys {
				for _, i := range wanted[k] {
					body, ok := got[k]
					if !ok { // the store may leave out what it has
						if err := s.readOne(ctx, rows[i], i, found); err != nil {
							return err
						}
						continue
					}
					s.so.Bytes += int64(len(body))
					found(i, body)
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
