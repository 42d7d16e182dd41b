package mongo_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/fleet"
	"mayfly/storage/mongo/mongotest"
)

// What one server puts up, marks and takes down, another one sees at once.
func TestBoard(t *testing.T) {
	url := mongotest.URL(t)
	a, b := catalogueAt(t, url), catalogueAt(t, url)
	ctx, at := t.Context(), time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	is := func(kind string, want ...fleet.Note) {
		t.Helper()
		got, err := b.Notes(ctx, kind)
		check(err)
		if d := cmp.Diff(want, got); d != "" {
			t.Error(kind, d)
		}
	}
	is("key")
	check(a.PutUp(ctx, "key", "two", "2"))
	check(a.PutUp(ctx, "key", "one", "1"))
	check(a.PutUp(ctx, "keys", "one", "another kind"))
	if err := b.PutUp(ctx, "key", "one", "other"); !errors.Is(err, engine.ErrExists) {
		t.Errorf("a second one is put up: %v", err)
	}
	is("key", fleet.Note{ID: "one", Text: "1"}, fleet.Note{ID: "two", Text: "2"})
	check(a.Mark(ctx, "key", "one", at))
	check(b.Mark(ctx, "key", "one", at.Add(-time.Hour)))
	is("key", fleet.Note{ID: "one", Text: "1", Marked: at}, fleet.Note{ID: "two", Text: "2"})
	check(a.Mark(ctx, "key", "one", at.Add(time.Second)))
	is("key", fleet.Note{ID: "one", Text: "1", Marked: at.Add(time.Second)}, fleet.Note{ID: "two", Text: "2"})
	is("keys", fleet.Note{ID: "one", Text: "another kind"})

	check(a.TakeDown(ctx, "key", "one", "none"))
	check(a.Mark(ctx, "key", "one", at.Add(time.Minute))) // by a server that has not heard of it
	is("key", fleet.Note{ID: "two", Text: "2"})
	check(a.PutUp(ctx, "key", "one", "anew"))
	is("key", fleet.Note{ID: "one", Text: "anew"}, fleet.Note{ID: "two", Text: "2"})
	check(a.TakeDown(ctx, "key"))
	is("keys", fleet.Note{ID: "one", Text: "another kind"})
	// It is no namespace's, and no server's.
	if all, err := b.List(ctx); err != nil || len(all) != 0 {
		t.Errorf("it is taken for namespaces: %v, %v", all, err)
	}
}
