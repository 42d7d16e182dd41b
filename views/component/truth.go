package component

import (
	"cmp"
	"slices"
	"strconv"
)

// A Truth is the result of a predicate: one of the three values of SQL logic, or an error.
type Truth string

// The values; the empty one means that nothing was evaluated.
const (
	True    Truth = "true"
	False   Truth = "false"
	Unknown Truth = "unknown"
	Failed  Truth = "error"
)

// Tone returns the colour of a truth. The icon and the word say the same.
func (t Truth) Tone() Tone {
	switch t {
	case True:
		return Yes
	case Unknown:
		return Low
	case False, Failed:
		return Critical
	default:
		return Never
	}
}

func (t Truth) icon() string {
	switch t {
	case True:
		return "check"
	case False:
		return "close"
	case Failed:
		return "warn"
	default:
		return "unknown"
	}
}

// word returns the id of the word for a truth.
func (t Truth) word() string {
	switch t {
	case True:
		return "truth.true"
	case False:
		return "truth.false"
	case Failed:
		return "truth.error"
	default:
		return "truth.unknown"
	}
}

// A Clause is one elementary predicate of a filter, and its result for one message.
type Clause struct {
	From, To int    // position in the filter's text, in runes; both zero if the filter has no text
	Text     string // its text in the filter
	Result   Truth
	Error    string // why it failed, in the server's English
	Reads    []Reading
}

// A Reading is a property that a clause read from the message.
type Reading struct {
	Name    string
	Type    string // "int", "string"
	Value   string
	Missing bool // the message has no such property; Type and Value are unused
}

// A textSpan is a part of a filter's text: of a clause, or between clauses.
type textSpan struct {
	text   string
	clause int // the clause's number in the list below the text, from one; zero if it is between clauses
	result Truth
}

func (s textSpan) number() string { return strconv.Itoa(s.clause) }

// textSpans cuts text at its clauses. Clauses that overlap another or lie outside the text
// appear only in the list.
func textSpans(text string, clauses []Clause) []textSpan {
	runes := []rune(text)
	order := make([]int, len(clauses))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(clauses[a].From, clauses[b].From) })
	var out []textSpan
	at := 0
	add := func(to int, s textSpan) {
		if to > at {
			s.text = ShowInvisible(string(runes[at:to]))
			out = append(out, s)
			at = to
		}
	}
	for _, i := range order {
		c := clauses[i]
		if c.From < at || c.To <= c.From || c.To > len(runes) {
			continue
		}
		add(c.From, textSpan{})
		add(c.To, textSpan{clause: i + 1, result: c.Result})
	}
	add(len(runes), textSpan{})
	return out
}
