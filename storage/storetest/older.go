package storetest

import (
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
)

// OlderBatch returns a batch with every kind of record and no field that is newer than format 6
// of SQLite stores. The testdata of drivers contains this batch as older versions wrote it.
func OlderBatch() *engine.Batch {
	props := value.Properties{{Name: "euros", Value: value.OfInt(42)}}
	rules := []engine.AccessRule{{Name: "ci", Rights: engine.SendRight, PrimaryKey: "one", SecondaryKey: "zwei ä", CreatedAt: 1784000000014, UpdatedAt: 1784000000015}}
	orders := engine.Entity{
		ID: 1<<40 | 1, DeadLetterID: 1<<40 | 2, TransferID: 1<<40 | 3, Kind: engine.Queue, Path: "orders", CreatedAt: 1784000000000, UpdatedAt: 1784000000001,
		Config: engine.Config{LockDuration: 30 * time.Second, RequiresSession: true, RequiresDuplicateDetection: true, AuthorizationRules: rules},
	}
	paid := engine.Content{MessageID: "order-17", SessionID: "A/ä", Subject: "paid", Properties: props, BodySize: 5}
	large := strings.Repeat("0123456789", 30_000)
	message := engine.Message{
		Key: 1<<40 | 9, Content: 1<<40 | 9, Subqueue: 1<<40 | 1, Seq: 7, EnqueuedSeq: 7, EnqueuedAt: 1784000000006, ExpiresAt: 1784003600006,
		LockedUntil: 1784000030007, Nonce: 5, DeliveryCount: 2, Hops: 4,
	}
	return &engine.Batch{
		Hard: true, Now: 1784000000123, Access: &engine.Access{Rules: rules},
		Settings: []engine.Setting{{Key: "view/ä", Value: "\x00\xff", ChangedAt: 1784000000016}},
		Entities: []engine.Entity{
			orders,
			{ID: 1<<40 | 4, TransferID: 1<<40 | 5, Kind: engine.Topic, Path: "prices", Config: engine.Config{SupportOrdering: true}, CreatedAt: 1784000000002},
			{ID: 1<<40 | 6, DeadLetterID: 1<<40 | 7, TransferID: 1<<40 | 8, Kind: engine.Subscription, Path: "prices/Subscriptions/eu"},
		},
		Rules: []engine.Rule{{Subscription: 1<<40 | 6, Name: "$Default", Filter: engine.Filter{Kind: engine.SQLFilter, Text: "a = @a", Parameters: props},
			Action: "SET b = 2", CreatedAt: 1784000000003}},
		Meters:   []engine.Meter{{Subqueue: 1<<40 | 1, NextSeq: 9, LastUsed: 1784000000004, AccessedAt: 1784000000005, Duplicates: 3}},
		Sessions: []engine.SessionRecord{{Subqueue: 1<<40 | 1, ID: "A/ä", State: "\x00\xff", ChangedAt: 1784000000011}},
		Seen:     []engine.SeenIDs{{Subqueue: 1<<40 | 1, N: 1<<40 | 12, At: 1784000000012, Digests: []engine.Digest{{0: 1, 15: 2}, {}}}},
		Contents: []engine.StoredContent{{Key: 1<<40 | 9, Content: paid.Pack()}, {Key: 1<<40 | 10, Content: engine.Content{BodySize: int64(len(large))}.Pack()}},
		Bodies:   []engine.Body{{Key: 1<<40 | 9, Bytes: []byte("hello")}, {Key: 1<<40 | 10, Bytes: []byte(large)}},
		Messages: []engine.Message{
			message,
			{Key: 1<<40 | 10, Content: 1<<40 | 10, Subqueue: 1<<40 | 2, Seq: 8, EnqueuedSeq: 3, Extra: &engine.Extra{
				DeadLettered: true, Reason: "TTLExpiredException", Description: "The message expired.", Source: "orders", DeadAt: 1784000000008, By: "somebody",
				Properties: props, Rewritten: engine.Content{MessageID: "order-18", BodySize: int64(len(large))}.Pack(), NeverForwarded: true,
			}},
			{Key: 1<<40 | 11, Content: 1<<40 | 9, Subqueue: 1<<40 | 3, Seq: 1, EnqueuedSeq: 1, Extra: &engine.Extra{DeadLettered: true, To: "elsewhere"}},
		},
		Audit: []engine.Event{
			{N: 1, Kind: engine.EventEntityCreated, At: 1784000000000, Subqueue: orders.ID, Path: "orders", Actor: "somebody", Audit: true, Entity: &orders},
			{N: 2, Kind: engine.EventMoved, At: 1784000000009, Subqueue: orders.ID, Path: "orders", To: "audit", Audit: true, Message: message, Content: paid.Pack()},
		},
	}
}
