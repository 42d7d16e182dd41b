package engine_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/value"
)

// A boundary has an operation exactly at a limit, which succeeds, and one beyond it, which
// fails. Both begin in a namespace with a queue q and a topic t that has a subscription s.
type boundary struct {
	to       string            // the value of the limit
	also     map[string]string // other limits needed to reach it
	at, past func(*clocked) error
	kind     error // of the error beyond the limit
	sub      int   // its sub-code (ERR-3)
}

// boundaries returns the boundary of every limit of §1.5 and §1.2 that refuses operations.
func boundaries() map[string]boundary {
	badArgument, outOfRange, quota := engine.ErrArgument, engine.ErrOutOfRange, engine.ErrQuota
	return map[string]boundary{
		"message-size":             {"50", nil, sending(50), sending(51), engine.ErrTooLarge, 40300},
		"batch-size":               {"300000", nil, sending(200_000, 100_000), sending(200_000, 100_001), engine.ErrTooLarge, 40300},
		"property-size":            {"10", nil, submitting(property(10, 10)), submitting(property(10, 11)), badArgument, 40000},
		"header-size":              {"10", nil, submitting(engine.Content{Subject: xs(10)}), submitting(engine.Content{Subject: xs(11)}), badArgument, 40000},
		"id-length":                {"10", nil, submitting(engine.Content{MessageID: xs(10)}), submitting(engine.Content{MessageID: xs(11)}), badArgument, 40000},
		"reason-length":            {"10", nil, killing(10), killing(11), outOfRange, 40000},
		"message-memory":           {"600", map[string]string{"entity-size": "1200"}, sending(50), sending(50, 50), quota, 40300},
		"entity-size":              {"60", nil, sending(60), sending(61), quota, 40300},
		"entities":                 {"3", nil, creating(engine.Queue, "a"), creating(engine.Queue, "a", "b"), quota, 40300}, // after q and t
		"subscriptions-per-topic":  {"2", nil, creating(engine.Subscription, "t/Subscriptions/a"), creating(engine.Subscription, "t/Subscriptions/a", "t/Subscriptions/b"), quota, 40503},
		"sql-filters-per-topic":    {"1", nil, ruling(sqlRule(9)), ruling(sqlRule(9), sqlRule(10)), quota, 40501},
		"other-filters-per-topic":  {"2", nil, ruling(engine.Rule{Name: "a"}), ruling(engine.Rule{Name: "a"}, engine.Rule{Name: "b"}), quota, 40502}, // after $Default
		"filter-length":            {"10", nil, ruling(sqlRule(10)), ruling(sqlRule(11)), badArgument, 40000},
		"action-expressions":       {"2", nil, ruling(acting(2)), ruling(acting(3)), badArgument, 40000},
		"receives":                 {"1", nil, attaching("q"), attaching("q", "q"), engine.ErrBusy, 50004},
		"attached-receivers":       {"2", nil, idling("q", "q/$DeadLetterQueue"), idling("t/Subscriptions/s", "t/Subscriptions/s", "t/Subscriptions/s/$DeadLetterQueue"), engine.ErrBusy, 50004},
		"selectors":                {"1", nil, selecting("a"), selecting("a", "b"), quota, 40300},
		"batch-delete":             {"3", nil, deleting(3), deleting(4), outOfRange, 40000},
		"name-length":              {"10", nil, naming(engine.Queue, 10), naming(engine.Topic, 11), badArgument, 40000},
		"subscription-name-length": {"10", nil, naming(engine.Subscription, 10), naming(engine.Subscription, 11), badArgument, 40000},
		"user-metadata":            {"10", nil, setting("UserMetadata", xs(10)), setting("UserMetadata", xs(11)), outOfRange, 40000},
		"min-lock":                 {"10s", nil, setting("LockDuration", "PT10S"), setting("LockDuration", "PT9.999S"), outOfRange, 40000},
		"max-lock":                 {"10s", nil, setting("LockDuration", "PT10S"), setting("LockDuration", "PT10.001S"), outOfRange, 40000},
		"min-ttl":                  {"10s", nil, setting("DefaultMessageTimeToLive", "PT10S"), setting("DefaultMessageTimeToLive", "PT9.999S"), outOfRange, 40000},
		"max-ttl":                  {"P14D", nil, setting("DefaultMessageTimeToLive", "P14D"), setting("DefaultMessageTimeToLive", "P14DT0.001S"), outOfRange, 40000},
		"min-auto-delete":          {"10m", nil, setting("AutoDeleteOnIdle", "PT10M"), setting("AutoDeleteOnIdle", "PT9M59.999S"), outOfRange, 40000},
		"min-duplicate-window":     {"30s", nil, setting("DuplicateDetectionHistoryTimeWindow", "PT30S"), setting("DuplicateDetectionHistoryTimeWindow", "PT29.999S"), outOfRange, 40000},
		"max-duplicate-window":     {"30s", nil, setting("DuplicateDetectionHistoryTimeWindow", "PT30S"), setting("DuplicateDetectionHistoryTimeWindow", "PT30.001S"), outOfRange, 40000},
		"max-deliveries":           {"5", nil, setting("MaxDeliveryCount", "5"), setting("MaxDeliveryCount", "6"), outOfRange, 40000},
		"min-megabytes":            {"1000", nil, setting("MaxSizeInMegabytes", "1000"), setting("MaxSizeInMegabytes", "999"), outOfRange, 40000},
		"max-megabytes":            {"2048", nil, setting("MaxSizeInMegabytes", "2048"), setting("MaxSizeInMegabytes", "3072"), outOfRange, 40000},
		"min-kilobytes":            {"2000", map[string]string{"max-kilobytes": "4096"}, setting("MaxMessageSizeInKilobytes", "2000"), setting("MaxMessageSizeInKilobytes", "1999"), outOfRange, 40000},
		"max-kilobytes":            {"2000", nil, setting("MaxMessageSizeInKilobytes", "2000"), setting("MaxMessageSizeInKilobytes", "2001"), outOfRange, 40000},
		"duplicate-ids":            {"3", nil, remembering(3), remembering(4), engine.ErrBusy, 50004},
		"session-states":           {"2", nil, stating("a", "b"), stating("a", "b", "c"), quota, 40300},
		"session-state-size":       {"10", nil, stating(xs(10)), stating(xs(11)), engine.ErrTooLarge, 40300},
		"session-locks":            {"2", nil, fetchingLocked(2), fetchingLocked(3), quota, 40300},
		"transaction-messages":     {"3", nil, transacting(3, 0), transacting(4, 0), quota, 40300},
		"transaction-time":         {"10s", nil, transacting(1, 10*second-1*ms), transacting(1, 10*second), engine.ErrTransaction, 0},
		"forward-hops":             {"2", nil, forwarding("a1", "a2", "a3"), forwarding("b1", "b2", "b3", "b4"), engine.ErrMessageNotFound, 0},
		"access-rules":             {"2", nil, describing(engine.Config{AuthorizationRules: rulesOf(2)}), describing(engine.Config{AuthorizationRules: rulesOf(3)}), badArgument, 40000},
		"settings":                 {"2", nil, shelving("a", "b"), shelving("a", "b", "c"), quota, 40300},
		"setting-key-length":       {"10", nil, shelving(xs(10)), shelving(xs(11)), badArgument, 40000},
		"setting-size":             {"10", nil, shelvingOf("a", xs(10)), shelvingOf("a", xs(11)), engine.ErrTooLarge, 40300},
		"settings-size":            {"20", nil, shelvingOf("a", xs(9), "b", xs(9)), shelvingOf("a", xs(9), "b", xs(10)), quota, 40300},
		"without":                  {"auto-delete-on-idle", nil, describing(engine.Config{RequiresSession: true}), describing(engine.Config{AutoDeleteOnIdle: 1e12}), badArgument, 40000},
	}
}

