package columns_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/engine/search/columns"
	"mayfly/storage/memory"
)

// lasting is a store that can be opened again.
type lasting struct{ *memory.Store }

func (lasting) Close() error { return nil }

func open(t *testing.T, store engine.Store) *broker.Broker {
	t.Helper()
	return brokertest.OpenOn(t, store, broker.Options{}).Broker
}

func parse(t *testing.T, texts ...string) []columns.Column {
	t.Helper()
	all, err := columns.ParseAll(texts)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// listViews returns each view as one word: its name, a star if it is a default, and its
// columns.
func listViews(t *testing.T, b *broker.Broker) (out []string) {
	t.Helper()
	all, err := columns.Views(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		star := ""
		if v.Default {
			star = "*"
		}
		out = append(out, v.Name+star+":"+strings.Join(columns.Names(v.Columns), ","))
	}
	return out
}

func TestViews(t *testing.T) {
	store := lasting{new(memory.Store)}
	b := open(t, store)
	ctx := t.Context()
	want := func(all ...string) {
		t.Helper()
		if got := listViews(t, b); !slices.Equal(got, all) {
			t.Errorf("there are %q, not %q", got, all)
		}
	}
	must := func(v columns.View, err error) columns.View {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	fails := func(kind error, _ columns.View, err error) {
		t.Helper()
		if !errors.Is(err, kind) {
			t.Errorf("%v, not %v", err, kind)
		}
	}
	late := columns.View{Name: "late orders", Columns: parse(t, "seq", "prop.region"), Lists: []columns.List{columns.Messages}, Default: true}
	saved := must(columns.Add(ctx, b, late, "ann"))
	if saved.ChangedAt == 0 || saved.Name != late.Name || !slices.Equal(saved.Columns, late.Columns) || !slices.Equal(saved.Lists, late.Lists) || !saved.Default {
		t.Errorf("saved %+v", saved)
	}
	v, err := columns.Add(ctx, b, late, "ann")
	fails(engine.ErrExists, v, err)
	want("late orders*:seq,prop.region")

	// A new default replaces those of the same lists.
	dead := columns.View{Name: "Dead", Columns: parse(t, "reason"), Lists: []columns.List{columns.DeadLetterList}, Default: true}
	must(columns.Put(ctx, b, dead, "ann"))
	want("Dead*:reason", "late orders*:seq,prop.region")
	every := must(columns.Put(ctx, b, columns.View{Name: "zz", Columns: parse(t, "key"), Default: true}, "ann"))
	want("Dead:reason", "late orders:seq,prop.region", "zz*:key")
	all, err := columns.Views(ctx, b)
	if v, ok := columns.DefaultFor(all, columns.SearchedMessages); !ok || v.Name != "zz" || err != nil {
		t.Errorf("searches show %+v, %v", v, err)
	}
	if _, ok := columns.DefaultFor(all[:1], columns.Messages); ok {
		t.Error("a view that is not a default was returned as one")
	}

	// Replace with a new name removes the old one in the same step.
	next := columns.View{Name: "zz top", Columns: parse(t, "key", "seq")}
	v, err = columns.Replace(ctx, b, next, saved, "bob") // the view has changed since saved: it is no longer a default
	fails(engine.ErrChanged, v, err)
	v, err = columns.Replace(ctx, b, columns.View{Name: "Dead", Columns: parse(t, "key")}, every, "bob")
	fails(engine.ErrExists, v, err)
	v, err = columns.Replace(ctx, b, next, columns.View{Name: "nobody"}, "bob")
	fails(columns.ErrNoView, v, err)
	fails(engine.ErrNotFound, v, err)
	want("Dead:reason", "late orders:seq,prop.region", "zz*:key")
	next = must(columns.Replace(ctx, b, next, every, "bob"))
	want("Dead:reason", "late orders:seq,prop.region", "zz top:key,seq")
	v, err = columns.Replace(ctx, b, next, every, "bob")
	fails(columns.ErrNoView, v, err)
	next.Columns = parse(t, "size")
	next = must(columns.Replace(ctx, b, next, next, "bob"))
	want("Dead:reason", "late orders:seq,prop.region", "zz top:size")

	if err := columns.Delete(ctx, b, "Dead", "bob"); err != nil {
		t.Error(err)
	}
	if err := columns.Delete(ctx, b, "Dead", "bob"); !errors.Is(err, columns.ErrNoView) {
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
		t.Errorf("the audit events are %q, %v", audit, err)
	}

	// Views survive a restart.
	b.Close()
	b = open(t, store)
	want("late orders:seq,prop.region", "zz top:size")
}

func TestInvalidViews(t *testing.T) {
	b := open(t, lasting{new(memory.Store)})
	good := func(change func(*columns.View)) columns.View {
		v := columns.View{Name: "a", Columns: parse(t, "seq")}
		change(&v)
		return v
	}
	for name, v := range map[string]columns.View{
		"no name":             good(func(v *columns.View) { v.Name = "" }),
		"a name of spaces":    good(func(v *columns.View) { v.Name = "  " }),
		"a space at the end":  good(func(v *columns.View) { v.Name = "a " }),
		"a slash":             good(func(v *columns.View) { v.Name = "a/b" }),
		"nothing to be seen":  good(func(v *columns.View) { v.Name = "a\u202eb" }),
		"a name too long":     good(func(v *columns.View) { v.Name = strings.Repeat("ä", 65) }),
		"that of the lists'":  good(func(v *columns.View) { v.Name = "Standard" }),
		"no columns":          good(func(v *columns.View) { v.Columns = nil }),
		"a column twice":      good(func(v *columns.View) { v.Columns = append(v.Columns, v.Columns...) }),
		"no column":           good(func(v *columns.View) { v.Columns = []columns.Column{{}} }),
		"a list there is not": good(func(v *columns.View) { v.Lists = []columns.List{"everything"} }),
	} {
		if _, err := columns.Put(t.Context(), b, v, "ann"); !errors.Is(err, engine.ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{strings.Repeat("ä", 64), "<b>", "a b", "."} {
		if _, err := columns.Put(t.Context(), b, good(func(v *columns.View) { v.Name = name }), "ann"); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if n := len(listViews(t, b)); n != 4 {
		t.Errorf("%d views", n)
	}
}

// With the maximum of a hundred views, one can be changed and renamed, but none can be added.
func TestMostViews(t *testing.T) {
	b := open(t, lasting{new(memory.Store)})
	ctx := t.Context()
	var last columns.View
	for i := range columns.MaxViews {
		var err error
		if last, err = columns.Put(ctx, b, columns.View{Name: fmt.Sprint("v", i), Columns: parse(t, "seq")}, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	more := columns.View{Name: "one more", Columns: parse(t, "seq")}
	if _, err := columns.Put(ctx, b, more, "ann"); !errors.Is(err, engine.ErrQuota) {
		t.Errorf("one more: %v", err)
	}
	last, err := columns.Put(ctx, b, last, "ann")
	if err != nil {
		t.Errorf("changing one of them: %v", err)
	}
	if _, err := columns.Replace(ctx, b, more, last, "ann"); err != nil {
		t.Errorf("another name: %v", err)
	}
	if n := len(listViews(t, b)); n != columns.MaxViews {
		t.Errorf("%d views", n)
	}
}

// Stored views that cannot be parsed are omitted from the list, and their settings are not changed.
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
	if got := listViews(t, b); !slices.Equal(got, []string{"good*:seq"}) {
		t.Errorf("there are %q", got)
	}
	if _, err := columns.Add(ctx, b, columns.View{Name: "v0", Columns: parse(t, "size")}, "ann"); err != nil {
		t.Errorf("in place of a setting that is not a view: %v", err)
	}
	if got := listViews(t, b); !slices.Equal(got, []string{"good*:seq", "v0:size"}) {
		t.Errorf("there are %q", got)
	}
}
