package sqlite

import (
	"fmt"

	"mayfly/engine"
	"mayfly/engine/codec"
)

// Access rules are stored in one column, encoded as a record, because no query looks inside
// them.

const (
	putAccess = "INSERT OR REPLACE INTO access (id, rules, sum) VALUES (1, ?, ?)"
	getAccess = "SELECT rules, sum FROM access"
)

// putAccess binds the encoded rules, or NULL if there are none.
func (r *row) putAccess(rules []engine.AccessRule) {
	if len(rules) == 0 {
		r.putNull()
		return
	}
	r.putBytes(codec.Append(nil, engine.Access{Rules: rules}))
}

// access reads access rules. If they cannot be decoded, it sets the row's error.
func (r *row) access() []engine.AccessRule {
	b := r.bytes()
	if len(b) == 0 {
		return nil
	}
	rec, err := codec.Parse(b)
	a, ok := rec.(engine.Access)
	if err == nil && !ok {
		err = fmt.Errorf("%w: it is a %T", codec.ErrCorrupt, rec)
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("access rules: %w", err)
	}
	return a.Rules
}
