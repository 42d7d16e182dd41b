// Package shorten cuts texts of users and clients to a length, for errors, logs and lists.
package shorten

import (
	"strings"
	"unicode/utf8"
)

// Quoted is how many bytes of a text an error quotes.
const Quoted = 64

// Quote returns a text for use in an error: at most [Quoted] bytes of it.
func Quote(s string) string { return To(s, Quoted) }

// To returns s if it has at most n bytes. Otherwise it returns its first n bytes, or a few less so
// that no character is cut, followed by "…". Bytes that are not UTF-8 become U+FFFD.
func To(s string, n int) string {
	long := len(s) > n
	if long {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	s = strings.ToValidUTF8(s, "\ufffd")
	if long {
		s += "…"
	}
	return s
}
