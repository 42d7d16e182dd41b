package definition

import (
	"strings"

	"mayfly/engine"
)

// A Change is a property that a step gives another value, as texts.
type Change struct {
	Property string // Service Bus' name
	Was, Is  string
}

// Alters tells whether a step is about something that is there already.
func (s Step) Alters() bool { return s.Do != Create && s.Do != AddRule }

// Changes are what an Update does, by property. Other steps have none.
func (s Step) Changes() (out []Change) {
	if s.Do != Update {
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

// Unchanged are the entities of a topology that no step is about, in its order.
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
