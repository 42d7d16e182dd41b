package sqlite

import (
	"fmt"

	"mayfly/engine"
	"mayfly/engine/record"
)

// This file says how access rules become a column and back: as their record, for
// they are no part of any question.

const (
	putAccess = "INSERT OR REPLACE INTO access (id, rules) VALUES (1, ?)"
	getAccess = "SELECT rules FROM access"
)

// putAccess puts NULL for none.
func (r *row) putAccess(rules []engine.AccessRule) {
	if len(rules) == 0 {
		r.putNull()
		return
	}
	r.putBytes(record.Append(nil, engine.Access{Rules: rules}))
}

// access reads rules; what cannot be read is the row's error.
func (r *row) access() []engine.AccessRule {
	b := r.bytes()
	if len(b) == 0 {
		return nil
	}
	rec, err := record.Parse(b)
	a, ok := rec.(engine.Access)
	if err == nil && !ok {
		err = fmt.Errorf("%w: it is a %T", record.ErrCorrupt, rec)
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("access rules: %w", err)
	}
	return a.Rules
}
