package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"mayfly/engine"
)

// ErrFault is wrapped by every error that Faulty itself returns.
var ErrFault = errors.New("a fault for the test")

// A Fault is the outcome of one Commit or Stage.
type Fault int

// These are the faults. FailBefore and FailAfter return the same error, because a caller cannot
// know which of them occurred.
const (
	NoFault        Fault = iota
	FailBefore           // the call fails, and nothing was applied
	FailAfter            // the call fails, and everything was applied
	FailUnwritable       // the call fails with engine.ErrUnwritable: nothing was applied, and a retry may succeed
	FailFenced           // the call fails with engine.ErrFenced: nothing was applied, and no retry can succeed
)

// Faulty is a store whose Commit and Stage fail as planned. Without a plan, none of them fails.
// It is safe for concurrent use.
type Faulty struct {
	engine.Store

	mu    sync.Mutex
	calls int               // guarded by mu
	plan  func(n int) Fault // guarded by mu
}

// Plan sets the function that returns the fault of the n-th Commit or Stage from now on; the
// first has n = 1. If fault is nil, none fails.
func (f *Faulty) Plan(fault func(n int) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.plan = 0, fault
}

// Nth plans one fault, for the n-th call from now on.
func (f *Faulty) Nth(n int, fault Fault) {
	f.Plan(func(call int) Fault {
		if call == n {
			return fault
		}
		return NoFault
	})
}

// Always plans the same fault for every call, such as a full disk.
func (f *Faulty) Always(fault Fault) { f.Plan(func(int) Fault { return fault }) }

func (f *Faulty) next() Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.plan == nil {
		return NoFault
	}
	return f.plan(f.calls)
}

// Commit commits, unless a fault is planned for it.
func (f *Faulty) Commit(ctx context.Context, b *engine.Batch) error {
	return f.call("commit", func() error { return f.Store.Commit(ctx, b) })
}

// Stage stages a body, unless a fault is planned for it.
func (f *Faulty) Stage(ctx context.Context, k engine.Key, body io.Reader) error {
	return f.call("stage", func() error { return f.Store.Stage(ctx, k, body) })
}

func (f *Faulty) call(what string, do func() error) error {
	switch fault := f.next(); fault {
	case NoFault:
		return do()
	case FailBefore:
		return fmt.Errorf("%s: %w", what, ErrFault)
	case FailAfter:
		return errors.Join(fmt.Errorf("%s: %w", what, ErrFault), do())
	case FailUnwritable:
		return fmt.Errorf("%s: %w: %w", what, engine.ErrUnwritable, ErrFault)
	case FailFenced:
		return fmt.Errorf("%s: %w: %w", what, engine.ErrFenced, ErrFault)
	default:
		panic(fmt.Sprintf("unknown fault %d", fault))
	}
}

// Slow is a store whose calls take longer, like those of a slow disk. In a testing/synctest
// bubble that costs no real time. A zero duration adds nothing.
type Slow struct {
	engine.Store
	Commits, Stages, Bodies time.Duration // how much longer each call takes
}

// Commit waits, then commits. If the context ends during the wait, nothing is applied.
func (s *Slow) Commit(ctx context.Context, b *engine.Batch) error {
	if err := wait(ctx, s.Commits); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return s.Store.Commit(ctx, b)
}

// Stage waits, then stages a body.
func (s *Slow) Stage(ctx context.Context, k engine.Key, body io.Reader) error {
	if err := wait(ctx, s.Stages); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	return s.Store.Stage(ctx, k, body)
}

// Body waits, then opens the body.
func (s *Slow) Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	if err := wait(ctx, s.Bodies); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	return s.Store.Body(ctx, k)
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
