// Package sqlite keeps a namespace in one SQLite file. People may read it with their own tools
// while the broker runs; schema.sql is written for them too.
//
// One connection writes, under Store.mu; a few read. A hard batch is one transaction and one
// flush of the write-ahead log; a soft one is written to the log in order but not flushed. The
// store has three goroutines: one moves the log into the file, so that no commit has to; one
// deletes in short transactions what would delay a commit, such as the messages of a deleted
// entity and large bodies; and one watches the store's files. History is written and deleted in
// short transactions too, except audit events, which are written with their batch.
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
	"github.com/ncruces/go-sqlite3/vfs"

	"mayfly/engine"
)

var _ engine.Store = (*Store)(nil)

var errClosed = errors.New("the store is closed")

// Options configure Open. Their zero value is valid.
type Options struct {
	// Logger gets events that cannot be returned to a caller: a file was compacted or migrated
	// when it was opened, a checkpoint failed. Nil disables logging.
	Logger *slog.Logger

	format *format // for tests
	disk   string  // registered name of a disk for tests
}

// A Store is a namespace in a file. It is safe for concurrent use; commits run one at a time.
type Store struct {
	path         string // absolute, links resolved
	disk         string // the disk's name in SQLite
	log          *slog.Logger
	epoch        uint64
	lock         *lock
	files        []watchedFile // immutable after Open
	lost         chan struct{}
	endOwnership func() // closes lost, once

	filesLost      atomic.Pointer[error] // how the files have changed; nil if they have not
	writeFailure   chan error            // holds one
	tempIndexDir   string                // the folder of the log's index on a full disk; empty on any other
	indexTruncated atomic.Bool           // the log's index was truncated
	diskFull       atomic.Bool           // the disk is full: only operations that free space are accepted

	mu           sync.Mutex // one writer at a time
	w            *writer    // guarded by mu
	failed       error      // guarded by mu; why the content of the file is uncertain
	logRecovered bool       // guarded by mu; the log that lost its name was moved into the store

	readers      *pool
	unreferenced unreferencedBodies

	// Close sets closed, so that no call starts any more, and then waits for calls.
	closeMu sync.Mutex
	closed  bool // guarded by closeMu
	calls   sync.WaitGroup

	stop          context.CancelFunc
	background    sync.WaitGroup
	commits       atomic.Int64  // number of commits, for background work that gives way to them
	checkpointDue chan struct{} // the log is due to be moved into the file; holds one
	checkpointed  atomic.Int64  // pages of the log that are in the file already
	toSweep       chan struct{} // there is something to sweep; holds one
	sweeping      sync.Mutex    // one sweep at a time

	trimming sync.Mutex // one call of TrimEvents at a time
}

// Open opens the store in the file path and holds its lock until Close. It creates a missing
// file, and its directory. It refuses, each with a one-sentence error, a file that another
// process has open, that is not a Mayfly store, or that a newer version wrote. It migrates a
// store of an older format, and leaves a copy of the old file beside it; it compacts a store
// that is mostly empty.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, context.Cause(ctx))
	}
	s := &Store{
		disk: o.disk, log: o.Logger, lost: make(chan struct{}), writeFailure: make(chan error, 1),
		checkpointDue: make(chan struct{}, 1), toSweep: make(chan struct{}, 1),
	}
	if s.disk == "" {
		s.disk = register()
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.endOwnership = sync.OnceFunc(func() { close(s.lost) })
	var err error
	if s.path, err = newLocation(path); err != nil {
		return nil, fmt.Errorf("the store %s cannot be opened: %w", path, err)
	}
	if s.lock, err = acquire(s.path); err != nil {
		return nil, err
	}
	if d, ok := vfs.Find(s.disk).(disk); ok {
		d.lengths.reset(s.path)
		d.lengths.reset(s.path + "-wal")
	}
	s.warnUnclean()
	err = s.open(o) //nolint:contextcheck // the goroutines that open starts end with Close, not with ctx
	if err != nil && s.w == nil {
		err = s.openOnFullDisk(o, err) //nolint:contextcheck // the same
	}
	if err != nil {
		return nil, errors.Join(err, s.release())
	}
	if err := s.lock.opened(); err != nil {
		s.log.Warn("the lock of the store does not name its process", "path", s.path, "err", err)
	}
	return s, nil
}

