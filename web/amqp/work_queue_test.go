package amqp

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// TestWorkQueue checks that only one goroutine at a time runs the functions of a queue, in order,
// even if one is added while the last one runs or after the queue was empty.
func TestWorkQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards the variables below
		var l workQueue
		var done []string
		busy, servers := 0, 0
		goOn := make(chan struct{})
		come := func(name string) {
			mu.Lock()
			defer mu.Unlock()
			if !l.add(func() {
				mu.Lock()
				if busy++; busy > 1 {
					t.Errorf("%s runs at the same time as another function", name)
				}
				mu.Unlock()
				<-goOn
				mu.Lock()
				busy--
				done = append(done, name)
				mu.Unlock()
			}) {
				return
			}
			servers++
			go l.run(&mu)
		}
		are := func(want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(done, want) {
				t.Errorf("functions run: %q, want %q", done, want)
			}
		}
		come("first")
		are()
		come("second")
		are()
		goOn <- struct{}{}
		are("first")
		come("third") // the second is running, and none follows it
		goOn <- struct{}{}
		goOn <- struct{}{}
		are("first", "second", "third")
		if servers != 1 || l.funcs != nil {
			t.Errorf("%d goroutines served the queue, and it keeps %d functions", servers, len(l.funcs))
		}
		come("fourth")
		goOn <- struct{}{}
		are("first", "second", "third", "fourth")
		if servers != 2 {
			t.Errorf("%d goroutines have served the queue", servers)
		}
	})
}
