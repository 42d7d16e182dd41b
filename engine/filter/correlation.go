package filter

import "mayfly/engine/value"

// A Correlation is the conditions of a correlation filter, all of which must
// hold (FILT-13). An empty text is no condition.
type Correlation struct {
	ContentType, CorrelationID, Label, MessageID, ReplyTo, ReplyToSessionID, SessionID, To string

	Properties value.Properties // conditions on application properties; a name occurs once
}

// ParseCorrelation reads the JSON of a description. It needs one condition at
// least (FILT-16).
func ParseCorrelation(text string) (*Correlation, error) {
	_ = text
	return &Correlation{}, nil
}

// Text is the filter as JSON, in the one form that descriptions keep.
func (c *Correlation) Text() string { return "{}" }

// Matches tells whether every condition holds for m.
func (c *Correlation) Matches(m *Message) bool {
	_ = m
	return false
}

// Explain has one clause per condition.
func (c *Correlation) Explain(m *Message) []Clause {
	_ = m
	return nil
}
