package cli

import (
	"fmt"
	"strings"
	"unicode"
)

// Printable returns s on one line and without control characters, which a terminal would execute.
// It cuts the text off after `most` bytes and appends an ellipsis.
func Printable(s string, most int) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case b.Len() >= most:
			return b.String() + "…"
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteRune('·')
		}
	}
	return b.String()
}

// MessageCount returns a number of messages in words.
func MessageCount(n int64) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}

// Pluralize returns n and the word for it in English: one for 1, else many.
func Pluralize(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// FormatSize formats a number of bytes for people; units are powers of 1024.
func FormatSize(n int64) string {
	if n < 1<<10 {
		return Pluralize(n, "byte", "bytes")
	}
	v, unit := float64(n)/(1<<10), 0
	for v >= 1000 && unit < 3 {
		v, unit = v/(1<<10), unit+1
	}
	return fmt.Sprintf("%.3g %s", v, []string{"KiB", "MiB", "GiB", "TiB"}[unit])
}

// ShellQuote returns text quoted as one word of a shell.
func ShellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
