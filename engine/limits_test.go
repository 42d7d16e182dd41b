package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/value"
)

// TestLimits sets every limit by name to something small and watches what it
// refuses: at the limit it passes, past it not.
func TestLimits(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	submit := func(m engine.Content) func(*clocked) error {
		return func(c *clocked) error { _, err := engine.Submit(m, nil, 0, 1, c.limits); return err }
	}
	send := func(subjects ...int) func(*clocked) error {
		return func(c *clocked) error {
			var batch []engine.Submission
			for _, n := range subjects { // a subject of less than 128 bytes takes two more
				s, err := engine.Submit(engine.Content{Subject: text(n - 2)}, nil, 0, c.keys.Next(), c.limits)
				c.must(err)
				batch = append(batch, s)
			}
			_, err := c.ns.Send(c.now, "q", batch, "")
			return err
		}
	}
	create := func(kind engine.EntityKind, paths ...engine.Path) func(*clocked) error {
		return func(c *clocked) (err error) {
			for _, p := range paths {
				if _, err = c.ns.Create(c.now, kind, p, engine.Config{}, ""); err != nil {
					break
				}
			}
			return err
		}
	}
	property := func(name, text string) func(*clocked) error {
		return func(c *clocked) error {
			p, _ := engine.LookupProperty(engine.Queue, name)
			return p.Set(&engine.Config{}, c.limits, engine.Queue, text)
		}
	}
	prop := func(name, v int) engine.Content {
		return engine.Content{Properties: value.Properties{{Name: text(name), Value: value.OfString(text(v))}}}
	}
	name := func(kind engine.EntityKind, n int) func(*clocked) error {
		return func(c *clocked) error { return engine.CheckName(kind, text(n), c.limits) }
	}
	rule := func(r engine.Rule) func(*clocked) error {
		return func(c *clocked) error { return c.ns.AddRule(c.now, "t/Subscriptions/s", r, "") }
	}
	sql := func(n int) engine.Rule {
		return engine.Rule{Name: "r", Filter: engine.Filter{Kind: engine.SQLFilter, Text: text(n)}}
	}
	cases := map[string]struct {
		to       string
		at, past func(*clocked) error
		err      error
	}{
		"message-size":             {"50", send(50), send(51), engine.ErrTooLarge},
		"batch-size":               {"262200", send(100, 100), func(c *clocked) error { return sendSizes(c, 200<<10, 62<<10) }, engine.ErrTooLarge},
		"property-size":            {"10", submit(prop(10, 10)), submit(prop(10, 11)), engine.ErrArgument},
		"header-size":              {"10", submit(engine.Content{Subject: text(10)}), submit(engine.Content{Subject: text(11)}), engine.ErrArgument},
		"id-length":                {"10", submit(engine.Content{MessageID: text(10)}), submit(engine.Content{MessageID: text(11)}), engine.ErrArgument},
		"reason-length":            {"10", killing(10), killing(11), engine.ErrOutOfRange},
		"entity-size":              {"60", send(60), send(61), engine.ErrQuota},
		"entities":                 {"3", create(engine.Queue, "a"), create(engine.Queue, "b"), engine.ErrQuota}, // after q and t
		"subscriptions-per-topic":  {"2", create(engine.Subscription, "t/Subscriptions/a"), create(engine.Subscription, "t/Subscriptions/b"), engine.ErrQuota},
		"rules-per-topic":          {"2", rule(engine.Rule{Name: "a"}), rule(engine.Rule{Name: "b"}), engine.ErrQuota},
		"filter-length":            {"10", rule(sql(10)), rule(sql(11)), engine.ErrArgument},
		"receives":                 {"1", attaching(1), attaching(2), engine.ErrBusy},
		"batch-delete":             {"3", deleting(3), deleting(4), engine.ErrOutOfRange},
		"name-length":              {"10", name(engine.Queue, 10), name(engine.Topic, 11), engine.ErrArgument},
		"subscription-name-length": {"10", name(engine.Subscription, 10), name(engine.Subscription, 11), engine.ErrArgument},
		"user-metadata":            {"10", property("UserMetadata", text(10)), property("UserMetadata", text(11)), engine.ErrOutOfRange},
		"min-lock":                 {"10s", property("LockDuration", "PT10S"), property("LockDuration", "PT9.999S"), engine.ErrOutOfRange},
		"max-lock":                 {"10s", property("LockDuration", "PT10S"), property("LockDuration", "PT10.001S"), engine.ErrOutOfRange},
		"min-ttl":                  {"10s", property("DefaultMessageTimeToLive", "PT10S"), property("DefaultMessageTimeToLive", "PT9.999S"), engine.ErrOutOfRange},
		"max-ttl":                  {"P14D", property("DefaultMessageTimeToLive", "P14D"), property("DefaultMessageTimeToLive", "P15D"), engine.ErrOutOfRange}, // PROP-4, basic
		"min-auto-delete":          {"10s", property("AutoDeleteOnIdle", "PT10S"), property("AutoDeleteOnIdle", "PT9.999S"), engine.ErrOutOfRange},
		"min-duplicate-window":     {"30s", property("DuplicateDetectionHistoryTimeWindow", "PT30S"), property("DuplicateDetectionHistoryTimeWindow", "PT29S"), engine.ErrOutOfRange},
		"max-duplicate-window":     {"30s", property("DuplicateDetectionHistoryTimeWindow", "PT30S"), property("DuplicateDetectionHistoryTimeWindow", "PT31S"), engine.ErrOutOfRange},
	}
	for limit, tc := range cases {
		t.Run(limit, func(t *testing.T) {
			c := newClocked(t, asked)
			c.limit(func(l *engine.Limits) { c.must(l.Set(limit, tc.to)) })
			c.queue("q", engine.Config{})
			c.topic("t", engine.Config{})
			c.sub("t", "s", engine.Config{})
			c.must(tc.at(c))
			c.step()
			if err := tc.past(c); !errors.Is(err, tc.err) {
				t.Errorf("past it: %v", err)
			}
		})
	}
	for _, name := range engine.LimitNames() {
		if _, ok := cases[name]; !ok && name != "peek-count" { // which refuses nothing: PEEK-7
			t.Errorf("no case watches the limit %s", name)
		}
	}
}

