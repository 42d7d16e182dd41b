package engine_test

import (
	"errors"
	"strings"
	"testing"

	"mayfly/engine"
)

func TestNames(t *testing.T) {
	const q, top, sub = engine.Queue, engine.Topic, engine.Subscription
	long := strings.Repeat
	for _, tc := range []struct {
		rule string
		kind engine.EntityKind
		name string
		ok   bool
	}{
		{"NAME-1 shortest", q, "q", true},
		{"NAME-1 empty", q, "", false},
		{"NAME-1 longest", q, long("q", 260), true},
		{"NAME-1 longest topic", top, long("t", 260), true},
		{"NAME-1 one more", q, long("q", 261), false},
		{"NAME-1 one more topic", top, long("t", 261), false},
		{"NAME-1 counts characters", q, long("é", 260), true},
		{"NAME-2 longest", sub, long("s", 50), true},
		{"NAME-2 one more", sub, long("s", 51), false},
		{"NAME-2 empty", sub, "", false},
		{"NAME-3 hierarchy", q, "a/b/c", true},
		{"NAME-3 at the start", q, "/a", false},
		{"NAME-3 at the end", q, "a/", false},
		{"NAME-3 empty part", q, "a//b", false},
		{"NAME-3 backslash", q, `a\b`, false},
		{"NAME-3 subscription", sub, "a/b", false},
		{"NAME-3 subscription backslash", sub, `a\b`, false},
		{"NAME-5 all of them", q, "A.b-c_d~0", true},
		{"NAME-5 tilde", q, "a~b", true},
		{"NAME-5 begins with a dot", q, ".a", true},
		{"NAME-5 ends with a dash", q, "a-", true},
		{"NAME-5 a fault of MassTransit", top, "MassTransit/Fault--Shop/Order--", true},
		{"NAME-5 an array of MassTransit", top, "Shop/Order__", true},
		{"NAME-5 a subscription ends with a dot", sub, "s.", true},
		{"NAME-5 a subscription begins with an underscore", sub, "_s", true},
		{"NAME-5 a subscription that is up", sub, "..", false},
		{"NAME-5 a part ends with a dash", q, "a-/b", true},
		{"NAME-5 parts begin with anything", q, "txt/.-_123", true},
		{"NAME-5 the last part ends with a dash", q, "b/a-", true},
		{"NAME-5 the first part begins with a dash", q, "-b/a", true},
		{"NAME-5 a part of signs", q, "a/.-_/b", true},
		{"NAME-5 a part that is up", q, "a/../b", false},
		{"NAME-5 a part that is here", q, "a/./b", false},
		{"NAME-5 space", q, "a b", false},
		{"NAME-5 not text", q, "a\xffb", false},
		{"NAME-5 control character", q, "a\x00b", false},
		{"NAME-8 dead-letter queue", q, "a/$DeadLetterQueue", false},
		{"NAME-8 subscription", q, "a/Subscriptions/b", false},
		{"NAME-8 subscription in any case", q, "a/sUBSCRIPTIONS/b", false},
		{"NAME-8 management", q, "$management", false},
		{"NAME-8 management in any case", top, "$Management", false},
		{"NAME-8 tokens", q, "$cbs", false},
		{"NAME-8 lists", q, "$Resources/queues", false},
		{"NAME-8 transfers", q, "a/$Transfer/$DeadLetterQueue", false},
		{"NAME-8 rule", q, "t/Subscriptions/s/Rules/r", false},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			err := engine.CheckName(tc.kind, tc.name, engine.DefaultLimits())
			if (err == nil) != tc.ok || err != nil && !errors.Is(err, engine.ErrArgument) {
				t.Errorf("%q: %v", tc.name, err)
			}
		})
	}
	for _, kind := range []engine.EntityKind{q, top, sub} {
		for _, sign := range []string{"-", "_", ".", "~"} {
			t.Run("NAME-5 "+sign+" at either end of a "+kind.String(), func(t *testing.T) {
				for _, name := range []string{sign + "b", "a" + sign, sign + sign + "a" + sign + sign, sign + sign + sign} {
					if err := engine.CheckName(kind, name, engine.DefaultLimits()); err != nil {
						t.Errorf("%q: %v", name, err)
					}
				}
			})
		}
		for _, sign := range []string{"@", "?", "#", "*"} {
			t.Run("NAME-4 "+sign+" in a "+kind.String(), func(t *testing.T) {
				for _, name := range []string{"a" + sign + "b", sign + "b", "a" + sign} {
					if err := engine.CheckName(kind, name, engine.DefaultLimits()); !errors.Is(err, engine.ErrArgument) {
						t.Errorf("%q: %v", name, err)
					}
				}
			})
		}
	}
}

