package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mayfly/engine"
	"mayfly/engine/namespaces"
)

func TestCatalogue(t *testing.T) {
	c := Catalogue{Path: filepath.Join(t.TempDir(), "mayfly.db")}
	listed := func(want ...namespaces.Spec) {
		t.Helper()
		got, err := c.List(t.Context())
		if err != nil || !cmp.Equal(got, want, cmpopts.IgnoreUnexported(namespaces.Spec{})) {
			t.Errorf("%v: %s", err, cmp.Diff(want, got, cmpopts.IgnoreUnexported(namespaces.Spec{})))
		}
	}
	listed()
	shop := namespaces.Spec{Name: "shop", Profile: "premium", Created: time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)}
	if _, err := c.Add(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Add(t.Context(), shop); !errors.Is(err, engine.ErrExists) {
		t.Errorf("it was added twice: %v", err)
	}
	listed(shop)

	shop.Profile = "emulator"
	for range 2 {
		if err := c.Change(t.Context(), shop); err != nil {
			t.Error(err)
		}
		listed(shop)
	}
	if err := c.Change(t.Context(), namespaces.Spec{Name: "none"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing namespace was changed: %v", err)
	}

	// Other files and folders in the folder are not namespaces, but a folder with a valid name
	// is one.
	for _, name := range []string{".new-1", "Shop", "a.b"} {
		if err := os.Mkdir(filepath.Join(c.dir(), name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(c.dir(), "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(c.dir(), "brought"), 0o700); err != nil {
		t.Fatal(err)
	}
	listed(namespaces.Spec{Name: "brought"}, shop)
	if err := os.WriteFile(filepath.Join(c.dir(), "brought", aboutFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	listed(namespaces.Spec{Name: "brought"}, shop) // its description cannot be read
	if err := os.WriteFile(filepath.Join(c.dir(), "brought", aboutFile), []byte(`{"name":"other","kept":"x","temporary":true,"until":"2026-11-22T14:00:00Z"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	listed(namespaces.Spec{Name: "brought"}, shop) // its description is ignored

	if err := os.WriteFile(c.StorePath("shop"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	busy := errors.New("busy")
	if _, err := c.Remove(t.Context(), shop, func() error { return busy }); !errors.Is(err, busy) {
		t.Errorf("it was removed while it was open: %v", err)
	}
	listed(namespaces.Spec{Name: "brought"}, shop)
	for i, want := range []string{"shop.1", "shop.2"} {
		aside, err := c.Remove(t.Context(), shop, func() error { return nil })
		if err != nil || filepath.Base(aside) != want || !filepath.IsAbs(aside) {
			t.Errorf("removed to %q, %v; want %s", aside, err, want)
		}
		if i == 0 {
			if raw, err := os.ReadFile(filepath.Join(aside, storeFile)); err != nil || string(raw) != "content" {
				t.Errorf("aside is %q, %v", raw, err)
			}
			listed(namespaces.Spec{Name: "brought"})
			if _, err := c.Add(t.Context(), shop); err != nil {
				t.Error(err)
			}
			if left, err := filepath.Glob(filepath.Join(c.dir(), newPattern)); err != nil || len(left) > 0 {
				t.Errorf("unfinished folders are left: %q, %v", left, err)
			}
			if _, err := os.Stat(c.StorePath("shop")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the new namespace has content: %v", err)
			}
		}
	}
}
