package sqlite

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"mayfly/engine"
	"mayfly/engine/value"
)

// writeTestdata makes TestFormats write a store of the current format before it reads the
// existing ones. Do so once for each format, before it is released.
const writeTestdata = "MAYFLY_WRITE_TESTDATA"

// formatOne returns the content of testdata/format-1.gz, in the order of Load, which format 2
// has, too. Later fields are zero.
func formatOne() []engine.Record {
	content := engine.Content{MessageID: "order-17", Subject: "paid", ContentType: "text/plain", TTL: time.Hour,
		Properties: value.Properties{{Name: "euros", Value: value.OfInt(42)}}, BodySize: 5}
	return []engine.Record{
		engine.Clock{Now: 1784000000123},
		engine.Entity{ID: 1<<40 | 1, DeadLetterID: 1<<40 | 2, Kind: engine.Queue, Path: "orders",
			CreatedAt: 1784000000000, UpdatedAt: 1784000000001, UnpinnedIdle: 5 * time.Minute,
			Config: engine.Config{
				LockDuration: 30 * time.Second, MaxSizeInMegabytes: 2048, MaxMessageSizeInKilobytes: 256,
				DefaultMessageTimeToLive: time.Hour, AutoDeleteOnIdle: 6 * time.Minute,
				DuplicateDetectionHistoryTimeWindow: time.Minute, MaxDeliveryCount: 3, Status: engine.StatusSendDisabled,
				DeadLetteringOnMessageExpiration: true, IgnoreFilterExceptions: true, UnbatchedOperations: true,
				EnableExpress: true, SupportOrdering: true, RequiresDuplicateDetection: true, RequiresSession: true,
				ForwardTo: "audit", ForwardDeadLetteredMessagesTo: "dead", UserMetadata: "für Menschen",
			}},
		engine.Entity{ID: 1<<40 | 3, Kind: engine.Topic, Path: "Prices", CreatedAt: 1784000000002},
		engine.Entity{ID: 1<<40 | 4, DeadLetterID: 1<<40 | 5, Kind: engine.Subscription, Path: "Prices/Subscriptions/eu"},
		engine.Rule{Subscription: 1<<40 | 4, Name: "$Default", Filter: engine.Filter{Kind: engine.SQLFilter, Text: "a = 1"},
			Action: "SET b = 2", CreatedAt: 1784000000003},
		engine.Meter{Subqueue: 1<<40 | 1, NextSeq: 9, LastUsed: 1784000000004, AccessedAt: 1784000000005},
		engine.StoredContent{Key: 1<<40 | 6, Content: content.Pack()},
		engine.StoredContent{Key: 1<<40 | 7, Content: engine.Content{BodySize: 600_000}.Pack()},
		engine.Message{Key: 1<<40 | 6, Content: 1<<40 | 6, Subqueue: 1<<40 | 1, Seq: 7, EnqueuedSeq: 7,
			EnqueuedAt: 1784000000006, ExpiresAt: 1784003600006, ScheduledFor: 1784000000007, LockedUntil: 1784000030007,
			Nonce: 1<<63 | 5, DeliveryCount: 2, State: engine.Deferred},
		engine.Message{Key: 1<<40 | 7, Content: 1<<40 | 7, Subqueue: 1<<40 | 2, Seq: 8, EnqueuedSeq: 3,
			Extra: &engine.Extra{DeadLettered: true, Reason: "TTLExpiredException", Description: "The message expired.",
				Source: "orders", DeadAt: 1784000000008, DeferredAt: 1784000000009, By: "somebody",
				Properties: value.Properties{{Name: "retry", Value: value.OfBool(true)}}}},
	}
}

