package sqlite

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
)

// TestViews checks the rows of the views that people use to read a store, while it is open.
func TestViews(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "store"), Options{})
	at := engine.At(time.Date(2026, 7, 14, 10, 4, 12, 345e6, time.UTC))
	pack := func(id, text string) engine.Packed {
		return engine.Content{MessageID: id, Subject: "s", BodySize: int64(len(text))}.Pack()
	}
	mustCommit(t, s, &engine.Batch{
		Hard: true, Now: at,
		Entities: []engine.Entity{
			{ID: 10, DeadLetterID: 11, TransferID: 15, Kind: engine.Queue, Path: "orders", CreatedAt: at, UpdatedAt: at, Config: engine.Config{DefaultMessageTimeToLive: 90 * time.Second}},
			{ID: 12, Kind: engine.Topic, Path: "prices", CreatedAt: at},
			{ID: 13, DeadLetterID: 14, Kind: engine.Subscription, Path: "prices/Subscriptions/eu", Config: engine.Config{Status: engine.StatusDisabled}},
		},
		Meters: []engine.Meter{{Subqueue: 10, NextSeq: 5, LastUsed: at, Duplicates: 2}},
		Sessions: []engine.SessionRecord{
			{Subqueue: 10, ID: "customer-17", State: "step 3", ChangedAt: at}, {Subqueue: 10, ID: "Customer-17"}, {Subqueue: 99, ID: "of nobody"},
		},
		Seen: []engine.SeenIDs{
			{Subqueue: 10, N: 1, At: at - 1}, {Subqueue: 10, N: 2, At: at, Digests: make([]engine.Digest, 1000)}, {Subqueue: 12, N: 7, At: at - 2, Digests: make([]engine.Digest, 1)},
		},
		Settings: []engine.Setting{{Key: "view/late", Value: "{}", ChangedAt: at}, {Key: "job/1"}},
		Contents: []engine.StoredContent{{Key: 1, Content: pack("order-17", "hello")}, {Key: 2, Content: pack("", "")}},
		Bodies:   []engine.Body{{Key: 1, Bytes: []byte("hello")}},
		Messages: []engine.Message{
			{Key: 1, Content: 1, Subqueue: 10, Seq: 3, EnqueuedAt: at, ExpiresAt: at + 90_000},
			{Key: 3, Content: 2, Subqueue: 10, Seq: 4, LockedUntil: at + 60_000, DeliveryCount: 1},
			{Key: 4, Content: 1, Subqueue: 11, Seq: 1, Extra: &engine.Extra{DeadLettered: true, Reason: "TTLExpiredException", DeadAt: at}},
			{Key: 5, Content: 1, Subqueue: 15, Seq: 1, Hops: 3, Extra: &engine.Extra{DeadLettered: true, Rewritten: pack("order-18", "hello")}},
		},
	})
	remember(t, s, []engine.Event{
		{N: 7, At: at, Kind: engine.EventMoved, Path: "orders/$DeadLetterQueue", To: "orders", Actor: "somebody", Message: engine.Message{Key: 4}, Audit: true},
		{N: 8, At: at + 1, Kind: engine.EventPurged, Path: "orders", Count: 3, Reason: "by hand"},
		{N: 9, At: at + 2, Kind: engine.EventSessionLocked, Path: "orders", Session: "customer-17"},
	})
	want := map[string]string{
		"SELECT path, active, locked, deferred, scheduled, dead_letters, transfer_dead_letters, status, ttl_seconds, lock_seconds, created_at, last_used, duplicates FROM queues": "orders|1|1|0|0|1|1|Active|90.0|60.0|2026-07-14T10:04:12.345Z|2026-07-14T10:04:12.345Z|2",
		"SELECT path, created_at, duplicates FROM topics":            "prices|2026-07-14T10:04:12.345Z|0",
		"SELECT path, status, max_delivery_count FROM subscriptions": "prices/Subscriptions/eu|Disabled|10",
		"SELECT path, sequence_number, state, message_id, delivery_count, enqueued_at, expires_at, locked_until, dead_letter_reason, body_bytes, body, hops FROM messages ORDER BY path, sequence_number": "orders|3|Active|order-17|0|2026-07-14T10:04:12.345Z|2026-07-14T10:05:42.345Z|||5|hello|0\n" +
			"orders|4|Locked||1|||2026-07-14T10:05:12.345Z||0||0\n" +
			"orders/$DeadLetterQueue|1|Active|order-17|0||||TTLExpiredException|5|hello|0\n" +
			"orders/$Transfer/$DeadLetterQueue|1|Active|order-18|0|||||5|hello|3",
		"SELECT path, session_id, state_bytes, state, changed_at FROM sessions ORDER BY session_id": "orders|Customer-17|0||\n" +
			"orders|customer-17|6|step 3|2026-07-14T10:04:12.345Z",
		"SELECT * FROM settings ORDER BY key": "job/1|0||\n" +
			"view/late|2|{}|2026-07-14T10:04:12.345Z",
		"SELECT * FROM duplicate_history": "orders|2|1000|2026-07-14T10:04:12.345Z\n" +
			"orders|1|0|2026-07-14T10:04:12.344Z\n" +
			"prices|7|1|2026-07-14T10:04:12.343Z",
		"SELECT * FROM activity": "2026-07-14T10:04:12.347Z|session-locked|orders||||||0|customer-17\n" +
			"2026-07-14T10:04:12.346Z|purged|orders|||by hand|3||0|\n" +
			"2026-07-14T10:04:12.345Z|moved|orders/$DeadLetterQueue|orders|somebody|||4|1|",
		"PRAGMA integrity_check": "ok",
	}
	tools := map[string]func(ctx context.Context, path, sql string) (string, error){"the driver": query}
	if tool, err := exec.LookPath("sqlite3"); err == nil {
		tools["sqlite3"] = func(ctx context.Context, path, sql string) (string, error) {
			out, err := exec.CommandContext(ctx, tool, "-readonly", path, sql).CombinedOutput()
			return strings.TrimRight(string(out), "\n"), err
		}
	} else {
		t.Log("the sqlite3 tool is not here; only the driver looks")
	}
	for name, run := range tools {
		for sql, rows := range want {
			got, err := run(t.Context(), s.path, sql)
			if err != nil {
				t.Errorf("%s: %s: %v", name, sql, err)
			}
			if d := cmp.Diff(rows, got); d != "" {
				t.Errorf("%s: %s (-want +got):\n%s", name, sql, d)
			}
		}
	}
	mustCommit(t, s, batchOf(100, 1)) // no reader blocks it
}

func query(_ context.Context, path, sql string) (string, error) {
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READONLY)
	if err != nil {
		return "", err
	}
	st, _, err := c.Prepare(sql)
	if err != nil {
		return "", errors.Join(err, c.Close())
	}
	var rows []string
	for st.Step() {
		var cells []string
		for i := range st.ColumnCount() {
			cells = append(cells, st.ColumnText(i))
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	return strings.Join(rows, "\n"), errors.Join(st.Err(), st.Close(), c.Close())
}
