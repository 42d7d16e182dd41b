package filter

import "mayfly/engine/value"

// An SQL is a parsed SQL filter.
type SQL struct{}

// ParseSQL reads a filter. The names of params start with @; one that the text
// uses and that is not there fails the evaluation (FILT-25). Its errors are
// *SyntaxError. How long the text may be is the caller's to check.
func ParseSQL(text string, params value.Properties) (*SQL, error) {
	_, _ = text, params
	return &SQL{}, nil
}

// Matches tells whether the filter is true of m; unknown is not (FILT-29). Its
// errors are *Error, named FilterException.
func (f *SQL) Matches(m *Message) (bool, error) {
	_ = m
	return false, nil
}

// Late tells that the filter reads the sequence number, the enqueued time or a
// newid(): it is to be evaluated when those are known, once for each message.
func (f *SQL) Late() bool { return false }

// Explain evaluates every elementary predicate for m, also those that Matches
// would not come to.
func (f *SQL) Explain(m *Message) []Clause {
	_ = m
	return nil
}