// formatThree returns the content of testdata/format-3.gz: formatOne with new fields, and new
// records.
func formatThree() []engine.Record {
	all := formatOne()
	for i, r := range all {
		switch r := r.(type) {
		case engine.Entity:
			r.TransferID = 1<<40 | engine.SubqueueID(20+i)
			all[i] = r
		case engine.Rule:
			r.Filter.Parameters = value.Properties{{Name: "@a", Value: value.OfInt(1)}}
			all[i] = r
		case engine.Meter:
			r.Duplicates = 1 << 40
			all[i] = r
		case engine.Message:
			if r.Hops = 4; r.Extra != nil {
				r.Extra.Rewritten, r.Extra.NeverForwarded = engine.Content{MessageID: "order-18", BodySize: 600_000}.Pack(), true
			}
			all[i] = r
		}
	}
	orders := engine.SubqueueID(1<<40 | 1)
	return slices.Insert(all, 6, []engine.Record{
		engine.SessionRecord{Subqueue: orders, ID: "", State: "of no name", ChangedAt: 1784000000010},
		engine.SessionRecord{Subqueue: orders, ID: "A/ä\x00\xff", State: "\x00\xff", ChangedAt: 1784000000011},
		engine.SessionRecord{Subqueue: orders, ID: "a"},
		engine.SeenIDs{Subqueue: orders, N: 7, At: 1784000000012, Digests: []engine.Digest{{0: 1, 15: 2}, {}}},
		engine.SeenIDs{Subqueue: orders, N: 9, At: 1784000000013, Digests: []engine.Digest{{3}}},
	}...)
}

// formatFour returns the content of testdata/format-4.gz: formatThree, and a message to be
// transferred.
func formatFour() []engine.Record {
	all := formatThree()
	return append(all, engine.Message{Key: 1<<40 | 8, Content: 1<<40 | 6, Subqueue: 1<<40 | 21, Seq: 1, EnqueuedSeq: 1,
		Extra: &engine.Extra{DeadLettered: true, Reason: "ForwardingFailed", To: "elsewhere"}})
}

// formatFive returns the content of testdata/format-5.gz: formatFour, access rules, and new
// fields of descriptions.
func formatFive() []engine.Record {
	all := formatFour()
	rules := []engine.AccessRule{
		{Name: "ci", Rights: engine.SendRight, PrimaryKey: "one", SecondaryKey: "zwei ä", CreatedAt: 1784000000014, UpdatedAt: 1784000000015},
		{Name: "all", Rights: engine.ManageRight, PrimaryKey: "three"},
	}
	for i, r := range all {
		if e, ok := r.(engine.Entity); ok {
			e.Config.AuthorizationRules = rules
			e.Config.ForwardToAddress, e.Config.ForwardDeadLetteredMessagesToAddress, e.Config.EnablePartitioning = "sb://a/ä", "https://b/c", true
			all[i] = e
		}
	}
	return slices.Insert(all, 1, engine.Record(engine.Access{Rules: rules[:1]}))
}

// formatSix returns the content of testdata/format-6.gz: formatFive, and settings.
func formatSix() []engine.Record {
	return slices.Insert(formatFive(), 2, []engine.Record{
		engine.Setting{Key: "view/empty"},
		engine.Setting{Key: "view/ä", Value: "\x00\xff", ChangedAt: 1784000000016},
	}...)
}

// formatTwo returns the history in testdata/format-2.gz, newest first.
func formatTwo() []engine.HistoryEvent {
	records := formatOne()
	dead, orders := records[9].(engine.Message), records[1].(engine.Entity)
	return []engine.HistoryEvent{
		{Epoch: 1, Event: engine.Event{N: 3, Kind: engine.EventMoved, At: 1784000000009, Subqueue: dead.Subqueue, Path: "orders/$DeadLetterQueue", To: "audit",
			Actor: "somebody", Audit: true, Message: dead, Content: records[7].(engine.StoredContent).Content}},
		{Epoch: 1, Event: engine.Event{N: 2, Kind: engine.EventPurged, At: 1784000000008, Subqueue: orders.ID, Path: "orders", Actor: "für Menschen",
			Reason: "it was time", Count: 1 << 40}},
		{Epoch: 1, Event: engine.Event{N: 1, Kind: engine.EventEntityDeleted, At: 1784000000008, Subqueue: orders.ID, Path: "orders", Actor: "somebody", Audit: true,
			Entity: &orders, Rules: []engine.Rule{records[4].(engine.Rule)}, Subscriptions: []engine.Entity{records[3].(engine.Entity)}}},
	}
}

var largeBodyOfFormatOne = bytes.Repeat([]byte("0123456789"), 60_000)

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

