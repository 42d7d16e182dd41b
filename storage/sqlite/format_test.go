package sqlite

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
	"mayfly/engine/value"
)

// writeTestdata makes TestFormats write a store of the current format before it reads the
// existing ones. Do this once for each format, before it is released.
const writeTestdata = "MAYFLY_WRITE_TESTDATA"

// fixtureRecords returns the content of the files in testdata, in the order of Load. Every field
// of format 6 is set.
func fixtureRecords() []engine.Record {
	const orders, deadLetters, transfers = engine.SubqueueID(1<<40 | 1), engine.SubqueueID(1<<40 | 2), engine.SubqueueID(1<<40 | 21)
	paid := engine.Content{MessageID: "order-17", Subject: "paid", ContentType: "text/plain", TTL: time.Hour,
		Properties: value.Properties{{Name: "euros", Value: value.OfInt(42)}}, BodySize: 5}
	rules := []engine.AccessRule{
		{Name: "ci", Rights: engine.SendRight, PrimaryKey: "one", SecondaryKey: "zwei ä", CreatedAt: 1784000000014, UpdatedAt: 1784000000015},
		{Name: "all", Rights: engine.ManageRight, PrimaryKey: "three"},
	}
	common := engine.Config{
		AuthorizationRules: rules, ForwardToAddress: "sb://a/ä", ForwardDeadLetteredMessagesToAddress: "https://b/c", EnablePartitioning: true,
	}
	queue := common
	queue.LockDuration, queue.MaxSizeInMegabytes, queue.MaxMessageSizeInKilobytes = 30*time.Second, 2048, 256
	queue.DefaultMessageTimeToLive, queue.AutoDeleteOnIdle, queue.DuplicateDetectionHistoryTimeWindow = time.Hour, 6*time.Minute, time.Minute
	queue.MaxDeliveryCount, queue.Status = 3, engine.StatusSendDisabled
	queue.DeadLetteringOnMessageExpiration, queue.IgnoreFilterExceptions, queue.UnbatchedOperations = true, true, true
	queue.EnableExpress, queue.SupportOrdering, queue.RequiresDuplicateDetection, queue.RequiresSession = true, true, true, true
	queue.ForwardTo, queue.ForwardDeadLetteredMessagesTo, queue.UserMetadata = "audit", "dead", "für Menschen"
	return []engine.Record{
		engine.Clock{Now: 1784000000123},
		engine.Access{Rules: rules[:1]},
		engine.Setting{Key: "view/empty"},
		engine.Setting{Key: "view/ä", Value: "\x00\xff", ChangedAt: 1784000000016},
		engine.Entity{ID: orders, DeadLetterID: deadLetters, TransferID: transfers, Kind: engine.Queue, Path: "orders", Config: queue,
			CreatedAt: 1784000000000, UpdatedAt: 1784000000001, UnpinnedIdle: 5 * time.Minute},
		engine.Entity{ID: 1<<40 | 3, TransferID: 1<<40 | 22, Kind: engine.Topic, Path: "Prices", Config: common, CreatedAt: 1784000000002},
		engine.Entity{ID: 1<<40 | 4, DeadLetterID: 1<<40 | 5, TransferID: 1<<40 | 23, Kind: engine.Subscription, Path: "Prices/Subscriptions/eu", Config: common},
		engine.Rule{Subscription: 1<<40 | 4, Name: "$Default", Action: "SET b = 2", CreatedAt: 1784000000003,
			Filter: engine.Filter{Kind: engine.SQLFilter, Text: "a = 1", Parameters: value.Properties{{Name: "@a", Value: value.OfInt(1)}}}},
		engine.Meter{Subqueue: orders, NextSeq: 9, LastUsed: 1784000000004, AccessedAt: 1784000000005, Duplicates: 1 << 40},
		engine.SessionRecord{Subqueue: orders, ID: "", State: "of no name", ChangedAt: 1784000000010},
		engine.SessionRecord{Subqueue: orders, ID: "A/ä\x00\xff", State: "\x00\xff", ChangedAt: 1784000000011},
		engine.SessionRecord{Subqueue: orders, ID: "a"},
		engine.SeenIDs{Subqueue: orders, N: 7, At: 1784000000012, Digests: []engine.Digest{{0: 1, 15: 2}, {}}},
		engine.SeenIDs{Subqueue: orders, N: 9, At: 1784000000013, Digests: []engine.Digest{{3}}},
		engine.StoredContent{Key: 1<<40 | 6, Content: paid.Pack()},
		engine.StoredContent{Key: 1<<40 | 7, Content: engine.Content{BodySize: 600_000}.Pack()},
		engine.Message{Key: 1<<40 | 6, Content: 1<<40 | 6, Subqueue: orders, Seq: 7, EnqueuedSeq: 7, Hops: 4,
			EnqueuedAt: 1784000000006, ExpiresAt: 1784003600006, ScheduledFor: 1784000000007, LockedUntil: 1784000030007,
			Nonce: 1<<63 | 5, DeliveryCount: 2, State: engine.Deferred},
		engine.Message{Key: 1<<40 | 7, Content: 1<<40 | 7, Subqueue: deadLetters, Seq: 8, EnqueuedSeq: 3, Hops: 4,
			Extra: &engine.Extra{DeadLettered: true, Reason: "TTLExpiredException", Description: "The message expired.",
				Source: "orders", DeadAt: 1784000000008, DeferredAt: 1784000000009, By: "somebody", NeverForwarded: true,
				Properties: value.Properties{{Name: "retry", Value: value.OfBool(true)}},
				Rewritten:  engine.Content{MessageID: "order-18", BodySize: 600_000}.Pack()}},
		engine.Message{Key: 1<<40 | 8, Content: 1<<40 | 6, Subqueue: transfers, Seq: 1, EnqueuedSeq: 1,
			Extra: &engine.Extra{DeadLettered: true, Reason: "ForwardingFailed", To: "elsewhere"}},
	}
}

