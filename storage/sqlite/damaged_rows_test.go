package sqlite

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mayfly/engine"
)

// spoil changes one bit in each occurrence of text in a closed store.
func spoil(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(file, []byte(text)) {
		t.Fatalf("%q is not in the file: %v", text, err)
	}
	changed := []byte(text)
	changed[len(changed)-1] ^= 1
	if err := os.WriteFile(path, bytes.ReplaceAll(file, []byte(text), changed), 0o600); err != nil {
		t.Fatal(err)
	}
}

// looked opens a snapshot of the store at path, and returns the damage that Integrity finds and
// the rows that were set aside.
func looked(t *testing.T, path string) (wrong, aside string) {
	t.Helper()
	l, err := OpenSnapshot(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := l.Integrity(t.Context())
	if err != nil {
		t.Error(err)
	}
	lines, err := l.Aside(t.Context())
	if err := errors.Join(err, l.Close()); err != nil {
		t.Error(err)
	}
	return strings.Join(all, "\n"), strings.Join(lines, "\n")
}

// loadedByLook returns the error of loading a snapshot of the store at path.
func loadedByLook(t *testing.T, path string) (err error) {
	t.Helper()
	l, err := OpenSnapshot(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, err = range l.Load(t.Context()) {
	}
	return err
}

// TestDamagedRows changes a bit in a row of each table from which Load yields records. A row
// without which a namespace can be served is set aside, after which the check finds nothing.
// Any other damaged row prevents the store from being loaded, and the error names it.
// storetest.RunFileFaults tests that a store is served without a damaged row.
func TestDamagedRows(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	s := openAt(t, whole, Options{})
	mustCommit(t, s, &engine.Batch{
		Hard: true, Now: 1,
		Entities: []engine.Entity{{ID: 7, Kind: engine.Queue, Path: "the-queue", DeadLetterID: 8}, {ID: 9, Kind: engine.Topic, Path: "the-topic"}, {ID: 10, Kind: engine.Subscription, Path: "the-topic/subscriptions/s", DeadLetterID: 11}},
		Rules:    []engine.Rule{{Subscription: 10, Name: "the-rule"}},
		Sessions: []engine.SessionRecord{{Subqueue: 7, ID: "one", State: "the state of one"}, {Subqueue: 7, ID: "two", State: "another state"}},
		Seen:     []engine.SeenIDs{{Subqueue: 7, N: 4, At: 1, Digests: []engine.Digest{engine.Digest([]byte("the 16 byte sum."))}}, {Subqueue: 7, N: 5, At: 1, Digests: []engine.Digest{{1}}}},
		Settings: []engine.Setting{{Key: "views/one", Value: "the value of one"}, {Key: "views/two", Value: "another value"}},
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ text, about, refused string }{
		"session":              {text: "the state of one", about: "session 'one' of holder 7"},
		"seen":                 {text: "the 16 byte sum.", about: "of holder 7"},
		"setting":              {text: "the value of one", about: "setting 'views/one'"},
		"the key of a setting": {text: "views/one", about: "setting"},
		"entity":               {text: "the-queue", refused: `a row of the table entity (id "7", path "the-queud")`},
		"rule":                 {text: "the-rule", refused: "a row of the table rule"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			if err := os.WriteFile(path, sound, 0o600); err != nil {
				t.Fatal(err)
			}
			spoil(t, path, tc.text)
			if tc.refused != "" {
				raw(t, path, "UPDATE setting SET sum = 1") // that table is read before the others
			} else if err := loadedByLook(t, path); !errors.Is(err, engine.ErrDamaged) || strings.Contains(err.Error(), "cannot be served") {
				t.Errorf("Load of a snapshot: %v", err)
			}
			wrong, _ := looked(t, path)
			if !strings.Contains(wrong, tc.about) || wrong == "" {
				t.Errorf("verify finds %q", wrong)
			}
			s := openAt(t, path, Options{})
			rows, err := 0, error(nil)
			for r, failed := range s.Load(t.Context()) {
				if err = failed; err != nil {
					break
				}
				switch r.(type) {
				case engine.SessionRecord, engine.SeenIDs, engine.Setting:
					rows++
				}
			}
			if tc.refused != "" {
				if !errors.Is(err, engine.ErrDamaged) || !strings.Contains(err.Error(), tc.refused) || !strings.Contains(err.Error(), "restore a backup") {
					t.Errorf("Load: %v; want ErrDamaged with %q", err, tc.refused)
				}
				if _, aside := looked(t, path); aside != "" {
					t.Errorf("a store that cannot be loaded has set aside %s", aside)
				}
				return
			}
			if err != nil || rows != 5 {
				t.Fatalf("Load: %d of 6 rows, %v; want the 5 undamaged ones", rows, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			wrong, aside := looked(t, path)
			if wrong != "" || !strings.Contains(aside, "a row of the table") || strings.Contains(aside, "\n") {
				t.Errorf("after the row was set aside, verify finds %q, and the table aside has %q", wrong, aside)
			}
		})
	}
}
