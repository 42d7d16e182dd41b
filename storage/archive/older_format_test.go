package archive_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/storage/archive"
	"mayfly/storage/memory"
)

// TestOlder restores a file that was written before there were sessions, remembered
// MessageIds, and fields for forwarding.
func TestOlder(t *testing.T) {
	file, err := os.ReadFile("testdata/before-sessions.backup")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := archive.Read(t.Context(), bytes.NewReader(file), archive.Visitor{})
	want := archive.Summary{
		Header: archive.Header{Namespace: "shop", Source: "sqlite", Epoch: 3, Made: 1784000001000, History: true}, Clock: 1784000000123, Bytes: int64(len(file)),
		Counts: archive.Counts{Queues: 1, Topics: 1, Subscriptions: 1, Rules: 1, Meters: 1, Contents: 2, Bodies: 2, BodyBytes: 300_005, Messages: 2, Events: 1},
	}
	if err != nil || sum != want {
		t.Errorf("%+v, %v; want %+v", sum, err, want)
	}
	// Identities of epoch 3 become those of epoch 1.
	id := func(n uint64) uint64 { return 1<<40 | n }
	orders := engine.Entity{ID: engine.SubqueueID(id(1)), DeadLetterID: engine.SubqueueID(id(2)), Kind: engine.Queue, Path: "orders",
		CreatedAt: 1784000000000, UpdatedAt: 1784000000001, Config: engine.Config{LockDuration: 30 * time.Second, RequiresSession: true, RequiresDuplicateDetection: true}}
	paid := engine.Content{MessageID: "order-17", Subject: "paid", Properties: value.Properties{{Name: "euros", Value: value.OfInt(42)}}, BodySize: 5}
	s := new(memory.Store)
	commit(t, s, &engine.Batch{
		Hard: true, Now: 1784000000123,
		Entities: []engine.Entity{
			orders,
			{ID: engine.SubqueueID(id(3)), Kind: engine.Topic, Path: "prices", CreatedAt: 1784000000002},
			{ID: engine.SubqueueID(id(4)), DeadLetterID: engine.SubqueueID(id(5)), Kind: engine.Subscription, Path: "prices/Subscriptions/eu"},
		},
		Rules:    []engine.Rule{{Subscription: engine.SubqueueID(id(4)), Name: "$Default", Filter: engine.Filter{Kind: engine.SQLFilter, Text: "a = 1"}, Action: "SET b = 2", CreatedAt: 1784000000003}},
		Meters:   []engine.Meter{{Subqueue: engine.SubqueueID(id(1)), NextSeq: 9, LastUsed: 1784000000004, AccessedAt: 1784000000005}},
		Contents: []engine.StoredContent{{Key: engine.Key(id(6)), Content: paid.Pack()}, {Key: engine.Key(id(7)), Content: engine.Content{BodySize: 300_000}.Pack()}},
		Bodies:   []engine.Body{{Key: engine.Key(id(6)), Bytes: []byte("hello")}, {Key: engine.Key(id(7)), Bytes: []byte(strings.Repeat("0123456789", 30_000))}},
		Messages: []engine.Message{
			{Key: engine.Key(id(6)), Content: engine.Key(id(6)), Subqueue: engine.SubqueueID(id(1)), Seq: 7, EnqueuedSeq: 7, EnqueuedAt: 1784000000006, ExpiresAt: 1784003600006,
				LockedUntil: 1784000030007, Nonce: 5, DeliveryCount: 2},
			{Key: engine.Key(id(7)), Content: engine.Key(id(7)), Subqueue: engine.SubqueueID(id(2)), Seq: 8, EnqueuedSeq: 3,
				Extra: &engine.Extra{DeadLettered: true, Reason: "TTLExpiredException", Source: "orders", DeadAt: 1784000000008, By: "somebody"}},
		},
		Audit: []engine.Event{{N: 1, Kind: engine.EventEntityCreated, At: 1784000000000, Subqueue: orders.ID, Path: "orders", Actor: "somebody", Audit: true, Entity: &orders}},
	})
	differ(t, "restored", existingContent(t, s), existingContent(t, restore(t, file, new(memory.Store))))
}
