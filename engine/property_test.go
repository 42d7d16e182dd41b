package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
)

const never = engine.MaxDurationText

// TestPropertyDefaults tests every property of §1.2: its default, and the kinds of entities
// that have it.
func TestPropertyDefaults(t *testing.T) {
	q, top, sub := engine.Queue, engine.Topic, engine.Subscription
	all := []engine.EntityKind{q, top, sub}
	type byKind = map[engine.EntityKind]string
	want := map[string]byKind{
		"DefaultMessageTimeToLive":                  {q: never, top: never, sub: never},
		"DeadLetteringOnMessageExpiration":          {q: "false", sub: "false"},
		"LockDuration":                              {q: "PT1M", sub: "PT1M"},
		"MaxDeliveryCount":                          {q: "10", sub: "10"},
		"AutoDeleteOnIdle":                          {q: never, top: never, sub: never},
		"Status":                                    {q: "Active", top: "Active", sub: "Active"},
		"RequiresSession":                           {q: "false", sub: "false"},
		"RequiresDuplicateDetection":                {q: "false", top: "false"},
		"DuplicateDetectionHistoryTimeWindow":       {q: "PT10M", top: "PT10M"},
		"ForwardTo":                                 {q: "", sub: ""},
		"ForwardDeadLetteredMessagesTo":             {q: "", sub: ""},
		"DeadLetteringOnFilterEvaluationExceptions": {sub: "true"},
		"MaxSizeInMegabytes":                        {q: "1024", top: "1024"},
		"MaxMessageSizeInKilobytes":                 {q: "0", top: "0"},
		"EnableBatchedOperations":                   {q: "true", top: "true", sub: "true"},
		"EnableExpress":                             {q: "false", top: "false"},
		"SupportOrdering":                           {q: "false", top: "true"},
		"EnablePartitioning":                        {q: "false", top: "false"},
		"UserMetadata":                              {q: "", top: "", sub: ""},
	}
	for _, kind := range all {
		t.Run("§1.2, TTL-3, IDLE-1 what a "+kind.String()+" has", func(t *testing.T) {
			seen := 0
			for _, p := range engine.Properties(kind) {
				def, ok := want[p.Name][kind]
				if got := p.Text(engine.Config{}); !ok || got != def || p.Default != def {
					t.Errorf("%s is %q, its default %q; want %q", p.Name, got, p.Default, def)
				}
				seen++
			}
			for name, kinds := range want {
				if _, ok := kinds[kind]; ok {
					seen--
					if p, ok := engine.LookupProperty(kind, strings.ToUpper(name)); !ok || p.Name != name {
						t.Errorf("there is no %s", name)
					}
				} else if _, ok := engine.LookupProperty(kind, name); ok {
					t.Errorf("there is %s", name)
				}
			}
			if seen != 0 {
				t.Errorf("there are %d properties too many", seen)
			}
		})
	}
	t.Run("CONF-13 the older name", func(t *testing.T) {
		if p, ok := engine.LookupProperty(q, "EnableDeadLetteringOnMessageExpiration"); !ok || p.Name != "DeadLetteringOnMessageExpiration" {
			t.Errorf("it gives %q", p.Name)
		}
	})
}

