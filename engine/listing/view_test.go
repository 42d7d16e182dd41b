package listing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/listing"
	"mayfly/storage/memory"
)

// lasting is a store that can be opened again.
type lasting struct{ *memory.Store }

func (lasting) Close() error { return nil }

func open(t *testing.T, store engine.Store) *broker.Broker {
	t.Helper()
	b, err := broker.Open(t.Context(), func(context.Context) (engine.Store, error) { return store, nil }, broker.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func columns(t *testing.T, texts ...string) []listing.Column {
	t.Helper()
	all, err := listing.ParseAll(texts)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// told are the views there are, one a word: its name, a star if it is shown first,
// its columns.
func told(t *testing.T, b *broker.Broker) (out []string) {
	t.Helper()
	all, err := listing.Views(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		star := ""
		if v.Default {
			star = "*"
		}
		out = append(out, v.Name+star+":"+strings.Join(listing.Names(v.Columns), ","))
	}
	return out
}

func TestViews(t *testing.T) {
	store := lasting{new(memory.Store)}
	b := open(t, store)
	ctx := t.Context()
	want := func(all ...string) {
		t.Helper()
		if got := told(t, b); !slices.Equal(got, all) {
			t.Errorf("there are %q, not %q", got, all)
		}
	}
	must := func(v listing.View, err error) listing.View {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	fails := func(kind error, _ listing.View, err error) {
		t.Helper()
		if !errors.Is(err, kind) {
			t.Errorf("%v, not %v", err, kind)
		}
	}
	late := listing.View{Name: "late orders", Columns: columns(t, "seq", "prop.region"), Lists: []listing.List{listing.Messages}, Default: true}
	saved := must(listing.Add(ctx, b, late, "ann"))
	if saved.ChangedAt == 0 || saved.Name != late.Name || !slices.Equal(saved.Columns, late.Columns) || !slices.Equal(saved.Lists, late.Lists) || !saved.Default {
		t.Errorf("saved %+v", saved)
	}
	v, err := listing.Add(ctx, b, late, "ann")
	fails(engine.ErrExists, v, err)
	want("late orders*:seq,prop.region")

	// Another that is shown first takes that from those it has a list in common with.
	dead := listing.View{Name: "Dead", Columns: columns(t, "reason"), Lists: []listing.List{listing.DeadLetterList}, Default: true}
	must(listing.Put(ctx, b, dead, "ann"))
	want("Dead*:reason", "late orders*:seq,prop.region")
	every := must(listing.Put(ctx, b, listing.View{Name: "zz", Columns: columns(t, "key"), Default: true}, "ann"))
	want("Dead:reason", "late orders:seq,prop.region", "zz*:key")
	all, err := listing.Views(ctx, b)
	if v, ok := listing.DefaultFor(all, listing.SearchedMessages); !ok || v.Name != "zz" || err != nil {
		t.Errorf("searches show %+v, %v", v, err)
	}
	if _, ok := listing.DefaultFor(all[:1], listing.Messages); ok {
		t.Error("a view that nobody shows first is")
	}

	// Replacing: with a new name the old one goes, in one step.
	next := listing.View{Name: "zz top", Columns: columns(t, "key", "seq")}
	v, err = listing.Replace(ctx, b, next, saved, "bob") // it has changed since: it is not shown first any more
	fails(engine.ErrChanged, v, err)
	v, err = listing.Replace(ctx, b, listing.View{Name: "Dead", Columns: columns(t, "key")}, every, "bob")
	fails(engine.ErrExists, v, err)
	v, err = listing.Replace(ctx, b, next, listing.View{Name: "nobody"}, "bob")
	fails(listing.ErrNoView, v, err)
	fails(engine.ErrNotFound, v, err)
	want("Dead:reason", "late orders:seq,prop.region", "zz*:key")
	next = must(listing.Replace(ctx, b, next, every, "bob"))
	want("Dead:reason", "late orders:seq,prop.region", "zz top:key,seq")
	v, err = listing.Replace(ctx, b, next, every, "bob")
	fails(listing.ErrNoView, v, err)
	next.Columns = columns(t, "size")
	next = must(listing.Replace(ctx, b, next, next, "bob"))
	want("Dead:reason", "late orders:seq,prop.region", "zz top:size")

	if err := listing.Drop(ctx, b, "Dead", "bob"); err != nil {
		t.Error(err)
	}
	if err := listing.Drop(ctx, b, "Dead", "bob"); !errors.Is(err, listing.ErrNoView) {
		t.Errorf("dropped twice: %v", err)
	}
	want("late orders:seq,prop.region", "zz top:size")
	var audit []string
	events, _, err := b.Events().Next(ctx, 0, nil)
	for _, e := range events {
		if e.Kind == engine.EventSettingsChanged && e.Audit {
			audit = append(audit, e.Actor+" "+e.Reason)
		}
	}
	if want := []string{
		"ann saved the view late orders", "ann saved the view Dead", "ann saved the view zz", "bob renamed the view zz to zz top", "bob saved the view zz top", "bob deleted the view Dead",
	}; !slices.Equal(audit, want) || err != nil {
		t.Errorf("it is told %q, %v", audit, err)
	}

	// They are there after a restart.
	b.Close()
	b = open(t, store)
	want("late orders:seq,prop.region", "zz top:size")
}

func TestWhatIsNoView(t *testing.T) {
	b := open(t, lasting{new(memory.Store)})
	good := func(change func(*listing.View)) listing.View {
		v := listing.View{Name: "a", Columns: columns(t, "seq")}
		change(&v)
		return v
	}
	for name, v := range map[string]listing.View{
		"no name":             good(func(v *listing.View) { v.Name = "" }),
		"a name of spaces":    good(func(v *listing.View) { v.Name = "  " }),
		"a space at the end":  good(func(v *listing.View) { v.Name = "a " }),
		"a slash":             good(func(v *listing.View) { v.Name = "a/b" }),
		"nothing to be seen":  good(func(v *listing.View) { v.Name = "a\u202eb" }),
		"a name too long":     good(func(v *listing.View) { v.Name = strings.Repeat("ä", 65) }),
		"that of the lists'":  good(func(v *listing.View) { v.Name = "Standard" }),
		"no columns":          good(func(v *listing.View) { v.Columns = nil }),
		"a column twice":      good(func(v *listing.View) { v.Columns = append(v.Columns, v.Columns...) }),
		"no column":           good(func(v *listing.View) { v.Columns = []listing.Column{{}} }),
		"a list there is not": good(func(v *listing.View) { v.Lists = []listing.List{"everything"} }),
	} {
		if _, err := listing.Put(t.Context(), b, v, "ann"); !errors.Is(err, engine.ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{strings.Repeat("ä", 64), "<b>", "a b", "."} {
		if _, err := listing.Put(t.Context(), b, good(func(v *listing.View) { v.Name = name }), "ann"); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if n := len(told(t, b)); n != 4 {
		t.Errorf("%d views", n)
	}
}

// There are a hundred at most: one can still be changed, and renamed, but none added.
func TestMostViews(t *testing.T) {
	b := open(t, lasting{new(memory.Store)})
	ctx := t.Context()
	var last listing.View
	for i := range listing.MostViews {
		var err error
		if last, err = listing.Put(ctx, b, listing.View{Name: fmt.Sprint("v", i), Columns: columns(t, "seq")}, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	more := listing.View{Name: "one more", Columns: columns(t, "seq")}
	if _, err := listing.Put(ctx, b, more, "ann"); !errors.Is(err, engine.ErrQuota) {
		t.Errorf("one more: %v", err)
	}
	last, err := listing.Put(ctx, b, last, "ann")
	if err != nil {
		t.Errorf("one of them again: %v", err)
	}
	if _, err := listing.Replace(ctx, b, more, last, "ann"); err != nil {
		t.Errorf("another name: %v", err)
	}
	if n := len(told(t, b)); n != listing.MostViews {
		t.Errorf("%d views", n)
	}
}

// What is not ours to read is left out, and left as it is.
func TestStoredViewsAreChecked(t *testing.T) {
	b := open(t, lasting{new(memory.Store)})
	ctx := t.Context()
	for i, raw := range []string{
		``, `{`, `{"version":2,"columns":["seq"]}`, `{"version":1}`, `{"version":1,"columns":["nothing"]}`, `{"version":1,"columns":["seq"],"lists":["x"]}`,
		`{"version":1,"columns":["seq"],"more":1}`, `{"version":1,"columns":["seq","seq"]}`,
	} {
		if _, err := b.SetSetting(ctx, fmt.Sprint("view/v", i), raw, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.SetSetting(ctx, "view/good", `{"version":1,"columns":["seq"],"lists":["locked"],"default":true}`, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.SetSetting(ctx, "views", `{"version":1,"columns":["seq"]}`, nil); err != nil {
		t.Fatal(err)
	}
	if got := told(t, b); !slices.Equal(got, []string{"good*:seq"}) {
		t.Errorf("there are %q", got)
	}
	if _, err := listing.Add(ctx, b, listing.View{Name: "v0", Columns: columns(t, "size")}, "ann"); err != nil {
		t.Errorf("in the place of what is no view: %v", err)
	}
	if got := told(t, b); !slices.Equal(got, []string{"good*:seq", "v0:size"}) {
		t.Errorf("there are %q", got)
	}
}
