// Package sqlite keeps a namespace in one SQLite file that anybody may look
// into, with the tool they have, while the broker runs; schema.sql is written
// for them too.
//
// One connection writes, under Store.mu; a few read. A hard batch is one
// transaction and one flush of the write-ahead log; a soft one is written to
// the log in its place and not flushed. Two goroutines belong to the store: one
// moves the log into the file, so that no commit has to, the other deletes in
// slices what was dropped at one stroke: the messages of a deleted entity, large
// bodies. History is written and deleted in slices too, but for what operators
// did, which comes with its batch.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
)

var _ engine.Store = (*Store)(nil)

var errClosed = errors.New("the store is closed")

// Options are what a store is opened with. Their zero value is right.
type Options struct {
	// Logger hears of what no caller can be told: a file that was compacted or
	// migrated at the start, a checkpoint that failed. Nil: nobody does.
	Logger *slog.Logger

	format *format // a format under test
	disk   string  // a disk under test, by its registered name
}

// A Store is a namespace in a file. All methods may be called by many
// goroutines; commits wait for each other.
type Store struct {
	path  string // absolute, links resolved
	disk  string // what SQLite calls it
	log   *slog.Logger
	epoch uint64
	file  fs.FileInfo // of path when it was opened
	lock  *lock
	lost  chan struct{}
	lose  func() // closes lost, once

	mu     sync.Mutex // one writer at a time
	w      *writer    // guarded by mu
	failed error      // guarded by mu; why nobody knows what the file holds

	readers *pool
	loose   looseBodies

	// life: Close waits for whoever is inside, and nobody enters afterwards.
	life   sync.Mutex
	closed bool // guarded by life
	inside sync.WaitGroup

	stop     context.CancelFunc
	tending  sync.WaitGroup
	commits  atomic.Int64  // so far, for those who give way to them
	logLong  chan struct{} // the log is due to be moved into the file; holds one
	moved    atomic.Int64  // pages of the log that are in the file already
	toSweep  chan struct{} // there is something to sweep; holds one
	sweeping sync.Mutex    // one sweep at a time

	forgetting sync.Mutex // one at a time
}

// Open opens the store in the file path and takes it for this process until
// Close. A file that is not there is made, its directory too. It refuses, each
// with one sentence: a file that another process has open, that is not a Mayfly
// store, or that a newer version wrote. A store of an older format is migrated,
// with a copy of it as it was beside it; one that is mostly empty is compacted.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, context.Cause(ctx))
	}
	s := &Store{
		disk: o.disk, log: o.Logger, lost: make(chan struct{}),
		logLong: make(chan struct{}, 1), toSweep: make(chan struct{}, 1),
	}
	if s.disk == "" {
		s.disk = register()
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.lose = sync.OnceFunc(func() { close(s.lost) })
	var err error
	if s.path, err = place(path); err != nil {
		return nil, fmt.Errorf("the store %s cannot be opened: %w", path, err)
	}
	if s.lock, err = acquire(s.path); err != nil {
		return nil, err
	}
	if err := s.open(o); err != nil { //nolint:contextcheck // what open starts ends with Close, not with ctx
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// place is where the file is, or will be: its directory is made.
func place(path string) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return "", err
	}
	switch target, err := filepath.EvalSymlinks(full); {
	case errors.Is(err, fs.ErrNotExist):
		dir, err := filepath.EvalSymlinks(filepath.Dir(full))
		return filepath.Join(dir, filepath.Base(full)), err
	case err != nil:
		return "", err
	default:
		return target, nil
	}
}