// TestPropertySet sets every property at its limits and one beyond them, and reads it back.
func TestPropertySet(t *testing.T) {
	const q, top, sub = engine.Queue, engine.Topic, engine.Subscription
	outOfRange, argument := engine.ErrOutOfRange, engine.ErrArgument
	for _, tc := range []struct {
		rule, name string
		kind       engine.EntityKind
		in, out    string
		err        error
		text       string // part of the error's text
	}{
		{"PROP-3, CONF-26 shortest", "LockDuration", q, "PT5S", "PT5S", nil, ""},
		{"PROP-3, CONF-26 shorter", "LockDuration", q, "PT4.999S", "", outOfRange, "between PT5S and PT5M"},
		{"PROP-3 longest", "LockDuration", sub, "PT5M", "PT5M", nil, ""},
		{"PROP-3 longer", "LockDuration", sub, "PT5M1S", "", outOfRange, "The supplied lock time exceeds the allowed maximum of '5' minutes."},
		{"PROP-3 longer by a moment", "LockDuration", q, "PT5M0.001S", "", outOfRange, "The supplied lock time exceeds the allowed maximum of '5' minutes."},
		{"PROP-3 never", "LockDuration", q, never, "", outOfRange, "The supplied lock time exceeds the allowed maximum of '5' minutes."},
		{"PROP-3 nothing", "LockDuration", q, "PT0S", "", outOfRange, "between"},
		{"PROP-3 negative", "LockDuration", q, "-PT1M", "", argument, "not a duration"},
		{"PROP-4 shortest", "DefaultMessageTimeToLive", q, "PT1S", "PT1S", nil, ""},
		{"PROP-4 shorter", "DefaultMessageTimeToLive", top, "PT0.5S", "", outOfRange, "at least PT1S"},
		{"PROP-4 shorter by a moment", "DefaultMessageTimeToLive", sub, "PT0.999S", "", outOfRange, "at least PT1S"},
		{"PROP-4 nothing", "DefaultMessageTimeToLive", sub, "0s", "", outOfRange, "at least PT1S"},
		{"PROP-4 never", "DefaultMessageTimeToLive", q, "never", never, nil, ""},
		{"TTL-10 never", "DefaultMessageTimeToLive", q, never, never, nil, ""},
		{"TTL-10 without the element", "DefaultMessageTimeToLive", q, "", never, nil, ""},
		{"PROP-5 shortest", "AutoDeleteOnIdle", q, "PT5M", "PT5M", nil, ""},
		{"PROP-5 shorter", "AutoDeleteOnIdle", q, "PT4M59S", "", outOfRange, "at least PT5M, or never"},
		{"PROP-5 by a moment", "AutoDeleteOnIdle", sub, "PT4M59.999S", "", outOfRange, ""},
		{"PROP-5 never", "AutoDeleteOnIdle", top, never, never, nil, ""},
		{"IDLE-5", "AutoDeleteOnIdle", q, "5m", "PT5M", nil, ""},
		{"PROP-6 fewest", "MaxDeliveryCount", q, "1", "1", nil, ""},
		{"PROP-6 fewer", "MaxDeliveryCount", q, "0", "", outOfRange, ""},
		{"PROP-6 negative", "MaxDeliveryCount", q, "-1", "", outOfRange, ""},
		{"PROP-6 most", "MaxDeliveryCount", sub, "2147483647", "2147483647", nil, ""},
		{"PROP-6 more", "MaxDeliveryCount", sub, "2147483648", "", outOfRange, ""},
		{"PROP-6 far more", "MaxDeliveryCount", sub, "99999999999999999999", "", argument, ""},
		{"PROP-6 not a number", "MaxDeliveryCount", q, "ten", "", argument, "whole number"},
		{"PROP-7 shortest", "DuplicateDetectionHistoryTimeWindow", q, "PT20S", "PT20S", nil, ""},
		{"PROP-7 shorter", "DuplicateDetectionHistoryTimeWindow", q, "PT19S", "", outOfRange, "between PT20S and P7D"},
		{"PROP-7 shorter by a moment", "DuplicateDetectionHistoryTimeWindow", top, "PT19.999S", "", outOfRange, "between PT20S and P7D"},
		{"PROP-7 longest", "DuplicateDetectionHistoryTimeWindow", top, "P7D", "P7D", nil, ""},
		{"PROP-7 longer", "DuplicateDetectionHistoryTimeWindow", top, "P7DT1S", "", outOfRange, ""},
		{"PROP-7 longer by a moment", "DuplicateDetectionHistoryTimeWindow", q, "P7DT0.001S", "", outOfRange, ""},
		{"PROP-7 never", "DuplicateDetectionHistoryTimeWindow", q, never, "", outOfRange, ""},
		{"PROP-8 longest", "UserMetadata", q, strings.Repeat("é", 1024), strings.Repeat("é", 1024), nil, ""},
		{"PROP-8 longer", "UserMetadata", q, strings.Repeat("é", 1025), "", outOfRange, "1024"},
		{"SEQ-2", "EnablePartitioning", q, "true", "true", nil, ""},
		{"SEQ-2 of a topic", "EnablePartitioning", top, "True", "true", nil, ""},
		{"SEQ-2 off", "EnablePartitioning", top, "False", "false", nil, ""},
		{"§1.4 status", "Status", q, "receivedisabled", "ReceiveDisabled", nil, ""},
		{"§1.4 status of a topic", "Status", top, "SendDisabled", "SendDisabled", nil, ""},
		{"§1.4 status not of a topic", "Status", top, "ReceiveDisabled", "", argument, "A topic cannot be ReceiveDisabled."},
		{"§1.4 status not of a subscription", "Status", sub, "SendDisabled", "", argument, "A subscription cannot be SendDisabled."},
		{"§1.4 status unknown", "Status", q, "Restoring", "", argument, "one of Active, Disabled"},
		{"switch", "RequiresSession", sub, "TRUE", "true", nil, ""},
		{"switch by number", "RequiresSession", sub, "1", "true", nil, ""},
		{"switch wrong", "RequiresSession", sub, "yes", "", argument, "true or false"},
		{"switch that is on", "EnableBatchedOperations", q, "false", "false", nil, ""},
		{"switch that is on, wrong", "EnableBatchedOperations", q, "no", "", argument, "true or false"},
		{"filter exceptions", "DeadLetteringOnFilterEvaluationExceptions", sub, "false", "false", nil, ""},
		{"size smallest", "MaxSizeInMegabytes", q, "1024", "1024", nil, ""},
		{"size smaller", "MaxSizeInMegabytes", q, "1023", "", outOfRange, "between 1024 and 5120"},
		{"size none", "MaxSizeInMegabytes", q, "0", "", outOfRange, ""},
		{"size largest", "MaxSizeInMegabytes", top, "5120", "5120", nil, ""},
		{"size larger", "MaxSizeInMegabytes", q, "5121", "", outOfRange, "between 1024 and 5120"},
		{"size between", "MaxSizeInMegabytes", q, "3072", "3072", nil, ""},
		{"size of its own", "MaxSizeInMegabytes", q, "3073", "", outOfRange, "a multiple of 1024, up to 5120"},
		{"message", "MaxMessageSizeInKilobytes", q, "1024", "", outOfRange, "cannot be set because the namespace 'default' is using 'Standard' tier, which limits messages to 262144 bytes."},
		{"message as it is", "MaxMessageSizeInKilobytes", q, "256", "0", nil, ""},
		{"message as it is not", "MaxMessageSizeInKilobytes", q, "257", "", outOfRange, ""},
		{"message by default", "MaxMessageSizeInKilobytes", top, "0", "0", nil, ""},
		{"message of no size", "MaxMessageSizeInKilobytes", top, "large", "", argument, "whole number"},
		{"forward", "ForwardTo", q, "a/b", "a/b", nil, ""},
		{"forward by address", "ForwardTo", q, "sb://bus.example.net/a/b", "a/b", nil, ""},
		{"forward by address alone", "ForwardTo", q, "sb://bus.example.net", "", argument, "not the path"},
		{"forward nowhere", "ForwardDeadLetteredMessagesTo", sub, "", "", nil, ""},
		{"forward badly", "ForwardTo", q, "a//b", "", argument, "not the path"},
		{"idle nothing", "AutoDeleteOnIdle", q, "0s", "", outOfRange, ""},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			p, ok := engine.LookupProperty(tc.kind, tc.name)
			if !ok {
				t.Fatalf("a %s has no %s", tc.kind, tc.name)
			}
			var c engine.Config
			err := p.Set(&c, engine.DefaultLimits(), tc.kind, tc.in)
			if tc.err != nil {
				wrong, ok := errors.AsType[*engine.PropertyError](err)
				if !ok || !errors.Is(err, tc.err) || wrong.Property != tc.name || !strings.Contains(err.Error(), tc.text) {
					t.Fatalf("got %v", err)
				}
				if !c.Equal(engine.Config{}) {
					t.Fatalf("after a refusal, the config is %+v", c)
				}
				return
			}
			if err != nil || p.Text(c) != tc.out {
				t.Fatalf("got %q, %v", p.Text(c), err)
			}
			c.ForwardToAddress = "" // the address is not part of the text
			var again engine.Config
			if err := p.Set(&again, engine.DefaultLimits(), tc.kind, p.Text(c)); err != nil || !again.Equal(c) {
				t.Errorf("after reading it back, it is %+v, %v", again, err)
			}
		})
	}
}

