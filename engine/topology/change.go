package topology

import (
	"strings"

	"mayfly/engine"
)

// A Change is the change of a property by a step; its values are texts.
type Change struct {
	Property string // Service Bus' name
	Was, Is  string
}

// ChangesExisting reports whether a step changes or removes something that exists.
func (s Step) ChangesExisting() bool { return s.Action != Create && s.Action != AddRule }

// Changes returns the properties that an Update changes. It returns none for other steps.
func (s Step) Changes() (out []Change) {
	if s.Action != Update {
		return nil
	}
	for _, p := range engine.Properties(s.Kind) {
		was, is := p.Text(s.Was), p.Text(s.Config)
		if was == is || p.Type == engine.EntityProperty && strings.EqualFold(was, is) {
			continue
		}
		out = append(out, Change{p.Name, was, is})
	}
	return out
}

// Unchanged returns the entities of t that no step changes, in the order of t.
func (t Topology) Unchanged(steps []Step) (out []engine.Path) {
	touched := map[string]bool{}
	for _, s := range steps {
		touched[s.Path.Fold()] = true
	}
	for _, e := range t.Entities {
		if !touched[e.Path.Fold()] {
			out = append(out, e.Path)
		}
	}
	return out
}