// §1.5: a queue that accepts large messages does not increase the limit on batches.
func TestLargestBatch(t *testing.T) {
	c := newClocked(t, asked)
	c.limit(func(l *engine.Limits) { l.MaxKilobytes = 100 << 10 })
	c.queue("large", engine.Config{MaxMessageSizeInKilobytes: 100 << 10})
	send := func(sizes ...int) error {
		var batch []engine.Submission
		for _, n := range sizes {
			s, err := engine.Submit(engine.Content{}, make([]byte, n), 0, c.keys.Next(), c.limits)
			c.must(err)
			batch = append(batch, s)
		}
		_, err := c.ns.Send(c.now, "large", batch, "")
		return err
	}
	most := int(c.limits.MaxBatchSize())
	c.must(send(2 * most))
	const counted = 10 // size of two messages besides their bodies
	c.must(send(most/2, most/2-counted))
	if err := send(most/2, most/2-counted+1); !errors.Is(err, engine.ErrTooLarge) {
		t.Errorf("a batch that is one byte too large: %v", err)
	}
}

// elsewhere returns the limits that have no boundary here, with the reason or the place of
// their tests.
func elsewhere() map[string]string {
	return map[string]string{
		"peek-count": "it refuses nothing, PEEK-7",
		// Limits of the AMQP protocol are tested with it.
		"connections": "AMQP", "connection-sessions": "AMQP", "connection-links": "AMQP",
		"link-unsettled": "AMQP", "frame-size": "AMQP", "incomplete-bytes": "AMQP", "link-bytes": "AMQP",
	}
}

