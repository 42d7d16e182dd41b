package filter

// The conditions of the grammar (§14.3), from the lowest precedence to the highest.

func (p *parser) or() part {
	from := p.token()
	first := p.and()
	if !p.atWord("OR") {
		return first
	}
	either := disjunction{p.asCondition(first)}
	for p.word("OR") {
		either = append(either, p.asCondition(p.and()))
	}
	return part{cond: either, position: p.rangeFrom(from)}
}

func (p *parser) and() part {
	from := p.token()
	first := p.not()
	if !p.atWord("AND") {
		return first
	}
	every := conjunction{p.asCondition(first)}
	for p.word("AND") {
		every = append(every, p.asCondition(p.not()))
	}
	return part{cond: every, position: p.rangeFrom(from)}
}

func (p *parser) not() part {
	from := p.token()
	if !p.word("NOT") {
		return p.predicate()
	}
	odd := true
	for p.word("NOT") {
		odd = !odd
	}
	c := p.asCondition(p.predicate())
	if odd {
		c = notCondition{c}
	}
	return part{cond: c, position: p.rangeFrom(from)}
}

func (p *parser) predicate() part {
	from := p.token()
	if p.word("EXISTS") {
		p.needSign("(", `"(" and a property`)
		x := p.property("a property")
		p.needSign(")", `")"`)
		return elementaryPart(&existsCondition{property: x, position: p.rangeFrom(from)})
	}
	left := p.sum()
	t := p.token()
	switch {
	case t.sort == signToken && comparisonSign(t.text) != "":
		p.advance()
		a, b := p.asExpr(left), p.asExpr(p.sum())
		return elementaryPart(&comparison{comparisonSign(t.text), a, b, p.rangeFrom(from)})
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
			p.refuse(left.position, "IS NULL can only follow a property.")
		}
		return elementaryPart(&existsCondition{property: x, null: true, not: not, position: p.rangeFrom(from)})
	}
	not := p.word("NOT")
	switch {
	case p.word("IN"):
		return p.inCondition(from, left, not)
	case p.word("LIKE"):
		return p.likeCondition(from, left, not)
	case p.between && p.word("BETWEEN"):
		return p.betweenCondition(from, left, not)
	case not:
		p.expected("IN or LIKE")
	}
	return left
}

// comparisonSign returns the canonical spelling of the comparison operator s, or an empty string if
// s is none.
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

func (p *parser) inCondition(from token, left part, not bool) part {
	m := &inCondition{x: p.asExpr(left), not: not}
	p.needSign("(", `"(" and values`)
	p.openBracket()
	defer p.closeBracket()
	m.in = append(m.in, p.asExpr(p.sum()))
	for p.sign(",") {
		m.in = append(m.in, p.asExpr(p.sum()))
	}
	p.needSign(")", `an operator, a comma or ")"`)
	m.position = p.rangeFrom(from)
	return elementaryPart(m)
}

func (p *parser) likeCondition(from token, left part, not bool) part {
	l := &likeCondition{x: p.asExpr(left), not: not}
	right := p.sum()
	at := right.position
	l.pattern = p.asExpr(right)
	if p.word("ESCAPE") {
		right = p.sum()
		at.to = right.position.to
		l.escape = p.asExpr(right)
	}
	l.position = p.rangeFrom(from)
	// If the pattern and escape are constant, they are compiled or refused now.
	pattern, known := constantValue(l.pattern)
	escape, escapeKnown := constantValue(l.escape)
	ready, why := newLike(pattern, escape, escapeKnown)
	if why != "" {
		p.refuse(at, "This LIKE "+why+".")
	}
	if known && (l.escape == nil || escapeKnown) {
		l.ready = ready
	} else if p.fixedLike {
		p.refuse(at, "The pattern of LIKE and its ESCAPE must be constant in a selector.")
	}
	return elementaryPart(l)
}

// constantValue returns the value of a constant other than NULL, and an empty text for other
// expressions.
func constantValue(e expr) (d datum, ok bool) {
	if c, is := e.(*constant); is && c.datum.class != unknown {
		return c.datum, true
	}
	return datum{class: textual}, false
}

func elementaryPart(e elementary) part { return part{cond: e, position: e.textPosition()} }

// afterCondition returns what can follow x, for an error message. `end` is the last alternative in
// it.
func (p *parser) afterCondition(x part, end string) string {
	if x.cond == nil {
		return "an operator, AND, OR or " + end
	}
	return "AND, OR or " + end
}
