package component

import (
	"cmp"
	"context"
	"strings"
	"unicode/utf8"

	"mayfly/views/locale"
)

// A Fault says where a text is not what it should be. Its zero value is that
// nothing is wrong.
type Fault struct {
	Text  string // all of it
	At    int    // runes before the place
	Found string // what stands there, perhaps shortened; empty: the text ends there
	Want  string // what was expected, as part of a sentence, in the server's own words
	Says  string // a sentence of the server's instead, when it is not about what comes next
}

// Shown says whether there is anything to show.
func (f Fault) Shown() bool { return f.Want != "" || f.Says != "" }

// says is what is wrong, in a sentence. Positions count from one.
func (f Fault) says(ctx context.Context) []Text {
	const hole = "\x00" // where the server's words go
	id, args := "fault.found", locale.Args{"At": locale.Number(ctx, f.At+1), "Found": Visible(f.Found), "Want": hole, "Says": hole}
	switch {
	case f.Says != "":
		id = "fault.at"
	case f.Found == "":
		id = "fault.end"
	}
	before, after, _ := strings.Cut(locale.T(ctx, id, args), hole)
	return []Text{{S: before}, Said(cmp.Or(f.Says, f.Want)), {S: after}}
}

// cut is the line of the text that the place is in: what stands before, what
// was found there, what follows. At the end of a line that is a space, for the
// caret to stand under.
func (f Fault) cut() (before, here, after string) {
	runes := []rune(f.Text)
	at := max(0, min(f.At, len(runes)))
	from, to := at, at
	for from > 0 && runes[from-1] != '\n' {
		from--
	}
	for to < len(runes) && runes[to] != '\n' {
		to++
	}
	line := func(r []rune) string { return Visible(strings.TrimSuffix(string(r), "\r")) }
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