// TestLimits sets every limit by name and tests what it refuses: an operation at the limit
// succeeds, one beyond it fails, and the default limit has another boundary.
func TestLimits(t *testing.T) {
	table := boundaries()
	for limit, b := range table {
		t.Run("§1.5 "+limit, func(t *testing.T) {
			world := func(to string) *clocked {
				c := newClocked(t, asked)
				c.queue("q", engine.Config{})
				c.topic("t", engine.Config{})
				c.sub("t", "s", engine.Config{})
				for name, value := range b.also {
					c.must(c.limits.Set(name, value))
				}
				if to != "" {
					c.must(c.limits.Set(limit, to))
				}
				c.restart()
				return c
			}
			c := world(b.to)
			c.must(b.at(c))
			c.step()
			c = world(b.to)
			err := b.past(c)
			if got := subCode(err); !errors.Is(err, b.kind) || got != b.sub {
				t.Errorf("beyond the limit: %v with sub-code %d; want %v with %d", err, got, b.kind, b.sub)
			}
			c.step()
			if b.at(world("")) == nil && b.past(world("")) != nil {
				t.Error("the default limit has the same boundary")
			}
		})
	}
	for _, name := range engine.LimitNames() {
		_, here := table[name]
		if why, ok := elsewhere()[name]; here == ok {
			t.Errorf("the limit %s is in the table: %t; its tests are elsewhere: %q", name, here, why)
		}
	}
	if all := len(table) + len(elsewhere()); all != len(engine.LimitNames()) {
		t.Errorf("there are %d limits, of which %d are tested", len(engine.LimitNames()), all)
	}
}

// subCode returns an error's sub-code (ERR-3).
func subCode(err error) int {
	if _, ok := errors.AsType[*engine.PropertyError](err); ok {
		return 40000
	}
	if r, ok := errors.AsType[*engine.Refusal](err); ok {
		return r.SubCode
	}
	return 0
}

func xs(n int) string { return strings.Repeat("x", n) }

func property(name, v int) engine.Content {
	return engine.Content{Properties: value.Properties{{Name: xs(name), Value: value.OfString(xs(v))}}}
}

func submitting(m engine.Content) func(*clocked) error {
	return func(c *clocked) error { _, err := engine.Submit(m, nil, 0, 1, c.limits); return err }
}

// remembering makes a queue remember n ids, each sent twice.
func remembering(n int) func(*clocked) error {
	return func(c *clocked) error {
		c.detecting("seen")
		var batch []engine.Content
		for i := range n {
			batch = append(batch, engine.Content{MessageID: xs(i + 1)}, engine.Content{MessageID: xs(i + 1)})
		}
		_, err := c.trySend("seen", batch...)
		return err
	}
}

