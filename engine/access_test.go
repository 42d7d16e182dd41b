package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
)

func TestRights(t *testing.T) {
	for _, tc := range []struct {
		has, wants engine.Rights
		ok         bool
	}{
		{engine.ListenRight, engine.ListenRight, true},
		{engine.ListenRight, engine.SendRight, false},
		{engine.ListenRight, engine.ManageRight, false},
		{engine.ListenRight | engine.SendRight, engine.SendRight, true},
		{engine.ListenRight | engine.SendRight, engine.ManageRight, false},
		{engine.SendRight, engine.SendRight | engine.ListenRight, false},
		{engine.ManageRight, engine.SendRight, true},
		{engine.ManageRight, engine.ListenRight, true},
		{0, engine.ListenRight, false},
	} {
		if ok := tc.has.Has(tc.wants); ok != tc.ok {
			t.Errorf("%s has %s: %v", tc.has, tc.wants, ok)
		}
	}
	if r, err := engine.ParseRights([]string{"MANAGE", " send"}); err != nil || r.String() != "Send,Manage" {
		t.Errorf("got %s, %v", r, err)
	}
	if _, err := engine.ParseRights([]string{"Send", "Rule"}); !errors.Is(err, engine.ErrArgument) {
		t.Errorf("an unknown right: %v", err)
	}
}

func rulesOf(n int) (all []engine.AccessRule) {
	for i := range n {
		all = append(all, engine.AccessRule{Name: fmt.Sprint("r", i), Rights: engine.SendRight, PrimaryKey: "secret-1", SecondaryKey: "secret-2"})
	}
	return all
}

// The access rules of a queue or topic are stored as they were given, including their times
// (sdk-demands 30), and events omit their keys.
func TestAccessRulesOfAnEntity(t *testing.T) {
	c := newClocked(t, asked)
	rules := rulesOf(12)
	rules[3].CreatedAt, rules[3].UpdatedAt, rules[4].Rights, rules[5].SecondaryKey = 7, 8, engine.ManageRight, ""
	c.queue("q", engine.Config{AuthorizationRules: rules})
	rules[0].Name = "changed by its caller"
	want := rulesOf(12)
	want[3], want[4], want[5] = rules[3], rules[4], rules[5]
	if d := cmp.Diff(want, c.state("q").Config.AuthorizationRules); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	want = want[2:]
	if _, err := c.ns.Update(c.now, "q", engine.Config{AuthorizationRules: want, UserMetadata: "x"}, "me"); err != nil {
		t.Fatal(err)
	}
	c.step()
	last := c.events
	if d := cmp.Diff(want, c.state("q").Config.AuthorizationRules); d != "" {
		t.Errorf("after an update (-want +got):\n%s", d)
	}
	if e := last[len(last)-1]; e.Reason != "UserMetadata, AuthorizationRules" || len(e.Entity.Config.AuthorizationRules) != 10 {
		t.Errorf("the event has reason %q and config %v", e.Reason, e.Entity.Config)
	}
	if text := fmt.Sprintf("%v %+v %#v", last, c.state("q"), want[0]); strings.Contains(text, "secret") {
		t.Errorf("an event or the state contains a key: %s", text)
	}
	for _, e := range last {
		if e.Entity != nil && e.Entity.Config.AuthorizationRules[0].PrimaryKey != "" {
			t.Errorf("%v has keys", e.Kind)
		}
	}
}