// PROP-6: a limit above the largest possible MaxDeliveryCount does not extend the property's range.
func TestMostDeliveries(t *testing.T) {
	l := engine.DefaultLimits()
	if err := l.Set("max-deliveries", "9999999999"); err != nil {
		t.Fatal(err)
	}
	p, _ := engine.LookupProperty(engine.Queue, "MaxDeliveryCount")
	var c engine.Config
	if err := p.Set(&c, l, engine.Queue, "2147483648"); !errors.Is(err, engine.ErrOutOfRange) || c.MaxDeliveryCount != 0 {
		t.Errorf("got %d, %v", c.MaxDeliveryCount, err)
	}
	if err := p.Set(&c, l, engine.Queue, "2147483647"); err != nil || c.MaxDeliveries() != 2147483647 {
		t.Errorf("got %d, %v", c.MaxDeliveryCount, err)
	}
}

// An empty text means the default, and leaves the field zero.
func TestPropertySetEmpty(t *testing.T) {
	for _, kind := range []engine.EntityKind{engine.Queue, engine.Topic, engine.Subscription} {
		for _, p := range engine.Properties(kind) {
			c := engine.Config{
				LockDuration: time.Second, MaxSizeInMegabytes: 7, MaxMessageSizeInKilobytes: 7, DefaultMessageTimeToLive: 7, AutoDeleteOnIdle: 7,
				DuplicateDetectionHistoryTimeWindow: 7, MaxDeliveryCount: 7, Status: engine.StatusDisabled, DeadLetteringOnMessageExpiration: true,
				IgnoreFilterExceptions: true, UnbatchedOperations: true, EnableExpress: true, SupportOrdering: true,
				RequiresDuplicateDetection: true, RequiresSession: true, ForwardTo: "a", ForwardDeadLetteredMessagesTo: "a", UserMetadata: "a",
			}
			if err := p.Set(&c, engine.DefaultLimits(), kind, ""); err != nil || p.Text(c) != p.Default {
				t.Errorf("%s of a %s: %q, %v", p.Name, kind, p.Text(c), err)
			}
		}
	}
}

