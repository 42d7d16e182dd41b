package filter

import "fmt"

// The names an Error may have: what becomes the DeadLetterReason (DLQ table,
// row 6).
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
	Pos   int    // characters before it, as runes
	Found string // what stands there, as it is written; empty at the end of the text
	Want  string // what was expected, as the end of a sentence; a sentence of its own when there is no Found to blame
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("At %d: %s", e.Pos, e.Want)
}
