package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
)

// A Snapshot is a store as it was at the moment of OpenSnapshot. A server may own the store
// meanwhile. A Snapshot is for one goroutine.
type Snapshot struct {
	path  string
	c     *sqlite3.Conn // in one read transaction from OpenSnapshot to Close
	epoch uint64
	log   *slog.Logger

	index     *os.File // of the log; nil if it has none
	truncated bool     // the index was truncated
	closed    bool

	body, large, chunk *sqlite3.Stmt
	sum                checksum
}

// OpenSnapshot opens the store in the file path for reading, without taking its lock: a server
// may have it open, start or stop meanwhile. It does not change the store. It leaves the log and
// its index if a server left them, or if a server that stops meanwhile would have removed them.
// It refuses what Open refuses, and a store of an older format, each with a one-sentence
// error. It does not create a missing file.
func OpenSnapshot(ctx context.Context, path string, o Options) (*Snapshot, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("read store %s: %w", path, context.Cause(ctx))
	}
	full, err := existingLocation(path)
	if err != nil {
		return nil, err
	}
	disk := o.disk
	if disk == "" {
		disk = register()
	}
	l := &Snapshot{path: full, log: o.Logger}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	err = l.withIndexGuard(func() (err error) {
		l.c, err = connectReadOnly(full, disk)
		return err
	})
	if errors.Is(err, sqlite3.NOTADB) {
		return nil, fmt.Errorf("%s is not a Mayfly store: it is not an SQLite file", full)
	}
	if err != nil {
		return nil, fmt.Errorf("the store %s cannot be read: %w", full, err)
	}
	f := o.format
	if f == nil {
		f = current()
	}
	if err := l.withIndexGuard(func() error { return l.begin(f) }); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	l.index = openIndex(full)
	return l, nil
}

// withIndexGuard runs do, which reads the index of the log; see guardIndex. Once the index was
// truncated, nothing more is read: without the index SQLite would read the store without the
// commits in the log.
func (l *Snapshot) withIndexGuard(do func() error) error {
	if l.truncated {
		return errIndexTruncated
	}
	err := guardIndex(l.path, l.log, do)
	if l.truncated = errors.Is(err, errIndexTruncated) || l.index != nil && !hasIndexHeader(l.index); l.truncated {
		return errIndexTruncated
	}
	return err
}

// openIndex opens the index of the log of the store in the file path. It returns nil if there
// is none.
func openIndex(path string) *os.File {
	f, err := os.Open(path + "-shm")
	if err != nil {
		return nil
	}
	if !hasIndexHeader(f) {
		_ = f.Close() //nolint:errcheck // it was only read
		return nil
	}
	return f
}

// hasIndexHeader reports whether an index has its first four bytes, which are not zero.
func hasIndexHeader(index *os.File) bool {
	var first [4]byte
	_, err := index.ReadAt(first[:], 0)
	return err == nil && first != [4]byte{}
}