// warnUnclean warns if the last server was killed and its log is missing. Another tool
// may have moved the log into the store, or it is lost with the last writes.
func (s *Store) warnUnclean() {
	if s.lock.unclean && !s.lock.created {
		if log, err := os.Stat(s.path + "-wal"); err != nil || log.Size() == 0 {
			s.log.Warn("the last server was killed and its write-ahead log is missing; the last writes are lost unless another program moved the log into the store", "path", s.path, "log", s.path+"-wal")
		}
	}
}

// newLocation returns the absolute path of the file, and creates its directory.
func newLocation(path string) (string, error) {
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
		return fmt.Errorf("%s is not a Mayfly store: it is not an SQLite file", s.path)
	}
	if err != nil {
		return fmt.Errorf("the store %s cannot be opened: %w", s.path, err)
	}
	defer func() {
		if s.w == nil {
			err := c.Close()
			if err != nil {
				s.log.Warn("a connection to the store was not closed", "path", s.path, "err", err)
			}
		}
	}()
	if err := f.prepare(c, s); err != nil {
		return err
	}
	if s.tempIndexDir != "" {
		if err := checkSmall(c); err != nil {
			return fmt.Errorf("the store %s cannot be opened: %w", s.path, err)
		}
		epoch, err := number(c, "SELECT epoch FROM store")
		if err != nil {
			return fmt.Errorf("the store %s cannot be opened: %w", s.path, err)
		}
		s.epoch = uint64(epoch) + 1 // nothing is written in this epoch
		return s.begin(c, errNoRoom)
	}
	if err := s.compact(c); err != nil {
		s.log.Warn("the store was not compacted", "path", s.path, "err", err)
	}
	if err := checkSmall(c); err != nil {
		return fmt.Errorf("the store %s cannot be opened: %w", s.path, err)
	}
	if s.epoch, err = raiseEpoch(c); err != nil {
		return fmt.Errorf("the store %s cannot be opened: %w", s.path, err)
	}
	if err := syncDir(filepath.Dir(s.path)); err != nil {
		return fmt.Errorf("the store %s cannot be opened: flush its directory: %w", s.path, err)
	}
	if s.diskFull.Load() {
		return s.begin(c, errTight)
	}
	if err := s.makeReserve(); err != nil {
		s.log.Warn("no disk space could be reserved; retrying", "path", s.reservePath(), "err", err)
	}
	return s.begin(c, nil)
}

// begin starts the writer, the readers and the background work, which Close ends. If trouble is
// not nil, WriteFailure's channel yields it.
func (s *Store) begin(c *sqlite3.Conn, trouble error) error {
	if err := s.watch(); err != nil {
		return fmt.Errorf("the store %s cannot be opened: %w", s.path, err)
	}
	w, err := newWriter(c, s.requestCheckpoint)
	if err != nil {
		return fmt.Errorf("the store %s cannot be opened: %w", s.path, err)
	}
	s.w = w
	s.readers = newPool(s)
	if trouble != nil {
		s.reportWriteFailure(trouble)
	}
	return s.startBackground()
}

type connPurpose int

const (
	writing connPurpose = iota
	reading
	forCheckpoint // moves the log into the file
)

