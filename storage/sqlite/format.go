package sqlite

import (
	_ "embed"
	"errors"
	"fmt"
	"os"

	"github.com/ncruces/go-sqlite3"
)

// applicationID marks the file as ours ("Mayf"), for us and for file(1).
const applicationID = 0x4d617966

// What a new file gets, and what takes an older one a format further.
var (
	//go:embed schema.sql
	schemaSQL string
	//go:embed history.sql
	historySQL string
	//go:embed views.sql
	viewsSQL string
	//go:embed format-2.sql
	toFormat2 string
	//go:embed format-3.sql
	toFormat3 string
	//go:embed format-4.sql
	toFormat4 string
	//go:embed format-5.sql
	toFormat5 string
	//go:embed format-6.sql
	toFormat6 string
)

// A format is a version of the file's layout. A change that an older broker
// could not live with raises it, adds a step, and puts a store written by the
// former into testdata. A step stays what it was. Views are no part of steps:
// they are made anew behind the last one.
type format struct {
	version int64
	schema  string           // of a new file, but for the views
	steps   map[int64]string // from that version to the next one
	views   string           // in place of those there are
}

func current() *format {
	return &format{version: 6, schema: schemaSQL + historySQL, steps: map[int64]string{1: toFormat2, 2: toFormat3, 3: toFormat4, 4: toFormat5, 5: toFormat6}, views: viewsSQL}
}

// prepare makes c's file one of this format: a new one is given the schema, an
// older one is migrated.
func (f *format) prepare(c *sqlite3.Conn, s *Store) error {
	id, err := number(c, "PRAGMA application_id")
	if err != nil {
		return fmt.Errorf("the store %s cannot be read: %w", s.path, err)
	}
	tables, err := number(c, "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return fmt.Errorf("the store %s cannot be read: %w", s.path, err)
	}
	version, err := number(c, "PRAGMA user_version")
	switch {
	case err != nil:
		return fmt.Errorf("the store %s cannot be read: %w", s.path, err)
	case id == 0 && tables == 0:
		if err := f.create(c); err != nil {
			return fmt.Errorf("the store %s cannot be made: %w", s.path, err)
		}
	case id != applicationID:
		return fmt.Errorf("%s is not a Mayfly store: it is the SQLite file of another program", s.path)
	case version > f.version:
		return fmt.Errorf("the store %s was written by a newer Mayfly: it has format %d, and this version knows formats up to %d", s.path, version, f.version)
	case version < f.version:
		backup, err := f.migrate(c, s.path, version)
		if err != nil {
			return fmt.Errorf("the store %s of format %d cannot be brought to format %d: %w", s.path, version, f.version, err)
		}
		s.log.Info("The store was brought to a new format.", "path", s.path, "from", version, "to", f.version, "backup", backup)
	}
	return nil
}

func (f *format) create(c *sqlite3.Conn) error {
	if err := c.Exec("PRAGMA journal_mode=WAL"); err != nil {
		return err
	}
	return c.Exec(fmt.Sprintf("BEGIN IMMEDIATE; %s; %s; PRAGMA application_id=%d; PRAGMA user_version=%d; INSERT INTO store VALUES (1, 0); COMMIT",
		f.schema, f.views, applicationID, f.version))
}

// migrate copies the file as it is to a backup beside it, then takes every step
// in one transaction.
func (f *format) migrate(c *sqlite3.Conn, path string, from int64) (backup string, err error) {
	backup = fmt.Sprintf("%s.format-%d", path, from)
	// One that is there is of an attempt that failed: the file is still old.
	if err := os.Remove(backup); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if err := c.Exec("VACUUM INTO " + sqlite3.Quote(backup)); err != nil {
		return "", fmt.Errorf("backup %s: %w", backup, err)
	}
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return "", err
	}
	for v := from; v < f.version; v++ {
		step, ok := f.steps[v]
		err := fmt.Errorf("there is no step from format %d", v)
		if ok {
			err = c.Exec(step)
		}
		if err != nil {
			return "", errors.Join(err, c.Exec("ROLLBACK"))
		}
	}
	if err := c.Exec(f.views); err != nil {
		return "", errors.Join(err, c.Exec("ROLLBACK"))
	}
	if err := c.Exec(fmt.Sprintf("PRAGMA user_version=%d; COMMIT", f.version)); err != nil {
		return "", err
	}
	return backup, nil
}

// number is the one number that query yields.
func number(c *sqlite3.Conn, query string) (int64, error) {
	st, _, err := c.Prepare(query)
	if err != nil {
		return 0, err
	}
	var n int64
	if st.Step() {
		n = st.ColumnInt64(0)
	}
	return n, errors.Join(st.Err(), st.Close())
}
