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

// Access rules of a queue or topic are kept as they were described, times and
// all (sdk-demands 30), and their keys are told nobody.
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
		t.Errorf("the event tells %q of %v", e.Reason, e.Entity.Config)
	}
	if told := fmt.Sprintf("%v %+v %#v", last, c.state("q"), want[0]); strings.Contains(told, "secret") {
		t.Errorf("a key was told: %s", told)
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