func TestAccessRulesThatAreRefused(t *testing.T) {
	one := func(change func(*engine.AccessRule)) []engine.AccessRule {
		rules := rulesOf(1)
		change(&rules[0])
		return rules
	}
	for name, rules := range map[string][]engine.AccessRule{
		"too many":       rulesOf(13),
		"no name":        one(func(r *engine.AccessRule) { r.Name = "" }),
		"a long name":    one(func(r *engine.AccessRule) { r.Name = strings.Repeat("n", 257) }),
		"a newline":      one(func(r *engine.AccessRule) { r.Name = "a\nb" }),
		"no rights":      one(func(r *engine.AccessRule) { r.Rights = 0 }),
		"unknown rights": one(func(r *engine.AccessRule) { r.Rights = 8 }),
		"a long key":     one(func(r *engine.AccessRule) { r.PrimaryKey = strings.Repeat("k", 257) }),
		"a long second":  one(func(r *engine.AccessRule) { r.SecondaryKey = strings.Repeat("k", 257) }),
		"a key not text": one(func(r *engine.AccessRule) { r.SecondaryKey = "\xff" }),
		"the same name":  append(rulesOf(2), engine.AccessRule{Name: "R1", Rights: engine.SendRight}),
	} {
		t.Run(name, func(t *testing.T) {
			c := newClocked(t, asked)
			c.queue("q", engine.Config{})
			for what, do := range map[string]func() error{
				"create": func() error {
					_, err := c.ns.Create(c.now, engine.Topic, "new", engine.Config{AuthorizationRules: rules}, "")
					return err
				},
				"update": func() error {
					_, err := c.ns.Update(c.now, "q", engine.Config{AuthorizationRules: rules}, "")
					return err
				},
			} {
				err := do()
				wrong, ok := errors.AsType[*engine.PropertyError](err)
				if !ok || wrong.Property != engine.AuthorizationRules || !errors.Is(err, engine.ErrArgument) || strings.Contains(err.Error(), "kkk") {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	c := newClocked(t, asked)
	c.topic("t", engine.Config{AuthorizationRules: rulesOf(1)})
	if _, err := c.ns.Create(c.now, engine.Subscription, "t/Subscriptions/s", engine.Config{AuthorizationRules: rulesOf(1)}, ""); !errors.Is(err, engine.ErrArgument) {
		t.Errorf("a subscription's own: %v", err)
	}
}

// The access rules of a queue are added, changed, renewed and removed one by one, like those of
// the namespace.
func TestAccessRulesOneByOne(t *testing.T) {
	c := newClocked(t, asked)
	c.queue("q", engine.Config{ForwardTo: "", UserMetadata: "kept"})
	want := func(did string, rules ...engine.AccessRule) {
		t.Helper()
		c.step()
		if d := cmp.Diff(rules, c.state("q").Config.AuthorizationRules); d != "" {
			t.Errorf("%s (-want +got):\n%s", did, d)
		}
		if e := c.events[len(c.events)-1]; e.Kind != engine.EventEntityUpdated || e.Actor != "me" || e.Reason != engine.AuthorizationRules || e.Entity.Config.UserMetadata != "kept" {
			t.Errorf("%s: the last event is %+v", did, e)
		}
	}
	one := engine.AccessRule{Name: "b", Rights: engine.SendRight, PrimaryKey: "k1", SecondaryKey: "k2"}
	one.CreatedAt, one.UpdatedAt = c.now, c.now
	_, err := c.ns.SetEntityAccessRule(c.now, "Q", engine.AccessRule{Name: "b", Rights: engine.SendRight, PrimaryKey: "k1", SecondaryKey: "k2", CreatedAt: 1}, "me")
	c.must(err)
	want("added", one)
	c.pass(second)
	two := engine.AccessRule{Name: "a", Rights: engine.ListenRight, PrimaryKey: "k3", CreatedAt: c.now, UpdatedAt: c.now}
	_, err = c.ns.SetEntityAccessRule(c.now, "q", engine.AccessRule{Name: "a", Rights: engine.ListenRight, PrimaryKey: "k3"}, "me")
	c.must(err)
	want("one more", one, two)
	c.pass(second)
	_, err = c.ns.SetEntityAccessRule(c.now, "q", engine.AccessRule{Name: "B", Rights: engine.ManageRight, SecondaryKey: "k4"}, "me")
	c.must(err)
	one.Rights, one.SecondaryKey, one.UpdatedAt = engine.ManageRight, "k4", c.now
	want("changed", one, two)
	c.pass(second)
	_, err = c.ns.RegenerateEntityAccessKey(c.now, "q", "A", engine.SecondaryKey, "k5", "me")
	c.must(err)
	two.SecondaryKey, two.UpdatedAt = "k5", c.now
	want("renewed", one, two)
	for name, err := range map[string]error{
		"of nothing":             c.ns.RemoveEntityAccessRule(c.now, "x", "a", "me"),
		"of a dead letter queue": c.ns.RemoveEntityAccessRule(c.now, "q/$DeadLetterQueue", "a", "me"),
		"another":                c.ns.RemoveEntityAccessRule(c.now, "q", "x", "me"),
		"another's key": func() error {
			_, err := c.ns.RegenerateEntityAccessKey(c.now, "q", "x", engine.PrimaryKey, "k", "me")
			return err
		}(),
		"a key too long": func() error {
			_, err := c.ns.RegenerateEntityAccessKey(c.now, "q", "a", engine.PrimaryKey, strings.Repeat("k", 257), "me")
			return err
		}(),
		"no rights": func() error {
			_, err := c.ns.SetEntityAccessRule(c.now, "q", engine.AccessRule{Name: "a"}, "me")
			return err
		}(),
	} {
		if err == nil {
			t.Errorf("%s: done", name)
		}
		want("after "+name, one, two)
	}
	c.must(c.ns.RemoveEntityAccessRule(c.now, "q", "B", "me"))
	want("removed", two)
}
