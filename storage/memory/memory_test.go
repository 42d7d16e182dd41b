package memory_test

import (
	"context"
	"testing"

	"mayfly/engine"
	"mayfly/storage/memory"
	"mayfly/storage/storetest"
)

// place returns an Open that reopens one store.
func place(*testing.T) storetest.Open {
	var s *memory.Store
	return func(context.Context) (engine.Store, error) {
		if s == nil {
			s = new(memory.Store)
		} else {
			s = s.Reopen()
		}
		return s, nil
	}
}

func TestConformance(t *testing.T) { storetest.Run(t, place) }

func TestScenarios(t *testing.T) { storetest.RunScenarios(t, place) }
