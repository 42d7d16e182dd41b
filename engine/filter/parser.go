package filter

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"mayfly/engine/shorten"
	"mayfly/engine/value"
)

// maxDepth is how deeply brackets may be nested.
const maxDepth = 100

// A parser uses recursive descent and never backtracks. After the first error its next token is the
// end of the text, so that all functions return.
type parser struct {
	in        string
	tokens    []token
	params    value.Properties
	depth     int
	inTarget  bool // the target of an action is being read
	last      int  // offset of the end of the last token
	late      bool // a property or function that SQL.Late is about was read
	between   bool // BETWEEN is allowed, as in selectors of JMS
	fixedLike bool // a pattern of LIKE must be constant, as in all selectors
	err       *SyntaxError
}

// A part is a parsed condition, or an expression that may still become one.
type part struct {
	cond     condition // nil for an expression
	expr     expr
	position textRange
}

func newParser(in string, params value.Properties) *parser {
	return &parser{in: in, tokens: tokens(in), params: params}
}

func (p *parser) token() token { return p.tokens[0] }

// peek returns the token after the next.
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

// rangeFrom returns the text from a token to the last one that was read.
func (p *parser) rangeFrom(from token) textRange {
	return textRange{p.in, from.from, max(p.last, from.from)}
}

// fail records the first error.
func (p *parser) fail(e SyntaxError, at textRange) {
	if p.err == nil {
		e.Pos = utf8.RuneCountInString(p.in[:at.from])
		e.Found = shorten.To(at.text(), 40)
		p.err = &e
	}
	p.tokens = []token{{sort: endToken, from: len(p.in), to: len(p.in)}}
}

// refuse records an error about a part of the text.
func (p *parser) refuse(at textRange, why string) { p.fail(SyntaxError{Text: why}, at) }

// expected records an error that says what was expected instead of the next token.
func (p *parser) expected(what string) {
	t := p.token()
	at := textRange{p.in, t.from, t.to}
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

// word reads a keyword if it is next, and reports whether it was; sign does the same for a sign.
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

// openBracket and closeBracket count open brackets.
func (p *parser) openBracket() {
	if p.depth++; p.depth > maxDepth {
		t := p.token()
		p.refuse(textRange{p.in, t.from, t.to}, fmt.Sprintf("More than %d brackets are open.", maxDepth))
	}
}

func (p *parser) closeBracket() { p.depth-- }

// isReserved reports whether s is a keyword, which can be a name only in brackets or quotes.
func isReserved(s string) bool {
	for _, k := range [...]string{"AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "ESCAPE", "EXISTS", "TRUE", "FALSE"} {
		if strings.EqualFold(s, k) {
			return true
		}
	}
	return false
}

// asExpr returns a part as an expression; a condition is an error.
func (p *parser) asExpr(x part) expr {
	if x.cond != nil {
		p.refuse(x.position, "A value is needed here, not a condition.")
		return &constant{}
	}
	return x.expr
}

// asCondition returns a part as a condition; an expression that cannot be boolean is an error.
func (p *parser) asCondition(x part) condition {
	if x.cond != nil {
		return x.cond
	}
	can := false
	switch e := x.expr.(type) {
	case *constant:
		can = e.datum.class == boolean || e.datum.class == unknown
	case *applicationProperty, *namedProperty, *missingParameter:
		can = true
	}
	if !can {
		p.refuse(x.position, "A condition is needed here, not a value.")
	}
	return &booleanCondition{x.expr, x.position}
}
