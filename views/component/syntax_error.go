package component

import (
	"cmp"
	"context"
	"strings"
	"unicode/utf8"

	"mayfly/views/locale"
)

// A SyntaxError is an error at a position in a text. Its zero value means no error.
type SyntaxError struct {
	Text    string // the whole text
	At      int    // runes before the position
	Found   string // the text found there, perhaps shortened; empty means that the text ends there
	Want    string // the expected text, as part of a sentence, in the server's English
	Message string // replaces Want: the error as a sentence in the server's English
}

// Visible reports whether there is an error to show.
func (f SyntaxError) Visible() bool { return f.Want != "" || f.Message != "" }

// says returns the error as a sentence. Positions count from one.
func (f SyntaxError) says(ctx context.Context) []Text {
	const hole = "\x00" // placeholder for the server's words
	id, args := "fault.found", locale.Args{"At": locale.Number(ctx, f.At+1), "Found": ShowInvisible(f.Found), "Want": hole, "Says": hole}
	switch {
	case f.Message != "":
		id = "fault.at"
	case f.Found == "":
		id = "fault.end"
	}
	before, after, _ := strings.Cut(locale.T(ctx, id, args), hole)
	return []Text{{S: before}, ServerText(cmp.Or(f.Message, f.Want)), {S: after}}
}

// cut returns the line of the text with the position: the part before it, the text found there, and
// the part after. At the end of a line, here is a space, so that there is something to mark.
func (f SyntaxError) cut() (before, here, after string) {
	runes := []rune(f.Text)
	at := max(0, min(f.At, len(runes)))
	from, to := at, at
	for from > 0 && runes[from-1] != '\n' {
		from--
	}
	for to < len(runes) && runes[to] != '\n' {
		to++
	}
	line := func(r []rune) string { return ShowInvisible(strings.TrimSuffix(string(r), "\r")) }
	before, here = line(runes[from:at]), " "
	if at < to {
		end := at + 1
		if rest := string(runes[at:to]); f.Found != "" && strings.HasPrefix(rest, f.Found) {
			end = at + utf8.RuneCountInString(f.Found)
		}
		here, after = line(runes[at:end]), line(runes[end:to])
	}
	return before, here, after
}