// stating sets the state of one session after another, one to each of these texts.
func stating(texts ...string) func(*clocked) error {
	return func(c *clocked) (err error) {
		c.queue("stateful", sessionful)
		for i, text := range texts {
			c.must(err)
			err = c.setState(c.hold("stateful", xs(i+1)), text)
		}
		return err
	}
}

// fetchingLocked lets a receiver of a session lock n deferred messages.
func fetchingLocked(n int) func(*clocked) error {
	return func(c *clocked) error {
		c.queue("chats", sessionful)
		c.say("chats", "s", make([]string, n)...)
		l := c.hold("chats", "s")
		for range n {
			c.must(c.settle(c.take(l), engine.Defer))
			c.step()
		}
		seqs := make([]engine.Seq, n)
		for i := range seqs {
			seqs[i] = engine.Seq(i + 1)
		}
		_, err := c.ns.ReceiveDeferredInSession(c.now, l, seqs, engine.PeekLock)
		return err
	}
}

// transacting sends n messages in a transaction, and commits it when `long` has passed.
func transacting(n int, long time.Duration) func(*clocked) error {
	return func(c *clocked) error {
		tx := c.declare()
		if err := c.sendIn(tx, "q", make([]string, n)...); err != nil {
			return err
		}
		c.now = c.now.Add(long)
		_, err := c.discharge(tx, engine.Commit)
		return err
	}
}

// sending sends messages of exactly these sizes in bytes, in one batch.
func sending(sizes ...int64) func(*clocked) error {
	return func(c *clocked) error {
		var batch []engine.Submission
		for _, n := range sizes {
			for body := n; ; body-- {
				s, err := engine.Submit(engine.Content{}, make([]byte, body), 0, c.keys.Next(), c.limits)
				c.must(err)
				if s.Size() <= n {
					batch = append(batch, s)
					break
				}
			}
			if got := batch[len(batch)-1].Size(); got != n {
				c.Fatalf("no message counts for %d bytes, but one for %d", n, got)
			}
		}
		_, err := c.ns.Send(c.now, "q", batch, "")
		return err
	}
}

func creating(kind engine.EntityKind, paths ...engine.Path) func(*clocked) error {
	return func(c *clocked) (err error) {
		for _, p := range paths {
			c.must(err)
			_, err = c.ns.Create(c.now, kind, p, engine.Config{}, "")
		}
		return err
	}
}

func describing(cfg engine.Config) func(*clocked) error {
	return func(c *clocked) error { _, err := c.ns.Create(c.now, engine.Queue, "new", cfg, ""); return err }
}

func setting(name, text string) func(*clocked) error {
	return func(c *clocked) error {
		p, _ := engine.LookupProperty(engine.Queue, name)
		return p.Set(&engine.Config{}, c.limits, engine.Queue, text)
	}
}

func naming(kind engine.EntityKind, n int) func(*clocked) error {
	return func(c *clocked) error { return engine.CheckName(kind, xs(n), c.limits) }
}

// sqlRule returns a rule with a filter of n characters, and a different name for each n.
func sqlRule(n int) engine.Rule {
	return engine.Rule{Name: xs(n), Filter: engine.Filter{Kind: engine.SQLFilter, Text: "a = 1" + strings.Repeat(" ", n-5)}}
}

func ruling(rules ...engine.Rule) func(*clocked) error {
	return func(c *clocked) (err error) {
		for _, r := range rules {
			c.must(err)
			err = c.ns.AddRule(c.now, "t/Subscriptions/s", r, "")
		}
		return err
	}
}

// acting returns a rule with an action of n statements.
func acting(n int) engine.Rule {
	return engine.Rule{Name: "r", Action: strings.Repeat("SET a = 1;", n)}
}

func killing(n int) func(*clocked) error {
	return func(c *clocked) error {
		c.sends("q", "m")
		d := c.receive("q")
		return c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: engine.DeadLetter, Description: xs(n)})
	}
}

