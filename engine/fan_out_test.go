package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/engine/value"
)

// sql returns an SQL filter, conditions a correlation filter, and always is the true filter.
func sql(text string) engine.Filter { return engine.Filter{Kind: engine.SQLFilter, Text: text} }

func conditions(json string) engine.Filter {
	return engine.Filter{Kind: engine.CorrelationFilter, Text: json}
}

var always = engine.Filter{}

// ruled creates a subscription with exactly these rules.
func (c *clocked) ruled(topic, name string, cfg engine.Config, own ...engine.Rule) engine.Path {
	c.Helper()
	p := engine.SubscriptionPath(topic, name)
	_, err := c.ns.CreateWithRules(c.now, engine.Subscription, p, cfg, own, c.actor)
	c.must(err)
	c.step()
	return p
}

func props(pairs ...any) (all value.Properties) {
	for i := 0; i < len(pairs); i += 2 {
		p := value.Property{Name: pairs[i].(string)}
		switch v := pairs[i+1].(type) {
		case string:
			p.Value = value.OfString(v)
		case int:
			p.Value = value.OfInt(int32(v))
		}
		all = append(all, p)
	}
	return all
}

// content returns a delivery's decoded content, with the properties as the receiver sees them.
func (c *clocked) content(d engine.Delivery) engine.Content {
	c.Helper()
	out, err := d.Content.Content()
	c.must(err)
	out.Properties = d.Message.Properties(out)
	return out
}

func (c *clocked) text(d engine.Delivery, property string) string {
	c.Helper()
	v, _ := c.content(d).Properties.Lookup(property)
	return v.Text()
}

// properties returns a delivery's properties, in order.
func (c *clocked) properties(d engine.Delivery) string {
	c.Helper()
	var all []string
	for _, p := range c.content(d).Properties {
		all = append(all, p.Name+"="+p.Value.Text())
	}
	return strings.Join(all, " ")
}

