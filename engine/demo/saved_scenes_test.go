package demo_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
)

// home returns the broker of the server's own namespace.
func (w *world) home() *broker.Broker {
	w.Helper()
	b := w.namespaces.List()[0].Broker
	w.must(w.LoadSaved(w.Context(), b))
	return b
}

// A saved scene is stored in the server's own namespace, and is loaded when that is opened
// again. Saving an invalid scene changes nothing.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, demo.Options{})
		if _, err := w.SaveScene(t.Context(), "lunch", []byte(three), "me"); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("saved before the namespace is open: %v", err)
		}
		b := w.home()
		_, err := w.SaveScene(t.Context(), "lunch", []byte(three), "me")
		w.must(err)
		if e := b.Events().Recent(1); len(e) != 1 || e[0].Actor != "me" || !strings.Contains(e[0].Reason, "lunch") {
			t.Errorf("saving has the event %+v", e)
		}
		other := strings.Replace(three, "Three", "3", 1)
		_, err = w.SaveScene(t.Context(), "lunch", []byte(other), "me")
		w.must(err)
		for id, text := range map[string]string{"deadline": three, "Lunch": three, "dinner": "title: x"} {
			if _, err := w.SaveScene(t.Context(), id, []byte(text), "me"); err == nil {
				t.Errorf("%s was added", id)
			}
		}
		n := len(w.library.List())

		_, err = w.library.Add("forgotten", []byte(three))
		w.must(err)
		_, err = b.SetSetting(t.Context(), "scene/old", "title: of another version", nil)
		w.must(err)
		_, err = b.SetSetting(t.Context(), "scene/deadline", three, nil)
		w.must(err)
		w.must(w.LoadSaved(t.Context(), b))
		if s, err := w.library.Find("lunch"); err != nil || s.Text != other || !s.Added {
			t.Errorf("the saved scene is %+v: %v", s, err)
		}
		if s, err := w.library.Find("deadline"); err != nil || !s.Builtin || len(w.library.List()) != n {
			t.Errorf("the built-in scene is %+v: %v", s, err)
		}

		// A stored scene that cannot be played is listed with the reason, until it is replaced
		// or deleted.
		unfit := func(want ...string) {
			t.Helper()
			var got []string
			for _, u := range w.InvalidScenes() {
				got = append(got, u.ID)
				if u.Err == nil || u.Text == "" {
					t.Errorf("the invalid scene is %+v", u)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q are unfit, not %q", got, want)
			}
		}
		unfit("deadline", "old")
		if u, ok := w.FindInvalidScene("old"); !ok || !errors.Is(u.Err, engine.ErrArgument) || u.Text != "title: of another version" {
			t.Errorf("the invalid scene is %+v", u)
		}
		w.must(w.DeleteScene(t.Context(), "deadline", "me"))
		unfit("old")
		if s, err := w.library.Find("deadline"); err != nil || !s.Builtin {
			t.Errorf("the built-in scene was deleted: %v", err)
		}
		_, err = w.SaveScene(t.Context(), "old", []byte(three), "me")
		w.must(err)
		unfit()
		w.must(w.DeleteScene(t.Context(), "old", "me"))
		w.must(w.LoadSaved(t.Context(), b))
		unfit()

		for id, want := range map[string]error{"deadline": engine.ErrNotAllowed, "none": demo.ErrNoScene} {
			if err := w.DeleteScene(t.Context(), id, "me"); !errors.Is(err, want) {
				t.Errorf("forget %s: %v", id, err)
			}
		}
		w.must(w.DeleteScene(t.Context(), "lunch", "you"))
		if e := b.Events().Recent(1); e[0].Actor != "you" {
			t.Errorf("deleting has the event %+v", e)
		}
		w.must(w.LoadSaved(t.Context(), b))
		if _, err := w.library.Find("lunch"); !errors.Is(err, demo.ErrNoScene) {
			t.Errorf("it was forgotten: %v", err)
		}
	})
}
