package mongo

import (
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
)

// Fields that people search for are readable, and have the same names in all collections.
func TestReadableDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := new(toy)
		s, err := openOn(t.Context(), db, nil, timed(Options{Namespace: "shop"}))
		if err != nil {
			t.Fatal(err)
		}
		const at engine.Instant = 1784000000123
		sent := engine.Content{MessageID: "order-17", Subject: "paid", SessionID: "customer-17", BodySize: 5}.Pack()
		rewritten := engine.Content{MessageID: "order-17", Subject: "settled", BodySize: 5}.Pack()
		commits := []*engine.Batch{{
			Entities: []engine.Entity{{ID: 1, DeadLetterID: 2, TransferID: 3, Kind: engine.Queue, Path: "orders",
				Config: engine.Config{RequiresSession: true, RequiresDuplicateDetection: true, ForwardTo: "next", ForwardDeadLetteredMessagesTo: "dead"}}},
			Meters:   []engine.Meter{{Subqueue: 1, NextSeq: 9, Duplicates: 3}},
			Sessions: []engine.SessionRecord{{Subqueue: 1, ID: "customer-17/\xff", State: "step 3", ChangedAt: at}},
			Settings: []engine.Setting{{Key: "view/late \xff", Value: "{}", ChangedAt: at}},
			Seen:     []engine.SeenIDs{{Subqueue: 1, N: 1, At: at}, {Subqueue: 1, N: 2, At: at, Digests: make([]engine.Digest, 3)}},
			Contents: []engine.StoredContent{{Key: 7, Content: sent}},
			Messages: []engine.Message{
				{Key: 7, Content: 7, Subqueue: 1, Seq: 1, ExpiresAt: at},
				{Key: 8, Content: 7, Subqueue: 3, Seq: 1, Hops: 2, ExpiresAt: at, Extra: &engine.Extra{DeadLettered: true, Reason: "ForwardingFailed", Rewritten: rewritten}},
			},
			Written: []engine.Packed{sent, sent},
			Audit:   []engine.Event{{N: 1, Kind: engine.EventSessionLost, At: at, Path: "orders", Session: "customer-17", Actor: "somebody", Audit: true}},
		}, {DropSeen: []engine.SeenIDsThrough{{Subqueue: 1, N: 1}}}}
		for _, b := range commits {
			b.Hard, b.Now = true, at
			if err := s.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil { // Close applies the commits
			t.Fatal(err)
		}
		date := bson.NewDateTimeFromTime(time.UnixMilli(int64(at)))
		for _, tc := range []struct {
			in   collection
			id   string
			want bson.D
		}{
			{entities, "shop/00000000000000000001", bson.D{{Key: "path", Value: "orders"}, {Key: "holder", Value: int64(1)}, {Key: "deadLetterHolder", Value: int64(2)},
				{Key: "transferDeadLetterHolder", Value: int64(3)}, {Key: "requiresSession", Value: true}, {Key: "requiresDuplicateDetection", Value: true},
				{Key: "forwardTo", Value: "next"}, {Key: "forwardDeadLetteredMessagesTo", Value: "dead"}}},
			{meters, "shop/00000000000000000001", bson.D{{Key: "nextSequenceNumber", Value: int64(9)}, {Key: "duplicates", Value: int64(3)}}},
			{sessions, "shop/00000000000000000001/customer-17%2F%FF", bson.D{{Key: "ns", Value: "shop"}, {Key: "path", Value: "orders"}, {Key: "holder", Value: int64(1)},
				{Key: "sessionId", Value: "customer-17/\uFFFD"}, {Key: "stateBytes", Value: int64(6)}, {Key: "changedAt", Value: date}}},
			{namespaceSettings, "shop/view%2Flate%20%FF", bson.D{{Key: "ns", Value: "shop"}, {Key: "key", Value: "view/late \uFFFD"}, {Key: "valueBytes", Value: int64(2)}, {Key: "changedAt", Value: date}}},
			{seen, "shop/00000000000000000001/00000001/000000000001/00000000000000000002", bson.D{{Key: "ns", Value: "shop"}, {Key: "path", Value: "orders"},
				{Key: "holder", Value: int64(1)}, {Key: "n", Value: int64(2)}, {Key: "at", Value: date}, {Key: "messageIds", Value: int64(3)}}},
			{seenDropsColl, "shop/00000000000000000001", bson.D{{Key: "ns", Value: "shop"}, {Key: "path", Value: "orders"}, {Key: "holder", Value: int64(1)}, {Key: "through", Value: int64(1)}}},
			{messages, "shop/00000000000000000007", bson.D{{Key: "path", Value: "orders"}, {Key: "subject", Value: "paid"}, {Key: "sessionId", Value: "customer-17"}}},
			{messages, "shop/00000000000000000008", bson.D{{Key: "path", Value: "orders/$Transfer/$DeadLetterQueue"}, {Key: "subject", Value: "settled"}, {Key: "messageId", Value: "order-17"},
				{Key: "hops", Value: int64(2)}, {Key: "bodyBytes", Value: int64(5)}, {Key: "deadLetterReason", Value: "ForwardingFailed"}}},
			{history, "shop/0001784000000123/00000001/00000000000000000001", bson.D{{Key: "kind", Value: "session-lost"}, {Key: "session", Value: "customer-17"}}},
		} {
			doc, err := db.Get(t.Context(), tc.in, tc.id)
			if err != nil || doc == nil {
				t.Errorf("%s %s: %v, %v; there are %q", tc.in, tc.id, doc, err, db.ids(tc.in))
				continue
			}
			if !matches(doc, tc.want) {
				t.Errorf("%s %s is %v, want %v", tc.in, tc.id, doc, tc.want)
			}
		}
		if doc, err := db.Get(t.Context(), messages, "shop/00000000000000000008"); err != nil || doc.Lookup("purgeAt").Type != 0 || doc.Lookup("sessionId").Type != 0 {
			t.Errorf("a transfer dead letter: %v, %v", doc, err)
		}
	})
}

