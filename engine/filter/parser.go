package filter

import (
	"fmt"
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
