package search

import (
	"regexp"
	"strings"
)

// foldedMost is how many bytes of a text tell it from others.
const foldedMost = 160

// Folded is the text of an error without what differs from one time to the next:
// ids and numbers are each a #, space is one space. It is cut. A folded text folds
// to itself. The key error finds texts by it, too.
func Folded(text string) string {
	return trimmed(varies.ReplaceAllString(strings.Join(strings.Fields(trimmed(text, 4*foldedMost)), " "), "#"), foldedMost)
}

// trimmed is s in at most n bytes, with a sign where there were more.
func trimmed(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const sign = "…"
	return strings.ToValidUTF8(s[:n-len(sign)], "") + sign
}

// varies is a GUID, a long number in hexadecimal, or a number with what stands
// inside one.
var varies = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b0x[0-9a-f]+\b|\b[0-9a-f]*[0-9][0-9a-f]{11,}\b|[0-9]+([.,:][0-9]+)*`)
