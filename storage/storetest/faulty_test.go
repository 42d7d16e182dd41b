package storetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/storage/memory"
	"mayfly/storage/storetest"
)

func clock(t *testing.T, s engine.Store) engine.Instant {
	t.Helper()
	for r, err := range s.Load(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := r.(engine.Clock); ok {
			return c.Now
		}
	}
	return 0
}

func TestFaulty(t *testing.T) {
	for name, tc := range map[string]struct {
		fault   storetest.Fault
		is      error
		applied bool
	}{
		"before":     {storetest.FailBefore, storetest.ErrFault, false},
		"after":      {storetest.FailAfter, storetest.ErrFault, true},
		"unwritable": {storetest.FailUnwritable, engine.ErrUnwritable, false},
		"fenced":     {storetest.FailFenced, engine.ErrFenced, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &storetest.Faulty{Store: new(memory.Store)}
			f.Nth(2, tc.fault)
			for n := engine.Instant(1); n <= 3; n++ {
				err := f.Commit(t.Context(), &engine.Batch{Now: n})
				if n == 2 && !errors.Is(err, tc.is) || n != 2 && err != nil {
					t.Errorf("commit %d: %v", n, err)
				}
				if got, want := clock(t, f), n; (got == want) != (n != 2 || tc.applied) {
					t.Errorf("commit %d: the clock is %d", n, got)
				}
			}
			f.Always(tc.fault)
			if err := f.Stage(t.Context(), 1, strings.NewReader("x")); !errors.Is(err, tc.is) {
				t.Errorf("stage: %v", err)
			}
			if _, err := f.Body(t.Context(), 1); (err == nil) != tc.applied {
				t.Errorf("body: %v", err)
			}
			f.Plan(nil)
			if err := f.Commit(t.Context(), &engine.Batch{Now: 9}); err != nil {
				t.Errorf("without a plan: %v", err)
			}
		})
	}
}

func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &storetest.Slow{Store: new(memory.Store), Commits: time.Minute, Stages: time.Hour, Bodies: time.Second}
		for name, tc := range map[string]struct {
			call func(context.Context) error
			want time.Duration
		}{
			"commit": {func(ctx context.Context) error { return s.Commit(ctx, &engine.Batch{Now: 1}) }, time.Minute},
			"stage":  {func(ctx context.Context) error { return s.Stage(ctx, 1, strings.NewReader("")) }, time.Hour},
			"body": {func(ctx context.Context) error {
				_, err := s.Body(ctx, 1)
				if errors.Is(err, engine.ErrMessageNotFound) {
					return nil
				}
				return err
			}, time.Second},
		} {
			began := time.Now()
			if err := tc.call(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(began); took != tc.want {
				t.Errorf("%s took %v", name, took)
			}
			ctx, end := context.WithTimeout(t.Context(), tc.want/2)
			if err := tc.call(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
			end()
		}
	})
}
