package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
)

func (c *clocked) access() (rights []string) {
	c.Helper()
	c.step()
	for _, r := range c.ns.AccessRules() {
		rights = append(rights, fmt.Sprintf("%s %s %s", r, r.PrimaryKey, r.SecondaryKey))
	}
	return rights
}

// TestAccessRulesOfTheNamespace adds, changes, renews and removes the namespace's own rules.
// Each is an audited event without a key.
func TestAccessRulesOfTheNamespace(t *testing.T) {
	for _, w := range []way{asked, restarted} {
		t.Run(string(w), func(t *testing.T) { c := newClocked(t, w); testAccess(c, w == restarted) })
	}
}

func testAccess(c *clocked, again bool) {
	want := func(rules ...string) {
		c.Helper()
		if c.step(); again {
			c.restart()
		}
		if d := cmp.Diff(rules, c.access()); d != "" {
			c.Errorf("(-want +got):\n%s", d)
		}
	}
	root := engine.AccessRule{Name: engine.RootAccessRule, Rights: engine.ManageRight, PrimaryKey: "secret0", SecondaryKey: "secret1"}
	_, err := c.ns.SetAccessRule(c.now, root, "me")
	c.must(err)
	_, err = c.ns.SetAccessRule(c.now, engine.AccessRule{Name: "ci", Rights: engine.SendRight, PrimaryKey: "secret2", CreatedAt: 1}, "me")
	c.must(err)
	want("ci (Send) secret2 ", "RootManageSharedAccessKey (Manage) secret0 secret1")
	made := c.now
	c.pass(second)
	r, err := c.ns.SetAccessRule(c.now, engine.AccessRule{Name: "CI", Rights: engine.ListenRight, SecondaryKey: "secret3"}, "me")
	c.must(err)
	if r.Name != "ci" || r.CreatedAt != made || r.UpdatedAt != c.now {
		c.Errorf("updated: %s of %v, %v", r, r.CreatedAt, r.UpdatedAt)
	}
	want("ci (Listen) secret2 secret3", "RootManageSharedAccessKey (Manage) secret0 secret1")
	_, err = c.ns.RegenerateAccessKey(c.now, "ci", engine.SecondaryKey, "secret4", "me")
	c.must(err)
	_, err = c.ns.RegenerateAccessKey(c.now, engine.RootAccessRule, engine.PrimaryKey, "secret5", "me")
	c.must(err)
	want("ci (Listen) secret2 secret4", "RootManageSharedAccessKey (Manage) secret5 secret1")
	c.must(c.ns.RemoveAccessRule(c.now, "Ci", "me"))
	want("RootManageSharedAccessKey (Manage) secret5 secret1")
	var rights []string
	for _, e := range c.events {
		rights = append(rights, e.Reason)
		if e.Kind != engine.EventAccessChanged || !e.Audit || e.Actor != "me" || strings.Contains(fmt.Sprintf("%+v", e), "secret") {
			c.Errorf("an event: %+v", e)
		}
	}
	if d := cmp.Diff([]string{
		"create RootManageSharedAccessKey (Manage)", "create ci (Send)", "update ci (Listen)", "new secondary key of ci",
		"new primary key of RootManageSharedAccessKey", "remove ci",
	}, rights); d != "" {
		c.Errorf("events (-want +got):\n%s", d)
	}
}

func TestAccessRulesOfTheNamespaceThatAreRefused(t *testing.T) {
	c := newClocked(t, asked)
	c.limit(func(l *engine.Limits) { l.AccessRules = 2 })
	set := func(r engine.AccessRule) error { _, err := c.ns.SetAccessRule(c.now, r, ""); return err }
	c.must(set(engine.AccessRule{Name: engine.RootAccessRule, Rights: engine.ManageRight, PrimaryKey: "k"}))
	c.must(set(engine.AccessRule{Name: "a", Rights: engine.SendRight, PrimaryKey: "k"}))
	before := c.access()
	for name, tc := range map[string]struct {
		kind error
		do   func() error
	}{
		"one more than there may be": {engine.ErrQuota, func() error { return set(engine.AccessRule{Name: "b", Rights: engine.SendRight}) }},
		"no rights":                  {engine.ErrArgument, func() error { return set(engine.AccessRule{Name: "a"}) }},
		"a root with less": {engine.ErrNotAllowed, func() error {
			return set(engine.AccessRule{Name: "rootmanagesharedaccesskey", Rights: engine.SendRight})
		}},
		"no root":           {engine.ErrNotAllowed, func() error { return c.ns.RemoveAccessRule(c.now, "rootManagesharedaccesskey", "") }},
		"nothing to remove": {engine.ErrNotFound, func() error { return c.ns.RemoveAccessRule(c.now, "b", "") }},
		"nothing to renew": {engine.ErrNotFound, func() error {
			_, err := c.ns.RegenerateAccessKey(c.now, "b", engine.PrimaryKey, "x", "")
			return err
		}},
		"a key that is too long": {engine.ErrArgument, func() error {
			_, err := c.ns.RegenerateAccessKey(c.now, "a", engine.PrimaryKey, strings.Repeat("x", 257), "")
			return err
		}},
	} {
		if err := tc.do(); !errors.Is(err, tc.kind) {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(before, c.access()); d != "" {
			t.Errorf("%s changed something (-before +after):\n%s", name, d)
		}
	}
}

// A change that the store refuses has no effect.
func TestAccessRulesAreUndone(t *testing.T) {
	c := newClocked(t, asked)
	_, err := c.ns.SetAccessRule(c.now, engine.AccessRule{Name: "a", Rights: engine.SendRight}, "")
	c.must(err)
	c.step()
	c.must(c.ns.RemoveAccessRule(c.now, "a", ""))
	c.ns.Flush(c.now, true)
	c.ns.Rollback()
	if rules := c.ns.AccessRules(); len(rules) != 1 {
		t.Errorf("there are %v", rules)
	}
}

// An entity's rules take precedence over the namespace's; a subscription's are its topic's.
func TestAccessAt(t *testing.T) {
	c := newClocked(t, asked)
	c.queue("q", engine.Config{AuthorizationRules: rulesOf(1)})
	c.topic("t", engine.Config{AuthorizationRules: rulesOf(2)})
	c.sub("t", "s", engine.Config{})
	for p, want := range map[engine.Path]int{"Q": 1, "q/$DeadLetterQueue": 1, "T": 2, "t/subscriptions/S": 2, "t/Subscriptions/s/$DeadLetterQueue": 2, "x": -1, "t/Subscriptions/x": -1} {
		if rules, there := c.ns.EntityAccessRules(p); there != (want >= 0) || len(rules) != max(0, want) {
			t.Errorf("%s: %v, %t", p, rules, there)
		}
	}
}
