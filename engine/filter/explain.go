package filter

import (
	"fmt"

	"mayfly/engine/value"
)

// A Clause is one elementary condition of a filter and what it is of one
// message, for people.
type Clause struct {
	From, To int    // where it stands in the text, in runes; both zero in a correlation filter
	Text     string // how it is written there
	Result   Result
	Error    string    // why it failed; empty unless Result is Failed
	Reads    []Reading // the properties it looks at, each once
}

// A Reading is a property that a condition looks at.
type Reading struct {
	Name    string      // an application property as the filter writes it, another as sys.Label
	Value   value.Value // what the message has; null when missing
	Missing bool
}

// Explain has a clause for each elementary condition, in the order of the text,
// also for those that Matches would not come to.
func (f *SQL) Explain(m *Message) []Clause {
	var clauses []Clause
	var walk func(c condition)
	walk = func(c condition) {
		switch c := c.(type) {
		case all:
			for _, c := range c {
				walk(c)
			}
		case some:
			for _, c := range c {
				walk(c)
			}
		case inverse:
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
	c := Clause{Text: e.where().text()}
	c.From, c.To = e.where().runes()
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
