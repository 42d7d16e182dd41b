package sqlite

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
	"mayfly/engine/record"
)

const (
	// A page of history is so many rows that were looked at, or so many events
	// that were found. Between pages nothing is held.
	pageRows   = 2000
	pageEvents = 128
)

// Past yields what is remembered, newest first. What is remembered or
// forgotten while it is read may be among it or not.
func (s *Store) Past(ctx context.Context, q engine.PastQuery) iter.Seq2[engine.PastEvent, error] {
	return func(yield func(engine.PastEvent, error) bool) {
		err := pages(q, func(q engine.PastQuery) (p page, err error) {
			err = s.read(ctx, func(c *sqlite3.Conn) error {
				p, err = readPage(c, q)
				return err
			})
			return p, err
		}, yield)
		if err != nil && !errors.Is(err, errStop) {
			yield(engine.PastEvent{}, fmt.Errorf("history: %w", err))
		}
	}
}

// A page is a stretch of history.
type page struct {
	events []engine.PastEvent
	last   engine.PastPlace // that was looked at
	more   bool             // there may be something before last
}

// pages yields what q picks, page by page.
func pages(q engine.PastQuery, read func(engine.PastQuery) (page, error), yield func(engine.PastEvent, error) bool) error {
	limited := q.Limit > 0
	for {
		p, err := read(q)
		for _, e := range p.events {
			if !yield(e, nil) {
				return errStop
			}
		}
		if err != nil {
			return err
		}
		q.Before = p.last
		if q.Limit -= len(p.events); !p.more || limited && q.Limit <= 0 {
			return nil
		}
	}
}

// readPage reads the first page of what q picks. What indexes cannot tell it
// looks at itself.
func readPage(c *sqlite3.Conn, q engine.PastQuery) (p page, err error) {
	most := pageEvents
	if q.Limit > 0 {
		most = min(most, q.Limit)
	}
	kinds := map[string]bool{}
	for _, k := range q.Kinds {
		kinds[k.String()] = true
	}
	sql, args := selectPast(q)
	looked := 0
	var bad error
	err = each(c, sql, func(r *row) bool {
		looked++
		p.last = engine.PastPlace{At: engine.Instant(r.int()), Epoch: uint64(r.int()), N: uint64(r.int())}
		if kind := r.text(); len(kinds) > 0 && !kinds[kind] {
			return true
		}
		var e engine.PastEvent
		e.Path, e.To = engine.Path(r.text()), engine.Path(r.text())
		if q.Path != "" && !(engine.PastQuery{Path: q.Path}).Match(e) {
			return true
		}
		e.Epoch = p.last.Epoch
		if e.Event, bad = record.ParseEvent(r.bytes()); bad != nil {
			bad = fmt.Errorf("event %d of epoch %d: %w", p.last.N, p.last.Epoch, bad)
			return false
		}
		if q.Match(e) {
			p.events = append(p.events, e)
		}
		return len(p.events) < most
	}, args...)
	p.more = looked == pageRows || len(p.events) == most
	return p, errors.Join(err, bad)
}

// selectPast is the statement for a page, with its arguments.
func selectPast(q engine.PastQuery) (sql string, args []int64) {
	// What is earlier than Until comes before anything that may happen then.
	end := engine.PastPlace{At: math.MaxInt64, Epoch: math.MaxInt64, N: math.MaxInt64}
	for _, p := range []engine.PastPlace{q.Before, {At: q.Until}} {
		if (p != engine.PastPlace{}) && p.Before(end) {
			end = p
		}
	}
	sql = "SELECT at, epoch, n, kind, path, to_path, packed FROM history"
	switch {
	case q.Key != 0:
		sql += " INDEXED BY history_key WHERE key = ? AND"
		args = append(args, int64(q.Key))
	case q.Audit || len(q.Kinds) > 0 && !slices.ContainsFunc(q.Kinds, func(k engine.EventKind) bool { return !notable(k) }):
		sql += " INDEXED BY history_notable WHERE notable IS NOT NULL AND"
	default:
		sql += " WHERE"
	}
	sql += " at >= ? AND (at, epoch, n) < (?,?,?) ORDER BY at DESC, epoch DESC, n DESC LIMIT ?"
	return sql, append(args, int64(q.From), int64(end.At), int64(end.Epoch), int64(end.N), pageRows)
}

// read lends do a connection that only reads.
func (s *Store) read(ctx context.Context, do func(*sqlite3.Conn) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	r, err := s.readers.get(ctx)
	if err != nil {
		return err
	}
	defer s.readers.put(r)
	return do(r.c)
}

// each gives the rows that a query yields to do, until it says no.
func each(c *sqlite3.Conn, sql string, do func(*row) bool, args ...int64) (err error) {
	st, _, err := c.Prepare(sql)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	for i, a := range args {
		if err := st.BindInt64(i+1, a); err != nil {
			return err
		}
	}
	for st.Step() {
		if !do(&row{st: st}) {
			return nil
		}
	}
	return st.Err()
}