// An entity keeps its values when limits become narrower: its present value can be set again,
// but no other value out of range.
func TestPropertySetKeeps(t *testing.T) {
	has := engine.Config{
		LockDuration: time.Second, MaxSizeInMegabytes: 7, MaxMessageSizeInKilobytes: 2048, DefaultMessageTimeToLive: time.Millisecond,
		AutoDeleteOnIdle: time.Second, DuplicateDetectionHistoryTimeWindow: time.Second, MaxDeliveryCount: 7, UserMetadata: "much",
	}
	l := engine.DefaultLimits()
	l.UserMetadata, l.MaxDeliveries = 3, 6
	for name, others := range map[string]string{
		"LockDuration": "PT2S", "MaxSizeInMegabytes": "8", "MaxMessageSizeInKilobytes": "2049", "DefaultMessageTimeToLive": "PT0.002S",
		"AutoDeleteOnIdle": "PT2S", "DuplicateDetectionHistoryTimeWindow": "PT2S", "MaxDeliveryCount": "8", "UserMetadata": "more",
	} {
		p, _ := engine.LookupProperty(engine.Queue, name)
		c := has
		if err := p.Set(&c, l, engine.Queue, p.Text(has)); err != nil || !c.Equal(has) {
			t.Errorf("%s again: %v", name, err)
		}
		if err := p.Set(&c, l, engine.Queue, others); !errors.Is(err, engine.ErrOutOfRange) || !c.Equal(has) {
			t.Errorf("%s else: %v", name, err)
		}
		if err := p.Set(&engine.Config{}, l, engine.Queue, p.Text(has)); !errors.Is(err, engine.ErrOutOfRange) {
			t.Errorf("%s of another: %v", name, err)
		}
		if err := p.Set(&c, l, engine.Queue, "nonsense of this length"); err == nil || !c.Equal(has) {
			t.Errorf("%s nonsense: %v", name, err)
		}
	}
}

