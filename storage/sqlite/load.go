package sqlite

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
)

// errStop means that the consumer stopped the iteration.
var errStop = errors.New("stop")

// Load yields the content of the file at the moment of the first record. The store can be used
// meanwhile, but the consumer must not close it.
func (s *Store) Load(ctx context.Context) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		spoiled := map[string]int{}
		switch err := s.withIndexGuard(func() error { return s.load(ctx, yield, spoiled) }); {
		case err == nil:
			s.quarantineDamaged(ctx, spoiled) // only if all else is intact: a store that cannot be served is not changed
		case !errors.Is(err, errStop):
			yield(nil, fmt.Errorf("load: %w", err))
		}
	}
}

func (s *Store) load(ctx context.Context, yield func(engine.Record, error) bool, spoiled map[string]int) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	r, err := s.readers.get(ctx)
	if err != nil {
		return err
	}
	defer s.readers.put(r)
	if err := r.c.Exec("BEGIN"); err != nil {
		return err
	}
	l := loader{ctx: ctx, c: r.c, yield: yield, claimed: map[engine.SubqueueID]bool{}, onSkipped: func(table, row string) {
		s.log.Error("a row of the store is damaged and was skipped", "path", s.path, "table", table, "row", row, "result", skippableTables[table].consequence)
		spoiled[table]++
	}}
	return errors.Join(l.all(), r.c.Exec("ROLLBACK"))
}

type loader struct {
	ctx             context.Context //nolint:containedctx // it lives for one call
	c               *sqlite3.Conn
	yield           func(engine.Record, error) bool
	claimed         map[engine.SubqueueID]bool // whether an existing entity owns the subqueue
	sum             checksum
	damagedContents map[engine.Key]bool
	lastKey         engine.Key // of the last message that was read

	// onSkipped is called for each damaged row that is left out, with its table and a description.
	// With nil, such a row is an error.
	onSkipped func(table, row string)
}

// A tableRead reads all rows of a table.
type tableRead struct {
	table, sql string
	read       func(*row) (engine.Record, error)
}

func (l *loader) all() error {
	gone := map[engine.SubqueueID]bool{}
	if err := l.each(tableRead{"dropped", "SELECT holder, sum FROM dropped", func(r *row) (engine.Record, error) {
		gone[engine.SubqueueID(r.int())] = true
		return nil, nil
	}}); err != nil {
		return err
	}
	for _, q := range []tableRead{
		{"meter", getMeters + " WHERE holder = 0", func(r *row) (engine.Record, error) {
			return engine.Clock{Now: r.meter().LastUsed}, nil
		}},
		{"access", getAccess, func(r *row) (engine.Record, error) {
			return engine.Access{Rules: r.access()}, r.err
		}},
		{"setting", getSettings, func(r *row) (engine.Record, error) {
			return r.setting(), nil
		}},
		{"entity", getEntities(), func(r *row) (engine.Record, error) {
			e := r.entity()
			if r.err != nil {
				return nil, fmt.Errorf("entity %q: %w", e.Path, r.err)
			}
			for _, id := range []engine.SubqueueID{e.ID, e.DeadLetterID, e.TransferID} {
				l.claimed[id] = id != 0 && !gone[id]
			}
			return e, nil
		}},
		{"rule", getRules, func(r *row) (engine.Record, error) {
			v, err := r.rule()
			return l.of(v.Subscription, v), err
		}},
		{"meter", getMeters, func(r *row) (engine.Record, error) {
			v := r.meter()
			return l.of(v.Subqueue, v), nil
		}},
		{"session", getSessions, func(r *row) (engine.Record, error) {
			v := r.session()
			return l.of(v.Subqueue, v), nil
		}},
		{"seen", getSeen, func(r *row) (engine.Record, error) {
			v, err := r.seen()
			return l.of(v.Subqueue, v), err
		}},
		{"content", getContents, func(r *row) (engine.Record, error) {
			return engine.StoredContent{Key: engine.Key(r.int()), Content: engine.Packed(r.bytes())}, nil
		}},
		{"message", getMessages, func(r *row) (engine.Record, error) {
			m, err := r.message()
			l.lastKey = m.Key
			if err == nil && !l.claimed[m.Subqueue] {
				return nil, nil
			}
			if err == nil && l.damagedContents[m.Content] {
				return engine.Damaged{Key: m.Key, Subqueue: m.Subqueue, Seq: m.Seq, Content: m.Content, Part: engine.DamagedContent}, nil
			}
			return m, err
		}},
	} {
		if err := l.each(q); err != nil {
			return err
		}
	}
	return nil
}

// of returns v if an entity claims its subqueue h, else nil.
func (l *loader) of(h engine.SubqueueID, v engine.Record) engine.Record {
	if !l.claimed[h] {
		return nil
	}
	return v
}

// each yields what read returns for each row of the query's result, except nil.
//
// A damaged message, or one with a damaged content, is yielded as engine.Damaged. A damaged row
// of skippableTables is skipped and reported to onSkipped; it is an error if onSkipped is nil.
// A damaged row of any other table is an error.
func (l *loader) each(q tableRead) (err error) {
	st, _, err := l.c.Prepare(q.sql)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	for n := 0; st.Step(); n++ {
		if n%1024 == 0 && l.ctx.Err() != nil {
			return context.Cause(l.ctx)
		}
		l.sum.begin(q.table)
		r := row{st: st, sum: &l.sum}
		rec, err := q.read(&r)
		if r.n = st.ColumnCount() - 1; !r.checksumMatches() {
			rec, err = l.damaged(q.table, st, rec)
		}
		if err != nil {
			return err
		}
		if rec != nil && !l.yield(rec, nil) {
			return errStop
		}
	}
	return st.Err()
}

// damaged returns the record to yield for the damaged row of st, or nil to yield nothing. rec is the
// row as read. The error is for a row without which the store cannot be loaded.
func (l *loader) damaged(table string, st *sqlite3.Stmt, rec engine.Record) (engine.Record, error) {
	switch rec := rec.(type) {
	case engine.StoredContent:
		if l.damagedContents == nil {
			l.damagedContents = map[engine.Key]bool{}
		}
		l.damagedContents[rec.Key] = true
		return nil, nil
	case engine.Message:
		return engine.Damaged{Key: rec.Key, Subqueue: rec.Subqueue, Seq: rec.Seq, Content: rec.Content, Part: engine.DamagedRecord}, nil
	case engine.Damaged:
		rec.Part = engine.DamagedRecord
		return rec, nil
	}
	if table == "message" { // its subqueue, as read, does not exist
		return engine.Damaged{Key: l.lastKey, Part: engine.DamagedRecord}, nil
	}
	if about, ok := skippableTables[table]; ok {
		if l.onSkipped == nil {
			return nil, fmt.Errorf("%w: a row of the table %s%s is damaged; the next server that starts sets it aside, and %s; run mayfly verify to list other damage",
				engine.ErrDamaged, table, inBrackets(nameRow(table, st)), about.consequence)
		}
		l.onSkipped(table, nameRow(table, st))
		return nil, nil
	}
	return nil, damaged(table, nameRow(table, st))
}