// existingLocation returns the absolute path of the file, with links resolved.
func existingLocation(path string) (string, error) {
	full, err := filepath.Abs(path)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	var info os.FileInfo
	if err == nil {
		info, err = os.Stat(full)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the store %s does not exist", path)
	case err != nil:
		return "", fmt.Errorf("the store %s cannot be read: %w", path, err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a Mayfly store: it is not a file", full)
	}
	f, err := os.Open(full) // SQLite's error would not say that permission is missing
	if err != nil {
		return "", fmt.Errorf("the store %s cannot be read: %w", path, err)
	}
	if err := errors.Join(rejectOtherNames(full, f), f.Close()); err != nil {
		return "", err
	}
	return full, nil
}

// connectReadOnly opens a connection that changes nothing.
//
// The log must be read too. If the log and its index do not exist, SQLite wants to create
// them, which takes permission to write; this connection removes them if it closes last. An
// existing log is left unchanged: closing the last connection does not move it into the file, as
// it otherwise would.
func connectReadOnly(path, disk string) (*sqlite3.Conn, error) {
	log, err := os.Stat(path + "-wal")
	logged := err == nil && log.Size() > 0
	flags, parameters := sqlite3.OPEN_READWRITE|sqlite3.OPEN_URI, "?vfs="+disk
	switch err := writable(path); {
	case errors.Is(err, syscall.EROFS) && !logged: // the file cannot change while it is read
		flags, parameters = sqlite3.OPEN_READONLY|sqlite3.OPEN_URI, parameters+"&immutable=1"
	case err != nil:
		flags = sqlite3.OPEN_READONLY | sqlite3.OPEN_URI
	}
	escaped := (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	c, err := sqlite3.OpenFlags("file:"+escaped+parameters, flags)
	if err != nil {
		return nil, err
	}
	if logged {
		_, err = c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
	}
	if err == nil {
		err = errors.Join(c.Exec(`PRAGMA busy_timeout=5000; PRAGMA query_only=ON; PRAGMA cache_size=-8192; PRAGMA temp_store=MEMORY`), registerChecksum(c))
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// writable returns why the file cannot be opened for writing, or nil if it can.
func writable(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// begin starts the transaction and checks that it reads a store.
func (l *Snapshot) begin(f *format) error {
	if err := l.c.Exec("BEGIN"); err != nil {
		return fmt.Errorf("the store %s cannot be read: %w", l.path, err)
	}
	id, err := number(l.c, "PRAGMA application_id") // the transaction reads from here on
	if errors.Is(err, sqlite3.NOTADB) {
		return fmt.Errorf("%s is not a Mayfly store: it is not an SQLite file", l.path)
	}
	var tables, version int64
	if err == nil {
		tables, err = number(l.c, "SELECT count(*) FROM sqlite_schema")
	}
	if err == nil {
		version, err = number(l.c, "PRAGMA user_version")
	}
	switch {
	case err != nil:
		return fmt.Errorf("the store %s cannot be read: %w", l.path, err)
	case id == 0 && tables == 0:
		return fmt.Errorf("%s is not a Mayfly store: it is empty", l.path)
	case id != applicationID:
		return fmt.Errorf("%s is not a Mayfly store: it is the SQLite file of another program", l.path)
	}
	if err := f.check(version, l.path); err != nil {
		return err
	}
	if version < f.version {
		return fmt.Errorf("the store %s was written by an older Mayfly: it has format %d, and this version upgrades it to format %d when a server opens it", l.path, version, f.version)
	}
	if err := l.prepare(); err != nil {
		return fmt.Errorf("the store %s cannot be read: %w", l.path, err)
	}
	return nil
}

func (l *Snapshot) prepare() error {
	epoch, err := number(l.c, "SELECT epoch FROM store")
	if err != nil {
		return err
	}
	l.epoch = uint64(epoch)
	for _, q := range []struct {
		st  **sqlite3.Stmt
		sql string
	}{
		{&l.body, getBody},
		{&l.large, getLarge},
		{&l.chunk, getChunk},
	} {
		if *q.st, _, err = l.c.PrepareFlags(q.sql, sqlite3.PREPARE_PERSISTENT); err != nil {
			return err
		}
	}
	return nil
}

// Epoch returns how often the store had been opened for writing.
func (l *Snapshot) Epoch() uint64 { return l.epoch }

// Load yields the records of the store, as Store.Load does. Bodies may be read between two
// records.
func (l *Snapshot) Load(ctx context.Context) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		records := loader{ctx: ctx, c: l.c, yield: yield, claimed: map[engine.SubqueueID]bool{}}
		if err := l.withIndexGuard(records.all); err != nil && !errors.Is(err, errStop) {
			yield(nil, fmt.Errorf("load: %w", err))
		}
	}
}

// QueryEvents yields the stored events, newest first.
func (l *Snapshot) QueryEvents(ctx context.Context, q engine.HistoryQuery) iter.Seq2[engine.HistoryEvent, error] {
	return func(yield func(engine.HistoryEvent, error) bool) {
		err := l.withIndexGuard(func() error {
			return pages(q, func(q engine.HistoryQuery) (page, error) {
				if ctx.Err() != nil {
					return page{}, context.Cause(ctx)
				}
				return readPage(l.c, q)
			}, yield)
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(engine.HistoryEvent{}, fmt.Errorf("history: %w", err))
		}
	}
}

// Body opens a body. The error wraps engine.ErrMessageNotFound if there was none. The reader is
// valid until the snapshot is closed.
func (l *Snapshot) Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("body %d: %w", k, context.Cause(ctx))
	}
	var whole []byte
	var size int64
	small := false
	err := l.withIndexGuard(func() (err error) {
		small, err = l.sum.readBody(l.body, "body", func(b []byte) { whole = bytes.Clone(b) }, int64(k))
		if err != nil || small {
			return err
		}
		found := false
		if size, found, err = l.sum.readSize(l.large, k); err == nil && !found {
			err = engine.ErrMessageNotFound
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("body %d: %w", k, err)
	}
	if small {
		return smallBody{bytes.NewReader(whole)}, nil
	}
	return snapshotBody{io.NewSectionReader(&chunkReader{l: l, key: k, size: size, n: -1}, 0, size)}, nil
}

type snapshotBody struct{ *io.SectionReader }

func (snapshotBody) Close() error { return nil }

// chunkReader reads the chunks of one body; the last one read is in memory.
type chunkReader struct {
	l     *Snapshot
	key   engine.Key
	size  int64
	n     int64 // index of the chunk in memory; -1 if there is none
	chunk []byte
}

func (b *chunkReader) ReadAt(p []byte, at int64) (got int, err error) {
	for got < len(p) {
		if at >= b.size {
			return got, io.EOF
		}
		if n := at / chunkSize; n != b.n {
			if err := b.fetch(n); err != nil {
				return got, fmt.Errorf("body %d: chunk %d: %w", b.key, n, err)
			}
		}
		did := copy(p[got:], b.chunk[at%chunkSize:])
		got, at = got+did, at+int64(did)
	}
	return got, nil
}

func (b *chunkReader) fetch(n int64) error {
	b.n = -1
	found := false
	err := b.l.withIndexGuard(func() (err error) {
		found, err = b.l.sum.readBody(b.l.chunk, "chunk", func(c []byte) { b.chunk = append(b.chunk[:0], c...) }, int64(b.key), n)
		return err
	})
	switch {
	case err != nil:
		return err
	case !found || int64(len(b.chunk)) != min(chunkSize, b.size-n*chunkSize):
		return errors.New("the chunk is missing")
	}
	b.n = n
	return nil
}

// Close ends the transaction. A second Close does nothing.
func (l *Snapshot) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	if l.index != nil {
		_ = l.index.Close() //nolint:errcheck // it was only read
	}
	if info, err := os.Stat(l.path + "-shm"); err == nil && info.Size() < minIndexBytes {
		extendIndex(l.path) // as in Store.release
	}
	if err := guardIndex(l.path, l.log, l.close); err != nil {
		return fmt.Errorf("close store %s: %w", l.path, err)
	}
	return nil
}

// minIndexBytes is the minimum size of a -shm file (the index of the write-ahead log) while it is in
// use.
const minIndexBytes = 32 << 10

func (l *Snapshot) close() error {
	var errs []error
	for _, st := range []*sqlite3.Stmt{l.body, l.large, l.chunk} {
		if st != nil {
			errs = append(errs, st.Close())
		}
	}
	if !l.c.GetAutocommit() {
		errs = append(errs, l.c.Exec("ROLLBACK"))
	}
	return errors.Join(append(errs, l.c.Close())...)
}