func sendSizes(c *clocked, sizes ...int64) error {
	var batch []engine.Submission
	for _, n := range sizes {
		s, err := engine.Submit(engine.Content{}, make([]byte, n), 0, c.keys.Next(), c.limits)
		c.must(err)
		batch = append(batch, s)
	}
	_, err := c.ns.Send(c.now, "q", batch, "")
	return err
}

func killing(n int) func(*clocked) error {
	return func(c *clocked) error {
		c.sends("q", "m")
		d := c.receive("q")
		return c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: engine.DeadLetter, Description: strings.Repeat("x", n)})
	}
}

func attaching(id engine.LinkID) func(*clocked) error {
	return func(c *clocked) error { return c.ns.Attach(c.now, engine.Link{ID: id, Path: "q"}) }
}

func deleting(n int) func(*clocked) error {
	return func(c *clocked) error { _, err := c.ns.BatchDelete(c.now, "q", n, c.now, ""); return err }
}

func TestLimitSet(t *testing.T) {
	for _, tc := range []struct{ name, text string }{
		{"message-size", ""}, {"message-size", "-1"}, {"message-size", "1k"}, {"message-size", "99999999999999999999"},
		{"min-lock", "5"}, {"min-lock", "never"}, {"min-lock", ""}, {"no-such-limit", "1"}, {"", ""}, {"Message-Size", "1"},
	} {
		l := engine.DefaultLimits()
		if err := l.Set(tc.name, tc.text); !errors.Is(err, engine.ErrArgument) || l != engine.DefaultLimits() {
			t.Errorf("%s=%s: %v", tc.name, tc.text, err)
		}
	}
	if !slices.IsSorted(engine.LimitNames()) || len(engine.LimitNames()) != 24 {
		t.Errorf("the names are %q", engine.LimitNames())
	}
}

// MSG: a queue's own message size stands before the namespace's.
func TestMaxMessageSize(t *testing.T) {
	c := newClocked(t, asked)
	c.queue("q", engine.Config{MaxMessageSizeInKilobytes: 1024})
	c.must(sendSizes(c, 1000<<10))
	if err := sendSizes(c, 1024<<10); !errors.Is(err, engine.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	c.queue("small", engine.Config{MaxMessageSizeInKilobytes: 1})
	c.refused(engine.ErrTooLarge, func() error {
		s, err := engine.Submit(engine.Content{}, make([]byte, 1025), 0, c.keys.Next(), c.limits)
		c.must(err)
		_, err = c.ns.Send(c.now, "small", []engine.Submission{s}, "")
		return err
	})
}
