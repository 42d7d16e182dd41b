package engine

import (
	"fmt"
	"unicode/utf8"

	"mayfly/engine/filter"
)

// A Sieve picks stored messages by a SQL filter, as a rule picks those that are
// sent: by their system and application properties, the reason of a dead letter
// among these (FILT-11, TTL-27), in three-valued logic (FILT-29). There are no
// parameters. A nil Sieve picks every message. It may be used by many goroutines
// at once.
type Sieve struct {
	text string
	sql  *filter.SQL
}

// ParseSieve reads a filter of at most as many characters as one of a rule may
// have. Its errors are *SieveError.
func ParseSieve(text string, l Limits) (*Sieve, error) {
	if n := int64(utf8.RuneCountInString(text)); n > l.FilterLength {
		return nil, &SieveError{fmt.Errorf("it has %d characters; %d are allowed", n, l.FilterLength)} //nolint:err113 // SieveError is what callers look for
	}
	sql, err := filter.ParseSQL(text, nil)
	if err != nil {
		return nil, &SieveError{err}
	}
	return &Sieve{text, sql}, nil
}

// picks tells whether the filter is true of m; unknown is not. Its errors are
// *filter.Error.
func (s *Sieve) picks(m *message) (bool, error) {
	if s == nil {
		return true, nil
	}
	g := glance{packed: m.packed(), m: m.Message}
	return s.sql.Matches(g.message()) //nolint:wrapcheck // only counted
}

// mostTold is how much of a filter an event tells, in bytes.
const mostTold = 200

// brief is as much of the filter as an event tells; empty if there is none.
func (s *Sieve) brief() string {
	if s == nil {
		return ""
	}
	return cut(s.text, mostTold)
}

// A SieveError says why a text is not a filter. It unwraps to ErrArgument, and to
// the *filter.SyntaxError with the position if there is one (FILT-28).
type SieveError struct{ Err error }

func (e *SieveError) Error() string { return fmt.Sprintf("The filter is not valid: %v", e.Err) }

// Unwrap is for errors.Is and errors.As.
func (e *SieveError) Unwrap() []error {
	return []error{&Refusal{Kind: ErrArgument, SubCode: 40000, Text: e.Error()}, e.Err}
}
