package mongo

import (
	"context"
	"time"
)

// wall returns the current time, for people who read documents. The protocol does not use it.
func wall() time.Time { return time.Now() }

// pause waits for d, or until ctx ends.
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
