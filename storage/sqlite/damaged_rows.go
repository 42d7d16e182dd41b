package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// A skippableTable is a table whose damaged rows a namespace can be served without.
type skippableTable struct {
	key         string // SQL that describes a row
	consequence string // the effect of losing a row, for people
}

// skippableTables are the tables whose damaged rows Load leaves out and moves to the table aside.
// Without a row of any other table, messages would be in the wrong place, be delivered twice
// or be accessible without a rule: then the store is not loaded.
var skippableTables = map[string]skippableTable{
	"session": {"'session ' || quote(id) || ' of holder ' || holder", "the state of the session is lost"},
	"seen":    {"'number ' || n || ' of holder ' || holder", "duplicates of messages sent at that time are accepted"},
	"setting": {"'setting ' || quote(key)", "the setting is lost"},
}

// identifyingColumns are the indexes of the columns that identify a row, by table.
var identifyingColumns = map[string][]int{
	"session": {1}, "seen": {0, 1}, "setting": {0}, "entity": {0}, "rule": {0, 2}, "meter": {0},
}

// nameRow describes the current row of st by its identifying columns, which may be damaged.
func nameRow(table string, st *sqlite3.Stmt) string {
	var of []string
	for _, n := range identifyingColumns[table] {
		of = append(of, fmt.Sprintf("%s %.200q", st.ColumnName(n), st.ColumnText(n)))
	}
	if table == "entity" {
		for n := range st.ColumnCount() {
			if st.ColumnName(n) == "path" {
				of = append(of, fmt.Sprintf("path %.200q", st.ColumnText(n)))
			}
		}
	}
	return strings.Join(of, ", ")
}

// quarantineDamaged moves the damaged rows of the tables in spoiled, which counts them by table,
// to the table aside, so that the next Load does not find them. If that fails, they stay, and the
// next Load leaves them out again. A row whose key is the damaged part may stay for good.
func (s *Store) quarantineDamaged(ctx context.Context, spoiled map[string]int) {
	for table, n := range spoiled {
		err := s.enter(ctx)
		if err == nil {
			err = s.write(true, func(w *writer) error { return quarantineRows(w.c, table) })
			s.leave()
		}
		if err != nil {
			s.log.Warn("damaged rows were not set aside", "path", s.path, "table", table, "err", err)
			continue
		}
		s.log.Warn("damaged rows were set aside", "path", s.path, "table", table, "rows", n)
	}
}

// quarantineRows moves the damaged rows of a table to the table aside, under keys below zero,
// which no message has.
func quarantineRows(c *sqlite3.Conn, table string) error {
	for _, t := range checksummedTables() {
		if t[0] != table {
			continue
		}
		values := []string{"'table'", sqlite3.Quote(table)}
		for name := range strings.SplitSeq(t[1], ", ") {
			values = append(values, fmt.Sprintf("'%s', CASE typeof(%s) WHEN 'blob' THEN hex(%s) ELSE %s END", name, name, name, name))
		}
		damaged := fmt.Sprintf("FROM %s WHERE sum IS NOT %s", table, checksumSQL(table, t[1]))
		// Some failures end the transaction: a deletion after them would be committed on its
		// own.
		if err := c.Exec(fmt.Sprintf("INSERT INTO aside (key, row) SELECT (SELECT min(0, coalesce(min(key), 0)) FROM aside) - row_number() OVER (), json_object(%s) %s",
			strings.Join(values, ", "), damaged)); err != nil {
			return err
		}
		return c.Exec("DELETE " + damaged)
	}
	return fmt.Errorf("the table %s does not exist", table)
}

// damagedRows returns a sentence for each damaged row of a table in skippableTables, and none
// for other tables.
func (l *Snapshot) damagedRows(table, columns string) (findings []string, err error) {
	about, ok := skippableTables[table]
	if !ok {
		return nil, nil
	}
	err = each(l.c, fmt.Sprintf("SELECT %s FROM %s WHERE sum IS NOT %s LIMIT %d", about.key, table, checksumSQL(table, columns), maxIntegrityFindings), func(r *row) bool {
		findings = append(findings, fmt.Sprintf("%s is damaged; the next server that starts sets it aside, and %s", r.text(), about.consequence))
		return true
	})
	return findings, err
}

// Aside returns the damaged rows that were set aside, a line each, without contents.
func (l *Snapshot) Aside(context.Context) (lines []string, err error) {
	err = l.withIndexGuard(func() error {
		return each(l.c, `SELECT CASE WHEN key < 0
			THEN 'a row of the table ' || (row ->> 'table') || ': ' || json_remove(row, '$.table', '$.value', '$.state', '$.digests')
			ELSE 'message ' || key END FROM aside ORDER BY key`, func(r *row) bool {
			lines = append(lines, r.text())
			return true
		})
	})
	if err != nil {
		err = fmt.Errorf("read the damaged rows: %w", err)
	}
	return lines, err
}