func (s *Store) connect(p connPurpose) (*sqlite3.Conn, error) {
	flags := sqlite3.OPEN_READWRITE | sqlite3.OPEN_URI
	if p == writing {
		flags |= sqlite3.OPEN_CREATE
	}
	escaped := (&url.URL{Path: filepath.ToSlash(s.path)}).EscapedPath()
	c, err := sqlite3.OpenFlags("file:"+escaped+"?vfs="+s.disk, flags)
	if err != nil {
		return nil, err
	}
	pragmas := map[connPurpose]string{
		// The log is moved by its own connection; after a long read or a burst of writes it
		// shrinks again to the limit.
		writing: `PRAGMA busy_timeout=5000; PRAGMA page_size=16384; PRAGMA cache_size=-32768;
			PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864; PRAGMA wal_autocheckpoint=0`,
		reading:       `PRAGMA busy_timeout=5000; PRAGMA query_only=ON; PRAGMA cache_size=-1024; PRAGMA wal_autocheckpoint=0`,
		forCheckpoint: `PRAGMA cache_size=-256; PRAGMA wal_autocheckpoint=0`,
	}
	if err := errors.Join(c.Exec(pragmas[p]), registerChecksum(c)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func raiseEpoch(c *sqlite3.Conn) (uint64, error) {
	const most = 1<<24 - 1
	st, _, err := c.Prepare("UPDATE store SET epoch = epoch + 1, sum = " + checksumSQL("store", "epoch + 1") + " WHERE epoch < ? RETURNING epoch")
	if err != nil {
		return 0, err
	}
	var epoch uint64
	if err := st.BindInt64(1, most); err == nil && st.Step() {
		epoch = uint64(st.ColumnInt64(0))
		for st.Step() { // the update takes effect once all its rows are read
		}
	}
	if err := errors.Join(st.Err(), st.Close()); err != nil {
		return 0, err
	}
	if epoch == 0 {
		return 0, fmt.Errorf("the store was already opened %d times, the maximum", most)
	}
	return epoch, nil
}

// Epoch returns how often the file has been opened for writing, including this time.
func (s *Store) Epoch() uint64 { return s.epoch }

// Lost returns a channel that is closed by Close, and when a commit finds that another server
// has opened the store.
func (s *Store) Lost() <-chan struct{} { return s.lost }

// Owned reports whether this process owns the store: until Close, or until a commit finds that
// another server has opened it.
func (s *Store) Owned() bool {
	select {
	case <-s.lost:
		return false
	default:
		return true
	}
}

// enter makes Close wait until leave is called. It returns an error if ctx has ended or the store
// is closed; then leave must not be called.
func (s *Store) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.closeMu.Lock()
	defer s.closeMu.Unlock()
	if s.closed {
		return errClosed
	}
	s.calls.Add(1)
	return nil
}

func (s *Store) leave() { s.calls.Done() }

// Close waits for calls in progress, moves the log into the file and releases the file.
// Readers of small bodies stay valid, those of large ones do not. A second Close does nothing.
func (s *Store) Close() error {
	s.closeMu.Lock()
	if s.closed {
		s.closeMu.Unlock()
		return nil
	}
	s.closed = true
	s.closeMu.Unlock()
	s.endOwnership()
	s.stop()
	s.background.Wait()
	s.calls.Wait()
	if err := s.release(); err != nil {
		return fmt.Errorf("close store %s: %w", s.path, err)
	}
	return nil
}

func (s *Store) release() error {
	var errs []error
	if s.readers != nil {
		errs = append(errs, s.withIndexGuard(s.readers.close))
	}
	if s.w == nil { // it was not opened
		return errors.Join(append(errs, s.removeTempIndex(), s.lock.abandon(s.path))...)
	}
	extendIndex(s.path) // a connection that faults on a truncated index while closing cannot be closed again
	switch why := s.checkFiles(); {
	case s.filesLost.Load() != nil: // a reader may have kept markFilesLost from recovering the log
		s.recoverLog()
	case why != nil: // it happened since the watcher's last check
		_ = s.markFilesLost(why) //nolint:errcheck // no commit waits for it
	}
	if s.filesLost.Load() != nil { // the store may be another file now, or the log may be truncated
		_, err := s.w.c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
		errs = append(errs, err)
	}
	errs = append(errs, s.withIndexGuard(s.w.close))
	if s.diskFull.Load() {
		s.saveReserve()
	}
	return errors.Join(append(errs, s.removeTempIndex(), s.lock.release())...)
}
