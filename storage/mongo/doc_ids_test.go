package mongo

import (
	"testing"
	"testing/synctest"

	"mayfly/engine"
)

// Namespaces whose names have a common beginning share no documents.
func TestNamesThatBeginAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := new(toy)
		all := []string{"a", "a-b", "a0", "A", "ab", "a.", "a b"}
		stores := map[string]*Store{}
		for _, name := range all {
			s, err := openOn(t.Context(), db, nil, timed(Options{Namespace: name}))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Commit(t.Context(), &engine.Batch{Hard: true, Now: 1, Entities: []engine.Entity{{ID: 1, Path: engine.Path(name)}}}); err != nil {
				t.Fatal(err)
			}
			stores[name] = s
		}
		for name, s := range stores {
			if s.Epoch() != 1 {
				t.Errorf("the new namespace %q has epoch %d", name, s.Epoch())
			}
			if err := s.Close(); err != nil { // Close applies the commits
				t.Error(err)
			}
		}
		for _, name := range all {
			s, err := openOn(t.Context(), db, nil, timed(Options{Namespace: name}))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for r, err := range s.Load(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if e, ok := r.(engine.Entity); ok {
					if n++; e.Path != engine.Path(name) {
						t.Errorf("%q has an entity of %q", name, e.Path)
					}
				}
			}
			if n != 1 {
				t.Errorf("%q has %d entities", name, n)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A name with a slash is refused, because it would make one namespace part of another.
func TestNamesWithASlash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := new(toy)
		if s, err := openOn(t.Context(), db, nil, timed(Options{Namespace: "a/1"})); err == nil {
			t.Error("it was opened")
			_ = s.Close()
		}
		if _, err := openSnapshotOn(t.Context(), db, nil, timed(Options{Namespace: "a/1"})); err == nil {
			t.Error("a snapshot of it was opened")
		}
		if n := len(db.ids(settings)); n > 0 {
			t.Errorf("it left %d documents", n)
		}
	})
}
