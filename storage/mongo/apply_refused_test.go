package mongo

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
)

// A picky server permanently refuses messages while on is set, like a collection with a
// validator.
type picky struct {
	server
	on atomic.Bool
}

func (p *picky) Apply(ctx context.Context, in collection, changes []change) error {
	if in == messages && p.on.Load() {
		return fmt.Errorf("%w: document failed validation", errRefused)
	}
	return p.server.Apply(ctx, in, changes)
}

// When too many commits cannot be applied, further commits fail with the reason, until they can
// be applied.
func TestCommitsWaitForSpaceInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on := &picky{server: new(toy)}
		on.on.Store(true)
		s, err := openOn(t.Context(), on, nil, timed(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		commit := func(k engine.Key) error {
			return s.Commit(t.Context(), &engine.Batch{Hard: true, Now: 1, Messages: []engine.Message{{Key: k, Content: k, Subqueue: 1}}})
		}
		n := engine.Key(0)
		for n < maxUnappliedCommits {
			n++
			if err := commit(n); err != nil {
				t.Fatalf("commit %d: %v", n, err)
			}
		}
		time.Sleep(2 * applyEvery)
		synctest.Wait()
		if err := commit(n + 1); !errors.Is(err, engine.ErrUnwritable) {
			t.Errorf("one more commit: %v; want ErrUnwritable", err)
		}
		on.on.Store(false)
		time.Sleep(2 * applyEvery)
		synctest.Wait()
		if err := commit(n + 1); err != nil {
			t.Errorf("when messages are accepted again: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// An owner keeps the data of a reader that never closes for maxSnapshotAge, and no longer.
func TestALookIsHeededForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on, began := new(toy), time.Now()
		s, err := openOn(t.Context(), on, nil, Options{clock: func() time.Duration { return time.Since(began) }})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		l, err := openSnapshotOn(t.Context(), on, nil, timed(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(maxSnapshotAge / 2)
		synctest.Wait()
		if !s.hasReaders.Load() {
			t.Error("the owner ignores the reader after half an hour")
		}
		time.Sleep(maxSnapshotAge)
		synctest.Wait()
		if s.hasReaders.Load() {
			t.Error("the owner still heeds the reader after more than an hour")
		}
		for _, end := range []func() error{l.Close, s.Close} {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	})
}
