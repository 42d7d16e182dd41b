package filter

import "mayfly/engine/value"

// A Result is what became of a predicate.
type Result uint8

// The results: the three of the logic, and that it could not be evaluated.
const (
	False Result = iota
	Unknown
	True
	Failed
)

func (r Result) String() string {
	return [...]string{"false", "unknown", "true", "error"}[r]
}

// A Clause is one elementary predicate of a filter and what it is of one
// message, for people.
type Clause struct {
	From, To int    // where it stands in the text, in runes; both zero in a correlation filter
	Text     string // how it is written there
	Result   Result
	Error    string    // why it failed; empty unless Result is Failed
	Reads    []Reading // the properties it looks at, each once
}

// A Reading is a property that a predicate looked at.
type Reading struct {
	Name    string      // as the filter writes it; of a system property its full name, as sys.Label
	Value   value.Value // what the message has; null when missing
	Missing bool
}
