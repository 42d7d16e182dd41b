package mongo

import (
	"context"
	"time"
)

// wall returns the time of day, for people who look at documents. Nothing is decided by it.
func wall() time.Time { return time.Now() }

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