// fixtureHistory returns the history of the files in testdata, newest first.
func fixtureHistory() []engine.HistoryEvent {
	records := fixtureRecords()
	orders, dead := records[4].(engine.Entity), records[17].(engine.Message)
	return []engine.HistoryEvent{
		{Epoch: 1, Event: engine.Event{N: 3, Kind: engine.EventMoved, At: 1784000000009, Subqueue: dead.Subqueue, Path: "orders/$DeadLetterQueue", To: "audit",
			Actor: "somebody", Audit: true, Message: dead, Content: records[15].(engine.StoredContent).Content, Session: "A/ä"}},
		{Epoch: 1, Event: engine.Event{N: 2, Kind: engine.EventPurged, At: 1784000000008, Subqueue: orders.ID, Path: "orders", Actor: "für Menschen",
			Reason: "it was time", Count: 1 << 40}},
		{Epoch: 1, Event: engine.Event{N: 1, Kind: engine.EventEntityDeleted, At: 1784000000008, Subqueue: orders.ID, Path: "orders", Actor: "somebody", Audit: true,
			Entity: &orders, Rules: []engine.Rule{records[7].(engine.Rule)}, Subscriptions: []engine.Entity{records[6].(engine.Entity)}}},
	}
}

var fixtureLargeBody = bytes.Repeat([]byte("0123456789"), 60_000)

func batchFrom(records []engine.Record) *engine.Batch {
	b := &engine.Batch{Hard: true}
	for _, r := range records {
		switch r := r.(type) {
		case engine.Clock:
			b.Now = r.Now
		case engine.Access:
			b.Access = &r
		case engine.Setting:
			b.Settings = append(b.Settings, r)
		case engine.Entity:
			b.Entities = append(b.Entities, r)
		case engine.Rule:
			b.Rules = append(b.Rules, r)
		case engine.Meter:
			b.Meters = append(b.Meters, r)
		case engine.SessionRecord:
			b.Sessions = append(b.Sessions, r)
		case engine.SeenIDs:
			b.Seen = append(b.Seen, r)
		case engine.StoredContent:
			b.Contents = append(b.Contents, r)
		case engine.Message:
			b.Messages = append(b.Messages, r)
		}
	}
	return b
}

// TestFormats checks that a store of each format that can be read is read completely.
// testdata/format-6.gz was written by the last version that wrote this format.
func TestFormats(t *testing.T) {
	if os.Getenv(writeTestdata) != "" {
		writeFormat(t, fileOf(current().version))
	}
	for version := current().oldest(); version <= current().version; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) { testFormat(t, version) })
	}
}

func fileOf(version int64) string { return fmt.Sprintf("testdata/format-%d.gz", version) }

