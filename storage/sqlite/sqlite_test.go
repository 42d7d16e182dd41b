package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"mayfly/engine"
	"mayfly/engine/longtest"
	"mayfly/storage/sqlite"
	"mayfly/storage/storetest"
)

func newLocation(t *testing.T) storetest.Open {
	path := filepath.Join(t.TempDir(), "store")
	return func(ctx context.Context) (engine.Store, error) {
		return sqlite.Open(ctx, path, sqlite.Options{})
	}
}

func TestConformance(t *testing.T) { storetest.Run(t, newLocation) }

func TestScenarios(t *testing.T) { storetest.RunScenarios(t, newLocation) }

func TestCrash(t *testing.T) {
	rounds := 2
	if longtest.Enabled(t) {
		rounds = 20
	}
	storetest.RunCrashes(t, rounds, func(ctx context.Context, dir string) (engine.Store, error) {
		return sqlite.Open(ctx, filepath.Join(dir, "store"), sqlite.Options{})
	})
}
