package filter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A sort is what a token is.
type sort uint8

const (
	endToken   sort = iota
	badToken        // nothing of the language; the token's text says why
	wordToken       // a keyword or a plain name
	nameToken       // a name in brackets or double quotes
	paramToken      // @name; the token's text has the @
	integerToken
	numberToken // with a point or an exponent
	textToken
	signToken // an operator, a bracket, a point, a comma or a semicolon
)

// A token is a piece of text. All offsets are in bytes.
type token struct {
	sort     sort
	from, to int
	text     string // without the quotes, and what was doubled single
}

// A lexer cuts a text into tokens.
type lexer struct {
	in string
	at int
}

// tokens are all those of in. The last is endToken or badToken, and no other is.
func tokens(in string) []token {
	l := lexer{in: in}
	var all []token
	for {
		t := l.next()
		all = append(all, t)
		if t.sort == endToken || t.sort == badToken {
			return all
		}
	}
}

// rune is the one at l.at and its size, zero at the end.
func (l *lexer) rune() (rune, int) {
	if l.at == len(l.in) {
		return 0, 0
	}
	return utf8.DecodeRuneInString(l.in[l.at:])
}

// while moves on as long as ok holds.
func (l *lexer) while(ok func(rune) bool) {
	for {
		r, size := l.rune()
		if size == 0 || !ok(r) {
			return
		}
		l.at += size
	}
}

func (l *lexer) next() token {
	l.while(unicode.IsSpace)
	from := l.at
	cut := func(s sort) token { return token{s, from, l.at, l.in[from:l.at]} }
	r, size := l.rune()
	switch {
	case size == 0:
		return token{sort: endToken, from: from, to: from}
	case r == '\'':
		return l.quoted(textToken, '\'', "The text is not closed: a ' is missing.")
	case r == '"':
		return l.quoted(nameToken, '"', `The name is not closed: a " is missing.`)
	case r == '[':
		return l.quoted(nameToken, ']', "The name is not closed: a ] is missing.")
	case unicode.IsLetter(r):
		l.while(inName)
		return cut(wordToken)
	case r == '@':
		l.at += size
		if r, _ := l.rune(); !unicode.IsLetter(r) {
			return token{badToken, from, l.at, "After @ belongs the name of a parameter."}
		}
		l.while(inName)
		return cut(paramToken)
	case digit(r):
		return l.number()
	}
	for _, s := range [...]string{"<>", "<=", ">=", "!=", "=", "<", ">", "+", "-", "*", "/", "%", "(", ")", ",", ".", ";"} {
		if strings.HasPrefix(l.in[l.at:], s) {
			l.at += len(s)
			return cut(signToken)
		}
	}
	why := "This character has no meaning here."
	if r == '_' {
		why = "A name starts with a letter; others are written in [brackets]."
	}
	return token{badToken, from, from + size, why}
}

// quoted reads up to mark, where two of them stand for one.
func (l *lexer) quoted(s sort, mark byte, open string) token {
	from := l.at
	l.at++
	for start := l.at; ; l.at += 2 {
		i := strings.IndexByte(l.in[l.at:], mark)
		if i < 0 {
			l.at = len(l.in)
			return token{badToken, from, l.at, open}
		}
		l.at += i
		if l.at+1 < len(l.in) && l.in[l.at+1] == mark {
			continue
		}
		inside := l.in[start:l.at]
		l.at++
		if s == nameToken && inside == "" {
			return token{badToken, from, l.at, "A name must have a character at least."}
		}
		m := string(mark)
		return token{s, from, l.at, strings.ReplaceAll(inside, m+m, m)}
	}
}

func (l *lexer) number() token {
	from, s := l.at, integerToken
	l.while(digit)
	if rest := l.in[l.at:]; len(rest) > 1 && rest[0] == '.' && digit(rune(rest[1])) {
		s = numberToken
		l.at++
		l.while(digit)
	}
	if rest := l.in[l.at:]; rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		s = numberToken
		l.at++
		if rest := l.in[l.at:]; rest != "" && (rest[0] == '+' || rest[0] == '-') {
			l.at++
		}
		if r, _ := l.rune(); !digit(r) {
			return token{badToken, from, l.at, "After the E of a number belong digits."}
		}
		l.while(digit)
	}
	if r, _ := l.rune(); inName(r) {
		l.while(inName)
		return token{badToken, from, l.at, "This is not a number, and a name starts with a letter."}
	}
	return token{s, from, l.at, l.in[from:l.at]}
}

func digit(r rune) bool { return r >= '0' && r <= '9' }

func inName(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