func (s *Store) open(o Options) error {
	f := o.format
	if f == nil {
		f = current()
	}
	c, err := s.connect(writing)
	if errors.Is(err, sqlite3.NOTADB) {
		return fmt.Errorf("%s is not a Mayfly store: it is no SQLite file", s.path)
	}
	if err != nil {
		return fmt.Errorf("the store %s cannot be opened: %w", s.path, err)
	}
	defer func() {
		if s.w == nil {
			err := c.Close()
			if err != nil {
				s.log.Warn("A connection to the store was not closed.", "path", s.path, "err", err)
			}
		}
	}()
	if err := f.prepare(c, s); err != nil {
		return err
	}
	if err := s.compact(c); err != nil {
		s.log.Warn("The store was not compacted.", "path", s.path, "err", err)
	}
	if s.file, err = os.Stat(s.path); err != nil {
		return fmt.Errorf("the store %s cannot be opened: %w", s.path, err)
	}
	if s.epoch, err = raiseEpoch(c); err != nil {
		return fmt.Errorf("the store %s cannot be opened: %w", s.path, err)
	}
	if err := syncDir(filepath.Dir(s.path)); err != nil {
		return fmt.Errorf("the store %s cannot be opened: flush its directory: %w", s.path, err)
	}
	w, err := newWriter(c, s.logGrew)
	if err != nil {
		return fmt.Errorf("the store %s cannot be opened: %w", s.path, err)
	}
	s.w = w
	s.readers = newPool(s)
	return s.tend()
}

type purpose int

const (
	writing purpose = iota
	reading
	moving // the log into the file
)

func (s *Store) connect(p purpose) (*sqlite3.Conn, error) {
	flags := sqlite3.OPEN_READWRITE | sqlite3.OPEN_URI
	if p == writing {
		flags |= sqlite3.OPEN_CREATE
	}
	escaped := (&url.URL{Path: filepath.ToSlash(s.path)}).EscapedPath()
	c, err := sqlite3.OpenFlags("file:"+escaped+"?vfs="+s.disk, flags)
	if err != nil {
		return nil, err
	}
	pragmas := map[purpose]string{
		// The log is moved by its own connection; it shrinks back to what a
		// long reader or a storm made of it.
		writing: `PRAGMA busy_timeout=5000; PRAGMA page_size=16384; PRAGMA cache_size=-32768;
			PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864; PRAGMA wal_autocheckpoint=0`,
		reading: `PRAGMA busy_timeout=5000; PRAGMA query_only=ON; PRAGMA cache_size=-1024; PRAGMA wal_autocheckpoint=0`,
		moving:  `PRAGMA cache_size=-256; PRAGMA wal_autocheckpoint=0`,
	}
	if err := c.Exec(pragmas[p]); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func raiseEpoch(c *sqlite3.Conn) (uint64, error) {
	const most = 1<<24 - 1
	st, _, err := c.Prepare("UPDATE store SET epoch = epoch + 1 WHERE epoch < ? RETURNING epoch")
	if err != nil {
		return 0, err
	}
	var epoch uint64
	if err := st.BindInt64(1, most); err == nil && st.Step() {
		epoch = uint64(st.ColumnInt64(0))
		for st.Step() { // the change is made when there are no more rows
		}
	}
	if err := errors.Join(st.Err(), st.Close()); err != nil {
		return 0, err
	}
	if epoch == 0 {
		return 0, fmt.Errorf("it was opened %d times, which is as often as can be", most)
	}
	return epoch, nil
}

// Epoch is how often the file has been opened.
func (s *Store) Epoch() uint64 { return s.epoch }

// Lost is closed by Close, and when a commit finds that the file was replaced
// or deleted.
func (s *Store) Lost() <-chan struct{} { return s.lost }

// Owned is true as long as the file is held, which nobody can take away.
func (s *Store) Owned() bool {
	select {
	case <-s.lost:
		return false
	default:
		return true
	}
}

// enter keeps Close waiting until leave is called.
func (s *Store) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return errClosed
	}
	s.inside.Add(1)
	return nil
}

func (s *Store) leave() { s.inside.Done() }

// Close waits for what is under way, moves the log into the file and gives the
// file up. Readers of small bodies stay good, those of large ones do not. A
// second Close does nothing.
func (s *Store) Close() error {
	s.life.Lock()
	if s.closed {
		s.life.Unlock()
		return nil
	}
	s.closed = true
	s.life.Unlock()
	s.lose()
	s.stop()
	s.tending.Wait()
	s.inside.Wait()
	if err := s.release(); err != nil {
		return fmt.Errorf("close store %s: %w", s.path, err)
	}
	return nil
}

func (s *Store) release() error {
	var errs []error
	if s.readers != nil {
		errs = append(errs, s.readers.close())
	}
	if s.w != nil {
		errs = append(errs, s.w.close())
	}
	return errors.Join(append(errs, s.lock.release())...)
}
