package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
)

// TestSetAside sets a damaged message aside in the batch that drops its content. Then only the
// table aside contains it.
func TestSetAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := openAt(t, path, Options{})
	mustCommit(t, s, batchOf(1, 3))
	s.Close()
	raw(t, path, "UPDATE message SET seq = 77 WHERE key = 2")
	s = openAt(t, path, Options{})
	mustCommit(t, s, &engine.Batch{Hard: true, Now: 9, SetAside: []engine.Key{2}, DropContents: []engine.DroppedContent{{Key: 2, HasBody: true}}})
	s.Close()
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for query, want := range map[string]int64{
		"SELECT count(*) FROM message":                                      2,
		"SELECT count(*) FROM content":                                      2,
		"SELECT count(*) FROM body":                                         2,
		"SELECT count(*) FROM aside":                                        1,
		"SELECT json_extract(row, '$.seq') FROM aside":                      77,
		"SELECT CAST(packed AS TEXT) = 'c' FROM aside":                      1,
		"SELECT coalesce(length(body), 0) FROM aside":                       1000,
		"SELECT count(*) FROM aside WHERE key IN (SELECT key FROM message)": 0,
	} {
		if n, err := number(c, query); err != nil || n != want {
			t.Errorf("%s: %d, %v; want %d", query, n, err, want)
		}
	}
}

// TestSetAsideFails makes SQLite end the transaction when a row is inserted into the table
// aside, or when a subqueue is swept, as on a full disk: the rows that would have been deleted
// next are kept.
func TestSetAsideFails(t *testing.T) {
	for name, tc := range map[string]struct {
		when, count string
		do          func(s *Store) error
	}{
		"a message": {"INSERT ON main.aside", "SELECT count(*) FROM message", func(s *Store) error {
			return s.Commit(t.Context(), &engine.Batch{Hard: true, Now: 9, SetAside: []engine.Key{2}})
		}},
		"a row of a table": {"INSERT ON main.aside", "SELECT 2 + count(*) FROM session", func(s *Store) error {
			return s.write(true, func(w *writer) error { return quarantineRows(w.c, "session") })
		}},
		"a holder": {"DELETE ON main.outdated", "SELECT 2 + count(*) FROM dropped", func(s *Store) error { return s.sweepSubqueue(t.Context(), 7) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := openAt(t, filepath.Join(t.TempDir(), "store"), Options{})
			mustCommit(t, s, batchOf(1, 3))
			s.mu.Lock()
			err := s.w.c.Exec("UPDATE session SET sum = 1; DELETE FROM rule; DELETE FROM seen; INSERT INTO outdated (holder, n, sum) VALUES (7, 1, 1)")
			if name == "a holder" {
				err = errors.Join(err, s.w.c.Exec("DELETE FROM session; INSERT INTO dropped (holder, sum) VALUES (7, 1)"))
			}
			err = errors.Join(err, s.w.c.Exec("CREATE TEMP TRIGGER ends BEFORE "+tc.when+" BEGIN SELECT RAISE(ROLLBACK, 'no room'); END"))
			s.mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.do(s); err == nil {
				t.Error("the operation did not fail")
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if n, err := number(s.w.c, tc.count); err != nil || n != 3 {
				t.Errorf("%s: %d, %v; want 3", tc.count, n, err)
			}
		})
	}
}
