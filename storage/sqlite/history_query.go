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
	"mayfly/engine/codec"
)

const (
	// A page of history ends after pageRows rows or pageEvents matching events. No transaction
	// is open between pages.
	pageRows   = 2000
	pageEvents = 128
)

// QueryEvents yields the stored events, newest first. Events that are added or removed meanwhile may
// or may not be among them.
func (s *Store) QueryEvents(ctx context.Context, q engine.HistoryQuery) iter.Seq2[engine.HistoryEvent, error] {
	return func(yield func(engine.HistoryEvent, error) bool) {
		err := pages(q, func(q engine.HistoryQuery) (p page, err error) {
			err = s.read(ctx, func(c *sqlite3.Conn) error {
				p, err = readPage(c, q)
				return err
			})
			return p, err
		}, yield)
		if err != nil && !errors.Is(err, errStop) {
			yield(engine.HistoryEvent{}, fmt.Errorf("history: %w", err))
		}
	}
}

// A page is the result of reading a part of the history.
type page struct {
	events []engine.HistoryEvent
	last   engine.HistoryCursor // the last row of the page
	more   bool                 // there may be rows before last
}

// pages reads the events that q selects page by page and yields them. The error is errStop if
// yield returns false.
func pages(q engine.HistoryQuery, read func(engine.HistoryQuery) (page, error), yield func(engine.HistoryEvent, error) bool) error {
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

// readPage reads the first page of events that q selects. It checks the conditions that no
// index covers on each row.
func readPage(c *sqlite3.Conn, q engine.HistoryQuery) (p page, err error) {
	most := pageEvents
	if q.Limit > 0 {
		most = min(most, q.Limit)
	}
	kinds := map[string]bool{}
	for _, k := range q.Kinds {
		kinds[k.String()] = true
	}
	sql, args := selectHistory(q)
	looked := 0
	var bad error
	err = each(c, sql, func(r *row) bool {
		looked++
		p.last = engine.HistoryCursor{At: engine.Instant(r.int()), Epoch: uint64(r.int()), N: uint64(r.int())}
		if kind := r.text(); len(kinds) > 0 && !kinds[kind] {
			return true
		}
		var e engine.HistoryEvent
		e.Path, e.To = engine.Path(r.text()), engine.Path(r.text())
		if q.Path != "" && !(engine.HistoryQuery{Path: q.Path}).Matches(e) {
			return true
		}
		e.Epoch = p.last.Epoch
		packed := r.bytes()
		if r.int() == 0 { // a damaged event is skipped; verify reports it
			return true
		}
		if e.Event, bad = codec.ParseEvent(packed); bad != nil {
			bad = fmt.Errorf("event %d of epoch %d: %w", p.last.N, p.last.Epoch, bad)
			return false
		}
		if q.Matches(e) {
			p.events = append(p.events, e)
		}
		return len(p.events) < most
	}, args...)
	p.more = looked == pageRows || len(p.events) == most
	return p, errors.Join(err, bad)
}

// selectHistory returns the statement for the first page of events that q selects, with its
// arguments. The caller must still check some conditions of q on each row.
func selectHistory(q engine.HistoryQuery) (sql string, args []int64) {
	// Events before Until come before the first possible event at Until.
	end := engine.HistoryCursor{At: math.MaxInt64, Epoch: math.MaxInt64, N: math.MaxInt64}
	for _, p := range []engine.HistoryCursor{q.Before, {At: q.Until}} {
		if (p != engine.HistoryCursor{}) && p.Before(end) {
			end = p
		}
	}
	sql = "SELECT at, epoch, n, kind, path, to_path, packed, sum IS " + checksumSQL("history", historyColumns) + " FROM history"
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

// read calls do with a read-only connection.
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
	return s.withIndexGuard(func() error { return do(r.c) })
}

// each calls do for the rows that the query sql yields, until do returns false.
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
