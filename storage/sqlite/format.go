package sqlite

import (
	_ "embed"
	"errors"
	"fmt"
	"os"

	"github.com/ncruces/go-sqlite3"
)

// applicationID ("Mayf") marks a file as a Mayfly store, for Mayfly and for file(1).
const applicationID = 0x4d617966

// The schema of a new file, and the step that migrates an older one.
var (
	//go:embed schema.sql
	schemaSQL string
	//go:embed history.sql
	historySQL string
	//go:embed views.sql
	viewsSQL string
	//go:embed format-7.sql
	toFormat7 string
)

// A format is a version of the file's layout. A change that an older broker cannot read raises
// it, adds a step, and puts a store written by the previous version into testdata. A step
// never changes. Views are not part of steps: they are created again after the last one. A file
// that is older than the first step is refused and stays unchanged.
type format struct {
	version   int64
	schema    string                              // of a new file, without the views
	steps     map[int64]string                    // from that version to the next one
	dataSteps map[int64]func(*sqlite3.Conn) error // changes that SQL cannot make, after the step from that version
	views     string                              // replaces the existing views
}

func current() *format {
	return &format{
		version: 7, schema: schemaSQL + historySQL, views: viewsSQL,
		steps: map[int64]string{6: toFormat7}, dataSteps: map[int64]func(*sqlite3.Conn) error{6: addChecksums},
	}
}

// oldest returns the oldest version that the steps can migrate.
func (f *format) oldest() int64 {
	v := f.version
	for f.steps[v-1] != "" {
		v--
	}
	return v
}

// check returns an error if f cannot read a file of this version, even after a migration.
func (f *format) check(version int64, path string) error {
	switch oldest := f.oldest(); {
	case version > f.version:
		return fmt.Errorf("the store %s was written by a newer Mayfly: it has format %d, and this version supports formats %d to %d", path, version, oldest, f.version)
	case version < oldest:
		return fmt.Errorf("the store %s was written by an older Mayfly: it has format %d, and this version supports formats %d to %d; upgrade it first with a version that supports formats %d and %d", path, version, oldest, f.version, version, oldest)
	default:
		return nil
	}
}

// prepare brings c's file to this format: it gives a new file the schema and migrates an older
// one.
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
			return fmt.Errorf("the store %s cannot be created: %w", s.path, err)
		}
		version = f.version
	case id != applicationID:
		return fmt.Errorf("%s is not a Mayfly store: it is the SQLite file of another program", s.path)
	}
	if err := f.check(version, s.path); err != nil {
		return err
	}
	if version < f.version {
		backup, err := f.migrate(c, s.path, version)
		if err != nil {
			return fmt.Errorf("the store %s of format %d cannot be upgraded to format %d: %w", s.path, version, f.version, err)
		}
		s.log.Info("the store was upgraded to a new format", "path", s.path, "from", version, "to", f.version, "backup", backup)
	}
	// A copy made by SQLite, such as the backup before a migration, is not in WAL mode.
	if err := c.Exec("PRAGMA journal_mode=WAL"); err != nil {
		return fmt.Errorf("the store %s cannot be opened: %w", s.path, err)
	}
	return nil
}

func (f *format) create(c *sqlite3.Conn) error {
	if err := c.Exec("PRAGMA journal_mode=WAL"); err != nil {
		return err
	}
	return c.Exec(fmt.Sprintf("BEGIN IMMEDIATE; %s; %s; PRAGMA application_id=%d; PRAGMA user_version=%d; INSERT INTO store (id, epoch) VALUES (1, 0); %s; COMMIT",
		f.schema, f.views, applicationID, f.version, f.checksumStoreRow()))
}

// checksumStoreRow returns the statement that sets the checksum of the table store's row in a new
// file, or "" for a format in tests, which has no checksums.
func (f *format) checksumStoreRow() string {
	if f.dataSteps == nil {
		return ""
	}
	return "UPDATE store SET sum = " + checksumSQL("store", "epoch")
}

// migrate copies the unchanged file to a backup beside it, then runs every step in one
// transaction.
func (f *format) migrate(c *sqlite3.Conn, path string, from int64) (backup string, err error) {
	backup = fmt.Sprintf("%s.format-%d", path, from)
	// An existing backup is from a failed attempt: the file is still old.
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
		err := c.Exec(f.steps[v])
		if fill := f.dataSteps[v]; err == nil && fill != nil {
			err = fill(c)
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

// number returns the one number that query yields, or zero if it yields no row.
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
