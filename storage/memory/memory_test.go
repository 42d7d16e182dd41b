package memory_test

import (
	"context"
	"testing"

	"mayfly/engine"
	"mayfly/storage/memory"
	"mayfly/storage/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Open {
		var s *memory.Store
		return func(context.Context) (engine.Store, error) {
			if s == nil {
				s = new(memory.Store)
			} else {
				s = s.Reopen()
			}
			return s, nil
		}
	})
}