func FuzzPropertySet(f *testing.F) {
	for _, s := range []string{"PT1M", "never", "10", "true", "Active", "sb://h/q", "", "\xff", "0s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, kind := range []engine.EntityKind{engine.Queue, engine.Topic, engine.Subscription} {
			for _, p := range engine.Properties(kind) {
				var c, again engine.Config
				for _, name := range engine.Profiles() { // an accepted value can be displayed, and then set again
					l, is := profile(t, name), engine.Config{}
					if p.Set(&is, l, kind, s) != nil {
						continue
					}
					shown := p.Text(l.Complete(kind, is))
					if err := p.Set(&engine.Config{}, l, kind, shown); err != nil {
						t.Fatalf("%s: %s %q is displayed as %q, which is refused: %v", name, p.Name, s, shown, err)
					}
				}
				if err := p.Set(&c, engine.DefaultLimits(), kind, s); err != nil {
					if _, ok := errors.AsType[*engine.PropertyError](err); !ok || !c.Equal(again) {
						t.Fatalf("%s %q: %+v, %v", p.Name, s, c, err)
					}
					continue
				}
				if err := p.Set(&again, engine.DefaultLimits(), kind, p.Text(c)); err != nil || p.Text(again) != p.Text(c) {
					t.Fatalf("%s %q is displayed as %q, which is then %q, %v", p.Name, s, p.Text(c), p.Text(again), err)
				}
			}
		}
	})
}

