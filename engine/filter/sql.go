package filter

import "mayfly/engine/value"

// An SQL is a parsed SQL filter.
type SQL struct {
	// MissingSystemFails selects the documented behaviour in FILT-30: if the message does not
	// have a system property, the evaluation fails, instead of taking it as NULL. EXISTS and IS
	// NULL are not affected. Set it before the filter is shared.
	MissingSystemFails bool

	root condition
	late bool
}

// ParseSQL parses a filter. The names of params start with @; a filter that uses a parameter
// without a value fails in evaluation (FILT-25). Its errors are *SyntaxError. The caller checks the
// length of the text.
func ParseSQL(text string, params value.Properties) (*SQL, error) {
	return newParser(text, params).filter()
}

// filter parses a whole filter.
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

// Matches reports whether the filter is true for m. An unknown result does not match (FILT-29). Its
// errors are *Error, named FilterException.
func (f *SQL) Matches(m *Message) (bool, error) {
	r, why := f.root.test(m, f.mode())
	if r == Failed {
		return false, &Error{FilterException, why}
	}
	return r == True, nil
}

// Late reports whether the filter uses newid() or a property that is known only once the message is
// stored, such as the sequence number. Such a filter must be evaluated then, and again for each
// message.
func (f *SQL) Late() bool { return f.late }
