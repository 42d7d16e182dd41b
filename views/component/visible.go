package component

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"mayfly/views/locale"
)

// ShowInvisible makes invisible characters of a text visible: control characters by their pictures,
// marks that change direction or join text by their numbers, invalid UTF-8 in hexadecimal.
// Line ends and tabs stay.
func ShowInvisible(s string) string { return replaceHidden(s, isHidden) }

// ShowAllInvisible is ShowInvisible for code: it also shows the numbers of marks that join letters and
// emoji.
func ShowAllInvisible(s string) string {
	return replaceHidden(s, func(r rune) bool { return isHidden(r) || IsInvisible(r) })
}

func replaceHidden(s string, hidden func(rune) bool) string {
	if !strings.ContainsFunc(s, hidden) {
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

// IsInvisible reports whether a rune is invisible, or changes how the text around it looks, so that
// a command with it does not do what it looks like. Line ends and tabs are visible.
func IsInvisible(r rune) bool {
	return r == nonJoiner || r == joiner || isHidden(r) && r != utf8.RuneError || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// Copyable reports whether a text has no invisible rune.
func Copyable(s string) bool { return !strings.ContainsFunc(s, IsInvisible) }

// EscapeInvisibleJSON returns the same JSON with escapes for invisible runes.
func EscapeInvisibleJSON(text string) string {
	if Copyable(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !IsInvisible(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// Quoted returns s as a literal in double quotes that Go, C#, Python, JavaScript and Java can all
// read. Invisible runes are written as \u escapes, except line ends: Java would take their \u escapes
// for line ends in the middle of the literal. An invisible rune beyond U+FFFF is written as its two
// surrogates, which Go and Python do not join.
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
		case r == utf8.RuneError, IsInvisible(r), r == '\t', r == '\u2028', r == '\u2029':
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Zero-width joiners, which belong between letters of some scripts and inside emoji.
const (
	nonJoiner = '\u200C'
	joiner    = '\u200D'
)

func isHidden(r rune) bool {
	switch r {
	case '\n', '\t', nonJoiner, joiner:
		return false
	case utf8.RuneError:
		return true
	}
	return unicode.Is(unicode.C, r)
}

// SessionName returns a session's id for people, with a word for the empty id.
func SessionName(ctx context.Context, id string) string {
	if id == "" {
		return locale.T(ctx, "session.empty.id")
	}
	return ShowInvisible(id)
}
