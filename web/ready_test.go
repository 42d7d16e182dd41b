package web_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/storage/memory"
	"mayfly/web"
)

// full is a store whose disk can be full.
type full struct {
	engine.Store
	is      atomic.Bool
	trouble chan error // nil if it reports no trouble before a commit
}

func (f *full) WriteFailure() <-chan error { return f.trouble }

// AcceptsDrops reports whether the disk is full: then only operations that free room are accepted.
func (f *full) AcceptsDrops() bool { return f.is.Load() }

func (f *full) Commit(ctx context.Context, b *engine.Batch) error {
	if f.is.Load() && !b.NeedsNoSpace() {
		return fmt.Errorf("%w: the disk is full", engine.ErrUnwritable)
	}
	return f.Store.Commit(ctx, b)
}

// TestNotReadyWhileReadOnly: writes are refused with the reason; the process is alive, so that
// it is not restarted for that.
func TestNotReadyWhileReadOnly(t *testing.T) {
	store := &full{Store: new(memory.Store)}
	b := brokertest.OpenOn(t, store, broker.Options{})
	w := serve(t, web.Options{}, web.Services{})
	w.server.Open(web.Services{Broker: b.Broker})
	status := func(path string, want int, text string) {
		t.Helper()
		if got, body := w.ask("GET", w.dashboard, path); got.StatusCode != want || !strings.Contains(body, text) {
			t.Errorf("%s: %d %s", path, got.StatusCode, body)
		}
	}
	status("/readyz", 200, "ready\n")
	store.is.Store(true)
	if _, err := b.Create(t.Context(), engine.Queue, "orders", engine.Config{}, ""); err == nil {
		t.Fatal("the message was written")
	}
	status("/readyz", 503, "read-only: ")
	status("/readyz", 503, "the disk is full")
	status("/livez", 200, "ok\n")
	status("/healthz", 200, "ok\n")
	status("/api/v1/health", 200, `"status":"read-only"`)
}

// TestNotReadyOnFullDisk finds the disk full before anything is sent, as at a start on a
// full disk: the server is not ready and names the disk, but it is alive.
func TestNotReadyOnFullDisk(t *testing.T) {
	store := &full{Store: new(memory.Store), trouble: make(chan error)}
	b := brokertest.OpenOn(t, store, broker.Options{})
	w := serve(t, web.Options{}, web.Services{})
	w.server.Open(web.Services{Broker: b.Broker})
	store.is.Store(true)
	for range 2 { // the broker takes the second one when it has handled the first
		store.trouble <- fmt.Errorf("%w: the disk is full; messages can still be received and deleted", engine.ErrUnwritable)
	}
	if got, body := w.ask("GET", w.dashboard, "/readyz"); got.StatusCode != 503 || !strings.Contains(body, "the disk is full; messages can still be received") {
		t.Errorf("/readyz: %d %s", got.StatusCode, body)
	}
	if got, body := w.ask("GET", w.dashboard, "/livez"); got.StatusCode != 200 {
		t.Errorf("/livez: %d %s", got.StatusCode, body)
	}
}