// The _ids of sessions and remembered MessageIds are unique and sort in order.
func TestNamesOfMemory(t *testing.T) {
	n := docIDs("shop")
	given := map[string]engine.SessionID{}
	for _, id := range []engine.SessionID{
		{Subqueue: 1}, {Subqueue: 1, ID: "a"}, {Subqueue: 1, ID: "A"}, {Subqueue: 1, ID: "/"}, {Subqueue: 1, ID: "%2F"}, {Subqueue: 1, ID: "\x00"}, {Subqueue: 1, ID: "\xff"},
		{Subqueue: 1, ID: "ä"}, {Subqueue: 1, ID: "\uFFFD"}, {Subqueue: 10}, {Subqueue: 10, ID: "a"},
	} {
		name := n.session(id)
		if other, taken := given[name]; taken {
			t.Errorf("%+v and %+v both have the _id %s", id, other, name)
		}
		given[name] = id
		if r := within(n.subqueue(id.Subqueue)); name < r.from || name >= r.to || name != text(name) {
			t.Errorf("%+v is called %q", id, name)
		}
	}
	last := ""
	for _, tc := range []struct {
		h  engine.SubqueueID
		at version
		n  uint64
	}{
		{1, versionOf(1, 1), 7}, {1, versionOf(1, 1), 8}, {1, versionOf(1, 2), 1}, {1, versionOf(1, 10), 1}, {1, versionOf(2, 1), 1},
		{1, versionOf(10, 1), ^uint64(0)}, {2, versionOf(1, 1), 1}, {1 << 63, versionOf(1<<24-1, 1<<39-1), 1},
	} {
		name := n.seen(tc.h, tc.at, tc.n)
		if h, at, number, err := parseSeenID(name); err != nil || h != tc.h || at != tc.at || number != tc.n {
			t.Errorf("%s is read as %d, %d, %d, %v", name, h, at, number, err)
		}
		if name <= last {
			t.Errorf("%s comes after %s", name, last)
		}
		last = name
	}
	for _, id := range []string{"shop", "shop/1", "shop/1/2/3", "shop/1/2/3/x"} {
		if _, _, _, err := parseSeenID(id); err == nil {
			t.Errorf("%s is read", id)
		}
	}
}
