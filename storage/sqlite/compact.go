package sqlite

import (
	"errors"

	"github.com/ncruces/go-sqlite3"
)

// A file is compacted at open when more than half of it is free, at least minCompactBytes
// bytes are free, and its content is at most maxCompactBytes bytes, which are copied quickly
// and in memory.
const (
	minCompactBytes = 16 << 20
	maxCompactBytes = 64 << 20
)

// compact gives free pages back to the file system, if c's file has many. A
// failure leaves the file as it was.
func (s *Store) compact(c *sqlite3.Conn) (err error) {
	var size [3]int64
	for i, q := range []string{"PRAGMA page_size", "PRAGMA page_count", "PRAGMA freelist_count"} {
		n, err := number(c, q)
		if err != nil {
			return err
		}
		size[i] = n
	}
	page, all, free := size[0], size[1], size[2]
	if free*2 <= all || free*page < minCompactBytes || (all-free)*page > maxCompactBytes {
		return nil
	}
	// Use a separate connection, which returns its memory when it is closed.
	v, err := s.connect(writing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	if err := v.Exec("VACUUM"); err != nil {
		return err
	}
	if _, _, err := v.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE); err != nil {
		return err
	}
	s.log.Info("the store was compacted", "path", s.path, "bytes_before", all*page, "bytes_after", (all-free)*page)
	return nil
}
