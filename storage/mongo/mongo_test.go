package mongo_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/storage/mongo"
	"mayfly/storage/mongo/mongotest"
	"mayfly/storage/storetest"
)

// newPlace is a database of its own.
func newPlace(t *testing.T) storetest.Open {
	url := mongotest.URL(t)
	return func(ctx context.Context) (engine.Store, error) {
		s, err := mongo.Open(ctx, url, mongo.Options{})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

// The test server makes some hundred changes a second, a real one many more.
func size() storetest.Option {
	if mongotest.Real() {
		return storetest.Smaller(1)
	}
	return storetest.Smaller(10)
}

func TestStore(t *testing.T) { storetest.Run(t, newPlace, size()) }

func TestScenarios(t *testing.T) { storetest.Scenarios(t, newPlace, size()) }

func TestCrash(t *testing.T) {
	mongotest.Server(t) // outlives the processes that are killed
	storetest.Crash(t, 6, func(ctx context.Context, dir string) (engine.Store, error) {
		s, err := mongo.Open(ctx, mongotest.Named(t, "crash"+filepath.Base(filepath.Dir(dir))), mongo.Options{
			Lease: time.Second, Standby: func(engine.Owner) {},
		})
		if err != nil {
			return nil, err
		}
		return s, nil
	})
}
