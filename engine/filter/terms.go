package filter

import (
	"fmt"
	"strconv"

	"mayfly/engine/value"
)

// The expressions of the grammar (§14.3).

// sum, product and unary read expressions.
func (p *parser) sum() part {
	return p.chain(p.product, "+", "-")
}

func (p *parser) product() part {
	return p.chain(p.unary, "*", "/", "%")
}

func (p *parser) chain(operand func() part, ops ...string) part {
	from := p.token()
	first := operand()
	var c *chain
	for {
		t := p.token()
		if !isSign(t, ops[0]) && !isSign(t, ops[1]) && !isSign(t, ops[len(ops)-1]) {
			break
		}
		p.advance()
		if c == nil {
			c = &chain{first: p.asExpr(first)}
		}
		c.rest = append(c.rest, link{operator(t.text[0]), p.asExpr(operand())})
	}
	if c == nil {
		return first
	}
	c.place = p.since(from)
	return part{expr: c, place: c.place}
}

func (p *parser) unary() part {
	from := p.token()
	if !p.atSign("-") && !p.atSign("+") {
		return p.atom()
	}
	p.advance()
	if t := p.token(); t.sort == integerToken {
		// With its sign, for the least int64 is no int64 without.
		p.advance()
		return p.integer(from.text+t.text, p.since(from))
	}
	x := p.asExpr(p.atom())
	at := p.since(from)
	return part{expr: &signed{operator(from.text[0]), x, at}, place: at}
}

func (p *parser) atom() part {
	t := p.token()
	at := place{p.in, t.from, t.to}
	literal := func(v value.Value) part {
		p.advance()
		return part{expr: &constant{of(v)}, place: at}
	}
	switch {
	case t.sort == textToken:
		return literal(value.OfString(t.text))
	case t.sort == integerToken:
		p.advance()
		return p.integer(t.text, at)
	case t.sort == numberToken:
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			p.refuse(at, "The number is too large.")
		}
		return literal(value.OfDouble(f))
	case isWord(t, "TRUE"), isWord(t, "FALSE"):
		return literal(value.OfBool(isWord(t, "TRUE")))
	case isWord(t, "NULL"):
		return literal(value.Value{})
	case t.sort == paramToken:
		p.advance()
		if v, ok := p.params.LookupFold(t.text); ok {
			return part{expr: &constant{of(v)}, place: at}
		}
		return part{expr: &unbound{at}, place: at}
	case p.atSign("("):
		return p.bracketed()
	case t.sort == wordToken && isSign(p.peek(), "(") && !reserved(t.text):
		return p.call()
	}
	x := p.property("a value")
	return part{expr: x, place: p.since(t)}
}

func (p *parser) integer(digits string, at place) part {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		p.refuse(at, "A whole number is at most 9223372036854775807.")
	}
	return part{expr: &constant{of(value.OfLong(n))}, place: at}
}

// bracketed reads a condition or an expression: which, its content tells.
func (p *parser) bracketed() part {
	from := p.token()
	p.advance()
	p.open()
	defer p.shut()
	inside := p.or()
	if !p.sign(")") {
		p.expected(p.afterCondition(inside, `")"`))
	}
	inside.place = p.since(from)
	return inside
}

// call reads newid() or property(name).
func (p *parser) call() part {
	from := p.token()
	p.advance()
	p.advance()
	p.open()
	defer p.shut()
	switch {
	case isWord(from, "newid"):
		p.needSign(")", `")"`)
		p.late = true
		at := p.since(from)
		return part{expr: &newID{at}, place: at}
	case isWord(from, "property"), isWord(from, "p"):
		name := p.asExpr(p.sum())
		p.needSign(")", `")"`)
		at := p.since(from)
		if c, ok := name.(*constant); ok && c.datum.class == textual {
			return part{expr: &own{c.datum.text()}, place: at}
		}
		return part{expr: &computed{name, at}, place: at}
	default:
		p.refuse(place{p.in, from.from, from.to}, "There is no such function: only newid(), property() and its short form p(), and EXISTS() as a condition.")
		return part{expr: &constant{}}
	}
}

// property reads the name of one.
func (p *parser) property(what string) property {
	t := p.token()
	if t.sort != nameToken && (t.sort != wordToken || reserved(t.text)) {
		p.expected(what)
		return &own{}
	}
	p.advance()
	if t.sort == nameToken || !p.atSign(".") {
		return &own{t.text}
	}
	if !isWord(t, "sys") && !isWord(t, "user") {
		p.refuse(p.since(t), "Before a point only sys and user can stand; a name with a point in it is written in [brackets].")
		return &own{}
	}
	p.advance()
	name := p.token()
	if name.sort != wordToken && name.sort != nameToken {
		p.expected("the name of a property")
		return &own{}
	}
	p.advance()
	if isWord(t, "user") {
		return &own{name.text}
	}
	s, ok := systemNamed(name.text)
	if !ok || s == sysScheduled && !p.inTarget {
		p.refuse(p.since(t), fmt.Sprintf("The specified property '%s' does not exist or is not allowed; there are %s.", name.text, p.systems()))
	}
	p.late = p.late || s.late()
	return &sys{s, p.since(t)}
}
