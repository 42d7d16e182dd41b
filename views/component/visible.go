package component

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mayfly/views/locale"
)

// Visible shows what a text from outside would hide: control characters as
// their pictures, marks that turn or join other text by their numbers, bytes
// that are no text in hexadecimal. Line ends and tabs stay.
func Visible(s string) string {
	clean := true
	for _, r := range s {
		if hidden(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02X`, s[i])
		case !hidden(r):
			b.WriteString(s[i : i+n])
		case r == 0x7f:
			b.WriteRune('␡')
		case r < 0x20:
			b.WriteRune('␀' + r)
		default:
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		}
		i += n
	}
	return b.String()
}

// Quoted is s as a literal between double quotes, as Go, C#, Python, JavaScript
// and Java all read it: what cannot be seen is written by its number, but for ends
// of lines, which Java would take for such in the middle of the literal.
func Quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x10000 && (hidden(r) || r == '\t' || r == '\u2028' || r == '\u2029'):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// joiners belong between letters of some scripts and within emoji.
const (
	nonJoiner = '\u200C'
	joiner    = '\u200D'
)

func hidden(r rune) bool {
	switch r {
	case '\n', '\t', nonJoiner, joiner:
		return false
	case utf8.RuneError:
		return true
	}
	return unicode.Is(unicode.C, r)
}

// SessionName is a session's id for people, who would not see an empty one.
func SessionName(ctx context.Context, id string) string {
	if id == "" {
		return locale.T(ctx, "session.empty.id")
	}
	return Visible(id)
}
