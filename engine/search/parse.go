package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what somebody may type.
const (
	mostText   = 2000 // bytes of a query
	mostTerms  = 50
	mostValues = 50 // of one term
)

// Parse reads a query. A text of nothing but spaces is one that every message
// matches. Errors are *Error.
func Parse(text string) (*Query, error) {
	all, err := ofMessages.parse(text)
	if err != nil {
		return nil, err
	}
	return &Query{all}, nil
}

// parse reads terms. With an error come those before the place it is about.
func (g grammar) parse(text string) (all terms, err error) {
	if len(text) > mostText {
		return nil, &Error{Pos: utf8.RuneCountInString(text[:mostText]), Text: g.called() + " has at most 2,000 bytes."}
	}
	p := parser{g: g, in: text}
	for {
		p.spaces()
		if p.at == len(p.in) {
			return all, nil
		}
		if len(all) == mostTerms {
			return all, wrong(p.in, p.at, "%s has at most %d terms.", g.called(), mostTerms)
		}
		t, err := p.term()
		if err != nil {
			return all, err
		}
		all = append(all, t)
	}
}

// A term is one condition.
type term struct {
	key  key
	not  bool
	name string   // of a property; empty with any
	any  bool     // of the properties
	path []member // of JSON
	vals []operand
}

// A parser stands at a byte of a text.
type parser struct {
	g  grammar
	in string
	at int
}

func (p *parser) spaces() {
	p.at = len(p.in) - len(strings.TrimLeftFunc(p.in[p.at:], unicode.IsSpace))
}

// ended tells whether nothing or a space comes next.
func (p *parser) ended() bool {
	r, _ := utf8.DecodeRuneInString(p.in[p.at:])
	return p.at == len(p.in) || unicode.IsSpace(r)
}

func (p *parser) next(sign string) bool {
	if !strings.HasPrefix(p.in[p.at:], sign) {
		return false
	}
	p.at += len(sign)
	return true
}

func (p *parser) term() (t term, err error) {
	begin := p.at
	t.not = p.next("-")
	if t.not && p.ended() {
		return t, wrong(p.in, begin, "A minus stands before what must not be there, as in -subject:heartbeat; to find one, put it in quotes.")
	}
	if strings.HasPrefix(p.in[p.at:], `"`) {
		v, err := p.phrase(keyWord)
		t.vals = []operand{v}
		return t, err
	}
	from := p.at
	if !p.head() {
		word := p.in[from:p.at]
		if i := strings.IndexByte(word, '"'); i >= 0 {
			return t, wrong(p.in, from+i, "A quote stands inside of a word: put all of it in quotes, and \\\" for the quote.")
		}
		v, err := newOperand(keyWord, is, word, false)
		if err != "" {
			return t, wrong(p.in, from, "%s", err)
		}
		t.vals = []operand{v}
		return t, nil
	}
	head := p.in[from : p.at-1]
	k, rest, ok := p.g.keyNamed(head)
	if !ok {
		return t, wrong(p.in, from, "There is no key %q; there are %s. To find the text as it stands, put it in quotes.", shorten(head), p.g.known())
	}
	t.key = k
	at := from + len(head) - len(rest)
	switch k {
	case keyProp:
		if rest == "*" {
			t.any = true
		} else if t.name, err = p.propertyName(rest, at); err != nil {
			return t, err
		}
	case keyJSON:
		if t.path, err = parsePath(p.in, rest, at); err != nil {
			return t, err
		}
	}
	t.vals, err = p.values(k, head)
	return t, err
}

// head moves beyond the colon after a key, or to the end of the word if there is
// none. What is in quotes is passed over.
func (p *parser) head() bool {
	quoted := false
	for p.at < len(p.in) {
		if !quoted && p.ended() {
			return false
		}
		switch p.in[p.at] {
		case '"':
			quoted = !quoted
		case '\\':
			if quoted && p.at+1 < len(p.in) {
				p.at++
			}
		case ':':
			if !quoted {
				p.at++
				return true
			}
		}
		p.at++
	}
	return false
}

