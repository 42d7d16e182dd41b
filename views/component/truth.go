package component

import (
	"cmp"
	"slices"
	"strconv"
)

// A Truth is what became of a predicate: the three values of the logic, and
// that it could not be evaluated.
type Truth string

// The values there are; the empty one is that nothing was asked.
const (
	True    Truth = "true"
	False   Truth = "false"
	Unknown Truth = "unknown"
	Failed  Truth = "error"
)

// Tone is the colour of a truth. The icon and the word say the same.
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

// word is the id of what a truth is called.
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

// A Clause is one elementary predicate of a filter, and what it is of one
// message.
type Clause struct {
	From, To int    // where it stands in the filter's text, in runes; both zero: the filter is no text
	Text     string // how it is written there
	Result   Truth
	Error    string // why it failed, in the server's own words
	Reads    []Reading
}

// A Reading is a property that a clause looked at, as the message has it.
type Reading struct {
	Name    string
	Type    string // "int", "string"
	Value   string
	Missing bool // the message does not have it; Type and Value are unused
}

// A stretch is a part of a filter's text: of a clause, or between two.
type stretch struct {
	text   string
	clause int // the clause's place in the list below the text, from one; zero: between
	result Truth
}

func (s stretch) number() string { return strconv.Itoa(s.clause) }

// stretches cuts text at its clauses. Clauses that overlap another or lie
// outside the text are left to the list.
func stretches(text string, clauses []Clause) []stretch {
	runes := []rune(text)
	order := make([]int, len(clauses))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(clauses[a].From, clauses[b].From) })
	var out []stretch
	at := 0
	add := func(to int, s stretch) {
		if to > at {
			s.text = Visible(string(runes[at:to]))
			out = append(out, s)
			at = to
		}
	}
	for _, i := range order {
		c := clauses[i]
		if c.From < at || c.To <= c.From || c.To > len(runes) {
			continue
		}
		add(c.From, stretch{})
		add(c.To, stretch{clause: i + 1, result: c.Result})
	}
	add(len(runes), stretch{})
	return out
}
