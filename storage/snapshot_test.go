package storage_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"mayfly/storage"
)

func TestOpenSnapshot(t *testing.T) {
	dir := t.TempDir()
	url := "sqlite:" + filepath.Join(dir, "store")
	if _, err := storage.OpenSnapshot(t.Context(), url, storage.Options{}); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("%v", err)
	}
	s, err := storage.Open(t.Context(), url, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, url := range []string{url, "SQLite:" + filepath.Join(dir, "store")} {
		l, err := storage.OpenSnapshot(t.Context(), url, storage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if l.Epoch() != 1 {
			t.Errorf("epoch %d", l.Epoch())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	for url, want := range map[string]string{
		"memory:":        "only be read by its server",
		"sqlite:":        "contains no file",
		"":               "has no scheme",
		"store.db":       "has no scheme",
		"postgres://h/d": `unknown scheme "postgres"`,
	} {
		if _, err := storage.OpenSnapshot(t.Context(), url, storage.Options{}); !errors.Is(err, storage.ErrURL) || !strings.Contains(err.Error(), want) {
			t.Errorf("OpenSnapshot(%q): %v; want %q", url, err, want)
		}
	}
}

func TestKind(t *testing.T) {
	for url, want := range map[string]string{
		"memory:": "memory", "SQLite:a:b": "sqlite", "mongodb://h/d": "mongodb", "mongodb+srv://h": "mongodb", "": "", "store.db": "", "ftp:x": "",
	} {
		if got := storage.Kind(url); got != want {
			t.Errorf("%q is %q, want %q", url, got, want)
		}
	}
}
