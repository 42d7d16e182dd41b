package filter

import (
	"fmt"

	"mayfly/engine/value"
)

// A Clause is one elementary condition of a filter and its result for one message, for
// display.
type Clause struct {
	From, To int    // its position in the text, in runes; both zero in a correlation filter
	Text     string // its source
	Result   Result
	Error    string    // why the condition failed; empty unless Result is Failed
	Reads    []Reading // the properties it reads, each once
}

// A Reading is a property that a condition reads.
type Reading struct {
	Name    string      // an application property as the filter spells it, or a system property such as sys.Label
	Value   value.Value // the message's value; null if missing
	Missing bool
}

// Explain returns a clause for each elementary condition, in the order of the text, including
// those that Matches would not evaluate.
func (f *SQL) Explain(m *Message) []Clause {
	var clauses []Clause
	var walk func(c condition)
	walk = func(c condition) {
		switch c := c.(type) {
		case conjunction:
			for _, c := range c {
				walk(c)
			}
		case disjunction:
			for _, c := range c {
				walk(c)
			}
		case notCondition:
			walk(c.of)
		case elementary:
			clauses = append(clauses, explain(c, m, f.mode()))
		default:
			panic(fmt.Sprintf("unknown condition %T", c))
		}
	}
	walk(f.root)
	return clauses
}

func explain(e elementary, m *Message, how mode) Clause {
	c := Clause{Text: e.textPosition().text()}
	c.From, c.To = e.textPosition().runes()
	c.Result, c.Error = e.test(m, how)
	seen := map[string]bool{}
	e.reads(m, how, func(r Reading) {
		if !seen[r.Name] {
			seen[r.Name] = true
			c.Reads = append(c.Reads, r)
		}
	})
	return c
}
