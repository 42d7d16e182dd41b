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

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Open {
		url := mongotest.URL(t)
		return func(ctx context.Context) (engine.Store, error) {
			s, err := mongo.Open(ctx, url, mongo.Options{Lease: 2 * time.Second})
			if err != nil {
				return nil, err
			}
			return s, nil
		}
	})
}

func TestCrash(t *testing.T) {
	mongotest.Server(t) // outlives the processes that are killed
	storetest.Crash(t, 6, func(ctx context.Context, dir string) (engine.Store, error) {
		s, err := mongo.Open(ctx, mongotest.Named(t, "crash"+filepath.Base(filepath.Dir(dir))), mongo.Options{
			Lease: mongo.LeastLease, Standby: func(engine.Owner) {},
		})
		if err != nil {
			return nil, err
		}
		return s, nil
	})
}
