package fleet_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine/fleet"
	"mayfly/engine/fleet/fleettest"
)

// A reader reads every second, and says for how long what it has read may be believed.
func TestReaderReadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b fleettest.Board
		var seen atomic.Value
		r := fleet.NewReader(&b, "key", func(notes []fleet.Note, _ time.Time) { seen.Store(notes) }, slog.New(slog.DiscardHandler))
		if r.Believed() {
			t.Error("it believes what it never read")
		}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var times atomic.Int32
		all.Go(func() { r.Run(ctx, func(context.Context) { times.Add(1) }) })
		synctest.Wait()
		if err := b.PutUp(ctx, "key", "one", "1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if all := seen.Load().([]fleet.Note); len(all) != 1 || !r.Believed() || times.Load() != 2 {
			t.Errorf("it has seen %v in %d times", all, times.Load())
		}
		b.Fail(true)
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if !r.Believed() || len(seen.Load().([]fleet.Note)) != 1 || times.Load() != 11 {
			t.Errorf("it has lost faith early, after %d times", times.Load())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if r.Believed() {
			t.Error("it believes what may be long over")
		}
		b.Fail(false)
		time.Sleep(time.Second)
		synctest.Wait()
		if !r.Believed() {
			t.Error("it does not come back")
		}
		stop()
		all.Wait()
	})
}

// Whoever cannot wait shares a reading with others who cannot, and many of them are no
// burden.
func TestReaderIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b fleettest.Board
		r := fleet.NewReader(&b, "key", func([]fleet.Note, time.Time) {}, slog.New(slog.DiscardHandler))
		began := time.Now()
		for range 3 {
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() {
					if err := r.Fresh(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			time.Sleep(time.Millisecond)
		}
		if n := b.Reads(); n != 3 {
			t.Errorf("it was read %d times", n)
		}
		if took := time.Since(began); took > 2*time.Second || took < 400*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		b.Fail(true)
		if err := r.Fresh(t.Context()); err == nil {
			t.Error("what cannot be read is fresh")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Fresh(ctx); err == nil {
			t.Error("who has gone is told")
		}
	})
}

// A stuck board answers nobody, as one does to which the network drops everything.
type stuck struct{ fleettest.Board }

func (*stuck) Notes(ctx context.Context, _ string) ([]fleet.Note, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// Of a board that cannot be read all who ask at a time are told so together; who goes
// away meanwhile tells nobody.
func TestReaderThatCannotReadIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet.NewReader(&stuck{}, "key", func([]fleet.Note, time.Time) {}, slog.New(slog.DiscardHandler))
		began := time.Now()
		leaves, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if err := r.Fresh(leaves); !errors.Is(err, context.Canceled) {
				t.Errorf("who has gone is told %v", err)
			}
		})
		synctest.Wait() // that one reads
		for range 100 {
			all.Go(func() {
				if err := r.Fresh(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("it is told as %v", err)
				}
			})
		}
		time.Sleep(time.Second)
		leave()
		all.Wait()
		if took := time.Since(began); took > 7*time.Second {
			t.Errorf("the last is told after %v", took)
		}
	})
}

// What is put up before somebody asks for a fresh reading is in it.
func TestReaderIsFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b fleettest.Board
		n := 0
		r := fleet.NewReader(&b, "key", func(notes []fleet.Note, _ time.Time) { n = len(notes) }, slog.New(slog.DiscardHandler))
		for i := range 5 {
			if err := b.PutUp(t.Context(), "key", string(rune('a'+i)), ""); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond) // clocks move on between two servers
			if err := r.Fresh(t.Context()); err != nil || n != i+1 {
				t.Errorf("%d are seen of %d, %v", n, i+1, err)
			}
		}
	})
}
