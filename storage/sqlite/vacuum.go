package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ncruces/go-sqlite3"
)

// Compact takes the store in the file path, which no process may have open,
// deletes what was dropped and gives the room back to the file system. It
// returns the bytes that the file and its log took before and take afterwards. A
// file that is not there is not made. What is interrupted leaves the store as it
// was.
//
// Up to 64 MiB of content are copied in memory, more in the folder for temporary
// files; there must be room for the same again beside the store.
func Compact(ctx context.Context, path string, o Options) (before, after int64, err error) {
	full, err := found(path)
	if err != nil {
		return 0, 0, err
	}
	// What an open does to a file that is mostly empty counts too.
	before, err = taken(full)
	if err != nil {
		return 0, 0, err
	}
	s, err := Open(ctx, full, o)
	if err != nil {
		return 0, 0, err
	}
	err = s.sweep(ctx)
	if err == nil {
		err = s.vacuum(ctx)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return 0, 0, fmt.Errorf("the store %s was not compacted: %w", full, err)
	}
	after, err = taken(full)
	return before, after, err
}

// taken is how many bytes the file takes, and its log.
func taken(path string) (n int64, err error) {
	for _, name := range []string{path, path + "-wal"} {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("the store %s cannot be measured: %w", path, err)
		}
		n += info.Size()
	}
	return n, nil
}

// vacuum writes the whole file anew, alone.
func (s *Store) vacuum(ctx context.Context) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.connect(writing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	used, err := number(c, "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size")
	if err != nil {
		return err
	}
	if used > quicklyCopied {
		if err := c.Exec("PRAGMA temp_store=FILE"); err != nil {
			return err
		}
	}
	c.SetInterrupt(ctx)
	if err := c.Exec("VACUUM"); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	if err := c.Exec("PRAGMA busy_timeout=0"); err != nil {
		return err
	}
	_, _, err = c.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE)
	if errors.Is(err, sqlite3.BUSY) { // somebody looks at it: whoever leaves last moves the log
		return nil
	}
	return err
}
