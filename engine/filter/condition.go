package filter

import "mayfly/engine/value"

// A condition is true, false or unknown, or fails and says why.
type condition interface {
	test(m *Message, how mode) (r Result, why string)
}

// An elementary condition has no conditions inside.
type elementary interface {
	condition
	where() place
	reads(m *Message, how mode, tell func(Reading))
}

// all is AND.
type all []condition

func (a all) test(m *Message, how mode) (Result, string) {
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

// some is OR.
type some []condition

func (s some) test(m *Message, how mode) (Result, string) {
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

// inverse is NOT.
type inverse struct{ of condition }

func (n inverse) test(m *Message, how mode) (Result, string) {
	r, why := n.of.test(m, how)
	return r.not(), why
}

// A comparison is a = b and the like.
type comparison struct {
	op    string
	a, b  expr
	place place
}

func (c *comparison) where() place { return c.place }

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
	sign, nan, ok := order(a, b)
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

// membership is x IN (…).
type membership struct {
	x     expr
	in    []expr
	not   bool
	place place
}

func (i *membership) where() place { return i.place }

func (i *membership) test(m *Message, how mode) (Result, string) {
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

func (i *membership) reads(m *Message, how mode, tell func(Reading)) {
	i.x.reads(m, how, tell)
	for _, e := range i.in {
		e.reads(m, how, tell)
	}
}

// presence is EXISTS(p) and p IS NULL, which are never unknown (FILT-23).
type presence struct {
	property
	null, not bool // IS NULL, IS NOT NULL; neither: EXISTS
	place     place
}

func (p *presence) where() place { return p.place }

func (p *presence) test(m *Message, how mode) (Result, string) {
	v, ok, why := p.find(m, how)
	if why != "" {
		return Failed, why
	}
	if p.null {
		return truth((!ok || v.Kind() == value.Null) != p.not), ""
	}
	return truth(ok), ""
}

// flag is a value that stands as a condition.
type flag struct {
	expr
	place place
}

func (f *flag) where() place { return f.place }

func (f *flag) test(m *Message, how mode) (Result, string) {
	switch d := f.eval(m, how); d.class {
	case failed:
		return Failed, d.text()
	case unknown:
		return Unknown, ""
	case boolean:
		return truth(d.n != 0), ""
	default:
		return Failed, f.place.say("stands as a condition, which a value of type " + d.value.Kind().String() + " is not")
	}
}

// likeness is x LIKE pattern ESCAPE escape.
type likeness struct {
	x, pattern, escape expr // escape is nil when there is none
	ready              *like
	not                bool
	place              place
}

func (l *likeness) where() place { return l.place }

func (l *likeness) test(m *Message, how mode) (Result, string) {
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
			return Failed, l.place.say(why)
		}
	}
	if x.class != textual {
		return Unknown, ""
	}
	return truth(ready.matches(x.text()) != l.not), ""
}

func (l *likeness) reads(m *Message, how mode, tell func(Reading)) {
	l.x.reads(m, how, tell)
	l.pattern.reads(m, how, tell)
	if l.escape != nil {
		l.escape.reads(m, how, tell)
	}
}
