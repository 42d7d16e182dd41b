package mongo_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/namespaces"
	"mayfly/storage/mongo/mongotest"
)

// Other servers see at once that a server adds a note, marks it as used or removes it.
func TestNotes(t *testing.T) {
	url := mongotest.URL(t)
	a, b := catalogueAt(t, url), catalogueAt(t, url)
	ctx, at := t.Context(), time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	is := func(kind string, want ...namespaces.Note) {
		t.Helper()
		got, err := b.Notes(ctx, kind)
		check(err)
		if d := cmp.Diff(want, got); d != "" {
			t.Error(kind, d)
		}
	}
	is("key")
	check(a.AddNote(ctx, "key", "two", "2"))
	check(a.AddNote(ctx, "key", "one", "1"))
	check(a.AddNote(ctx, "keys", "one", "another kind"))
	if err := b.AddNote(ctx, "key", "one", "other"); !errors.Is(err, engine.ErrExists) {
		t.Errorf("a second note with the same id was added: %v", err)
	}
	is("key", namespaces.Note{ID: "one", Text: "1"}, namespaces.Note{ID: "two", Text: "2"})
	check(a.MarkNoteUsed(ctx, "key", "one", at))
	check(b.MarkNoteUsed(ctx, "key", "one", at.Add(-time.Hour)))
	is("key", namespaces.Note{ID: "one", Text: "1", LastUsed: at}, namespaces.Note{ID: "two", Text: "2"})
	check(a.MarkNoteUsed(ctx, "key", "one", at.Add(time.Second)))
	is("key", namespaces.Note{ID: "one", Text: "1", LastUsed: at.Add(time.Second)}, namespaces.Note{ID: "two", Text: "2"})
	is("keys", namespaces.Note{ID: "one", Text: "another kind"})

	check(a.RemoveNotes(ctx, "key", "one", "none"))
	check(a.MarkNoteUsed(ctx, "key", "one", at.Add(time.Minute))) // as a server that has not noticed the removal
	is("key", namespaces.Note{ID: "two", Text: "2"})
	check(a.AddNote(ctx, "key", "one", "anew"))
	is("key", namespaces.Note{ID: "one", Text: "anew"}, namespaces.Note{ID: "two", Text: "2"})
	check(a.RemoveNotes(ctx, "key"))
	is("keys", namespaces.Note{ID: "one", Text: "another kind"})
	// Notes are not namespaces or servers.
	if all, err := b.List(ctx); err != nil || len(all) != 0 {
		t.Errorf("notes are listed as namespaces: %v, %v", all, err)
	}
}
