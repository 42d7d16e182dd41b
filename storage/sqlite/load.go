package sqlite

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
)

// errStop says that whoever asked for records has seen enough.
var errStop = errors.New("stop")

// Load yields what the file holds at one moment, the first record's. The store
// can be used meanwhile, but not closed by whoever receives the records.
func (s *Store) Load(ctx context.Context) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		if err := s.load(ctx, yield); err != nil && !errors.Is(err, errStop) {
			yield(nil, fmt.Errorf("load: %w", err))
		}
	}
}

func (s *Store) load(ctx context.Context, yield func(engine.Record, error) bool) error {
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
	l := loader{ctx: ctx, c: r.c, yield: yield, claimed: map[engine.HolderID]bool{}}
	return errors.Join(l.all(), r.c.Exec("ROLLBACK"))
}

type loader struct {
	ctx     context.Context //nolint:containedctx // it lives for one call
	c       *sqlite3.Conn
	yield   func(engine.Record, error) bool
	claimed map[engine.HolderID]bool // by entities that are there
}

func (l *loader) all() error {
	gone := map[engine.HolderID]bool{}
	if err := l.each("SELECT holder FROM dropped", func(r *row) (engine.Record, error) {
		gone[engine.HolderID(r.int())] = true
		return nil, nil
	}); err != nil {
		return err
	}
	for _, q := range []struct {
		sql  string
		read func(*row) (engine.Record, error)
	}{
		{"SELECT last_used FROM meter WHERE holder = 0", func(r *row) (engine.Record, error) {
			return engine.Clock{Now: engine.Instant(r.int())}, nil
		}},
		{getAccess, func(r *row) (engine.Record, error) {
			return engine.Access{Rules: r.access()}, r.err
		}},
		{getSettings, func(r *row) (engine.Record, error) {
			return r.setting(), nil
		}},
		{getEntities(), func(r *row) (engine.Record, error) {
			e := r.entity()
			if r.err != nil {
				return nil, fmt.Errorf("entity %q: %w", e.Path, r.err)
			}
			for _, place := range []engine.HolderID{e.ID, e.DeadLetterID, e.TransferID} {
				l.claimed[place] = place != 0 && !gone[place]
			}
			return e, nil
		}},
		{getRules, func(r *row) (engine.Record, error) {
			v, err := r.rule()
			return l.of(v.Subscription, v), err
		}},
		{getMeters, func(r *row) (engine.Record, error) {
			v := r.meter()
			return l.of(v.Holder, v), nil
		}},
		{getSessions, func(r *row) (engine.Record, error) {
			v := r.session()
			return l.of(v.Holder, v), nil
		}},
		{getSeen, func(r *row) (engine.Record, error) {
			v, err := r.seen()
			return l.of(v.Holder, v), err
		}},
		{getContents, func(r *row) (engine.Record, error) {
			return engine.StoredContent{Key: engine.Key(r.int()), Content: engine.Packed(r.bytes())}, nil
		}},
		{getMessages, func(r *row) (engine.Record, error) {
			m, err := r.message()
			if err != nil || !l.claimed[m.Holder] {
				return nil, err
			}
			return m, nil
		}},
	} {
		if err := l.each(q.sql, q.read); err != nil {
			return err
		}
	}
	return nil
}

// of is v if its holder is claimed, else nothing.
func (l *loader) of(h engine.HolderID, v engine.Record) engine.Record {
	if !l.claimed[h] {
		return nil
	}
	return v
}

// each yields what read makes of each row of the query's result, but for nil.
func (l *loader) each(sql string, read func(*row) (engine.Record, error)) (err error) {
	st, _, err := l.c.Prepare(sql)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	for n := 0; st.Step(); n++ {
		if n%1024 == 0 && l.ctx.Err() != nil {
			return context.Cause(l.ctx)
		}
		rec, err := read(&row{st: st})
		if err != nil {
			return err
		}
		if rec != nil && !l.yield(rec, nil) {
			return errStop
		}
	}
	return st.Err()
}
