package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// maxIntegrityFindings limits SQLite's findings that are reported.
const maxIntegrityFindings = 20

// Integrity runs SQLite's check of the whole file, and checks the sums of all rows. It returns
// the findings without full stops; those of SQLite begin with "SQLite reports: ".
func (l *Snapshot) Integrity(ctx context.Context) (wrong []string, err error) {
	err = l.withIndexGuard(func() (err error) {
		wrong, err = l.integrity(ctx)
		return err
	})
	return wrong, err
}

func (l *Snapshot) integrity(ctx context.Context) (wrong []string, err error) {
	before := l.c.SetInterrupt(ctx)
	defer l.c.SetInterrupt(before)
	err = each(l.c, fmt.Sprintf("PRAGMA integrity_check(%d)", maxIntegrityFindings), func(r *row) bool {
		for finding := range strings.Lines(r.text()) {
			if finding = strings.TrimSpace(finding); finding != "ok" && !strings.HasPrefix(finding, "***") { // a heading
				wrong = append(wrong, "SQLite reports: "+strings.TrimSuffix(finding, "."))
			}
		}
		return true
	})
	if err == nil {
		wrong, err = l.sums(wrong)
	}
	if errors.Is(err, sqlite3.CORRUPT) && len(wrong) > 0 { // its findings say why
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

// sums checks the checksums of all rows. For each table with damaged rows, it appends a finding to
// `wrong`, and one for each row that damagedRows describes.
func (l *Snapshot) sums(wrong []string) ([]string, error) {
	for _, t := range checksummedTables() {
		n, err := number(l.c, fmt.Sprintf("SELECT count(*) FROM %s WHERE sum IS NOT %s", t[0], checksumSQL(t[0], t[1])))
		if err != nil {
			return wrong, err
		}
		if n == 0 {
			continue
		}
		if n == 1 {
			wrong = append(wrong, "A row of the table "+t[0]+" is damaged: its checksum does not match")
		} else {
			wrong = append(wrong, fmt.Sprintf("%d rows of the table %s are damaged: their checksums do not match", n, t[0]))
		}
		rows, err := l.damagedRows(t[0], t[1])
		if err != nil {
			return wrong, err
		}
		wrong = append(wrong, rows...)
	}
	return wrong, nil
}
