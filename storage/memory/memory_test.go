package memory_test

import (
	"context"
	"testing"

	"mayfly/engine"
	"mayfly/storage/memory"
	"mayfly/storage/storetest"
)

// open returns an Open that reopens one store each time.
func open(*testing.T) storetest.Open {
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

func TestConformance(t *testing.T) { storetest.Run(t, open) }

func TestScenarios(t *testing.T) { storetest.RunScenarios(t, open) }
