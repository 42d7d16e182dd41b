package web_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/storage/memory"
	"mayfly/web"
)

// full is a store whose disk can be full.
type full struct {
	engine.Store
	is atomic.Bool
}

func (f *full) Commit(ctx context.Context, b *engine.Batch) error {
	if f.is.Load() {
		return fmt.Errorf("%w: the disk is full", engine.ErrUnwritable)
	}
	return f.Store.Commit(ctx, b) //nolint:wrapcheck // the store's own
}

// TestNotReadyWhileReadOnly: what cannot be written is not taken, and those who ask
// are told why; the process is alive, so that nobody ends it for that.
func TestNotReadyWhileReadOnly(t *testing.T) {
	store := &full{Store: new(memory.Store)}
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return store, nil }, broker.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	w := serve(t, web.Options{}, web.Doors{})
	w.server.Open(web.Doors{Broker: b})
	status := func(path string, want int, text string) {
		t.Helper()
		if got, said := w.ask("GET", w.dashboard, path); got.StatusCode != want || !strings.Contains(said, text) {
			t.Errorf("%s: %d %s", path, got.StatusCode, said)
		}
	}
	status("/readyz", 200, "ready\n")
	store.is.Store(true)
	if _, err := b.Create(t.Context(), engine.Queue, "orders", engine.Config{}, ""); err == nil {
		t.Fatal("it was written")
	}
	status("/readyz", 503, "read-only: ")
	status("/readyz", 503, "the disk is full")
	status("/livez", 200, "ok\n")
	status("/healthz", 200, "ok\n")
	status("/api/v1/health", 200, `"status":"read-only"`)
}
