package namespaces_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine/namespaces"
	"mayfly/engine/namespaces/namespacestest"
)

// A NoteReader reads the notes every second. IsFresh reports whether its last reading is recent
// enough to be trusted.
func TestReaderReadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b namespacestest.NoteStore
		var seen atomic.Value
		r := namespaces.NewNoteReader(&b, "key", func(notes []namespaces.Note, _ time.Time) { seen.Store(notes) }, slog.New(slog.DiscardHandler))
		if r.IsFresh() {
			t.Error("it is fresh before its first reading")
		}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var times atomic.Int32
		all.Go(func() { r.Run(ctx, func(context.Context) { times.Add(1) }) })
		synctest.Wait()
		if err := b.AddNote(ctx, "key", "one", "1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if all := seen.Load().([]namespaces.Note); len(all) != 1 || !r.IsFresh() || times.Load() != 2 {
			t.Errorf("it has read %v in %d readings", all, times.Load())
		}
		b.Fail(true)
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if !r.IsFresh() || len(seen.Load().([]namespaces.Note)) != 1 || times.Load() != 11 {
			t.Errorf("it is no longer fresh, too early, after %d readings", times.Load())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if r.IsFresh() {
			t.Error("it is still fresh after ten seconds without a reading")
		}
		b.Fail(false)
		time.Sleep(time.Second)
		synctest.Wait()
		if !r.IsFresh() {
			t.Error("it is not fresh after it could read again")
		}
		stop()
		all.Wait()
	})
}

// Concurrent callers of Refresh share a reading, so that many callers cause no load.
func TestReaderIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b namespacestest.NoteStore
		r := namespaces.NewNoteReader(&b, "key", func([]namespaces.Note, time.Time) {}, slog.New(slog.DiscardHandler))
		began := time.Now()
		for range 3 {
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() {
					if err := r.Refresh(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			time.Sleep(time.Millisecond)
		}
		if n := b.Reads(); n != 3 {
			t.Errorf("the notes were read %d times", n)
		}
		if took := time.Since(began); took > 2*time.Second || took < 400*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		b.Fail(true)
		if err := r.Refresh(t.Context()); err == nil {
			t.Error("Refresh succeeds though the notes cannot be read")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Refresh(ctx); err == nil {
			t.Error("Refresh succeeds with a canceled context")
		}
	})
}

// A stuck store never answers, as if the network dropped everything.
type stuck struct{ namespacestest.NoteStore }

func (*stuck) Notes(ctx context.Context, _ string) ([]namespaces.Note, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// Concurrent callers of Refresh share the failure of a reading. If the context of one of them ends
// meanwhile, the others do not fail.
func TestReaderThatCannotReadIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := namespaces.NewNoteReader(&stuck{}, "key", func([]namespaces.Note, time.Time) {}, slog.New(slog.DiscardHandler))
		began := time.Now()
		leaves, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if err := r.Refresh(leaves); !errors.Is(err, context.Canceled) {
				t.Errorf("the caller that left got %v", err)
			}
		})
		synctest.Wait() // the first caller's reading begins
		for range 100 {
			all.Go(func() {
				if err := r.Refresh(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Refresh returned %v", err)
				}
			})
		}
		time.Sleep(time.Second)
		leave()
		all.Wait()
		if took := time.Since(began); took > 7*time.Second {
			t.Errorf("the last caller waited for %v", took)
		}
	})
}

// A Refresh that begins after a note was added reads it.
func TestReaderIsFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b namespacestest.NoteStore
		n := 0
		r := namespaces.NewNoteReader(&b, "key", func(notes []namespaces.Note, _ time.Time) { n = len(notes) }, slog.New(slog.DiscardHandler))
		for i := range 5 {
			if err := b.AddNote(t.Context(), "key", string(rune('a'+i)), ""); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond) // the clocks of two servers differ
			if err := r.Refresh(t.Context()); err != nil || n != i+1 {
				t.Errorf("%d are seen of %d, %v", n, i+1, err)
			}
		}
	})
}
