package mongo

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
)

// A slow server takes the given time for each document of some collections.
type slow struct {
	server
	takes map[collection]time.Duration
}

func (s slow) Insert(ctx context.Context, in collection, doc bson.Raw) error {
	if err := pause(ctx, s.takes[in]); err != nil {
		return err
	}
	return s.server.Insert(ctx, in, doc)
}

// A batch of several documents may take longer than the lease, which is renewed meanwhile.
func TestALargeBatchTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on := slow{new(toy), map[collection]time.Duration{parts: DefaultLease * 2 / 5, journal: DefaultLease * 2 / 5}}
		s, err := openOn(t.Context(), on, nil, timed(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := s.Commit(t.Context(), largeBatch('a')); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < DefaultLease {
			t.Errorf("it took %v only", took)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A commit whose document cannot be written fails when the lease ends.
func TestACommitEndsWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on := slow{new(toy), map[collection]time.Duration{journal: DefaultLease}}
		s, err := openOn(t.Context(), on, nil, timed(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = s.Commit(t.Context(), &engine.Batch{Hard: true, Now: 1, Meters: []engine.Meter{{Subqueue: 1, NextSeq: 1}}})
		if took := time.Since(began); err == nil || took > DefaultLease {
			t.Errorf("after %v: %v", took, err)
		}
		_ = s.Close()
	})
}
