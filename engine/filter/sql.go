package filter

import "mayfly/engine/value"

// An SQL is a parsed SQL filter.
type SQL struct {
	// MissingSystemFails is the switch of FILT-30: a system property that the
	// message does not have fails the evaluation, as documented, rather than
	// being NULL. EXISTS and IS NULL remain as they are. Set it before the
	// filter is shared.
	MissingSystemFails bool

	root condition
	late bool
}

// ParseSQL reads a filter. The names of params start with @; one that the text
// uses and that is not there fails the evaluation (FILT-25). Its errors are
// *SyntaxError. How long the text may be is the caller's to check.
func ParseSQL(text string, params value.Properties) (*SQL, error) {
	p := newParser(text, params)
	x := p.or()
	if p.token().sort != endToken {
		p.expected(p.afterCondition(x, "the end"))
	}
	f := &SQL{root: p.asCondition(x), late: p.late}
	if p.err != nil {
		return nil, p.err
	}
	return f, nil
}

func (f *SQL) mode() mode {
	if f.MissingSystemFails {
		return missingFails
	}
	return 0
}

// Matches tells whether the filter is true of m; unknown is not (FILT-29). Its
// errors are *Error, named FilterException.
func (f *SQL) Matches(m *Message) (bool, error) {
	r, why := f.root.test(m, f.mode())
	if r == Failed {
		return false, &Error{FilterException, why}
	}
	return r == True, nil
}

// Late tells that the filter reads a sequence number, the enqueued time or a
// newid(): it is to be evaluated when those are known, for each message anew.
func (f *SQL) Late() bool { return f.late }
