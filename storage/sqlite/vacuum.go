package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ncruces/go-sqlite3"
)

// Compact opens the store in the file path, which no other process may have open, deletes
// dropped records and returns the free space to the file system. It returns the sizes of the
// file with its log before and afterwards, in bytes. It does not create a missing file. If it is
// interrupted, the store's records are unchanged.
//
// Up to 64 MiB of content are copied in memory, more in the folder for temporary files; as much
// space must be free beside the store.
func Compact(ctx context.Context, path string, o Options) (before, after int64, err error) {
	full, err := existingLocation(path)
	if err != nil {
		return 0, 0, err
	}
	// Measure before Open, which compacts a file that is mostly empty.
	before, err = sizeWithLog(full)
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
	after, err = sizeWithLog(full)
	return before, after, err
}

// sizeWithLog returns the size of the file with its log, in bytes.
func sizeWithLog(path string) (n int64, err error) {
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

// vacuum rewrites the whole file without its free space, while no other write runs. Then it moves
// the log into the file, unless a reader is open.
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
	if used > maxCompactBytes {
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
	if errors.Is(err, sqlite3.BUSY) { // a reader is open: the last connection to close moves the log
		return nil
	}
	return err
}
