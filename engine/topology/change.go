package topology

import (
	"strings"

	"mayfly/engine"
)

// A Change is a change of a property by a step, as texts.
type Change struct {
	Property string // Service Bus' name
	Was, Is  string
}

// ChangesExisting reports whether a step changes something that exists.
func (s Step) ChangesExisting() bool { return s.Action != Create && s.Action != AddRule }

// Changes returns what an Update changes, by property. Other steps have none.
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

// Unchanged returns the entities of a topology that no step changes, in its order.
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