func (p *parser) propertyName(s string, at int) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		if i := strings.IndexByte(s, '"'); i >= 0 {
			return "", wrong(p.in, at+i, "A quote stands inside of the name of a property: put all of it in quotes.")
		}
		return s, nil
	}
	name, n, ok := unquote(s)
	if !ok || n != len(s) || name == "" {
		return "", wrong(p.in, at, `The name of a property in quotes is written prop."a name":value.`)
	}
	return name, nil
}

// values are what stands after the colon of a key.
func (p *parser) values(k key, head string) (vals []operand, err error) {
	for {
		if len(vals) == mostValues {
			return nil, wrong(p.in, p.at, "A term has at most %d values.", mostValues)
		}
		v, err := p.value(k, head)
		if err != nil {
			return nil, err
		}
		vals = append(vals, v)
		if p.ended() {
			return vals, nil
		}
		if !p.next(",") {
			return nil, wrong(p.in, p.at, "After a quoted text comes a space, or a comma and another value.")
		}
	}
}

func (p *parser) value(k key, head string) (operand, error) {
	begin := p.at
	o := is
	for _, sign := range [...]op{atMost, atLeast, below, above} { // the longer ones first
		if names[k].sort != textSort && names[k].sort != choiceSort && p.next(signs[sign]) {
			o = sign
			break
		}
	}
	if strings.HasPrefix(p.in[p.at:], `"`) {
		return p.quoted(k, o)
	}
	from := p.at
	for p.at < len(p.in) && !p.ended() && p.in[p.at] != ',' {
		_, size := utf8.DecodeRuneInString(p.in[p.at:])
		p.at += size
	}
	text := p.in[from:p.at]
	switch {
	case text == "" && o == is && names[k].sort == endSort:
		return operand{}, nil
	case text == "" && o == is && names[k].sort == textSort:
		return operand{}, wrong(p.in, begin, `After "%s:" a value is missing; write %s:"" for none.`, shorten(head), shorten(head))
	case text == "":
		return operand{}, wrong(p.in, p.at, `After "%s:" a value is missing, as in %s.`, shorten(head), names[k].example)
	case strings.Contains(text, `"`):
		return operand{}, wrong(p.in, from+strings.IndexByte(text, '"'), "A quote stands inside of a value: put all of it in quotes, and \\\" for the quote.")
	}
	v, why := newOperand(k, o, text, false)
	if why != "" {
		return operand{}, wrong(p.in, begin, "%s", why)
	}
	return v, nil
}

// phrase is a text in quotes with a space behind it.
func (p *parser) phrase(k key) (operand, error) {
	v, err := p.quoted(k, is)
	if err == nil && !p.ended() {
		err = wrong(p.in, p.at, "After a quoted text comes a space.")
	}
	return v, err
}

func (p *parser) quoted(k key, o op) (operand, error) {
	begin := p.at
	text, n, ok := unquote(p.in[p.at:])
	if !ok {
		return operand{}, wrong(p.in, begin, "A quote is opened and not closed.")
	}
	p.at += n
	if k == keyWord && text == "" {
		return operand{}, wrong(p.in, begin, "Between the quotes a text is missing.")
	}
	v, why := newOperand(k, o, text, true)
	if why != "" {
		return operand{}, wrong(p.in, begin, "%s", why)
	}
	return v, nil
}

// unquote reads a text in quotes from the beginning of s, and how many bytes
// that is.
func unquote(s string) (text string, n int, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), i + 1, true
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
		}
		b.WriteByte(s[i])
	}
	return "", 0, false
}

// Quoted is text as a value that means just it: in quotes where it needs them.
func Quoted(text string) string {
	if text == "" || strings.ContainsAny(text, `,:"*<>\`) || strings.HasPrefix(text, "-") || !plainWord(text) {
		return quote(text)
	}
	return text
}

// quote is unquote the other way round.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
