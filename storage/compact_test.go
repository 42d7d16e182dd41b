package storage_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"mayfly/storage"
)

func TestCompact(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "store")
	s, err := storage.Open(t.Context(), url, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Compact(t.Context(), url, storage.Options{}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err := storage.Compact(t.Context(), url, storage.Options{}); err != nil || c.Before < c.After || c.After == 0 {
		t.Errorf("%+v, %v", c, err)
	}
	for url, want := range map[string]error{
		"memory:": storage.ErrNothingToCompact, "mongodb://h/d": storage.ErrNothingToCompact, "mongodb+srv://h": storage.ErrNothingToCompact,
		"sqlite:": storage.ErrURL, "ftp:x": storage.ErrURL, "": storage.ErrURL,
	} {
		if _, err := storage.Compact(t.Context(), url, storage.Options{}); !errors.Is(err, want) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
