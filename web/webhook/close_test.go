package webhook

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"

	"mayfly/engine/alert"
)

// An asked context calls ask whenever its Err is called.
type asked struct {
	context.Context
	ask func()
}

func (a asked) Err() error {
	err := a.Context.Err()
	a.ask()
	return err
}

// TestCloseWaitsForOffers checks that when Close runs while an Offer is about to start a goroutine,
// no goroutine runs after Close has returned.
func TestCloseWaitsForOffers(t *testing.T) {
	for range 200 {
		s := New(Options{Logger: slog.New(slog.DiscardHandler)})
		var begun atomic.Bool
		running := make(chan bool, 1)
		s.ctx = asked{s.ctx, func() {
			if !begun.CompareAndSwap(false, true) {
				return
			}
			go func() {
				s.Close()
				s.mu.Lock()
				defer s.mu.Unlock()
				running <- s.queues[1].running
			}()
			for range 100 {
				runtime.Gosched()
			}
		}}
		s.Offer(alert.Rule{ID: 1, URL: "http://127.0.0.1:1/"}, alert.Alert{At: 1, Count: 1})
		if <-running {
			t.Fatal("the sender is closed, but a goroutine continues")
		}
	}
}
