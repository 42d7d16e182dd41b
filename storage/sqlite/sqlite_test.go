package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"mayfly/engine"
	"mayfly/storage/sqlite"
	"mayfly/storage/storetest"
)

func place(t *testing.T) storetest.Open {
	path := filepath.Join(t.TempDir(), "store")
	return func(ctx context.Context) (engine.Store, error) {
		return sqlite.Open(ctx, path, sqlite.Options{})
	}
}

func TestConformance(t *testing.T) { storetest.Run(t, place) }

func TestScenarios(t *testing.T) { storetest.Scenarios(t, place) }

func TestCrash(t *testing.T) {
	storetest.Crash(t, 20, func(ctx context.Context, dir string) (engine.Store, error) {
		return sqlite.Open(ctx, filepath.Join(dir, "store"), sqlite.Options{})
	})
}