func testFormat(t *testing.T, version int64) {
	records := fixtureRecords()
	file := fileOf(version)
	path := unpacked(t, version)
	s := openAt(t, path, Options{})
	if s.Epoch() != 2 {
		t.Errorf("epoch %d; want 2", s.Epoch())
	}
	got := loaded(t, s)
	if d := cmp.Diff(records, got, cmp.Comparer(func(a, b value.Value) bool { return a == b })); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
	for k, want := range map[engine.Key][]byte{1<<40 | 6: []byte("hello"), 1<<40 | 7: fixtureLargeBody} {
		r, err := s.Body(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r); err != nil || !bytes.Equal(b, want) {
			t.Errorf("body %d: %d bytes, %v", k, len(b), err)
		}
		r.Close()
	}
	if d := cmp.Diff(fixtureHistory(), queryAll(t, s, engine.HistoryQuery{})); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
	sized(t, s)
	b := batchOf(1, 10)
	b.Audit = []engine.Event{{N: 1, At: 1784000000010, Kind: engine.EventTouched, Audit: true}}
	mustCommit(t, s, b)
	if n := len(queryAll(t, s, engine.HistoryQuery{Audit: true, From: 1784000000010})); n != 1 {
		t.Errorf("%d new events are stored", n)
	}
	_, err := os.Stat(fmt.Sprint(path, ".format-", version))
	if migrated := err == nil; migrated != (version < current().version) {
		t.Errorf("a backup of format %d: %v", version, err)
	}
	fresh := openAt(t, filepath.Join(t.TempDir(), "store"), Options{})
	if d := cmp.Diff(layout(t, fresh), layout(t, s)); d != "" {
		t.Errorf("%s does not have the layout of a new file (-new +migrated):\n%s", file, d)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got = loaded(t, openAt(t, path, Options{}))
	if n := len(got); n != len(records)+1+2+10+10 {
		t.Errorf("%d records after it was opened again", n)
	}
}

// TestOldOrdering opens a store from when SupportOrdering was false by default for topics too: all
// its topics have true, whether or not they had it then. Values that were set since then are kept.
func TestOldOrdering(t *testing.T) {
	path := unpacked(t, 6) // rows of this format have no checksums
	raw(t, path, "CREATE TABLE topic AS SELECT * FROM entity WHERE path = 'Prices'; UPDATE topic SET id = 99, path = 'Old', support_ordering = 1; INSERT INTO entity SELECT * FROM topic; DROP TABLE topic")
	s := openAt(t, path, Options{})
	b := batchOf(1, 1)
	b.Entities = append(b.Entities, engine.Entity{ID: 100, Kind: engine.Topic, Path: "Stated", Config: engine.Config{UnorderedTopic: true}})
	mustCommit(t, s, b)
	got := map[engine.Path]string{}
	for _, r := range loaded(t, s) {
		if e, ok := r.(engine.Entity); ok && e.Kind != engine.Subscription {
			p, _ := engine.LookupProperty(e.Kind, "SupportOrdering")
			got[e.Path] = p.Text(e.Config)
		}
	}
	for path, want := range map[engine.Path]string{"orders": "true", "Prices": "true", "Old": "true", "Stated": "false"} {
		if got[path] != want {
			t.Errorf("SupportOrdering of %s is %q, want %s", path, got[path], want)
		}
	}
}

// layout returns the schema of a file: tables with their columns in order, indexes and views.
func layout(t *testing.T, s *Store) (all []string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := each(s.w.c, `SELECT m.type || ' ' || m.name || coalesce(' ' || c.cid || ' ' || c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || c.pk, m.sql)
		FROM sqlite_schema m LEFT JOIN pragma_table_info(m.name) c ON m.type = 'table' ORDER BY m.type, m.name, c.cid`, func(r *row) bool {
		all = append(all, r.text())
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func writeFormat(t *testing.T, file string) {
	path := filepath.Join(t.TempDir(), "store")
	s := openAt(t, path, Options{})
	if err := s.Stage(t.Context(), 1<<40|7, bytes.NewReader(fixtureLargeBody)); err != nil {
		t.Fatal(err)
	}
	b := batchFrom(fixtureRecords())
	b.Bodies = []engine.Body{{Key: 1<<40 | 6, Bytes: []byte("hello")}}
	history := fixtureHistory()
	b.Audit = []engine.Event{history[2].Event, history[0].Event}
	mustCommit(t, s, b)
	remember(t, s, []engine.Event{history[1].Event})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(z.Close(), os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, out.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// unpacked returns the path of a copy of the store of this format in testdata.
func unpacked(t *testing.T, version int64) string {
	t.Helper()
	packed, err := os.Open(fileOf(version))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func loaded(t *testing.T, s *Store) (all []engine.Record) {
	t.Helper()
	for r, err := range s.Load(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// raw runs sql on the file of a closed store.
func raw(t *testing.T, path, sql string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := errors.Join(registerChecksum(c), c.Exec(sql)); err != nil {
		t.Fatal(err)
	}
}

func TestForeignAndNewerFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	openAt(t, path, Options{}).Close()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ sql, want string }{
		"newer":          {"PRAGMA user_version=8", "was written by a newer Mayfly: it has format 8, and this version supports formats 6 to 7"},
		"somebody's":     {"PRAGMA application_id=0; CREATE TABLE theirs(x)", "is not a Mayfly store: it is the SQLite file of another program"},
		"somebody's own": {"PRAGMA application_id=77", "is not a Mayfly store: it is the SQLite file of another program"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			if err := os.WriteFile(path, before, 0o600); err != nil {
				t.Fatal(err)
			}
			raw(t, path, tc.sql)
			_, err := Open(t.Context(), path, Options{})
			if err == nil || !strings.HasSuffix(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("Open: %v; want %q", err, tc.want)
			}
		})
	}
}

// TestOlderFiles checks that a store of a format that is no longer supported is refused and not
// changed.
func TestOlderFiles(t *testing.T) {
	for version := range current().oldest() {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			path := unpacked(t, current().oldest())
			raw(t, path, fmt.Sprintf("PRAGMA user_version=%d", version))
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("the store %s was written by an older Mayfly: it has format %d, and this version supports formats 6 to 7; "+
				"upgrade it first with a version that supports formats %d and 6", path, version, version)
			if _, err := Open(t.Context(), path, Options{}); err == nil || err.Error() != want {
				t.Errorf("Open: %v; want %q", err, want)
			}
			if _, err := OpenSnapshot(t.Context(), path, Options{}); err == nil || err.Error() != want {
				t.Errorf("OpenSnapshot: %v; want %q", err, want)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the store was changed: %v", err)
			}
			copies, err := filepath.Glob(path + ".format-*")
			if err != nil || copies != nil {
				t.Errorf("copies of the store: %v, %v", copies, err)
			}
		})
	}
}

// TestMigration upgrades a store by two future formats. A failing step changes nothing. After the
// upgrade older versions refuse the store, and the file in the former format is kept beside it.
func TestMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it's a store")
	s := openAt(t, path, Options{})
	mustCommit(t, s, batchOf(1, 10))
	s.Close()
	is := current().version
	next := &format{version: is + 2, steps: map[int64]string{
		is:     "ALTER TABLE meter ADD COLUMN colour TEXT; UPDATE meter SET colour = 'blue'",
		is + 1: "ALTER TABLE meter RENAME COLUMN colour TO hue",
	}}
	bad := &format{version: is + 2, steps: map[int64]string{is: next.steps[is], is + 1: "ALTER TABLE nothing RENAME TO all_"}}
	if _, err := Open(t.Context(), path, Options{format: bad}); err == nil || !strings.Contains(err.Error(), fmt.Sprint("cannot be upgraded to format ", is+2)) {
		t.Fatalf("a step that fails: %v", err)
	}
	s = openAt(t, path, Options{}) // it is unchanged
	s.Close()
	s = openAt(t, path, Options{format: next})
	if n, now := held(t, s); n != 10 || now != 1 {
		t.Errorf("%d messages at %d after the migration", n, now)
	}
	if n, err := number(s.w.c, "SELECT count(*) FROM meter WHERE hue = 'blue'"); n == 0 || err != nil {
		t.Errorf("the migration steps did not run: %v", err)
	}
	s.Close()
	if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("opening the migrated store with the old version: %v", err)
	}
	old := openAt(t, fmt.Sprint(path, ".format-", is), Options{})
	if n, _ := held(t, old); n != 10 {
		t.Errorf("%d messages in the backup", n)
	}
}
