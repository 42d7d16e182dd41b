package search

import (
	"fmt"
	"unicode/utf8"

	"mayfly/engine"
)

// An Error says where and why a text is not a valid query. It unwraps to engine.ErrArgument.
type Error struct {
	Pos      int    // number of characters before the error
	Text     string // a sentence
	Entities bool   // the text was a query for entities
}

// Error returns a sentence. The position in it counts from 1.
func (e *Error) Error() string { return fmt.Sprintf("%s See character %d.", e.Text, e.Pos+1) }

// Unwrap returns an engine.ErrArgument with the same text.
func (e *Error) Unwrap() error {
	return engine.Refuse(engine.ErrArgument, "%s", e.Error())
}

// errorAt returns an Error about the byte of text with index `at`.
func errorAt(text string, at int, format string, args ...any) error {
	return &Error{Pos: utf8.RuneCountInString(text[:at]), Text: fmt.Sprintf(format, args...)}
}
