package show

import (
	"testing"

	"mayfly/engine"
	"mayfly/engine/scene"
)

// Every scene of the program is watched on pages that there are, and what is to
// be looked at on them is an entity or a message of it.
func TestScenesAreWatched(t *testing.T) {
	lib, err := scene.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range lib.List() {
		for i, step := range s.Steps {
			look := step.Look
			if look == "/" {
				look = ""
			}
			if at, err := Parse("/n/x"+look, engine.DefaultLimits()); err != nil || at.Do != "" {
				t.Errorf("%s, step %d is watched on %q, which is no page: %v", s.ID, i+1, step.Look, err)
			}
			if i == 0 && step.Look == "" {
				t.Errorf("%s does not say where it begins", s.ID)
			}
		}
	}
}
