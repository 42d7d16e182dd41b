package search

import (
	"fmt"
	"unicode/utf8"

	"mayfly/engine"
)

// An Error says where a text is not a query, and why. It unwraps to
// engine.ErrArgument.
type Error struct {
	Pos      int    // characters before the place
	Text     string // a sentence
	Entities bool   // the text was to be a query for entities
}

// Error is a sentence. The position in it counts from 1.
func (e *Error) Error() string { return fmt.Sprintf("%s See character %d.", e.Text, e.Pos+1) }

// Unwrap is for errors.Is and errors.As.
func (e *Error) Unwrap() error {
	return &engine.Refusal{Kind: engine.ErrArgument, SubCode: 40000, Text: e.Error()}
}

// wrong is an Error about the place at byte at of text.
func wrong(text string, at int, format string, args ...any) error {
	return &Error{Pos: utf8.RuneCountInString(text[:at]), Text: fmt.Sprintf(format, args...)}
}

// shorten cuts a piece of what somebody wrote for use in a sentence.
func shorten(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
