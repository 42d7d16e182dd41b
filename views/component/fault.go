package component

import (
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
	Want  string // what was expected, as part of a sentence
	Says  string // a sentence instead, when it is not about what comes next
}

// Shown says whether there is anything to show.
func (f Fault) Shown() bool { return f.Want != "" || f.Says != "" }

// says is what is wrong, in a sentence. Positions count from one.
func (f Fault) says(ctx context.Context) string {
	args := locale.Args{"At": locale.Number(ctx, f.At+1), "Found": Visible(f.Found), "Want": f.Want, "Says": f.Says}
	switch {
	case f.Says != "":
		return locale.T(ctx, "fault.at", args)
	case f.Found == "":
		return locale.T(ctx, "fault.end", args)
	default:
		return locale.T(ctx, "fault.found", args)
	}
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
