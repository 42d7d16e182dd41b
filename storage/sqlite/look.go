package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
)

// A Snapshot is a store as it was at the moment of Look, read beside whoever
// has it open. It is for one goroutine.
type Snapshot struct {
	path  string
	c     *sqlite3.Conn // in one read transaction from Look to Close
	epoch uint64

	closed bool

	body, large, chunk *sqlite3.Stmt
}

// Look reads the store in the file path without taking it: a server may have it
// open, start or stop meanwhile. It changes nothing. Of the files that SQLite
// has beside a store, it leaves those that a server left, or that one stopped
// meanwhile would have removed. It refuses what Open refuses, and a store of an
// older format, each with one sentence. A file that is not there is not made.
func Look(ctx context.Context, path string, o Options) (*Snapshot, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("look at store %s: %w", path, context.Cause(ctx))
	}
	full, err := found(path)
	if err != nil {
		return nil, err
	}
	disk := o.disk
	if disk == "" {
		disk = register()
	}
	c, err := connectToLook(full, disk)
	if errors.Is(err, sqlite3.NOTADB) {
		return nil, fmt.Errorf("%s is not a Mayfly store: it is no SQLite file", full)
	}
	if err != nil {
		return nil, fmt.Errorf("the store %s cannot be read: %w", full, err)
	}
	f := o.format
	if f == nil {
		f = current()
	}
	l := &Snapshot{path: full, c: c}
	if err := l.begin(f); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// found is where the file is, links resolved.
func found(path string) (string, error) {
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
		return "", fmt.Errorf("there is no store %s", path)
	case err != nil:
		return "", fmt.Errorf("the store %s cannot be read: %w", path, err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a Mayfly store: it is no file", full)
	}
	f, err := os.Open(full) // SQLite says something else where that is not allowed
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return "", fmt.Errorf("the store %s cannot be read: %w", path, err)
	}
	return full, nil
}

// connectToLook opens a connection that changes nothing.
//
// The log must be read too, and SQLite wants to make it, with its index, if they
// are not there: this connection then removes them when it is the last one,
// which takes the right to write. A log that is there is left as it is, and not
// moved into the file as the last connection otherwise would.
func connectToLook(path, disk string) (*sqlite3.Conn, error) {
	log, err := os.Stat(path + "-wal")
	logged := err == nil && log.Size() > 0
	flags, parameters := sqlite3.OPEN_READWRITE|sqlite3.OPEN_URI, "?vfs="+disk
	switch err := writable(path); {
	case errors.Is(err, syscall.EROFS) && !logged: // nobody can change it while it is read
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
		err = c.Exec(`PRAGMA busy_timeout=5000; PRAGMA query_only=ON; PRAGMA cache_size=-8192; PRAGMA temp_store=MEMORY`)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// writable says why the file cannot be opened to be written.
func writable(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// begin starts the transaction and makes sure that it reads a store.
func (l *Snapshot) begin(f *format) error {
	if err := l.c.Exec("BEGIN"); err != nil {
		return fmt.Errorf("the store %s cannot be read: %w", l.path, err)
	}
	id, err := number(l.c, "PRAGMA application_id") // which begins to read
	if errors.Is(err, sqlite3.NOTADB) {
		return fmt.Errorf("%s is not a Mayfly store: it is no SQLite file", l.path)
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
	case version > f.version:
		return fmt.Errorf("the store %s was written by a newer Mayfly: it has format %d, and this version knows formats up to %d", l.path, version, f.version)
	case version < f.version:
		return fmt.Errorf("the store %s was written by an older Mayfly: it has format %d, and this version brings it to format %d when it serves it", l.path, version, f.version)
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
		{&l.body, "SELECT bytes FROM body WHERE key = ?"},
		{&l.large, "SELECT size FROM large WHERE key = ?"},
		{&l.chunk, "SELECT bytes FROM chunk WHERE body = ? AND n = ?"},
	} {
		if *q.st, _, err = l.c.PrepareFlags(q.sql, sqlite3.PREPARE_PERSISTENT); err != nil {
			return err
		}
	}
	return nil
}

// Epoch is how often the file had been opened to be written.
func (l *Snapshot) Epoch() uint64 { return l.epoch }

// Load yields what the store held, as Store.Load does. Bodies may be read
// between two records.
func (l *Snapshot) Load(ctx context.Context) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		records := loader{ctx: ctx, c: l.c, yield: yield, claimed: map[engine.HolderID]bool{}}
		if err := records.all(); err != nil && !errors.Is(err, errStop) {
			yield(nil, fmt.Errorf("load: %w", err))
		}
	}
}

// Past yields what was remembered, newest first.
func (l *Snapshot) Past(ctx context.Context, q engine.PastQuery) iter.Seq2[engine.PastEvent, error] {
	return func(yield func(engine.PastEvent, error) bool) {
		err := pages(q, func(q engine.PastQuery) (page, error) {
			if ctx.Err() != nil {
				return page{}, context.Cause(ctx)
			}
			return readPage(l.c, q)
		}, yield)
		if err != nil && !errors.Is(err, errStop) {
			yield(engine.PastEvent{}, fmt.Errorf("history: %w", err))
		}
	}
}

// Body opens a body; engine.ErrMessageNotFound if there was none. The reader is
// good until Close of the snapshot.
func (l *Snapshot) Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("body %d: %w", k, context.Cause(ctx))
	}
	var whole []byte
	found, err := one(l.body, func(st *sqlite3.Stmt) { whole = bytes.Clone(st.ColumnRawBlob(0)) }, int64(k))
	if err == nil && found {
		return smallBody{bytes.NewReader(whole)}, nil
	}
	var size int64
	if err == nil {
		found, err = one(l.large, func(st *sqlite3.Stmt) { size = st.ColumnInt64(0) }, int64(k))
	}
	if err == nil && !found {
		err = engine.ErrMessageNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("body %d: %w", k, err)
	}
	return pastBody{io.NewSectionReader(&chunks{l: l, key: k, size: size, n: -1}, 0, size)}, nil
}