func TestDistribution(t *testing.T) {
	run(t, rules{
		"FILT-5": func(c *clocked) { // five rules match, two of them with actions: three messages
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{},
				engine.Rule{Name: "a", Filter: sql("n > 1")}, engine.Rule{Name: "b", Filter: sql("n > 2")}, engine.Rule{Name: "c", Filter: conditions(`{"Label":"x"}`)},
				engine.Rule{Name: "Raise", Filter: sql("n = 3"), Action: "SET n = n + 1"},
				engine.Rule{Name: "Mark", Filter: always, Action: "SET marked = 'yes'; REMOVE n"},
				engine.Rule{Name: "other", Filter: sql("n = 4"), Action: "SET n = 0"})
			c.send("t", engine.Content{MessageID: "m", Subject: "x", Properties: props("n", 3)})
			c.pass(second)
			c.wantCounts(s, engine.Counts{Active: 3})
			plain, mark, raise := c.grab(s), c.grab(s), c.grab(s)
			c.equal(c.properties(plain), `n=3`)
			c.equal(c.properties(mark), `marked=yes RuleName=Mark`)
			c.equal(c.properties(raise), `n=4 RuleName=Raise`)
			for _, d := range []engine.Delivery{plain, mark, raise} {
				c.equal(d.Content.MessageID(), "m")
			}
		},
		"FILT-6": func(c *clocked) { // no rule matches: the message is accepted and dropped, with an event
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "r", Filter: engine.Filter{Kind: engine.FalseFilter}})
			c.events = nil
			c.equal(c.send("t", engine.Content{MessageID: "lonely", Subject: "x"}), engine.Seq(1))
			c.wantCounts(s, engine.Counts{})
			c.equal(len(c.events), 1)
			c.equal(c.events[0].Kind, engine.EventUnmatched)
			c.equal(c.events[0].Content.MessageID(), "lonely")
			c.equal(len(c.store.contents)+len(c.store.bodies), 0)
		},
		"FILT-8": func(c *clocked) { // a replaced rule applies to later messages
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "r", Filter: sql("sys.Label = 'a'")})
			send := func(id, label string) { c.send("t", engine.Content{MessageID: id, Subject: label}) }
			send("1", "a")
			send("2", "b")
			c.must(c.ns.ReplaceRule(c.now, s, engine.Rule{Name: "R", Filter: conditions(`{"Label":"b"}`)}, ""))
			c.pass(second)
			send("3", "a")
			send("4", "b")
			c.wantIDs(s, "1", "4")
			c.equal(fmt.Sprint(ruleNames(c.state(s))), "[r]")
			c.refused(engine.ErrNotFound, func() error { return c.ns.ReplaceRule(c.now, s, engine.Rule{Name: "none"}, "") })
			c.refused(engine.ErrArgument, func() error { return c.ns.ReplaceRule(c.now, s, engine.Rule{Name: "r", Filter: sql("(")}, "") })
		},
		"FILT-9 of a copy that an action changed": func(c *clocked) { // the other copies are as sent
			c.topic("t", engine.Config{})
			a := c.ruled("t", "a", engine.Config{}, engine.Rule{Name: "r", Filter: always, Action: "SET sys.Label = 'changed'"})
			b := c.sub("t", "b", engine.Config{})
			c.send("t", engine.Content{MessageID: "m", Subject: "sent"})
			c.pass(second)
			da, db := c.receive(a), c.receive(b)
			c.equal(da.Content.Subject(), "changed")
			c.equal(db.Content.Subject(), "sent")
			c.abandon(da)
			c.equal(c.receive(a).Content.Subject(), "changed")
		},
		"FILT-11": func(c *clocked) { // it is a property named body, never the body
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "r", Filter: sql("body = 'hello'")})
			sub, err := engine.Submit(engine.Content{MessageID: "no"}, []byte("hello"), 0, c.keys.Next(), c.limits)
			c.must(err)
			_, err = c.ns.Send(c.now, "t", []engine.Submission{sub}, "")
			c.must(err)
			c.send("t", engine.Content{MessageID: "yes", Properties: props("body", "hello")})
			c.wantIDs(s, "yes")
		},
		"FILT-12": func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.SQLFiltersPerTopic, l.OtherFiltersPerTopic = 2, 3 })
			c.topic("t", engine.Config{})
			a := c.ruled("t", "a", engine.Config{}, engine.Rule{Name: "1", Filter: sql("a = 1")}, engine.Rule{Name: "x"})
			b := c.ruled("t", "b", engine.Config{}, engine.Rule{Name: "1", Filter: conditions(`{"To":"x"}`)})
			c.must(c.ns.AddRule(c.now, a, engine.Rule{Name: "2", Filter: sql("a = 2")}, ""))
			c.must(c.ns.AddRule(c.now, b, engine.Rule{Name: "2", Filter: conditions(`{"To":"y"}`)}, ""))
			c.pass(second)
			for code, f := range map[int]engine.Filter{40501: sql("a = 3"), 40502: conditions(`{"To":"z"}`)} {
				c.refused(engine.ErrQuota, func() error {
					err := c.ns.AddRule(c.now, a, engine.Rule{Name: "3", Filter: f}, "")
					if r, ok := errors.AsType[*engine.Refusal](err); !ok || r.SubCode != code {
						c.Errorf("sub-code of %v: want %d", err, code)
					}
					return err
				})
			}
			c.refused(engine.ErrQuota, func() error {
				_, err := c.ns.Create(c.now, engine.Subscription, "t/Subscriptions/c", engine.Config{}, "")
				return err
			})
			c.must(c.ns.ReplaceRule(c.now, a, engine.Rule{Name: "1", Filter: sql("a = 9")}, "")) // replaces one rule
			c.must(c.ns.RemoveRule(c.now, a, "1", ""))
			c.must(c.ns.AddRule(c.now, a, engine.Rule{Name: "3", Filter: sql("a = 3")}, ""))
		},
		"FILT-13": func(c *clocked) { // all conditions, joined by AND
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "r", Filter: conditions(`{"CorrelationId":"c","Label":"l","Properties":{"color":"red"}}`)})
			for _, m := range []engine.Content{
				{MessageID: "two of three", CorrelationID: "c", Subject: "l", Properties: props("color", "blue")},
				{MessageID: "all", CorrelationID: "c", Subject: "l", Properties: props("color", "red")},
				{MessageID: "missing", CorrelationID: "c", Subject: "l"},
			} {
				c.send("t", m)
			}
			c.pass(second)
			c.wantIDs(s, "all")
		},
		"FILT-17": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "r", Filter: conditions(`{"Label":"l"}`), Action: "SET seen = 1"})
			c.send("t", engine.Content{MessageID: "m", Subject: "l"})
			c.equal(c.text(c.receive(s), "seen"), "1")
		},
		"FILT-21 known when it is accepted": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "r", Filter: sql("sys.SequenceNumber = 2 AND sys.EnqueuedTimeUtc IS NOT NULL")})
			c.sends("t", "first", "second")
			c.sends("t", "third")
			c.wantIDs(s, "second")
		},
		"FILT-24": func(c *clocked) { // a new id for every rule and message
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "r", Action: "SET id = newid()"}, engine.Rule{Name: "u", Filter: sql("newid() <> newid() OR p('a') = 'x'"), Action: "SET id = newid()"})
			c.sends("t", "m", "n")
			ids := map[string]bool{}
			for range 4 {
				ids[c.text(c.receive(s), "id")] = true
			}
			c.equal(len(ids), 4)
		},
		"FILT-25": func(c *clocked) {
			c.topic("t", engine.Config{})
			f := sql("color = @x")
			f.Parameters = props("@x", "red")
			s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "bound", Filter: f})
			u := c.ruled("t", "u", engine.Config{}, engine.Rule{Name: "unbound", Filter: sql("color = @y")})
			c.pass(second)
			c.send("t", engine.Content{MessageID: "m", Properties: props("color", "red")})
			c.wantIDs(s, "m")
			c.wantCounts(u, engine.Counts{DeadLetter: 1})
		},
		"FILT-28": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			long := "a = '" + strings.Repeat("x", 1024-6) + "'"
			c.must(c.ns.AddRule(c.now, s, engine.Rule{Name: "longest", Filter: sql(long)}, ""))
			c.pass(second)
			for name, r := range map[string]engine.Rule{
				"too long": {Name: "r", Filter: sql(long + " ")}, "no SQL": {Name: "r", Filter: sql("a = = 1")}, "empty": {Name: "r", Filter: sql("")},
				"no condition": {Name: "r", Filter: conditions(`{}`)}, "no such property": {Name: "r", Filter: sql("sys.Foo = 'x'")},
				"no action": {Name: "r", Action: "SET"},
			} {
				c.refused(engine.ErrArgument, func() error {
					err := c.ns.AddRule(c.now, s, r, "")
					re, ok := errors.AsType[*engine.RuleError](err)
					if part := engine.PartFilter; !ok || (name == "no action") != (re.Part == engine.PartAction) || name != "no action" && re.Part != part {
						c.Errorf("%s: %v", name, err)
					}
					if ref, ok := errors.AsType[*engine.Refusal](err); !ok || ref.SubCode != 40000 {
						c.Errorf("%s: %v has no sub-code 40000", name, err)
					}
					if syntax, ok := errors.AsType[*filter.SyntaxError](err); name == "no SQL" && (!ok || syntax.Pos != 4) {
						c.Errorf("%s: %v contains no position", name, err)
					}
					return err
				})
			}
		},
		"FILT-31, §6.2#6": func(c *clocked) { // a rule that cannot be evaluated: a dead letter, unless the subscription ignores that
			c.topic("t", engine.Config{})
			bad := engine.Rule{Name: "bad", Filter: sql("1 / n > 0")}
			s := c.ruled("t", "s", engine.Config{}, bad)
			quiet := c.ruled("t", "quiet", engine.Config{IgnoreFilterExceptions: true}, bad)
			both := c.ruled("t", "both", engine.Config{}, bad, engine.Rule{Name: "worse", Filter: sql("2 / n > 0")}, engine.Rule{Name: "good"})
			c.equal(c.send("t", engine.Content{MessageID: "m", Properties: props("n", 0)}), engine.Seq(1))
			c.pass(second)
			row := c.row(s.DeadLetter())
			c.equal(row.Message.Extra.Reason, "FilterException")
			c.equal(row.Message.Extra.Description != "", true)
			c.wantCounts(s, engine.Counts{DeadLetter: 1})
			c.wantCounts(quiet, engine.Counts{})
			c.wantCounts(both, engine.Counts{Active: 1, DeadLetter: 1})
		},
		"FILT-31, §6.2#6 of an action": func(c *clocked) {
			c.topic("t", engine.Config{})
			bad := engine.Rule{Name: "bad", Action: "SET x = 1 / n"}
			s := c.ruled("t", "s", engine.Config{}, bad)
			quiet := c.ruled("t", "quiet", engine.Config{IgnoreFilterExceptions: true}, bad)
			c.send("t", engine.Content{MessageID: "m", Properties: props("n", 0)})
			c.pass(second)
			c.equal(c.row(s.DeadLetter()).Message.Extra.Reason, "RuleActionException")
			c.wantCounts(quiet, engine.Counts{})
			c.equal(c.events[len(c.events)-1].Kind, engine.EventDeadLettered)
		},
		"ACT-1": func(c *clocked) { // rules act in order, each sees the results before it, on its own copy only
			c.topic("t", engine.Config{})
			a := c.ruled("t", "a", engine.Config{}, engine.Rule{Name: "r", Action: "SET x = 1; SET y = x + 1; REMOVE x"})
			b := c.ruled("t", "b", engine.Config{}, engine.Rule{Name: "r", Action: "SET y = 'other'"})
			c.send("t", engine.Content{MessageID: "m"})
			c.pass(second)
			c.equal(c.properties(c.receive(a)), "y=2 RuleName=r")
			c.equal(c.properties(c.receive(b)), "y=other RuleName=r")
		},
		"ACT-4": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			set := func(n int) string { return strings.Repeat("SET a = 1;", n) }
			c.must(c.ns.AddRule(c.now, s, engine.Rule{Name: "most", Action: set(32)}, ""))
			c.step()
			c.refused(engine.ErrArgument, func() error { return c.ns.AddRule(c.now, s, engine.Rule{Name: "more", Action: set(33)}, "") })
			c.refused(engine.ErrArgument, func() error {
				return c.ns.AddRule(c.now, s, engine.Rule{Name: "long", Action: "SET a = '" + strings.Repeat("x", 1024-9) + "'"}, "")
			})
		},
		"SCH-10": func(c *clocked) { // the rules at the time of activation apply
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{})
			c.send("t", engine.Content{MessageID: "m", Subject: "x", ScheduledFor: c.now.Add(minute)})
			c.must(c.ns.AddRule(c.now, s, engine.Rule{Name: "r", Filter: sql("sys.Label = 'x'")}, ""))
			c.pass(minute)
			c.equal(c.receive(s).Content.MessageID(), "m")
		},
		"SCH-15": func(c *clocked) { // an action cannot delay a copy
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "r", Action: "SET sys.ScheduledEnqueueTimeUtc = '2040-01-01T00:00:00Z'"})
			c.send("t", engine.Content{MessageID: "m"})
			c.wantIDs(s, "m")
			c.wantCounts(s, engine.Counts{Active: 1})
		},
		"MSG-2": func(c *clocked) { // the sender's properties stay; settlements override what an action wrote
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "r", Action: "SET a = 'action'"})
			c.send("t", engine.Content{MessageID: "m", Properties: props("a", "sent", "b", "sent")})
			d := c.receive(s)
			c.must(c.ns.Settle(c.now, engine.Settlement{Token: d.Token(), Outcome: engine.Abandon, Modify: props("a", "settled")}))
			c.pass(second)
			c.equal(c.properties(c.receive(s)), "a=settled b=sent RuleName=r")
		},
		"ACT-5": func(c *clocked) { // an id can be as long as in a sent message
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "r", Action: "SET sys.SessionId = a; SET sys.MessageId = 'new'"})
			c.send("t", engine.Content{MessageID: "m", Properties: props("a", strings.Repeat("x", 128))})
			c.equal(c.content(c.receive(s)).SessionID, strings.Repeat("x", 128))
			c.send("t", engine.Content{MessageID: "m", Properties: props("a", strings.Repeat("x", 129))})
			row := c.row(s.DeadLetter())
			c.equal(row.Message.Extra.Reason, "RuleActionException")
			c.equal(row.Content.MessageID(), "m")
		},
		"ACT-5, TTL-5, TTL-7 the topic's ceiling": func(c *clocked) { // applies to all sources and destinations of the message
			c.topic("t", engine.Config{DefaultMessageTimeToLive: hour})
			c.queue("q", engine.Config{})
			c.queue("to", engine.Config{ForwardTo: "t"})
			day := engine.Rule{Name: "r", Action: "SET sys.TimeToLive = '1.00:00:00'"}
			s := c.ruled("t", "s", engine.Config{}, day)
			long := c.ruled("t", "long", engine.Config{DefaultMessageTimeToLive: 2 * 24 * hour}, day)
			c.ruled("t", "on", engine.Config{DefaultMessageTimeToLive: minute, ForwardTo: "q"}, day)
			for _, from := range []engine.Path{"t", "to"} {
				for _, ttl := range []time.Duration{0, second} {
					now := c.now
					c.send(from, engine.Content{MessageID: "m", TTL: ttl})
					c.sweep()
					for _, p := range []engine.Path{s, long, "q"} {
						c.equal(c.row(p).Message.ExpiresAt, now.Add(hour))
						c.complete(c.receive(p))
					}
				}
			}
		},
		"ACT-5 the time to live": func(c *clocked) { // bounded by topic and subscription, and kept by forwarding
			c.topic("t", engine.Config{DefaultMessageTimeToLive: hour})
			rule := engine.Rule{Name: "r", Action: "SET sys.TimeToLive = '0:2:0'"}
			s := c.ruled("t", "s", engine.Config{}, rule)
			short := c.ruled("t", "short", engine.Config{DefaultMessageTimeToLive: minute}, rule)
			plain := c.sub("t", "plain", engine.Config{})
			c.queue("q", engine.Config{})
			c.ruled("t", "on", engine.Config{ForwardTo: "q"}, rule)
			longer := c.ruled("t", "longer", engine.Config{}, engine.Rule{Name: "r", Action: "SET sys.TimeToLive = '1.00:00:00'"})
			for _, ttl := range []time.Duration{0, second, 30 * minute} {
				now := c.now
				c.send("t", engine.Content{MessageID: "m", TTL: ttl})
				c.sweep()
				c.equal(c.row(s).Message.ExpiresAt, now.Add(2*minute))
				c.equal(c.row(short).Message.ExpiresAt, now.Add(minute))
				c.equal(c.row("q").Message.ExpiresAt, now.Add(2*minute))
				c.equal(c.row(longer).Message.ExpiresAt, now.Add(hour))
				own := c.row(plain).Message.ExpiresAt
				c.equal(own == now.Add(ttl) || ttl == 0 && own == 0, true)
				d := c.receive(s)
				c.equal(c.content(d).TTL, 2*minute)
				c.must(c.ns.Settle(c.now, engine.Settlement{Token: d.Token()}))
				for _, p := range []engine.Path{short, "q", longer, plain} {
					c.must(c.ns.Settle(c.now, engine.Settlement{Token: c.receive(p).Token()}))
				}
			}
			c.queue("in", engine.Config{ForwardTo: "t"})
			now := c.now
			c.send("in", engine.Content{MessageID: "m", TTL: 30 * second})
			c.sweep()
			c.equal(c.row(s).Message.ExpiresAt, now.Add(2*minute))
			c.pass(2 * minute)
			c.sweep()
			c.wantCounts(s, engine.Counts{})
			c.wantCounts("q", engine.Counts{})
		},
		"FILT-21 of the message": func(c *clocked) { // what the broker knows about the message when it is evaluated
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "r", Filter: sqlFilter("sys.Size > 5 AND sys.State = 0 AND sys.DeliveryCount = 0 AND sys.ExpiresAtUtc - sys.EnqueuedTimeUtc = sys.TimeToLive AND sys.ViaPartitionKey = 'v' AND sys.DeadLetterSource IS NULL")})
			from := c.ruled("t", "from", engine.Config{}, engine.Rule{Name: "r", Filter: sqlFilter("sys.DeadLetterSource = 'q'")})
			c.queue("q", engine.Config{ForwardDeadLetteredMessagesTo: "t"})
			c.send("t", engine.Content{MessageID: "m", TTL: minute, ViaPartitionKey: "v"})
			c.send("q", engine.Content{MessageID: "dead"})
			c.kill(c.receive("q"), "r", "")
			c.sweep()
			c.wantIDs(s, "m")
			c.wantIDs(from, "dead")
		},
		"§6.2#4 after an action": func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.HeaderSize = 100 })
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "r", Action: "SET a = b + b"})
			c.send("t", engine.Content{MessageID: "m", Properties: props("b", strings.Repeat("x", 40))})
			c.wantDead(s, "HeaderSizeExceeded", "The size quota for this stream has been exceeded.")
		},
		"resubmitted as the action left it": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "r", Action: "SET a = 1"})
			c.send("t", engine.Content{MessageID: "m"})
			c.kill(c.receive(s), "why", "")
			_, err := c.ns.Move(c.now, engine.Move{Key: c.row(s.DeadLetter()).Message.Key}, "")
			c.must(err)
			c.pass(second)
			c.equal(c.text(c.receive(s), "a"), "1")
		},
	})
}