// NAME-2: the names of rules follow the syntax of subscription names, except that they may begin
// with a dollar, as $Default does.
func TestRuleNames(t *testing.T) {
	for _, tc := range []struct {
		rule, text string
		ok         bool
	}{
		{"NAME-2 the default rule", engine.DefaultRule, true},
		{"NAME-2 shortest", "r", true},
		{"NAME-2 longest", strings.Repeat("r", 50), true},
		{"NAME-2 longest with a dollar", "$" + strings.Repeat("r", 49), true},
		{"NAME-2 empty", "", false},
		{"NAME-2 nothing but a dollar", "$", false},
		{"NAME-2 one more", strings.Repeat("r", 51), false},
		{"NAME-2 one more with a dollar", "$" + strings.Repeat("r", 50), false},
		{"NAME-3 slash", "a/b", false},
		{"NAME-3 backslash", `a\b`, false},
		{"NAME-5 tilde", "a~b", true},
		{"NAME-5 two dollars", "$$a", false},
		{"NAME-5 a dollar at the end", "a$", false},
		{"NAME-5 a dash at the end", "a-", true},
		{"NAME-5 an underscore at the start", "_a", true},
		{"NAME-5 a dollar and a dash", "$-", true},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			if err := engine.CheckRuleName(tc.text, engine.DefaultLimits()); (err == nil) != tc.ok || err != nil && !errors.Is(err, engine.ErrArgument) {
				t.Errorf("%q: %v", tc.text, err)
			}
		})
	}
}

func TestParsePath(t *testing.T) {
	for in, want := range map[string]engine.Path{ // NAME-8, DLQ-2; empty if the path is refused
		"orders":                               "orders",
		"a/B/c":                                "a/B/c",
		"orders/$deadletterqueue":              "orders/$DeadLetterQueue",
		"orders/$DeadLetterQueue":              "orders/$DeadLetterQueue",
		"t/subscriptions/S":                    "t/Subscriptions/S",
		"a/b/SUBSCRIPTIONS/s/$DEADLETTERQUEUE": "a/b/Subscriptions/s/$DeadLetterQueue",
		"subscriptions/a":                      "subscriptions/a",
		"":                                     "",
		"/":                                    "",
		"/orders":                              "",
		"$DeadLetterQueue":                     "",
		"/$DeadLetterQueue":                    "",
		"q/$DeadLetterQueue/$DeadLetterQueue":  "",
		"q/$Transfer/$DeadLetterQueue":         "q/$Transfer/$DeadLetterQueue", // DLQ-3
		"t/SUBSCRIPTIONS/s/$TRANSFER/$deadletterqueue":            "t/Subscriptions/s/$Transfer/$DeadLetterQueue",
		"$Transfer/$DeadLetterQueue":                              "",
		"/$Transfer/$DeadLetterQueue":                             "",
		"q/$Transfer":                                             "",
		"q/$Transfer/$DeadLetterQueue/$DeadLetterQueue":           "",
		"q/$DeadLetterQueue/$Transfer/$DeadLetterQueue":           "",
		"q/$Transfer/$DeadLetterQueue/$Transfer/$DeadLetterQueue": "",
		"t/Subscriptions/":                                        "",
		"t/Subscriptions/s/Rules/r":                               "",
		"t/Subscriptions/s/Subscriptions/u":                       "",
		"$cbs":                                                    "",
		"$Resources/queues":                                       "",
		"t/Subscriptions/" + strings.Repeat("s", 51):              "",
		strings.Repeat("q", 261):                                  "",
	} {
		got, err := engine.ParsePath(in, engine.DefaultLimits())
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestPathParts(t *testing.T) {
	p := engine.SubscriptionPath("Prices", "EU")
	if topic, sub, ok := p.DeadLetter().Subscription(); !ok || topic != "Prices" || sub != "EU" {
		t.Errorf("%q is of %q and %q", p, topic, sub)
	}
	if p.Name() != "EU" || p.DeadLetter().Name() != "EU" || engine.Path("a/b").Name() != "a/b" {
		t.Errorf("the name is %q", p.Name())
	}
	if !p.DeadLetter().IsDeadLetter() || p.DeadLetter().Entity() != p || p.IsDeadLetter() {
		t.Errorf("%q and %q", p, p.DeadLetter())
	}
	if tr := p.Transfer(); !tr.IsTransfer() || !tr.IsDeadLetter() || tr.Entity() != p || tr.Name() != "EU" || p.IsTransfer() || p.DeadLetter().IsTransfer() {
		t.Errorf("%q and %q", p, tr)
	}
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"orders", "t/Subscriptions/s/$deadletterqueue", "a//b", "İ/subſcriptions/x", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := engine.ParsePath(s, engine.DefaultLimits())
		if err != nil {
			if !errors.Is(err, engine.ErrArgument) || p != "" {
				t.Fatalf("%q: %q, %v", s, p, err)
			}
			return
		}
		if again, err := engine.ParsePath(string(p), engine.DefaultLimits()); again != p || err != nil {
			t.Fatalf("%q gives %q, that gives %q, %v", s, p, again, err)
		}
		if p.Fold() != engine.Path(p.Fold()).Fold() || len(p) != len(s) {
			t.Fatalf("%q gives %q", s, p)
		}
	})
}

