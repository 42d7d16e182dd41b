package broker_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// EnsureRootAccessRule adds a namespace's root rule with two different keys, without an event. When
// it is called again, it changes nothing.
func TestFurnishAccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		root := func() engine.AccessRule {
			t.Helper()
			if err := w.EnsureRootAccessRule(t.Context()); err != nil {
				t.Fatal(err)
			}
			rules, err := w.AccessRules(t.Context())
			if err != nil || len(rules) != 1 || rules[0].Name != engine.RootAccessRule || rules[0].Rights.String() != "Listen,Send,Manage" {
				t.Fatalf("there are %v, %v", rules, err)
			}
			return rules[0]
		}
		first := root()
		if len(first.PrimaryKey) != 44 || len(first.SecondaryKey) != 44 || first.PrimaryKey == first.SecondaryKey || first.CreatedAt == 0 {
			t.Errorf("the keys are %q and %q, made at %v", first.PrimaryKey, first.SecondaryKey, first.CreatedAt)
		}
		if root() != first {
			t.Error("the root rule was created again")
		}
		for _, e := range w.Events().Recent(10) {
			if e.Kind == engine.EventAccessChanged {
				t.Errorf("there is an event without an operator's action: %+v", e)
			}
		}
	})
}

func TestAccessKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		must := func(r engine.AccessRule, err error) engine.AccessRule {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		set := func(r broker.AccessChange, err error) broker.AccessChange {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		made := set(w.SetAccessRule(t.Context(), "", engine.AccessRule{Name: "ci", Rights: engine.SendRight, PrimaryKey: "mine"}, "me"))
		if made.PrimaryKey != "mine" || len(made.SecondaryKey) != 44 {
			t.Errorf("keys are %q, %q", made.PrimaryKey, made.SecondaryKey)
		}
		if changed := set(w.SetAccessRule(t.Context(), "", engine.AccessRule{Name: "CI", Rights: engine.ListenRight}, "me")); changed.PrimaryKey != "mine" || changed.SecondaryKey != made.SecondaryKey || changed.Added || !made.Added {
			t.Error("changing the rights changed the keys")
		}
		if r := must(w.RegenerateAccessKey(t.Context(), "", "ci", engine.PrimaryKey, "me")); len(r.PrimaryKey) != 44 || r.SecondaryKey != made.SecondaryKey {
			t.Errorf("after regenerating the primary key, keys are %q, %q", r.PrimaryKey, r.SecondaryKey)
		}
		if r := must(w.RegenerateAccessKey(t.Context(), "", "ci", engine.SecondaryKey, "me")); len(r.SecondaryKey) != 44 || r.SecondaryKey == made.SecondaryKey {
			t.Errorf("after regenerating the secondary key, it is %q", r.SecondaryKey)
		}
		if _, err := w.AddAccessRule(t.Context(), "", engine.AccessRule{Name: "CI", Rights: engine.ManageRight}, "me"); !errors.Is(err, engine.ErrExists) {
			t.Errorf("added once more: %v", err)
		}
		if err := w.RemoveAccessRule(t.Context(), "", "ci", "me"); err != nil {
			t.Fatal(err)
		}
		if rules, err := w.AccessRules(t.Context()); err != nil || len(rules) != 0 {
			t.Errorf("left are %v, %v", rules, err)
		}
		w.CreateQueue("q", engine.Config{})
		if r := must(w.AddAccessRule(t.Context(), "q", engine.AccessRule{Name: "own", Rights: engine.SendRight}, "me")); len(r.PrimaryKey) != 44 || len(r.SecondaryKey) != 44 {
			t.Errorf("a queue's own rule has keys %q, %q", r.PrimaryKey, r.SecondaryKey)
		}
		if _, err := w.AddAccessRule(t.Context(), "q", engine.AccessRule{Name: "Own", Rights: engine.SendRight}, "me"); !errors.Is(err, engine.ErrExists) {
			t.Errorf("a queue's own rule added twice: %v", err)
		}
	})
}
