package filter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mayfly/engine/value"
)

// The expressions of the grammar (§14.3).

// sum, product and unary parse expressions.
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
	c.position = p.rangeFrom(from)
	return part{expr: c, position: c.position}
}

// unary parses any number of signs, and the expression after them.
func (p *parser) unary() part {
	var signs []token
	for p.atSign("-") || p.atSign("+") {
		signs = append(signs, p.token())
		p.advance()
	}
	var x part
	if t, last := p.token(), len(signs)-1; last >= 0 && t.sort == integerToken {
		// Parse the number with its sign, because the smallest int64 has no positive counterpart.
		p.advance()
		x = p.integer(signs[last].text+t.text, p.rangeFrom(signs[last]))
		signs = signs[:last]
	} else {
		x = p.atom()
	}
	for _, sign := range slices.Backward(signs) {
		at := p.rangeFrom(sign)
		x = part{expr: &signedExpr{operator(sign.text[0]), p.asExpr(x), at}, position: at}
	}
	return x
}

func (p *parser) atom() part {
	t := p.token()
	at := textRange{p.in, t.from, t.to}
	literal := func(v value.Value) part {
		p.advance()
		return part{expr: &constant{datumOf(v)}, position: at}
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
			return part{expr: &constant{datumOf(v)}, position: at}
		}
		return part{expr: &missingParameter{at}, position: at}
	case p.atSign("("):
		return p.bracketed()
	case t.sort == wordToken && isSign(p.peek(), "(") && !isReserved(t.text):
		return p.call()
	}
	x := p.property("a value")
	return part{expr: x, position: p.rangeFrom(t)}
}

func (p *parser) integer(digits string, at textRange) part {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		p.refuse(at, "A whole number must be at most 9223372036854775807.")
	}
	return part{expr: &constant{datumOf(value.OfLong(n))}, position: at}
}

// bracketed parses a condition or an expression in brackets, depending on the content.
func (p *parser) bracketed() part {
	from := p.token()
	p.advance()
	p.openBracket()
	defer p.closeBracket()
	inside := p.or()
	if !p.sign(")") {
		p.expected(p.afterCondition(inside, `")"`))
	}
	inside.position = p.rangeFrom(from)
	return inside
}

// call parses newid() or property(name).
func (p *parser) call() part {
	from := p.token()
	p.advance()
	p.advance()
	p.openBracket()
	defer p.closeBracket()
	switch {
	case isWord(from, "newid"):
		p.needSign(")", `")"`)
		p.late = true
		at := p.rangeFrom(from)
		return part{expr: &newID{at}, position: at}
	case isWord(from, "property"), isWord(from, "p"):
		name := p.asExpr(p.sum())
		p.needSign(")", `")"`)
		at := p.rangeFrom(from)
		if c, ok := name.(*constant); ok && c.datum.class == textual {
			return part{expr: &applicationProperty{c.datum.text()}, position: at}
		}
		return part{expr: &namedProperty{name, at}, position: at}
	default:
		p.refuse(textRange{p.in, from.from, from.to}, "Unknown function. Use newid(), property() or its short form p(), or EXISTS() as a condition.")
		return part{expr: &constant{}}
	}
}

// property parses the name of a property.
func (p *parser) property(what string) property {
	t := p.token()
	if t.sort != nameToken && (t.sort != wordToken || isReserved(t.text)) {
		p.expected(what)
		return &applicationProperty{}
	}
	p.advance()
	if !p.atSign(".") {
		return &applicationProperty{t.text}
	}
	user := strings.EqualFold(t.text, "user") // a scope may be bracketed or quoted like any identifier
	if !user && !strings.EqualFold(t.text, "sys") {
		p.refuse(p.rangeFrom(t), "Only sys and user can precede a period. Write a name with a period in [brackets].")
		return &applicationProperty{}
	}
	p.advance()
	name := p.token()
	if name.sort != wordToken && name.sort != nameToken {
		p.expected("the name of a property")
		return &applicationProperty{}
	}
	p.advance()
	if user {
		return &applicationProperty{name.text}
	}
	s, ok := systemNamed(name.text)
	if !ok {
		p.refuse(p.rangeFrom(t), fmt.Sprintf("The specified property '%s' does not exist or is not allowed; there are %s.", name.text, p.systems()))
	}
	p.late = p.late || s.late()
	return &systemProperty{s, p.rangeFrom(t)}
}