type pastBody struct{ *io.SectionReader }

func (pastBody) Close() error { return nil }

// chunks are those of one body; the one read last is in memory.
type chunks struct {
	l    *Snapshot
	key  engine.Key
	size int64
	n    int64 // of the one in memory; -1: none
	kept []byte
}

func (b *chunks) ReadAt(p []byte, at int64) (got int, err error) {
	for got < len(p) {
		if at >= b.size {
			return got, io.EOF
		}
		if n := at / chunkSize; n != b.n {
			if err := b.fetch(n); err != nil {
				return got, fmt.Errorf("body %d: chunk %d: %w", b.key, n, err)
			}
		}
		did := copy(p[got:], b.kept[at%chunkSize:])
		got, at = got+did, at+int64(did)
	}
	return got, nil
}

func (b *chunks) fetch(n int64) error {
	b.n = -1
	found, err := one(b.l.chunk, func(st *sqlite3.Stmt) { b.kept = append(b.kept[:0], st.ColumnRawBlob(0)...) }, int64(b.key), n)
	switch {
	case err != nil:
		return err
	case !found || int64(len(b.kept)) != min(chunkSize, b.size-n*chunkSize):
		return errors.New("it is missing")
	}
	b.n = n
	return nil
}

// mostComplaints is how many of SQLite's findings are worth a line.
const mostComplaints = 20

// Integrity has SQLite check the whole file and says what it finds wrong, in its
// words.
func (l *Snapshot) Integrity(ctx context.Context) (wrong []string, err error) {
	before := l.c.SetInterrupt(ctx)
	defer l.c.SetInterrupt(before)
	err = each(l.c, fmt.Sprintf("PRAGMA integrity_check(%d)", mostComplaints), func(r *row) bool {
		for said := range strings.Lines(r.text()) {
			if said = strings.TrimSpace(said); said != "ok" && !strings.HasPrefix(said, "***") { // a heading
				wrong = append(wrong, said)
			}
		}
		return true
	})
	if errors.Is(err, sqlite3.CORRUPT) && len(wrong) > 0 { // it has said why
		return wrong, nil
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return wrong, fmt.Errorf("check the file: %w", err)
	}
	return wrong, nil
}

// Close ends the reading. A second Close does nothing.
func (l *Snapshot) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	var errs []error
	for _, st := range []*sqlite3.Stmt{l.body, l.large, l.chunk} {
		if st != nil {
			errs = append(errs, st.Close())
		}
	}
	if !l.c.GetAutocommit() {
		errs = append(errs, l.c.Exec("ROLLBACK"))
	}
	if err := errors.Join(append(errs, l.c.Close())...); err != nil {
		return fmt.Errorf("close store %s: %w", l.path, err)
	}
	return nil
}