// A plan made ahead has the same result as evaluating the rules at the send, and is not used
// after the rules have changed.
func TestPlans(t *testing.T) {
	c := newClocked(t, asked)
	book := &engine.Rulebook{}
	c.ns = engine.New(engine.Options{Limits: c.limits, Keys: c.keys, Nonce: func() uint64 { return 1 }, Rules: book})
	c.topic("t", engine.Config{})
	if book.Of("t") != nil {
		t.Error("a topic without SQL rules is in the rulebook")
	}
	s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "early", Filter: sql("n = 1")}, engine.Rule{Name: "late", Filter: sql("sys.SequenceNumber = 3")})
	send := func(id string, n int) *engine.Plan {
		m := engine.Content{MessageID: id, Properties: props("n", n)}
		plan := book.Of("T").Plan(m)
		batch := c.submissions(m)
		batch[0].Plan = plan
		_, err := c.ns.Send(c.now, "t", batch, "")
		c.must(err)
		c.step()
		return plan
	}
	send("1", 1)
	send("2", 2)
	old := send("3", 2) // selected by its sequence number
	c.wantIDs(s, "1", "3")

	c.must(c.ns.ReplaceRule(c.now, s, engine.Rule{Name: "early", Filter: sql("n = 2")}, ""))
	c.step()
	batch := c.submissions(engine.Content{MessageID: "4", Properties: props("n", 2)})
	batch[0].Plan = old // it did not select the message
	_, err := c.ns.Send(c.now, "t", batch, "")
	c.must(err)
	c.wantIDs(s, "1", "3", "4")

	c.must(c.ns.RemoveRule(c.now, s, "early", ""))
	before := book.Of("t")
	c.ns.Rollback()
	c.must(c.ns.Check())
	if book.Of("t") == before {
		t.Error("the rulebook still has the rules from before the rollback")
	}
	send("5", 2)
	c.wantIDs(s, "1", "3", "5") // 4 was rolled back
	c.remove("t")
	if book.Of("t") != nil {
		t.Error("a deleted topic is in the rulebook")
	}
}

