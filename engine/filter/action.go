package filter

import "mayfly/engine/value"

// An Action is a parsed SQL action (§14.4).
type Action struct{}

// ParseAction reads an action of at most most statements (ACT-4); params are
// as for ParseSQL. Its errors are *SyntaxError.
func ParseAction(text string, params value.Properties, most int64) (*Action, error) {
	_, _, _ = text, params, most
	return &Action{}, nil
}

// Apply is m changed by the statements in their order (ACT-1). What m shares
// with others, its Properties, is not touched. Its errors are *Error, named
// RuleActionException.
func (a *Action) Apply(m Message) (Message, error) { return m, nil }

// Late is as SQL.Late.
func (a *Action) Late() bool { return false }
