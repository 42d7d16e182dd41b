package sqlite

import (
	"context"
	"errors"
	"sync"

	"github.com/ncruces/go-sqlite3"
)

// maxReaders is how many connections read at the same time.
const maxReaders = 4

// A pool lends read-only connections. They are opened when first needed.
type pool struct {
	s     *Store
	slots chan struct{} // holds one value for each connection that is lent

	mu   sync.Mutex
	free []*reader // guarded by mu
}

type reader struct {
	c                  *sqlite3.Conn
	body, large, chunk *sqlite3.Stmt
	sum                checksum
}

func newPool(s *Store) *pool {
	return &pool{s: s, slots: make(chan struct{}, maxReaders)}
}

// get lends a reader, and waits for one if all are lent.
func (p *pool) get(ctx context.Context) (*reader, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if r := p.idle(); r != nil {
		return r, nil
	}
	r, err := p.s.newReader()
	if err != nil {
		<-p.slots
		return nil, err
	}
	return r, nil
}

func (p *pool) idle() *reader {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.free) - 1
	if n < 0 {
		return nil
	}
	r := p.free[n]
	p.free = p.free[:n]
	return r
}

func (p *pool) put(r *reader) {
	p.mu.Lock()
	p.free = append(p.free, r)
	p.mu.Unlock()
	<-p.slots
}

// close closes all readers; none may be lent.
func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, r := range p.free {
		errs = append(errs, r.close())
	}
	p.free = nil
	return errors.Join(errs...)
}

func (s *Store) newReader() (*reader, error) {
	c, err := s.connect(reading)
	if err != nil {
		return nil, err
	}
	r := &reader{c: c}
	for _, q := range []struct {
		st  **sqlite3.Stmt
		sql string
	}{
		{&r.body, getBody},
		{&r.large, getLarge},
		{&r.chunk, getChunk},
	} {
		if *q.st, _, err = c.PrepareFlags(q.sql, sqlite3.PREPARE_PERSISTENT); err != nil {
			return nil, errors.Join(err, r.close())
		}
	}
	return r, nil
}

func (r *reader) close() error {
	return errors.Join(r.body.Close(), r.large.Close(), r.chunk.Close(), r.c.Close())
}

// one runs st with these arguments and calls read with the first row of its result, if there
// is one.
func one(st *sqlite3.Stmt, read func(*sqlite3.Stmt), args ...int64) (found bool, err error) {
	for i, a := range args {
		if err := st.BindInt64(i+1, a); err != nil {
			return false, err
		}
	}
	if found = st.Step(); found {
		read(st)
	}
	return found, errors.Join(st.Err(), st.Reset())
}
