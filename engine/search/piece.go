package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Piece is the part of a query that a user is typing: a word, the beginning of a key, or a value
// of a key.
type Piece struct {
	From, To int      // range of characters of the text, from 0, that a proposal replaces
	Key      string   // the key of a value, as in Key.Name; empty means a word, or a key
	Name     string   // name of the property or path, if Key is "prop." or "json."
	Typed    string   // the piece's text up to the cursor, without quotes
	Values   []string // values for Key that the grammar suggests
}

// PieceAt returns the piece of a query for messages that contains the cursor; cursor is the number
// of characters before it. The text need not be a valid query yet. ok is false if nothing can be
// proposed: within a phrase, or after an unknown key.
func PieceAt(text string, cursor int) (p Piece, ok bool) { return ofMessages.piece(text, cursor) }

// EntityPieceAt is PieceAt for a query for entities.
func EntityPieceAt(text string, cursor int) (p Piece, ok bool) { return ofEntities.piece(text, cursor) }

func (g grammar) piece(text string, cursor int) (p Piece, ok bool) {
	if len(text) > maxQueryBytes || !utf8.ValidString(text) {
		return p, false
	}
	end := byteAt(text, cursor)
	term, from, colon, quoted := cursorContext(text[:end])
	if colon < 0 {
		if strings.HasPrefix(text[from:end], "-") {
			from++
		}
		p.Typed = text[from:end]
		p.From, p.To = from, pieceEnd(text, end, ":", quoted)
		if strings.HasPrefix(text[p.To:], ":") {
			p.To++
		}
		return p.inCharacters(text), !strings.HasPrefix(p.Typed, `"`)
	}
	k, rest, ok := g.keyNamed(strings.TrimPrefix(text[term:colon], "-"))
	if !ok {
		return p, false
	}
	p.Key, p.Name = k.String(), rest
	if k == keyProp && strings.HasPrefix(rest, `"`) {
		p.Name, _, _ = unquote(rest)
	}
	p.Values = k.proposals()
	if s := names[k].sort; s != textType && s != choiceType {
		p.Values, from = withSign(p.Values, text[from:end], from)
	}
	p.Typed = text[from:end]
	p.From, p.To = from, pieceEnd(text, end, ",", quoted)
	if strings.HasPrefix(p.Typed, `"`) {
		p.Typed = strings.TrimSuffix(unescapes.Replace(p.Typed[1:]), `"`)
	}
	return p.inCharacters(text), true
}

var unescapes = strings.NewReplacer(`\"`, `"`, `\\`, `\`) //nolint:gochecknoglobals // in effect a constant

// withSign handles a comparison sign at the beginning of the typed text: it returns only the
// proposals with the same sign, without it, and the position after the sign. If no sign was typed,
// it returns its arguments `values` and `from`.
func withSign(values []string, typed string, from int) ([]string, int) {
	n := len(typed) - len(strings.TrimLeft(typed, "<>="))
	if n == 0 {
		return values, from
	}
	var bare []string
	for _, v := range values {
		if rest, ok := strings.CutPrefix(v, typed[:1]); ok {
			bare = append(bare, rest)
		}
	}
	return bare, from + n
}

// cursorContext returns the context of a cursor at the end of s. term and `from` are the offsets at
// which the cursor's term and piece begin, colon is the offset of the colon after the term's key,
// or -1, and quoted reports whether a quote is open.
func cursorContext(s string) (term, from, colon int, quoted bool) {
	colon = -1
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case quoted && r == '\\' && i+1 < len(s):
			i++
		case r == '"':
			quoted = !quoted
		case quoted:
		case unicode.IsSpace(r):
			term, colon = i+size, -1
			from = term
		case r == ':' && colon < 0:
			colon, from = i, i+size
		case r == ',' && colon >= 0:
			from = i + size
		}
		i += size
	}
	return term, from, colon, quoted
}

// pieceEnd returns where the piece at a cursor ends: at the next space or character of `mark`, or
// at the end of the text. If quoted is set, it ends after the closing quote.
func pieceEnd(text string, cursor int, mark string, quoted bool) int {
	n := strings.IndexFunc(text[cursor:], func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(mark, r) })
	if quoted {
		n = strings.IndexByte(text[cursor:], '"') + 1
	}
	if n < 0 || quoted && n == 0 {
		return len(text)
	}
	return cursor + n
}

// byteAt returns the byte offset of the n-th character, or the length of s if it is shorter.
func byteAt(s string, n int) int {
	for i := range s {
		if n <= 0 {
			return i
		}
		n--
	}
	return len(s)
}

func (p Piece) inCharacters(text string) Piece {
	p.From, p.To = utf8.RuneCountInString(text[:p.From]), utf8.RuneCountInString(text[:p.To])
	return p
}

// proposals returns example values of k.
func (k key) proposals() []string {
	switch names[k].sort {
	case choiceType:
		return k.choices()
	case durationType, endType:
		return []string{"<1m", "<5m", "<1h", "<1d", ">5m", ">1h", ">1d"}
	case expiryType:
		return []string{"<1m", "<5m", "<1h", ">1h", "never"}
	case integerType:
		return []string{">0", ">10", ">100", ">1000", "0"}
	case sizeType:
		return []string{">1KB", ">100KB", ">1MB", "<1KB"}
	case textType, momentType, anyType:
	}
	return nil
}

// AnyElement, in the argument of JSONPath, means any element of a list.
const AnyElement = "[*]"

// JSONPath returns the path through members with these names, as written in a term.
func JSONPath(members []string) string {
	path := make([]member, len(members))
	for i, m := range members {
		path[i] = member{name: m}
		if m == AnyElement {
			path[i] = member{list: true, every: true}
		}
	}
	return pathText(path)
}
