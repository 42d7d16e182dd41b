package filter

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A like is a compiled pattern of LIKE (FILT-22). Matching takes time proportional to the length of
// the text; if there is a _ between two %, times the length of the pattern between them divided by
// 64.
type like struct {
	pieces []piece // the parts between the %; the first and the last match at the ends of the text
}

// A piece is a part of a pattern without %. It matches as many characters as it has.
type piece struct {
	literal string // empty if there is a wildcard or a byte that is not UTF-8
	runes   []rune
	search  *search // for a piece in the middle that has no literal
}

// wildcard is the rune for _ in a pattern.
const wildcard rune = -1

// decodeRune returns the first character of s. Bytes that are not UTF-8 are characters too,
// each different from all others.
func decodeRune(s string) (rune, int) {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return utf8.MaxRune + 1 + rune(s[0]), 1
	}
	return r, size
}

// newLike compiles a pattern, or returns what is wrong with it. escape is used only if escaped is
// set. Neither pattern nor escape may be unknown.
func newLike(pattern, escape datum, escaped bool) (l *like, why string) {
	if pattern.class != textual {
		return nil, "has a pattern of type " + pattern.value.Kind().String() + ", but needs a string"
	}
	esc := wildcard
	if escaped {
		r, size := decodeRune(escape.text())
		if escape.class != textual || size == 0 || size != len(escape.text()) {
			return nil, "has an escape that is not one character"
		}
		esc = r
	}
	l = &like{}
	var runes []rune
	for s := pattern.text(); s != ""; {
		r, size := decodeRune(s)
		s = s[size:]
		switch {
		case r == esc:
			if s == "" {
				return nil, "has a pattern that ends with its escape character"
			}
			r, size = decodeRune(s)
			s = s[size:]
			runes = append(runes, r)
		case r == '%':
			l.add(runes)
			runes = nil
		case r == '_':
			runes = append(runes, wildcard)
		default:
			runes = append(runes, r)
		}
	}
	l.add(runes)
	for i := 1; i < len(l.pieces)-1; i++ {
		if p := &l.pieces[i]; p.literal == "" {
			p.search = newSearch(p.runes)
		}
	}
	return l, ""
}

// add appends a piece. It drops an empty one between two %.
func (l *like) add(runes []rune) {
	if n := len(l.pieces); n > 1 && len(l.pieces[n-1].runes) == 0 {
		l.pieces = l.pieces[:n-1]
	}
	p := piece{runes: runes}
	plain := true
	for _, r := range runes {
		plain = plain && r >= 0 && r <= utf8.MaxRune
	}
	if plain {
		p.literal = string(runes)
	}
	l.pieces = append(l.pieces, p)
}

func (l *like) matches(s string) bool {
	n, ok := l.pieces[0].start(s)
	if !ok {
		return false
	}
	s = s[n:]
	last := len(l.pieces) - 1
	if last == 0 {
		return s == ""
	}
	if n, ok = l.pieces[last].end(s); !ok {
		return false
	}
	s = s[:len(s)-n]
	for i := range l.pieces[1:last] {
		if n, ok = l.pieces[i+1].find(s); !ok {
			return false
		}
		s = s[n:]
	}
	return true
}

// start reports whether s begins with the piece; n is the length in bytes of the match.
func (p *piece) start(s string) (n int, ok bool) {
	if p.literal != "" {
		return len(p.literal), strings.HasPrefix(s, p.literal)
	}
	for _, want := range p.runes {
		r, size := decodeRune(s[n:])
		if size == 0 || want != wildcard && want != r {
			return 0, false
		}
		n += size
	}
	return n, true
}

// end reports whether s ends with the piece; n is the length in bytes of the match.
func (p *piece) end(s string) (n int, ok bool) {
	if p.literal != "" {
		return len(p.literal), strings.HasSuffix(s, p.literal)
	}
	for _, want := range slices.Backward(p.runes) {
		_, size := utf8.DecodeLastRuneInString(s[:len(s)-n])
		n += size
		r, _ := decodeRune(s[len(s)-n:])
		if size == 0 || want != wildcard && want != r {
			return 0, false
		}
	}
	return n, true
}

// find returns the end of the first part of s that matches the piece.
func (p *piece) find(s string) (end int, ok bool) {
	if p.search != nil {
		return p.search.find(s)
	}
	i := strings.Index(s, p.literal)
	return i + len(p.literal), i >= 0
}
