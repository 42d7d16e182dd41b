package filter

import (
	"fmt"
	"unicode/utf8"
)

// The names an Error may have: what becomes the DeadLetterReason (FILT-31).
const (
	FilterException     = "FilterException"     // a filter could not be evaluated
	RuleActionException = "RuleActionException" // an action could not be carried out
)

// An Error says why a filter or an action could not be evaluated for one
// message (FILT-31). Other messages may pass.
type Error struct {
	Name string // the exception, for the DeadLetterReason
	Text string // a sentence, for the DeadLetterErrorDescription
}

func (e *Error) Error() string { return e.Text }

// A SyntaxError says where a text is not a filter or an action (FILT-28).
type SyntaxError struct {
	Pos   int    // runes before the place
	Found string // what stands there, shortened; empty at the end of the text
	Want  string // what was expected there, as part of a sentence
	Text  string // a sentence instead, when it is not about what comes next; Want is empty then
}

// Error is a sentence. The position in it counts from 1.
func (e *SyntaxError) Error() string {
	switch {
	case e.Text != "" && e.Found != "":
		return fmt.Sprintf("%s See character %d, %s.", e.Text, e.Pos+1, e.Found)
	case e.Text != "":
		return fmt.Sprintf("%s See character %d.", e.Text, e.Pos+1)
	case e.Found == "":
		return fmt.Sprintf("The text ends at character %d, where %s was expected.", e.Pos+1, e.Want)
	default:
		return fmt.Sprintf("At character %d stands %s, where %s was expected.", e.Pos+1, e.Found, e.Want)
	}
}

// shorten cuts a piece of what somebody wrote for use in a sentence.
func shorten(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
