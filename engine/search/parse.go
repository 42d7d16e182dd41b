package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"mayfly/engine/shorten"
)

// The limits of a query.
const (
	maxQueryBytes = 2000 // bytes of a query
	maxTerms      = 50
	maxValues     = 50 // of one term
)

// Parse parses a query. A text of only spaces matches every message. Errors are *Error.
func Parse(text string) (*Query, error) {
	all, err := ofMessages.parse(text)
	if err != nil {
		return nil, err
	}
	return &Query{all}, nil
}

// parse parses terms. With an error it returns the terms before the invalid one.
func (g grammar) parse(text string) (all terms, err error) {
	if len(text) > maxQueryBytes {
		return nil, &Error{Pos: utf8.RuneCountInString(text[:maxQueryBytes]), Text: g.called() + " must not be longer than 2,000 bytes."}
	}
	p := parser{g: g, in: text}
	for {
		p.spaces()
		if p.at == len(p.in) {
			return all, nil
		}
		if len(all) == maxTerms {
			return all, errorAt(p.in, p.at, "%s can have at most %d terms.", g.called(), maxTerms)
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
	name string   // of a property; empty if `any` is set
	any  bool     // any property
	path []member // of JSON
	vals []operand
}

// A parser parses the text `in`. Its next byte is at index `at`.
type parser struct {
	g  grammar
	in string
	at int
}

func (p *parser) spaces() {
	p.at = len(p.in) - len(strings.TrimLeftFunc(p.in[p.at:], unicode.IsSpace))
}

// ended reports whether the text ends here or a space follows.
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
		return t, errorAt(p.in, begin, "A minus must precede the term that it excludes, as in -subject:heartbeat. To search for a minus, put it in quotes.")
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
			return t, errorAt(p.in, from+i, "A word contains a quote. Put the whole word in quotes, and write \\\" for the quote.")
		}
		v, err := newOperand(keyWord, is, word, false)
		if err != "" {
			return t, errorAt(p.in, from, "%s", err)
		}
		t.vals = []operand{v}
		return t, nil
	}
	head := p.in[from : p.at-1]
	k, rest, ok := p.g.keyNamed(head)
	if !ok {
		return t, errorAt(p.in, from, "The key %q does not exist. Choose from %s. To search for the text itself, put it in quotes.", shorten.To(head, 40), p.g.known())
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

// head moves past the colon after a key and returns true, or moves to the end of the word and
// returns false if there is no colon. Colons and spaces in quotes do not count.
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
			return "", errorAt(p.in, at+i, "The name of a property contains a quote. Put the whole name in quotes.")
		}
		return s, nil
	}
	name, n, ok := unquote(s)
	if !ok || n != len(s) || name == "" {
		return "", errorAt(p.in, at, `Write the quoted name of a property as prop."a name":value.`)
	}
	return name, nil
}

// values parses the values after the colon of a key.
func (p *parser) values(k key, head string) (vals []operand, err error) {
	for {
		if len(vals) == maxValues {
			return nil, errorAt(p.in, p.at, "A term can have at most %d values.", maxValues)
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
			return nil, errorAt(p.in, p.at, "A space, or a comma and another value, must follow a quoted text.")
		}
	}
}

func (p *parser) value(k key, head string) (operand, error) {
	begin := p.at
	o := is
	for _, sign := range [...]op{atMost, atLeast, below, above} { // the longer ones first
		if names[k].sort != textType && names[k].sort != choiceType && p.next(signs[sign]) {
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
	case text == "" && o == is && names[k].sort == endType:
		return operand{}, nil
	case text == "" && o == is && names[k].sort == textType:
		return operand{}, errorAt(p.in, begin, `A value is missing after "%s:". Write %s:"" for an empty value.`, shorten.To(head, 40), shorten.To(head, 40))
	case text == "":
		return operand{}, errorAt(p.in, p.at, `A value is missing after "%s:". Write it as in %s.`, shorten.To(head, 40), names[k].example)
	case strings.Contains(text, `"`):
		return operand{}, errorAt(p.in, from+strings.IndexByte(text, '"'), "A value contains a quote. Put the whole value in quotes, and write \\\" for the quote.")
	}
	v, why := newOperand(k, o, text, false)
	if why != "" {
		return operand{}, errorAt(p.in, begin, "%s", why)
	}
	return v, nil
}

// phrase parses a text in quotes, which must be followed by a space or the end.
func (p *parser) phrase(k key) (operand, error) {
	v, err := p.quoted(k, is)
	if err == nil && !p.ended() {
		err = errorAt(p.in, p.at, "A space must follow a quoted text.")
	}
	return v, err
}

func (p *parser) quoted(k key, o op) (operand, error) {
	begin := p.at
	text, n, ok := unquote(p.in[p.at:])
	if !ok {
		return operand{}, errorAt(p.in, begin, "A quote is not closed.")
	}
	p.at += n
	if k == keyWord && text == "" {
		return operand{}, errorAt(p.in, begin, "The quotes are empty. Write a text between them.")
	}
	v, why := newOperand(k, o, text, true)
	if why != "" {
		return operand{}, errorAt(p.in, begin, "%s", why)
	}
	return v, nil
}

// unquote returns the content of the quoted text at the beginning of s, and its length n in bytes,
// including the quotes. ok is false if the closing quote is missing.
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

// Quote returns text as a literal value, in quotes if it needs them.
func Quote(text string) string {
	if text == "" || strings.ContainsAny(text, `,:"*<>\`) || strings.HasPrefix(text, "-") || !plainWord(text) {
		return quote(text)
	}
	return text
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`) //nolint:gochecknoglobals // a constant

// quote is the inverse of unquote.
func quote(s string) string {
	return `"` + escapes.Replace(s) + `"`
}
