package amqp_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/connections"
)

// blockedBodies is a store that blocks writes of large bodies, and with mute reads of small ones,
// until the test lets it continue, even if the caller's context has ended.
type blockedBodies struct {
	stuck
	mute bool
}

func (s *blockedBodies) SmallBodies(ctx context.Context, keys []engine.Key, found func(int, []byte)) error {
	if s.mute {
		<-s.goOn
	}
	return s.Store.SmallBodies(ctx, keys, found)
}

// Close returns in time even if a store does not answer, and the work that waits for the
// store ends when it does.
func TestCloseThoughTheStoreIsStuck(t *testing.T) {
	for name, begin := range map[string]func(*world, *blockedBodies){
		"a message is stored": func(w *world, _ *blockedBodies) {
			c := w.client()
			c.AttachSender(0, 0, "large")
			c.SendInPieces(0, 0, 0, amqptest.DataMessage(pattern(300_000)), 60_000)
		},
		"messages are read": func(w *world, s *blockedBodies) {
			w.send("large", "", "one", "two", "three")
			s.mute = true
			c := w.client()
			c.Attach(0, amqptest.ReceiverAttach(0, "large"))
			c.GrantCredit(0, 0, 0, 3)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &blockedBodies{stuck: stuck{goOn: make(chan struct{})}}
				var log bytes.Buffer
				w := newWorldOn(t, store, amqp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, broker.Options{CacheBytes: 1})
				w.b.CreateQueue("large", engine.Config{MaxMessageSizeInKilobytes: 10 << 10})
				goOn := sync.OnceFunc(func() { close(store.goOn) })
				t.Cleanup(goOn)
				begin(w, store)
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				before := time.Now()
				w.s.Close(ctx)
				if d := time.Since(before); d != 7*time.Second {
					t.Errorf("Close took %v, want 7 s, which is ctx and two seconds", d)
				}
				if !strings.Contains(log.String(), "connections=1") {
					t.Errorf("the log has %q", &log)
				}
				goOn()
				w.s.Close(context.Background())
				if err := w.s.Check(); err != nil || w.s.Connections(connections.Query{}).Total != 0 {
					t.Errorf("a connection remains, %v", err)
				}
			})
		})
	}
}

// Close waits for a client that does not answer a close until ctx ends, and no longer.
func TestCloseIsCutShort(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.client() // sends nothing
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		before := time.Now()
		w.s.Close(ctx)
		if d := time.Since(before); d != time.Second {
			t.Errorf("Close took %v", d)
		}
	})
}
