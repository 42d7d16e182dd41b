package storetest

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mayfly/engine"
)

// changeText changes one bit in each occurrence of text in a closed store.
func changeText(t *testing.T, f Files, path, text string) {
	t.Helper()
	changed := []byte(text)
	changed[len(changed)-1] ^= 1
	places := 0
	err := filepath.WalkDir(filepath.Dir(path), func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || f.Index != "" && strings.HasSuffix(name, f.Index) {
			return err
		}
		file, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(file, []byte(text)) {
			return err
		}
		places += bytes.Count(file, []byte(text))
		return os.WriteFile(name, bytes.ReplaceAll(file, []byte(text), changed), 0o600)
	})
	if err != nil || places == 0 {
		t.Fatalf("%q is in %d places of the store: %v", text, places, err)
	}
}

// testDamagedRecords changes a bit in records without which a namespace can be served: the
// state of a session, remembered MessageIds, and settings. Verify names the record. The store
// opens, logs the records that it omits, and keeps all others, even later ones.
func testDamagedRecords(t *testing.T, f Files) {
	if f.Verify == nil {
		t.Fatal("Files.Verify is missing: a durable store finds damage")
	}
	whole := t.TempDir()
	b := numbered(1)
	b.Rules = []engine.Rule{{Subscription: 10, Name: "the-rule"}}
	b.Entities = append(b.Entities, engine.Entity{ID: 9, Kind: engine.Topic, Path: "the-topic"}, engine.Entity{ID: 10, Kind: engine.Subscription, Path: "the-topic/subscriptions/s", DeadLetterID: 11})
	b.Sessions = []engine.SessionRecord{{Subqueue: 1, ID: "cart-17", State: "the state of cart 17"}, {Subqueue: 1, ID: "cart-18", State: "another state"}}
	b.Seen = []engine.SeenIDs{
		{Subqueue: 1, N: 4, At: 1, Digests: []engine.Digest{engine.Digest([]byte("the 16 byte sum."))}},
		{Subqueue: 1, N: 5, At: 1, Digests: []engine.Digest{{1}}},
	}
	b.Settings = []engine.Setting{{Key: "views/first", Value: "the value of the first"}, {Key: "views/second", Value: "another value"}}
	s := openPath(t, f, filepath.Join(whole, "store"))
	commit(t, s, b)
	closeStore(t, s)
	for name, tc := range map[string]struct {
		text     string
		verifies string // part of Verify's finding
		logs     string // part of the log
		without  func(s *state)
	}{
		"session": {"the state of cart 17", "cart-17", "cart-17", func(s *state) {
			delete(s.Sessions, engine.SessionID{Subqueue: 1, ID: "cart-17"})
		}},
		"seen": {"the 16 byte sum.", "holder 1", "seen", func(s *state) {
			delete(s.Seen, engine.SeenIDsThrough{Subqueue: 1, N: 4})
		}},
		"setting": {"the value of the first", "views/first", "views/first", func(s *state) {
			delete(s.Settings, "views/first")
		}},
		"the key of a setting": {"views/first", "setting", "setting", func(s *state) {
			delete(s.Settings, "views/first")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "store")
			changeText(t, f, path, tc.text)
			if wrong, err := f.Verify(t.Context(), path); err != nil || !strings.Contains(strings.Join(wrong, "\n"), tc.verifies) {
				t.Errorf("Verify: %q, %v; want %q", wrong, err, tc.verifies)
			}
			var log bytes.Buffer
			s, err := f.Open(t.Context(), path, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			want := newState()
			want.apply(b)
			tc.without(want)
			check(t, s, want)
			logged := strings.ReplaceAll(log.String(), dir, "") // the path contains the name of this test
			if !strings.Contains(logged, "damaged and was skipped") || !strings.Contains(logged, tc.logs) {
				t.Errorf("the log is %q; want %q and that the record was skipped", logged, tc.logs)
			}
			again := &engine.Batch{Hard: true, Now: 2, Sessions: b.Sessions, Settings: b.Settings}
			commit(t, s, again)
			want.apply(again)
			check(t, s, want)
			closeStore(t, s)
			check(t, openPath(t, f, path), want)
		})
	}
}