func TestFormats(t *testing.T) {
	if os.Getenv(writeTestdata) != "" {
		writeFormat(t, fileOf(current().version))
	}
	for version, holds := range map[int64]struct {
		records []engine.Record
		history []engine.HistoryEvent
	}{1: {formatOne(), nil}, 2: {formatOne(), formatTwo()}, 3: {formatThree(), formatTwo()}, 4: {formatFour(), formatTwo()}, 5: {formatFive(), formatTwo()},
		6: {formatSix(), formatTwo()}, 7: {formatSix(), formatTwo()}} {
		t.Run(fmt.Sprint(version), func(t *testing.T) { testFormat(t, version, holds.records, holds.history) })
	}
}

func fileOf(version int64) string { return fmt.Sprintf("testdata/format-%d.gz", version) }

func testFormat(t *testing.T, version int64, records []engine.Record, history []engine.HistoryEvent) {
	file := fileOf(version)
	packed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	path := filepath.Join(t.TempDir(), "store")
	gunzip(t, packed, path)
	s := openAt(t, path, Options{})
	if s.Epoch() != 2 {
		t.Errorf("epoch %d; want 2", s.Epoch())
	}
	got := loaded(t, s)
	if d := cmp.Diff(records, got, cmp.Comparer(func(a, b value.Value) bool { return a == b })); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
	for k, want := range map[engine.Key][]byte{1<<40 | 6: []byte("hello"), 1<<40 | 7: largeBodyOfFormatOne} {
		r, err := s.Body(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r); err != nil || !bytes.Equal(b, want) {
			t.Errorf("body %d: %d bytes, %v", k, len(b), err)
		}
		r.Close()
	}
	if d := cmp.Diff(history, past(t, s, engine.HistoryQuery{})); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
	sized(t, s)
	b := batchOf(1, 10)
	b.Audit = []engine.Event{{N: 1, At: 1784000000010, Kind: engine.EventTouched, Audit: true}}
	mustCommit(t, s, b)
	if n := len(past(t, s, engine.HistoryQuery{Audit: true, From: 1784000000010})); n != 1 {
		t.Errorf("%d events are remembered of what was done now", n)
	}
	_, err = os.Stat(fmt.Sprint(path, ".format-", version))
	if migrated := err == nil; migrated != (version < current().version) {
		t.Errorf("a backup of format %d: %v", version, err)
	}
	fresh := openAt(t, filepath.Join(t.TempDir(), "store"), Options{})
	if d := cmp.Diff(layout(t, fresh), layout(t, s)); d != "" {
		t.Errorf("%s is not laid out as a new file is (-new +migrated):\n%s", file, d)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got = loaded(t, openAt(t, path, Options{}))
	if n := len(got); n != len(records)+1+2+10+10 {
		t.Errorf("%d records when it is opened again", n)
	}
}

// TestOldOrdering opens a store from when SupportOrdering was false by default for topics too,
// with topics that have it and topics that do not. Values stated since then are kept.
func TestOldOrdering(t *testing.T) {
	packed, err := os.Open(fileOf(6)) // rows have no sums in it
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	path := filepath.Join(t.TempDir(), "store")
	gunzip(t, packed, path)
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

// layout returns what a file consists of: tables with their columns in order, indexes and
// views.
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
	if err := s.Stage(t.Context(), 1<<40|7, bytes.NewReader(largeBodyOfFormatOne)); err != nil {
		t.Fatal(err)
	}
	b := batchFrom(formatSix())
	b.Bodies = []engine.Body{{Key: 1<<40 | 6, Bytes: []byte("hello")}}
	history := formatTwo()
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

func gunzip(t *testing.T, from io.Reader, path string) {
	t.Helper()
	z, err := gzip.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
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
		"newer":          {"PRAGMA user_version=8", "was written by a newer Mayfly: it has format 8, and this version supports formats up to 7"},
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
	t.Run("older than all", func(t *testing.T) {
		raw(t, path, "PRAGMA user_version=0")
		if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), "format 0 is not supported") {
			t.Errorf("Open: %v", err)
		}
	})
}

// TestMigration takes a store through two future formats.
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
		t.Errorf("the steps were not taken: %v", err)
	}
	s.Close()
	if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("the migrated store is opened by the old program: %v", err)
	}
	old := openAt(t, fmt.Sprint(path, ".format-", is), Options{})
	if n, _ := held(t, old); n != 10 {
		t.Errorf("%d messages in the backup", n)
	}
}