func TestNamesInUse(t *testing.T) {
	run(t, rules{
		"NAME-6": func(c *clocked) {
			c.queue("Orders/New", engine.Config{})
			c.equal(c.state("orders/NEW").Path, engine.Path("Orders/New"))
			c.send("ORDERS/new", engine.Content{})
			c.receive("orders/new")
			c.refused(engine.ErrExists, func() error {
				_, err := c.ns.Create(c.now, engine.Queue, "orders/new", engine.Config{}, "")
				return err
			})
		},
		"NAME-6 subscription": func(c *clocked) {
			c.topic("Prices", engine.Config{})
			c.equal(c.sub("prices", "EU", engine.Config{}), engine.Path("Prices/Subscriptions/EU"))
			c.refused(engine.ErrExists, func() error {
				_, err := c.ns.Create(c.now, engine.Subscription, "PRICES/Subscriptions/eu", engine.Config{}, "")
				return err
			})
		},
		"NAME-7": func(c *clocked) {
			c.queue("a", engine.Config{})
			c.refused(engine.ErrExists, func() error {
				_, err := c.ns.Create(c.now, engine.Topic, "A", engine.Config{}, "")
				return err
			})
			c.equal(len(c.ns.States(engine.Topic)), 0)
			c.equal(len(c.ns.States(engine.Queue)), 1)
			c.topic("b", engine.Config{})
			c.refused(engine.ErrExists, func() error {
				_, err := c.ns.Create(c.now, engine.Queue, "B", engine.Config{}, "")
				return err
			})
			c.equal(c.state("b").Kind, engine.Topic)
			c.equal(len(c.ns.States(engine.Queue)), 1)     // b does not appear among the queues
			c.refused(engine.ErrNotAllowed, func() error { // and a queue has no subscriptions
				_, err := c.ns.Create(c.now, engine.Subscription, "a/Subscriptions/s", engine.Config{}, "")
				return err
			})
		},
		"NAME-8": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			c.kill(c.receive("q"), "", "")
			for _, text := range []string{"Q/$deadletterqueue", "q/$DEADLETTERQUEUE"} {
				p, err := engine.ParsePath(text, c.limits)
				c.must(err)
				d := c.receive(p)
				c.equal(d.Content.MessageID(), "m")
				c.release(d)
			}
		},
		"a dead-letter queue has no description": func(c *clocked) {
			c.queue("q", engine.Config{})
			for _, step := range []func() error{
				func() error { _, err := c.ns.Update(c.now, "q/$DeadLetterQueue", engine.Config{}, ""); return err },
				func() error { return c.ns.Touch(c.now, "q/$DeadLetterQueue", "") },
			} {
				c.refused(engine.ErrNotAllowed, step)
			}
		},
	})
}

// An error names the kind of the entity, or both kinds if the path may be of either.
func TestNameRefusals(t *testing.T) {
	var c engine.Config
	forward, _ := engine.LookupProperty(engine.Queue, "ForwardTo")
	l := engine.DefaultLimits()
	parse := func(s string) error { _, err := engine.ParsePath(s, l); return err }
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"NAME-5 a topic":         {engine.CheckName(engine.Topic, "a b", l), "The name of a topic must not contain ' '"},
		"NAME-1 a topic":         {engine.CheckName(engine.Topic, "", l), "The name of a topic must have 1 to 260 characters, not 0."},
		"NAME-3 a topic":         {engine.CheckName(engine.Topic, "a/", l), "The name of a topic must not begin or end with '/'"},
		"NAME-5 a topic with ..": {engine.CheckName(engine.Topic, "a/..", l), "No part of the name of a topic may be '.' or '..'"},
		"NAME-5 a queue":         {engine.CheckName(engine.Queue, "a b", l), "The name of a queue must not contain ' '"},
		"NAME-5 a path":          {parse("a b"), "The name of a queue or topic must not contain ' '"},
		"NAME-5 a topic's path":  {parse("a b/Subscriptions/s"), "The name of a topic must not contain ' '"},
		"NAME-3 a subscription":  {engine.CheckName(engine.Subscription, "a/b", l), "The name of a subscription must not contain '/'"},
		"NAME-5 a subscription":  {parse("t/Subscriptions/a b"), "The name of a subscription must not contain ' '"},
		"NAME-5 a destination":   {forward.Set(&c, l, engine.Queue, "a b"), "is not the path of a queue or topic: The name of a queue or topic must not contain ' '"},
		"NAME-5 a rule":          {engine.CheckRuleName("a b", l), "Use letters, digits, '.', '-', '_' and '~', with an optional '$'"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.err == nil || !strings.Contains(tc.err.Error(), tc.want) {
				t.Errorf("%v, want %q", tc.err, tc.want)
			}
		})
	}
}
