package storage_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/storage"
)

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "store")
	for _, url := range []string{"memory:", "memory", "sqlite:" + path, "SQLite:" + path} {
		s, err := storage.Open(t.Context(), url, storage.Options{})
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		if s.Epoch() == 0 {
			t.Errorf("%s: no epoch", url)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for url, want := range map[string]string{
		"":                "has no scheme",
		"store.db":        "has no scheme",
		"memory:x":        "takes nothing",
		"sqlite:":         "contains no file",
		"postgres://h/db": `unknown scheme "postgres"`,
	} {
		_, err := storage.Open(t.Context(), url, storage.Options{})
		if !errors.Is(err, storage.ErrURL) || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%q): %v; want %q", url, err, want)
		}
	}
	if _, err := storage.Open(t.Context(), "sqlite:"+t.TempDir(), storage.Options{}); err == nil || errors.Is(err, storage.ErrURL) {
		t.Errorf("a directory: %v; want an error about the file", err)
	}
}

func TestOpenUnreachableServer(t *testing.T) {
	_, err := storage.Open(t.Context(), "mongodb://me:secret@127.0.0.1:1/x?serverSelectionTimeoutMS=100", storage.Options{})
	if !errors.Is(err, engine.ErrUnreachable) || err.Error() != "no MongoDB at 127.0.0.1:1: the connection was refused" {
		t.Errorf("got %v", err)
	}
	_, err = storage.Open(t.Context(), "mongodb://me:sec/zq@127.0.0.1:1/x", storage.Options{})
	if err == nil || errors.Is(err, engine.ErrUnreachable) || strings.Contains(err.Error(), "zq") {
		t.Errorf("a wrong string: %v", err)
	}
}

func TestShared(t *testing.T) {
	for url, want := range map[string]bool{
		"memory:": false, "sqlite:mongodb": false, "": false, "mongodb://h": true, "MongoDB+SRV://h": true,
	} {
		if got := storage.Shared(url); got != want {
			t.Errorf("Shared(%q) is %t", url, got)
		}
	}
}
