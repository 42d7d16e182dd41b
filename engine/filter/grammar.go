package filter

// The conditions of the grammar (§14.3), from the loosest.

func (p *parser) or() part {
	from := p.token()
	first := p.and()
	if !p.atWord("OR") {
		return first
	}
	either := some{p.asCondition(first)}
	for p.word("OR") {
		either = append(either, p.asCondition(p.and()))
	}
	return part{cond: either, place: p.since(from)}
}

func (p *parser) and() part {
	from := p.token()
	first := p.not()
	if !p.atWord("AND") {
		return first
	}
	every := all{p.asCondition(first)}
	for p.word("AND") {
		every = append(every, p.asCondition(p.not()))
	}
	return part{cond: every, place: p.since(from)}
}

func (p *parser) not() part {
	from := p.token()
	if !p.word("NOT") {
		return p.predicate()
	}
	c := p.asCondition(p.predicate())
	return part{cond: inverse{c}, place: p.since(from)}
}

func (p *parser) predicate() part {
	from := p.token()
	if p.word("EXISTS") {
		p.needSign("(", `"(" and a property`)
		x := p.property("a property")
		p.needSign(")", `")"`)
		return elementaryPart(&presence{property: x, place: p.since(from)})
	}
	left := p.sum()
	t := p.token()
	switch {
	case t.sort == signToken && comparisonSign(t.text) != "":
		p.advance()
		a, b := p.asExpr(left), p.asExpr(p.sum())
		return elementaryPart(&comparison{comparisonSign(t.text), a, b, p.since(from)})
	case p.word("IS"):
		not := p.word("NOT")
		if !p.word("NULL") {
			want := "NULL or NOT NULL"
			if not {
				want = "NULL"
			}
			p.expected(want)
		}
		x, ok := left.expr.(property)
		if !ok {
			p.refuse(left.place, "Only a property can be asked whether it IS NULL.")
		}
		return elementaryPart(&presence{property: x, null: true, not: not, place: p.since(from)})
	}
	not := p.word("NOT")
	switch {
	case p.word("IN"):
		return p.membership(from, left, not)
	case p.word("LIKE"):
		return p.likeness(from, left, not)
	case not:
		p.expected("IN or LIKE")
	}
	return left
}

// comparisonSign is the one spelling of a comparison that evaluation knows,
// empty if s is none.
func comparisonSign(s string) string {
	switch s {
	case "=", "<>", "<", "<=", ">", ">=":
		return s
	case "!=":
		return "<>"
	default:
		return ""
	}
}

func (p *parser) membership(from token, left part, not bool) part {
	m := &membership{x: p.asExpr(left), not: not}
	p.needSign("(", `"(" and values`)
	p.open()
	defer p.shut()
	m.in = append(m.in, p.asExpr(p.sum()))
	for p.sign(",") {
		m.in = append(m.in, p.asExpr(p.sum()))
	}
	p.needSign(")", `an operator, a comma or ")"`)
	m.place = p.since(from)
	return elementaryPart(m)
}

func (p *parser) likeness(from token, left part, not bool) part {
	l := &likeness{x: p.asExpr(left), not: not}
	right := p.sum()
	at := right.place
	l.pattern = p.asExpr(right)
	if p.word("ESCAPE") {
		right = p.sum()
		at.to = right.place.to
		l.escape = p.asExpr(right)
	}
	l.place = p.since(from)
	// What is constant is made ready, and refused, once.
	pattern, known := fixed(l.pattern)
	escape, escapeKnown := fixed(l.escape)
	ready, why := newLike(pattern, escape, escapeKnown)
	if why != "" {
		p.refuse(at, "This LIKE "+why+".")
	}
	if known && (l.escape == nil || escapeKnown) {
		l.ready = ready
	}
	return elementaryPart(l)
}

// fixed is the value of a constant other than NULL; an empty text for what has
// none.
func fixed(e expr) (d datum, ok bool) {
	if c, is := e.(*constant); is && c.datum.class != unknown {
		return c.datum, true
	}
	return datum{class: textual}, false
}

func elementaryPart(e elementary) part { return part{cond: e, place: e.where()} }

// afterCondition says what can follow x, of which end is the least.
func (p *parser) afterCondition(x part, end string) string {
	if x.cond == nil {
		return "an operator, AND, OR or " + end
	}
	return "AND, OR or " + end
}
