package filter

import (
	"fmt"
)

// The names of an Error. They become the DeadLetterReason (FILT-31).
const (
	FilterException     = "FilterException"     // a filter could not be evaluated
	RuleActionException = "RuleActionException" // an action failed
)

// An Error says why a filter or an action could not be evaluated for one
// message (FILT-31). For other messages, it may succeed.
type Error struct {
	Name string // the exception, for the DeadLetterReason
	Text string // a sentence, for the DeadLetterErrorDescription
}

func (e *Error) Error() string { return e.Text }

// A SyntaxError describes where and why a text is not a filter or an action (FILT-28).
type SyntaxError struct {
	Pos   int    // runes before the fault
	Found string // the text at Pos, shortened; empty at the end of the text
	Want  string // the token expected at Pos, as part of a sentence
	Text  string // a sentence instead of Want, if the fault is not that the token at Pos is unexpected
}

// Error returns a sentence. The position in it counts from 1.
func (e *SyntaxError) Error() string {
	switch {
	case e.Text != "" && e.Found != "":
		return fmt.Sprintf("%s See character %d, %s.", e.Text, e.Pos+1, e.Found)
	case e.Text != "":
		return fmt.Sprintf("%s See character %d.", e.Text, e.Pos+1)
	case e.Found == "":
		return fmt.Sprintf("Expected %[2]s at character %[1]d, where the text ends.", e.Pos+1, e.Want)
	default:
		return fmt.Sprintf("Expected %[3]s at character %[1]d, not %[2]s.", e.Pos+1, e.Found, e.Want)
	}
}
