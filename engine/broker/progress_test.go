package broker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine/broker"
)

// A caller that waits for an event continues when that event or a later one was set, not
// before, and when its context ends.
func TestReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r broker.Progress
		r.Wait(t.Context(), 0)
		on := make(chan uint64, 3)
		for _, n := range []uint64{5, 7} {
			go func() { r.Wait(t.Context(), n); on <- n }()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() { r.Wait(ctx, 1000); on <- 1000 }()
		expect := func(want ...uint64) {
			t.Helper()
			synctest.Wait()
			for _, w := range want {
				select {
				case n := <-on:
					if n != w {
						t.Errorf("%d goes on; want %d", n, w)
					}
				default:
					t.Errorf("%d waits still", w)
				}
			}
			if len(on) > 0 {
				t.Errorf("the caller waiting for event %d continues too early", <-on)
			}
		}
		r.Set(4)
		expect()
		r.Set(6)
		expect(5)
		r.Set(2) // of another epoch
		expect()
		r.Set(7)
		expect(7)
		time.Sleep(time.Second)
		expect(1000)
	})
}
