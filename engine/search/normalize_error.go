package search

import (
	"regexp"
	"strings"
)

// maxErrorText is the maximum length in bytes of a normalized text.
const maxErrorText = 160

// NormalizeError returns the text of an error without the parts that vary between occurrences: ids
// and numbers become #, and white space becomes one space. It cuts a long text. Normalizing a
// normalized text does not change it. The key error also matches normalized texts.
func NormalizeError(text string) string {
	return truncate(variablePart.ReplaceAllString(strings.Join(strings.Fields(truncate(text, 4*maxErrorText)), " "), "#"), maxErrorText)
}

// truncate returns s in at most n bytes, with an ellipsis if it was cut.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const sign = "…"
	return strings.ToValidUTF8(s[:n-len(sign)], "") + sign
}

// variablePart matches a GUID, a hexadecimal number, or a decimal number with its separators.
var variablePart = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b0x[0-9a-f]+\b|\b[0-9a-f]*[0-9][0-9a-f]{11,}\b|[0-9]+([.,:][0-9]+)*`)
