package broker_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/storage/memory"
)

// counted is a store that counts how its bodies are read.
type counted struct {
	*memory.Store
	single, together int
}

func (c *counted) Body(ctx context.Context, k engine.Key) (io.ReadSeekCloser, error) {
	c.single++
	return c.Store.Body(ctx, k)
}

func (c *counted) SmallBodies(ctx context.Context, keys []engine.Key, found func(int, []byte)) error {
	c.together++
	return c.Store.SmallBodies(ctx, keys, func(i int, b []byte) {
		if string(b) != "gone" { // as if it could not be read
			found(i, b)
		}
	})
}

// Bodies that are not in memory are read many at a time. A body that such a read leaves out, or
// a large one, is opened alone.
func TestBodiesTogether(t *testing.T) {
	store := &counted{Store: new(memory.Store)}
	b := brokertest.OpenOn(t, store, broker.Options{CacheBytes: 1})
	b.CreateQueue("q", engine.Config{})
	const n = 150
	var out []broker.Outgoing
	for i := range n {
		body := fmt.Appendf(nil, "%d", i)
		switch i {
		case 10:
			body = []byte("gone")
		case 20:
			body = make([]byte, 100<<10)
		}
		out = append(out, broker.Outgoing{Body: body})
	}
	b.SendMessages("q", out...)
	got, err := b.Receive(t.Context(), broker.ReceiveRequest{Path: "q", Max: n})
	if err != nil || len(got) != n {
		t.Fatalf("got %d messages, %v", len(got), err)
	}
	for i, m := range got {
		body, err := io.ReadAll(m.Body)
		if err != nil || string(body) != string(out[i].Body) {
			t.Errorf("message %d has a body of %d bytes: %v", i, len(body), err)
		}
	}
	if store.single != 2 || store.together != 3 {
		t.Errorf("%d bodies were opened alone, want 2; %d reads of many bodies, want 3: from 0, 10 and 20", store.single, store.together)
	}
}
