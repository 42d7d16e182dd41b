package engine_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
)

func TestPages(t *testing.T) {
	c := newClocked(t, asked)
	for i := range 5 {
		c.queue(engine.Path(fmt.Sprint("q", i)), engine.Config{})
		c.topic(engine.Path(fmt.Sprint("Q", i, "t")), engine.Config{})
	}
	for i := range 5 {
		c.sub("q1t", fmt.Sprint("s", i), engine.Config{})
	}
	for name, tc := range map[string]struct {
		kind      engine.EntityKind
		topic     engine.Path
		skip, top int
		want      []engine.Path
	}{
		"all":              {engine.Queue, "", 0, 100, []engine.Path{"q0", "q1", "q2", "q3", "q4"}},
		"some":             {engine.Queue, "", 1, 2, []engine.Path{"q1", "q2"}},
		"the last":         {engine.Topic, "", 4, 2, []engine.Path{"Q4t"}},
		"past the end":     {engine.Topic, "", 5, 2, nil},
		"far past the end": {engine.Topic, "", 1 << 40, 2, nil},
		"none":             {engine.Queue, "", 0, 0, nil},
		"of a topic":       {engine.Subscription, "Q1T", 3, 1, []engine.Path{"Q1t/Subscriptions/s3"}},
		"of an empty one":  {engine.Subscription, "q2t", 0, 1, nil},
	} {
		page, err := c.ns.EntityPage(tc.kind, tc.topic, tc.skip, tc.top)
		var got []engine.Path
		for _, s := range page {
			got = append(got, s.Path)
		}
		if d := cmp.Diff(tc.want, got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
		}
	}
	for _, p := range []engine.Path{"q1", "missing", "q1t/Subscriptions/s1"} {
		c.refused(engine.ErrNotFound, func() error { _, err := c.ns.EntityPage(engine.Subscription, p, 0, 1); return err })
	}
}

// A topic's state contains the numbers of SQL and correlation filters of its subscriptions. A true
// filter counts as SQL.
func TestFilterCounts(t *testing.T) {
	c := newClocked(t, asked)
	c.topic("t", engine.Config{})
	wants := func(sql, correlation int) {
		t.Helper()
		c.must(c.ns.Check())
		c.equal(c.state("t").Filters, engine.FilterCounts{SQL: sql, Correlation: correlation})
	}
	wants(0, 0)
	s := c.sub("t", "s", engine.Config{})
	wants(1, 0)
	rule := func(name string, kind engine.FilterKind, text string) engine.Rule {
		return engine.Rule{Name: name, Filter: engine.Filter{Kind: kind, Text: text}}
	}
	c.must(c.ns.AddRule(c.now, s, rule("c", engine.CorrelationFilter, `{"Label":"x"}`), ""))
	c.must(c.ns.AddRule(c.now, s, rule("f", engine.FalseFilter, ""), ""))
	c.must(c.ns.AddRule(c.now, s, rule("s", engine.SQLFilter, "a = 1"), ""))
	wants(3, 1)
	c.must(c.ns.ReplaceRule(c.now, s, rule("s", engine.CorrelationFilter, `{"Label":"y"}`), ""))
	wants(2, 2)
	c.step()
	c.restart()
	wants(2, 2)
	c.must(c.ns.RemoveRule(c.now, s, "c", ""))
	wants(2, 1)
	c.remove(s)
	wants(0, 0)
}

// A destination given as an address is returned as that address until the destination is
// changed.
func TestForwardAddresses(t *testing.T) {
	l := engine.DefaultLimits()
	for _, name := range []string{"ForwardTo", "ForwardDeadLetteredMessagesTo"} {
		p, _ := engine.LookupProperty(engine.Queue, name)
		field := func(c engine.Config) (path, address string) {
			if name == "ForwardTo" {
				return c.ForwardTo, c.ForwardToAddress
			}
			return c.ForwardDeadLetteredMessagesTo, c.ForwardDeadLetteredMessagesToAddress
		}
		var c engine.Config
		for i, step := range []struct{ text, path, address string }{
			{"sb://host/a%2Fb", "a/b", "sb://host/a%2Fb"},
			{"a/b", "a/b", "sb://host/a%2Fb"}, // as a form submits it
			{"https://Host:443/A/B", "A/B", "https://Host:443/A/B"},
			{"other", "other", ""},
			{"sb://host/x", "x", "sb://host/x"},
			{"", "", ""},
		} {
			if err := p.Set(&c, l, engine.Queue, step.text); err != nil {
				t.Fatal(err)
			}
			if path, address := field(c); path != step.path || address != step.address {
				t.Errorf("%s, step %d: %q and %q", name, i, path, address)
			}
		}
		long := "sb://" + string(make([]byte, 2048)) + "/a"
		if err := p.Set(&c, l, engine.Queue, long); err == nil {
			t.Error("an address that is too long was accepted")
		}
	}
}
