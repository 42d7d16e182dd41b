package filter

import "mayfly/engine/value"

// An SQL is a parsed SQL filter.
type SQL struct {
	// MissingSystemFails is the switch of FILT-30: a system property that the message does not
	// have fails the evaluation, as documented, rather than being NULL. EXISTS and IS NULL are
	// not affected. Set it before the filter is shared.
	MissingSystemFails bool

	root condition
	late bool
}

// ParseSQL reads a filter. The names of params start with @; using a missing one fails the
// evaluation (FILT-25). Its errors are *SyntaxError. The caller checks the length of the text.
func ParseSQL(text string, params value.Properties) (*SQL, error) {
	return newParser(text, params).filter()
}

// filter reads a whole filter.
func (p *parser) filter() (*SQL, error) {
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

// Matches reports whether the filter is true for m; unknown is not (FILT-29). Its errors are
// *Error, named FilterException.
func (f *SQL) Matches(m *Message) (bool, error) {
	r, why := f.root.test(m, f.mode())
	if r == Failed {
		return false, &Error{FilterException, why}
	}
	return r == True, nil
}

// Late reports whether the filter reads a sequence number, the enqueued time or a newid(): it
// must be evaluated when those are known, for each message again.
func (f *SQL) Late() bool { return f.late }
