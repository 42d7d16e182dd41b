package filter

import "mayfly/engine/value"

// A condition is true, false or unknown for a message, or fails with a reason.
type condition interface {
	test(m *Message, how mode) (r Result, why string)
}

// An elementary condition contains no conditions.
type elementary interface {
	condition
	textPosition() textRange
	reads(m *Message, how mode, tell func(Reading))
}

// conjunction is conditions joined by AND.
type conjunction []condition

func (a conjunction) test(m *Message, how mode) (Result, string) {
	sum := True
	for _, c := range a {
		switch r, why := c.test(m, how); r {
		case False, Failed:
			return r, why
		case Unknown:
			sum = Unknown
		}
	}
	return sum, ""
}

// disjunction is conditions joined by OR.
type disjunction []condition

func (s disjunction) test(m *Message, how mode) (Result, string) {
	sum := False
	for _, c := range s {
		switch r, why := c.test(m, how); r {
		case True, Failed:
			return r, why
		case Unknown:
			sum = Unknown
		}
	}
	return sum, ""
}

// notCondition is NOT.
type notCondition struct{ of condition }

func (n notCondition) test(m *Message, how mode) (Result, string) {
	r, why := n.of.test(m, how)
	return r.not(), why
}

// A comparison is a = b, a < b and so on.
type comparison struct {
	op       string
	a, b     expr
	position textRange
}

func (c *comparison) textPosition() textRange { return c.position }

func (c *comparison) test(m *Message, how mode) (Result, string) {
	a := c.a.eval(m, how)
	if a.class == failed {
		return Failed, a.text()
	}
	b := c.b.eval(m, how)
	switch {
	case b.class == failed:
		return Failed, b.text()
	case a.class == unknown || b.class == unknown:
		return Unknown, ""
	case c.op == "=":
		return equal(a, b), ""
	case c.op == "<>":
		return equal(a, b).not(), ""
	}
	sign, nan, ok := compareOrder(a, b)
	switch {
	case !ok:
		return Unknown, ""
	case nan:
		return False, ""
	case c.op == "<":
		return truth(sign < 0), ""
	case c.op == "<=":
		return truth(sign <= 0), ""
	case c.op == ">":
		return truth(sign > 0), ""
	default:
		return truth(sign >= 0), ""
	}
}

func (c *comparison) reads(m *Message, how mode, tell func(Reading)) {
	c.a.reads(m, how, tell)
	c.b.reads(m, how, tell)
}

// inCondition is x IN (…).
type inCondition struct {
	x        expr
	in       []expr
	not      bool
	position textRange
}

func (i *inCondition) textPosition() textRange { return i.position }

func (i *inCondition) test(m *Message, how mode) (Result, string) {
	x := i.x.eval(m, how)
	switch x.class {
	case failed:
		return Failed, x.text()
	case unknown:
		return Unknown, ""
	}
	sum := False
	for _, e := range i.in {
		d := e.eval(m, how)
		if d.class == failed {
			return Failed, d.text()
		}
		if sum = max(sum, equal(x, d)); sum == True {
			break
		}
	}
	if i.not {
		sum = sum.not()
	}
	return sum, ""
}

func (i *inCondition) reads(m *Message, how mode, tell func(Reading)) {
	i.x.reads(m, how, tell)
	for _, e := range i.in {
		e.reads(m, how, tell)
	}
}

// existsCondition is EXISTS(p) and p IS NULL, which are never unknown (FILT-23).
type existsCondition struct {
	property
	null, not bool // null alone: IS NULL; both: IS NOT NULL; neither: EXISTS
	position  textRange
}

func (p *existsCondition) textPosition() textRange { return p.position }

func (p *existsCondition) test(m *Message, how mode) (Result, string) {
	v, ok, why := p.find(m, how)
	if why != "" {
		return Failed, why
	}
	if p.null {
		return truth((!ok || v.Kind() == value.Null) != p.not), ""
	}
	return truth(ok), ""
}

// booleanCondition is a value used as a condition.
type booleanCondition struct {
	expr
	position textRange
}

func (f *booleanCondition) textPosition() textRange { return f.position }

func (f *booleanCondition) test(m *Message, how mode) (Result, string) {
	switch d := f.eval(m, how); d.class {
	case failed:
		return Failed, d.text()
	case unknown:
		return Unknown, ""
	case boolean:
		return truth(d.n != 0), ""
	default:
		return Failed, f.position.sentence("must be a condition, not a value of type " + d.value.Kind().String())
	}
}

// likeCondition is x LIKE pattern ESCAPE escape.
type likeCondition struct {
	x, pattern, escape expr // escape is nil when there is none
	ready              *like
	not                bool
	position           textRange
}

func (l *likeCondition) textPosition() textRange { return l.position }

func (l *likeCondition) test(m *Message, how mode) (Result, string) {
	x := l.x.eval(m, how)
	if x.class == failed {
		return Failed, x.text()
	}
	ready := l.ready
	if ready == nil {
		pattern := l.pattern.eval(m, how)
		if pattern.class == failed {
			return Failed, pattern.text()
		}
		escape := datum{class: textual}
		if l.escape != nil {
			escape = l.escape.eval(m, how)
		}
		if escape.class == failed {
			return Failed, escape.text()
		}
		if x.class == unknown || pattern.class == unknown || escape.class == unknown {
			return Unknown, ""
		}
		var why string
		if ready, why = newLike(pattern, escape, l.escape != nil); why != "" {
			return Failed, l.position.sentence(why)
		}
	}
	if x.class != textual {
		return Unknown, ""
	}
	return truth(ready.matches(x.text()) != l.not), ""
}

func (l *likeCondition) reads(m *Message, how mode, tell func(Reading)) {
	l.x.reads(m, how, tell)
	l.pattern.reads(m, how, tell)
	if l.escape != nil {
		l.escape.reads(m, how, tell)
	}
}