func attaching(at ...engine.Path) func(*clocked) error {
	return func(c *clocked) (err error) {
		for _, p := range at {
			c.must(err)
			c.links++
			l := 1000 + c.links
			c.must(c.ns.Attach(c.now, engine.Link{ID: l, Path: p}))
			err = c.ns.Credit(c.now, l, 1)
		}
		return err
	}
}

// idling attaches receivers without credit.
func idling(at ...engine.Path) func(*clocked) error {
	return func(c *clocked) (err error) {
		for _, p := range at {
			c.must(err)
			c.links++
			err = c.ns.Attach(c.now, engine.Link{ID: 1000 + c.links, Path: p})
		}
		return err
	}
}

// selecting attaches receivers with these selectors, two with each.
func selecting(texts ...string) func(*clocked) error {
	return func(c *clocked) (err error) {
		for _, text := range slices.Concat(texts, texts) {
			c.links++
			if err := c.ns.Attach(c.now, engine.Link{ID: 1000 + c.links, Path: "q", Selector: of(text, nil)}); err != nil {
				return err
			}
		}
		return nil
	}
}

// forwarding sends to the first of a chain of queues and checks the last one.
func forwarding(chain ...engine.Path) func(*clocked) error {
	return func(c *clocked) error {
		c.chain(chain...)
		c.sends(chain[0], "m")
		c.sweep()
		if len(c.rows(chain[len(chain)-1])) == 0 {
			return engine.ErrMessageNotFound
		}
		return nil
	}
}

func deleting(n int) func(*clocked) error {
	return func(c *clocked) error { _, err := c.ns.BatchDelete(c.now, "q", n, c.now, ""); return err }
}

// TestLimitsOfSeveral tests limits that count several things together, or each of several.
func TestLimitsOfSeveral(t *testing.T) {
	few := func(t *testing.T, limit, to string) *clocked {
		c := newClocked(t, asked)
		c.limit(func(l *engine.Limits) { c.must(l.Set(limit, to)) })
		c.queue("q", engine.Config{})
		c.topic("t", engine.Config{})
		c.sub("t", "s", engine.Config{})
		c.sub("t", "u", engine.Config{})
		return c
	}
	t.Run("receives of all subscriptions of a topic", func(t *testing.T) {
		c := few(t, "receives", "2")
		c.must(attaching("t/Subscriptions/s", "t/Subscriptions/u/$DeadLetterQueue")(c))
		c.must(c.ns.Attach(c.now, engine.Link{ID: 1, Path: "t/Subscriptions/u"})) // it does not wait for a message yet
		if err := c.ns.Credit(c.now, 1, 1); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("the third: %v", err)
		}
		c.must(attaching("q")(c))
	})
	t.Run("filters of all subscriptions of a topic", func(t *testing.T) {
		c := few(t, "sql-filters-per-topic", "1")
		c.must(c.ns.AddRule(c.now, "t/Subscriptions/u", sqlRule(5), ""))
		if err := ruling(sqlRule(6))(c); subCode(err) != 40501 {
			t.Errorf("the second: %v", err)
		}
		c.must(ruling(engine.Rule{Name: "other"})(c))
	})
	t.Run("MSG-5, each identifier", func(t *testing.T) {
		c := few(t, "id-length", "10")
		for _, id := range []func(*engine.Content) *string{
			func(m *engine.Content) *string { return &m.MessageID }, func(m *engine.Content) *string { return &m.SessionID },
			func(m *engine.Content) *string { return &m.PartitionKey }, func(m *engine.Content) *string { return &m.ViaPartitionKey },
			func(m *engine.Content) *string { return &m.ReplyToSessionID },
		} {
			var m engine.Content
			*id(&m) = strings.Repeat("é", 10) // characters, not bytes
			c.must(submitting(m)(c))
			*id(&m) = xs(11)
			if err := submitting(m)(c); !errors.Is(err, engine.ErrArgument) {
				t.Errorf("%+v: %v", m, err)
			}
		}
	})
	t.Run("a property's name", func(t *testing.T) {
		c := few(t, "property-size", "10")
		if err := submitting(property(11, 10))(c); !errors.Is(err, engine.ErrArgument) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a dead-letter reason", func(t *testing.T) {
		c := few(t, "reason-length", "10")
		c.sends("q", "m")
		d := c.receive("q")
		kill := func(n int) error {
			return c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: engine.DeadLetter, Reason: strings.Repeat("é", n)})
		}
		c.refused(engine.ErrOutOfRange, func() error { return kill(11) })
		c.must(kill(10))
	})
	t.Run("an action's text", func(t *testing.T) {
		c := few(t, "filter-length", "10")
		action := func(n int) engine.Rule {
			return engine.Rule{Name: xs(n), Action: "SET a = 1" + strings.Repeat(" ", n-9)}
		}
		c.must(ruling(action(10))(c))
		if err := ruling(action(11))(c); !errors.Is(err, engine.ErrArgument) {
			t.Errorf("got %v", err)
		}
	})
}

