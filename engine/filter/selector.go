package filter

import (
	"slices"
	"strings"
)

// ParseSelector parses a message selector of JMS: a filter that may also use BETWEEN. Its properties
// are application properties. names are the JMS headers that the selector reads, in lower case; the
// caller must add these headers to the message's properties. The pattern of LIKE must be constant.
// Its errors are *SyntaxError.
func ParseSelector(text string) (f *SQL, names []string, err error) {
	p := newParser(text, nil)
	p.between, p.fixedLike = true, true
	for _, t := range p.tokens {
		name := strings.ToLower(t.text)
		if (t.sort == wordToken || t.sort == nameToken) && strings.HasPrefix(name, "jms") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	f, err = p.filter()
	return f, names, err
}

// ParseSQLSelector is ParseSQL for a message selector: the pattern of LIKE must be constant. A
// receiver's selector is evaluated by the goroutine that serves the whole namespace, and with a
// pattern from a message, the sender could choose how long that takes.
func ParseSQLSelector(text string) (*SQL, error) {
	p := newParser(text, nil)
	p.fixedLike = true
	return p.filter()
}

// betweenCondition parses the bounds of BETWEEN.
func (p *parser) betweenCondition(from token, left part, not bool) part {
	x := p.asExpr(left)
	low := p.asExpr(p.sum())
	if !p.word("AND") {
		p.expected("AND and the upper bound")
	}
	high := p.asExpr(p.sum())
	at := p.rangeFrom(from)
	var c condition = conjunction{&comparison{">=", x, low, at}, &comparison{"<=", x, high, at}}
	if not {
		c = notCondition{c}
	}
	return part{cond: c, position: at}
}