func TestDescriptions(t *testing.T) {
	run(t, rules{
		"PROP-1": func(c *clocked) {
			c.topic("t", engine.Config{RequiresDuplicateDetection: true})
			c.sub("t", "s", engine.Config{RequiresSession: true})
			c.queue("q", engine.Config{MaxDeliveryCount: 3})
			c.queue("parts", engine.Config{EnablePartitioning: true})
			const duplicates = "The value for the 'requiresDuplicateDetection' property of an existing Queue(or Topic) can't be changed."
			fixed := map[engine.Path]string{
				"q": "The value for the RequiresSession property of an existing Queue cannot be changed.", "Q": duplicates, "t": duplicates,
				"t/Subscriptions/s": "The value for the RequiresSession property of an existing Subscription cannot be changed.",
				"T":                 "Partitioning cannot be changed for Topic. ", "parts": "Partitioning cannot be changed for Queue. ",
			}
			for p, cfg := range map[engine.Path]engine.Config{
				"q": {RequiresSession: true}, "Q": {RequiresDuplicateDetection: true}, "t": {}, "t/Subscriptions/s": {},
				"T": {RequiresDuplicateDetection: true, EnablePartitioning: true}, "parts": {},
			} {
				c.refused(engine.ErrArgument, func() error {
					_, err := c.ns.Update(c.now, p, cfg, "")
					if err == nil || err.Error() != fixed[p] {
						c.Errorf("the text is %v", err)
					}
					return err
				})
			}
			c.update("t", func(cfg *engine.Config) { cfg.UserMetadata = "else" }) // other properties can be changed
		},
		"PROP-2": func(c *clocked) { // an omitted property gets the default again
			c.queue("q", engine.Config{MaxDeliveryCount: 3, LockDuration: time.Second, DefaultMessageTimeToLive: time.Hour, UserMetadata: "a"})
			_, err := c.ns.Update(c.now, "q", engine.Config{UserMetadata: "b"}, "")
			c.must(err)
			c.step()
			c.pass(time.Second)
			c.equal(c.state("q").Config, engine.Config{UserMetadata: "b"})
			c.equal(c.state("q").Config.MaxDeliveries(), int32(10))
			c.sends("q", "m")
			c.equal(c.receive("q").Message.LockedUntil, c.now.Add(minute))
		},
		"PROP-9": func(c *clocked) {
			for _, cfg := range []engine.Config{{}, {RequiresDuplicateDetection: true}} {
				cfg.ForwardTo = "Q"
				c.queue("q", cfg)
				c.send("q", engine.Content{MessageID: "m"})
				c.sweep()
				c.wantIDs("q")
				dead := c.receive("q/$DeadLetterQueue")
				c.equal(dead.Message.Extra.Reason, engine.ReasonHops)
				c.equal(dead.Message.Hops, uint8(4))
				c.remove("q")
			}
			for _, cfg := range []engine.Config{{MaxDeliveryCount: 1}, {MaxDeliveryCount: 1, RequiresDuplicateDetection: true}} {
				c.queue("q", cfg)
				c.update("q", func(cfg *engine.Config) { cfg.ForwardDeadLetteredMessagesTo = "q" })
				c.send("q", engine.Content{MessageID: "m"})
				for range 5 {
					c.abandon(c.receive("q"))
					c.sweep()
				}
				c.nothing("q")
				c.equal(c.row("q/$DeadLetterQueue").Message.Hops, uint8(4))
				c.remove("q")
			}
			c.topic("t", engine.Config{})
			c.refused(engine.ErrArgument, func() error { // a subscription cannot be a destination
				_, err := c.ns.Create(c.now, engine.Subscription, "t/Subscriptions/s", engine.Config{ForwardTo: "t/Subscriptions/s"}, "")
				return err
			})
		},
		"PROP-10": func(c *clocked) { // a new lock duration applies to new locks
			c.queue("q", engine.Config{LockDuration: time.Minute})
			c.sends("q", "a", "b")
			a := c.receive("q")
			c.update("q", func(cfg *engine.Config) { cfg.LockDuration = 5 * time.Second })
			b := c.receive("q")
			c.equal(b.Message.LockedUntil, c.now.Add(5*time.Second))
			c.at(time.Minute - time.Millisecond)
			c.wantLockLost(c.settle(b, engine.Complete))
			c.complete(a)
		},
		"PROP-11": func(c *clocked) { // a maximum below the count takes effect at the next failure
			c.queue("q", engine.Config{MaxDeliveryCount: 10})
			c.sends("q", "m")
			for range 3 {
				c.abandon(c.receive("q"))
			}
			d := c.receive("q")
			c.equal(d.Message.DeliveryCount, uint32(3))
			c.update("q", func(cfg *engine.Config) { cfg.MaxDeliveryCount = 2 })
			c.pass(second)
			c.wantCounts("q", engine.Counts{Locked: 1})
			c.abandon(d)
			c.wantDead("q", engine.ReasonMaxDeliveryCount, "Message could not be consumed after 2 delivery attempts.")
		},
		"PROP-11 next receive": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 10})
			c.sends("q", "worn", "new")
			for range 2 {
				c.abandon(c.receive("q"))
			}
			c.update("q", func(cfg *engine.Config) { cfg.MaxDeliveryCount = 2 })
			c.pass(hour)
			c.wantCounts("q", engine.Counts{Active: 2})
			c.equal(c.receive("q").Content.MessageID(), "new")
			c.wantDead("q", engine.ReasonMaxDeliveryCount, "Message could not be consumed after 2 delivery attempts.")
		},
		"PROP-12": func(c *clocked) { // the value at the time when the expiry is processed counts
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{TTL: time.Second})
			c.update("q", func(cfg *engine.Config) { cfg.DeadLetteringOnMessageExpiration = true })
			c.at(time.Second)
			c.nothing("q")
			c.wantDead("q", engine.ReasonExpired, "The message expired and was dead lettered.")
			c.send("q", engine.Content{TTL: time.Second})
			c.update("q", func(cfg *engine.Config) { cfg.DeadLetteringOnMessageExpiration = false })
			c.at(2 * time.Second)
			c.nothing("q")
			c.wantCounts("q", engine.Counts{DeadLetter: 1})
		},
		"PROP-13": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.refused(engine.ErrExists, func() error { _, err := c.ns.Create(c.now, engine.Queue, "Q", engine.Config{}, ""); return err })
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.refused(engine.ErrExists, func() error {
				_, err := c.ns.Create(c.now, engine.Subscription, "t/Subscriptions/S", engine.Config{}, "")
				return err
			})
			for _, p := range []engine.Path{"q", s, "t"} {
				c.remove(p)
				c.refused(engine.ErrNotFound, func() error { return c.ns.Delete(c.now, p, "") })
			}
			c.refused(engine.ErrNotFound, func() error { _, err := c.ns.Update(c.now, "q", engine.Config{}, ""); return err })
		},
		"PROP-14": func(c *clocked) { // everything in the entity is deleted, and receivers are ended
			c.queue("q", engine.Config{})
			c.sends("q", "dead", "deferred", "locked", "active")
			c.send("q", engine.Content{MessageID: "scheduled", ScheduledFor: c.now + 1000})
			c.kill(c.receive("q"), "", "")
			c.setAside(c.receive("q"))
			held := c.receive("q")
			open, dead := c.attach("q", 0), c.attach("q/$DeadLetterQueue", 0)
			c.remove("q")
			c.wantNotFound(open, dead)
			c.wantLockLost(c.settle(held, engine.Complete))
			ev := c.events[len(c.events)-1]
			if ev.Kind != engine.EventEntityDeleted || ev.Count != 5 {
				c.Errorf("the last event is %v with count %d", ev.Kind, ev.Count)
			}
			c.sweep()
			c.step()
			c.equal(len(c.store.messages)+len(c.store.contents)+len(c.store.bodies)+len(c.store.entities)+len(c.store.meters), 0)
			c.queue("q", engine.Config{}) // a new entity of that name is empty
			c.wantCounts("q", engine.Counts{})
			c.equal(c.send("q", engine.Content{}), engine.Seq(1))
		},
		"PROP-14 topic": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.sends("t", "m")
			c.send("t", engine.Content{ScheduledFor: c.now + 1000})
			c.must(c.ns.AddRule(c.now, s, engine.Rule{Name: "r"}, ""))
			open, dead := c.attach(s, 0), c.attach(s.DeadLetter(), 0)
			c.remove("t")
			c.wantNotFound(open, dead)
			for _, p := range []engine.Path{"t", s, s.DeadLetter()} {
				if _, err := c.ns.Browse(engine.Browse{Path: p}); !errors.Is(err, engine.ErrNotFound) {
					c.Errorf("%s: %v", p, err)
				}
			}
			c.sweep()
			c.step()
			c.equal(len(c.store.messages)+len(c.store.contents)+len(c.store.bodies)+len(c.store.entities)+len(c.store.rules), 0)
		},
		"express and duplicates": func(c *clocked) {
			c.refused(engine.ErrArgument, func() error {
				_, err := c.ns.Create(c.now, engine.Queue, "q", engine.Config{EnableExpress: true, RequiresDuplicateDetection: true}, "")
				return err
			})
		},
	})
}

// wantNotFound requires that exactly these receivers, of those that stay attached, were ended
// because their entity was deleted.
func (c *clocked) wantNotFound(ids ...engine.LinkID) {
	c.Helper()
	ended := map[engine.LinkID]bool{}
	for _, e := range c.ended {
		if e.Err != nil {
			ended[e.ID] = errors.Is(e.Err, engine.ErrNotFound)
		}
	}
	for _, id := range ids {
		if !ended[id] {
			c.Errorf("receiver %d was not ended with ErrNotFound: %+v", id, c.ended)
		}
	}
	c.equal(len(ended), len(ids))
}