func TestLimitSet(t *testing.T) {
	for _, tc := range []struct{ name, text string }{
		{"message-size", ""}, {"message-size", "-1"}, {"message-size", "1k"}, {"message-size", "99999999999999999999"},
		{"min-lock", "5"}, {"min-lock", "never"}, {"min-lock", ""}, {"no-such-limit", "1"}, {"", ""}, {"Message-Size", "1"},
		{"without", "topics,dreams"}, {"without", "Topics"},
	} {
		l := engine.DefaultLimits()
		if err := l.Set(tc.name, tc.text); !errors.Is(err, engine.ErrArgument) || !cmp.Equal(l, engine.DefaultLimits()) {
			t.Errorf("%s=%s: %v", tc.name, tc.text, err)
		}
	}
	l := engine.DefaultLimits()
	if err := l.Set("colour", "red"); err == nil || !strings.Contains(err.Error(), `the limit "colour" does not exist; choose from access-rules, action-expressions, attached-receivers, batch-delete, `) {
		t.Errorf("an unknown limit: %v", err)
	}
	if err := l.Set("without", "dreams"); err == nil || !strings.Contains(err.Error(), `the feature "dreams" does not exist; choose from topics, sessions, `) {
		t.Errorf("an unknown feature: %v", err)
	}
	if err := errors.Join(l.Set("max-ttl", "1h"), l.Set("max-ttl", "never")); err != nil || l.MaxTTL != 0 {
		t.Errorf("no maximum: %v, %v", l.MaxTTL, err)
	}
}

// Every number and duration of Limits has a name, and each name has a field of its own.
func TestLimitNames(t *testing.T) {
	names := engine.LimitNames()
	if !slices.IsSorted(names) {
		t.Errorf("the names are %q", names)
	}
	quotas := 1 // Without, which has no name
	for f := range reflect.TypeFor[engine.Limits]().Fields() {
		if f.Type.Kind() == reflect.Int64 {
			quotas++
		}
	}
	if len(names) != quotas {
		t.Errorf("there are %d names of %d limits", len(names), quotas)
	}
	seen := map[string]string{}
	for _, name := range names {
		l, text := engine.Limits{}, "7"
		if err := l.Set(name, text); err != nil {
			text = "7s"
			if name == "without" {
				text = "topics"
			}
			if err := l.Set(name, text); err != nil {
				t.Error(err)
			}
		}
		is := fmt.Sprintf("%+v", l)
		if other := seen[is]; other != "" || cmp.Equal(l, engine.Limits{}) {
			t.Errorf("setting %s changes no field, or the same field as %s", name, other)
		}
		seen[is] = name
	}
}

// A queue's own maximum message size takes precedence over the namespace's.
func TestMaxMessageSize(t *testing.T) {
	c := newClocked(t, asked)
	c.queue("q", engine.Config{MaxMessageSizeInKilobytes: 1024})
	c.must(sending(1024 << 10)(c))
	if err := sending(1024<<10 + 1)(c); !errors.Is(err, engine.ErrTooLarge) {
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