// A rule that can no longer be compiled selects nothing, but is listed and can be replaced.
func TestBrokenRule(t *testing.T) {
	c := newClocked(t, asked)
	c.topic("t", engine.Config{})
	s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "r", Filter: sql("a = 1")})
	for id, r := range c.store.rules {
		r.Filter.Text = "a = ("
		c.store.rules[id] = r
	}
	c.restart()
	c.sends("t", "m")
	c.nothing(s)
	c.equal(fmt.Sprint(ruleNames(c.state(s))), "[r]")
	c.must(c.ns.ReplaceRule(c.now, s, engine.Rule{Name: "r"}, ""))
	c.sends("t", "n")
	c.wantIDs(s, "n")
}

func TestTrials(t *testing.T) {
	m := filter.Message{Label: "x", Properties: props("n", 0)}
	l := engine.DefaultLimits()
	try := func(r engine.Rule) engine.RuleTrial {
		t.Helper()
		out, err := engine.TryRule(r, m, l)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	trials := []engine.RuleTrial{
		try(engine.Rule{Name: "a", Filter: sql("n = 0")}), try(engine.Rule{Name: "b", Filter: conditions(`{"Label":"x"}`)}),
		try(engine.Rule{Name: "c", Filter: sql("1 / n = 1")}), try(engine.Rule{Name: "d", Filter: sql("1 / n = 2")}),
		try(engine.Rule{Name: "e", Action: "SET n = 5"}), try(engine.Rule{Name: "f", Filter: sql("n = 1"), Action: "SET n = 5"}),
		try(engine.Rule{Name: "g", Action: "SET n = 1 / n"}),
	}
	type ruleOutcome struct{ selects, failed, after, clauses bool }
	want := []ruleOutcome{{selects: true, clauses: true}, {selects: true, clauses: true}, {failed: true, clauses: true}, {failed: true, clauses: true}, {selects: true, after: true}, {clauses: true}, {selects: true, failed: true}}
	for i, tr := range trials {
		if got := (ruleOutcome{tr.Selects, tr.Err != nil, tr.After != nil, len(tr.Clauses) > 0}); got != want[i] {
			t.Errorf("rule %s: got %+v, want %+v", tr.Rule.Name, got, want[i])
		}
	}
	if copies, dead := engine.CountCopies(trials, engine.Config{}); copies != 4 || dead != 2 {
		t.Errorf("%d copies, %d of them dead; want 4 and 2", copies, dead)
	}
	if copies, dead := engine.CountCopies(trials, engine.Config{IgnoreFilterExceptions: true}); copies != 2 || dead != 0 {
		t.Errorf("%d copies, %d of them dead; want 2 and none", copies, dead)
	}
	if _, err := engine.TryRule(engine.Rule{Name: "x", Filter: sql("(")}, m, l); !errors.Is(err, engine.ErrArgument) {
		t.Errorf("a rule that cannot be parsed: %v", err)
	}
}
