package filter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A tokenKind is the kind of a token.
type tokenKind uint8

const (
	endToken   tokenKind = iota
	badToken             // not part of the language; the token's text is the reason
	wordToken            // a keyword or a plain name
	nameToken            // a name in brackets or double quotes
	paramToken           // @name; the token's text has the @
	integerToken
	numberToken // with a point or an exponent
	textToken
	signToken // an operator, a bracket, a point, a comma or a semicolon
)

// A token is a piece of text. All offsets are in bytes.
type token struct {
	sort     tokenKind
	from, to int
	text     string // without the enclosing quotes, and with doubled quotes as one
}

// A lexer splits a text into tokens.
type lexer struct {
	in string
	at int
}

// tokens returns all tokens of in. Only the last one is an endToken or badToken.
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

// rune returns the rune at l.at and its size, which is zero at the end of the text.
func (l *lexer) rune() (rune, int) {
	if l.at == len(l.in) {
		return 0, 0
	}
	return utf8.DecodeRuneInString(l.in[l.at:])
}

// while advances as long as ok holds.
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
	cut := func(s tokenKind) token { return token{s, from, l.at, l.in[from:l.at]} }
	r, size := l.rune()
	switch {
	case size == 0:
		return token{sort: endToken, from: from, to: from}
	case r == '\'':
		return l.quoted(textToken, '\'', "The string is not closed: a ' is missing.")
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
			return token{badToken, from, l.at, "The name of a parameter must follow @."}
		}
		l.while(inName)
		return cut(paramToken)
	case digit(r), r == '.' && l.fraction():
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
		why = "A name must start with a letter. Write other names in [brackets]."
	}
	return token{badToken, from, from + size, why}
}

// quoted reads a token up to the closing `mark`; inside, a doubled mark stands for one. `open` is
// the error text if the closing mark is missing.
func (l *lexer) quoted(s tokenKind, mark byte, open string) token {
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
			return token{badToken, from, l.at, "A name must have at least one character."}
		}
		m := string(mark)
		return token{s, from, l.at, strings.ReplaceAll(inside, m+m, m)}
	}
}

func (l *lexer) number() token {
	from, s := l.at, integerToken
	l.while(digit)
	if rest := l.in[l.at:]; rest != "" && rest[0] == '.' {
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
			return token{badToken, from, l.at, "Digits must follow the E of a number."}
		}
		l.while(digit)
	}
	if r, _ := l.rune(); inName(r) {
		l.while(inName)
		return token{badToken, from, l.at, "This is not a number, and a name must start with a letter."}
	}
	return token{s, from, l.at, l.in[from:l.at]}
}

// fraction reports whether the point at l.at begins a number, as in .5: a digit follows it, and no
// name precedes it, as in sys.Label.
func (l *lexer) fraction() bool {
	before, _ := utf8.DecodeLastRuneInString(l.in[:l.at])
	return l.at+1 < len(l.in) && digit(rune(l.in[l.at+1])) && !inName(before) && before != ']' && before != '"'
}

func digit(r rune) bool { return r >= '0' && r <= '9' }

func inName(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
