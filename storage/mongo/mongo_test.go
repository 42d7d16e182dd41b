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

// openNew returns an Open for a new database.
func openNew(t *testing.T) storetest.Open {
	url := mongotest.URL(t)
	return func(ctx context.Context) (engine.Store, error) {
		s, err := mongo.Open(ctx, url, mongo.Options{})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

// size reduces the tests' work: the test server makes some hundred changes a second, a real
// server many more.
func size() storetest.Option {
	if mongotest.Real() {
		return storetest.ReduceWork(1)
	}
	return storetest.ReduceWork(10)
}

func TestStore(t *testing.T) {
	mongotest.ServerURL(t)
	storetest.Run(t, openNew, size())
}

func TestScenarios(t *testing.T) {
	mongotest.ServerURL(t)
	storetest.RunScenarios(t, openNew, size())
}

func TestCrash(t *testing.T) {
	mongotest.ServerURL(t) // started here, so that it outlives the processes that are killed
	storetest.RunCrashes(t, 6, func(ctx context.Context, dir string) (engine.Store, error) {
		s, err := mongo.Open(ctx, mongotest.NamedURL(t, "crash"+filepath.Base(filepath.Dir(dir))), mongo.Options{
			Lease: time.Second, Standby: func(engine.Owner) {},
		})
		if err != nil {
			return nil, err
		}
		return s, nil
	})
}
