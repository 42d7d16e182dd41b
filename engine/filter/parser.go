package filter

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"mayfly/engine/value"
)

// maxDepth is how many brackets may be open.
const maxDepth = 100

// A parser reads by recursive descent and never goes back. After the first
// mistake it sees nothing but the end of the text, so that everything returns.
type parser struct {
	in       string
	tokens   []token
	params   value.Properties
	depth    int
	inTarget bool // what an action changes is being read
	last     int  // where the last token ended, in bytes
	late     bool
	err      *SyntaxError
}

// A part is what has been read: a condition, or an expression that may still
// come to stand for one.
type part struct {
	cond  condition // nil: an expression
	expr  expr
	place place
}

func newParser(in string, params value.Properties) *parser {
	return &parser{in: in, tokens: tokens(in), params: params}
}

func (p *parser) token() token { return p.tokens[0] }

// peek is the token after the next.
func (p *parser) peek() token {
	if len(p.tokens) > 1 {
		return p.tokens[1]
	}
	return p.tokens[0]
}

func (p *parser) advance() {
	if p.last = p.tokens[0].to; len(p.tokens) > 1 {
		p.tokens = p.tokens[1:]
	}
}

// since is the text from a token to the last one that was read.
func (p *parser) since(from token) place { return place{p.in, from.from, max(p.last, from.from)} }

// fail notes the first mistake.
func (p *parser) fail(e SyntaxError, at place) {
	if p.err == nil {
		e.Pos = utf8.RuneCountInString(p.in[:at.from])
		e.Found = shorten(at.text())
		p.err = &e
	}
	p.tokens = []token{{sort: endToken, from: len(p.in), to: len(p.in)}}
}

// refuse says what is wrong with what stands at a place.
func (p *parser) refuse(at place, why string) { p.fail(SyntaxError{Text: why}, at) }

// expected says what the next token should have been.
func (p *parser) expected(what string) {
	t := p.token()
	at := place{p.in, t.from, t.to}
	if t.sort == badToken {
		p.refuse(at, t.text)
		return
	}
	p.fail(SyntaxError{Want: what}, at)
}

func (p *parser) atWord(keyword string) bool { return isWord(p.token(), keyword) }
func (p *parser) atSign(s string) bool       { return isSign(p.token(), s) }

func isWord(t token, keyword string) bool {
	return t.sort == wordToken && strings.EqualFold(t.text, keyword)
}

func isSign(t token, s string) bool { return t.sort == signToken && t.text == s }

// word reads a keyword if it is next, sign a sign.
func (p *parser) word(keyword string) bool {
	is := p.atWord(keyword)
	if is {
		p.advance()
	}
	return is
}

func (p *parser) sign(s string) bool {
	is := p.atSign(s)
	if is {
		p.advance()
	}
	return is
}

func (p *parser) needSign(s, what string) {
	if !p.sign(s) {
		p.expected(what)
	}
}

// open and shut count open brackets.
func (p *parser) open() {
	if p.depth++; p.depth > maxDepth {
		t := p.token()
		p.refuse(place{p.in, t.from, t.to}, fmt.Sprintf("There are more than %d brackets open.", maxDepth))
	}
}

func (p *parser) shut() { p.depth-- }

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
		p.refuse(p.since(t), fmt.Sprintf("The specified property '%s' does not exist or is not allowed.", name.text))
	}
	p.late = p.late || s.late()
	return &sys{s, p.since(t)}
}

// reserved tells that a word is no name unless it is in brackets or quotes.
func reserved(s string) bool {
	for _, k := range [...]string{"AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "ESCAPE", "EXISTS", "TRUE", "FALSE"} {
		if strings.EqualFold(s, k) {
			return true
		}
	}
	return false
}

// asExpr is a part as an expression, which a condition is not.
func (p *parser) asExpr(x part) expr {
	if x.cond != nil {
		p.refuse(x.place, "A value is needed here, not a condition.")
		return &constant{}
	}
	return x.expr
}

// asCondition is a part as a condition, which only some expressions can be.
func (p *parser) asCondition(x part) condition {
	if x.cond != nil {
		return x.cond
	}
	can := false
	switch e := x.expr.(type) {
	case *constant:
		can = e.datum.class == boolean || e.datum.class == unknown
	case *own, *computed, *unbound:
		can = true
	}
	if !can {
		p.refuse(x.place, "A condition is needed here, not a value.")
	}
	return &flag{x.expr, x.place}
}
