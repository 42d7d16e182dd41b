package archive_test

import (
	"bytes"
	"os"
	"testing"

	"mayfly/storage/archive"
	"mayfly/storage/memory"
	"mayfly/storage/storetest"
)

// TestOlder checks that a backup from a version whose SQLite stores had format 6 is read and
// restored completely.
func TestOlder(t *testing.T) {
	file, err := os.ReadFile("testdata/older.backup")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := archive.Read(t.Context(), bytes.NewReader(file), archive.Visitor{})
	want := archive.Summary{
		Header: archive.Header{Namespace: "shop", Source: "sqlite", Epoch: 1, Made: 1784000001000, History: true}, Clock: 1784000000123, Bytes: int64(len(file)),
		Counts: archive.Counts{Queues: 1, Topics: 1, Subscriptions: 1, Rules: 1, AccessRules: 1, Settings: 1, Meters: 1, Sessions: 1, Seen: 2,
			Contents: 2, Bodies: 2, BodyBytes: 300_005, Messages: 3, Events: 2},
	}
	if err != nil || sum != want {
		t.Errorf("%+v, %v; want %+v", sum, err, want)
	}
	s := new(memory.Store)
	commit(t, s, storetest.OlderBatch())
	differ(t, "restored", existingContent(t, s), existingContent(t, restore(t, file, new(memory.Store))))
}

// TestTooOld checks that a backup from the first versions, whose entities had no transfer
// dead-letter subqueue, is refused before anything is restored.
func TestTooOld(t *testing.T) {
	s := new(memory.Store)
	b := storetest.OlderBatch()
	b.Entities[0].TransferID = 0
	commit(t, s, b)
	_, err := archive.Check(t.Context(), bytes.NewReader(backup(t, s)), nil)
	const want = `the backup was written by an older Mayfly, which this version does not support: queue "orders" has no transfer dead-letter queue; ` +
		"restore it with an older version, start a server of that version on the store, and back it up again"
	if err == nil || err.Error() != want {
		t.Errorf("Check: %v; want %q", err, want)
	}
}
