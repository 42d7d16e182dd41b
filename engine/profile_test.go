package engine_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
)

func profile(t *testing.T, name string) engine.Limits {
	t.Helper()
	l, err := engine.Profile(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestProfiles tests the quotas of §1.5 and §17.3 by tier, as published.
func TestProfiles(t *testing.T) {
	const kb, mb = 1 << 10, 1 << 20
	type quotas map[string]int64
	read := func(l engine.Limits) quotas {
		return quotas{
			"message": l.MessageSize, "batch": l.BatchSize, "property": l.PropertySize, "header": l.HeaderSize, "id": l.IDLength, "reason": l.ReasonLength,
			"entity": l.EntitySize, "entities": l.Entities, "subscriptions": l.SubscriptionsPerTopic, "sql": l.SQLFiltersPerTopic, "filters": l.OtherFiltersPerTopic,
			"text": l.FilterLength, "expressions": l.ActionExpressions, "receives": l.Receives, "attached": l.AttachedReceivers, "transaction": l.TransactionMessages, "peek": l.PeekCount,
			"batch delete": l.BatchDelete, "states": l.SessionStates, "state": l.SessionStateSize, "hops": l.ForwardHops,
			"max ttl": int64(l.MaxTTL / time.Hour), "name": l.NameLength, "subscription name": l.SubscriptionNameLength,
		}
	}
	standard := func() quotas {
		return quotas{
			"message": 256 * kb, "batch": 256 * kb, "property": 32 * kb, "header": 64 * kb, "id": 128, "reason": 4096,
			"entity": 0, "entities": 10_000, "subscriptions": 2_000, "sql": 2_000, "filters": 100_000,
			"text": 1024, "expressions": 32, "receives": 5_000, "attached": 20_000, "transaction": 100, "peek": 250,
			"batch delete": 500, "states": 1_000_000, "state": 256 * kb, "hops": 4,
			"max ttl": 0, "name": 260, "subscription name": 50,
		}
	}
	for name, differs := range map[string]quotas{
		"standard": {},
		"premium":  {"message": mb, "batch": mb, "state": mb, "entities": 1_000, "batch delete": 4_000}, // CONF-22
		"basic":    {"max ttl": 14 * 24},
		"emulator": {"entity": 100 * mb, "entities": 50, "subscriptions": 50, "sql": 20, "filters": 1_000, "receives": 200, "max ttl": 1},
	} {
		want := standard()
		maps.Copy(want, differs)
		for quota, n := range read(profile(t, name)) {
			if n != want[quota] {
				t.Errorf("%s: %s is %d; want %d", name, quota, n, want[quota])
			}
		}
	}
	if l := profile(t, engine.Profiles()[0]); !cmp.Equal(l, engine.DefaultLimits()) || !l.Defaults.Equal(engine.Config{}) || l.Disabled != 0 {
		t.Errorf("the first profile is not the default: %+v", l)
	}
	for _, name := range []string{"", "Standard", "gold"} {
		if l, err := engine.Profile(name); !errors.Is(err, engine.ErrArgument) || !cmp.Equal(l, engine.Limits{}) ||
			!strings.Contains(err.Error(), `"`+name+`" does not exist; choose from standard, premium, basic, emulator`) {
			t.Errorf("the profile %q: %v", name, err)
		}
	}
}

// TestProfileRanges tests the values that can be set in each profile, where profiles differ, at
// the bounds and one beyond them.
func TestProfileRanges(t *testing.T) {
	const q, top, sub = engine.Queue, engine.Topic, engine.Subscription
	const ttl, size, message, window, lock = "DefaultMessageTimeToLive", "MaxSizeInMegabytes", "MaxMessageSizeInKilobytes", "DuplicateDetectionHistoryTimeWindow", "LockDuration"
	const basic = "The property value for 'DefaultMessageTimeToLive' must be between 00:00:01 and 14.00:00:00 when the namespace 'shop' is using 'Basic' tier."
	const emulator = "The property value for 'DefaultMessageTimeToLive' must be between 00:05:00 and 01:00:00 when the namespace 'shop' is using 'Emulator' tier."
	for _, tc := range []struct {
		rule, profile string
		kind          engine.EntityKind
		name, in      string
		text          string // of the error; empty if there is none
	}{
		{"PROP-4 longest", "basic", q, ttl, "P14D", ""},
		{"PROP-4 longer by a moment", "basic", q, ttl, "P14DT0.001S", basic},
		{"PROP-4 longer", "basic", q, ttl, "P15D", basic},
		{"PROP-4 never", "basic", q, ttl, never, basic},
		{"PROP-4 shortest", "basic", q, ttl, "PT1S", ""},
		{"PROP-4 shorter by a moment", "basic", q, ttl, "PT0.999S", basic},
		{"TTL-3 standard", "standard", q, ttl, "P3650D", ""},
		{"TTL-3 premium", "premium", sub, ttl, never, ""},
		{"EMU TTL longest", "emulator", q, ttl, "PT1H", ""},
		{"EMU TTL longer", "emulator", top, ttl, "PT1H0.001S", emulator},
		{"EMU TTL shortest", "emulator", sub, ttl, "PT5M", ""},
		{"EMU TTL shorter", "emulator", q, ttl, "PT4M59.999S", emulator},
		{"EMU window shortest", "emulator", q, window, "PT5S", ""},
		{"EMU window shorter", "emulator", q, window, "PT4.999S", "between PT5S and PT5M"},
		{"EMU window longest", "emulator", top, window, "PT5M", ""},
		{"EMU window longer", "emulator", q, window, "PT5M0.001S", "between PT5S and PT5M"},
		{"EMU most deliveries", "emulator", sub, "MaxDeliveryCount", "10", ""},
		{"EMU more deliveries", "emulator", q, "MaxDeliveryCount", "11", "between 1 and 10"},
		{"EMU lock", "emulator", q, lock, "PT5S", ""},
		{"CONF-26 standard", "standard", q, lock, "PT5S", ""},
		{"CONF-26 premium", "premium", q, lock, "PT4.999S", "between PT5S and PT5M"},
		{"EMU size that there is not", "emulator", q, size, "1024", ""},
		{"EMU size", "emulator", q, size, "100", ""},
		{"premium size", "premium", q, size, "81920", ""},
		{"premium size too large", "premium", q, size, "81921", "between 1024 and 81920"},
		{"premium size of its own", "premium", top, size, "80000", "a multiple of 1024"},
		{"premium smallest message", "premium", q, message, "1024", ""},
		{"premium smaller message", "premium", q, message, "1023", "between 1024 and 102400"},
		{"premium largest message", "premium", top, message, "102400", ""},
		{"premium larger message", "premium", q, message, "102401", "between 1024 and 102400"},
		{"standard message", "standard", q, message, "1024", "'Standard' tier"},
		{"basic message", "basic", q, message, "1024", "'Basic' tier"},
		{"emulator message", "emulator", q, message, "1024", "'Emulator' tier"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			l := profile(t, tc.profile)
			l.Namespace = "shop"
			p, _ := engine.LookupProperty(tc.kind, tc.name)
			var c engine.Config
			err := p.Set(&c, l, tc.kind, tc.in)
			if tc.text == "" {
				if err != nil || p.Text(c) != tc.in {
					t.Errorf("got %s, %v", p.Text(c), err)
				}
				return
			}
			if !errors.Is(err, engine.ErrOutOfRange) || subCode(err) != 40000 || !strings.Contains(err.Error(), tc.text) || len(tc.text) > 60 && err.Error() != tc.text {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestProfileDefaults tests an entity created without properties (§17.2, CONF-23).
func TestProfileDefaults(t *testing.T) {
	documented := map[string]string{
		"DefaultMessageTimeToLive": never, "AutoDeleteOnIdle": never, "LockDuration": "PT1M", "MaxDeliveryCount": "10",
		"DuplicateDetectionHistoryTimeWindow": "PT10M", "MaxSizeInMegabytes": "1024", "MaxMessageSizeInKilobytes": "0",
	}
	for name, differs := range map[string]map[string]string{
		"standard": {}, "premium": {},
		"basic": {"DefaultMessageTimeToLive": "P14D"},
		"emulator": {
			"DefaultMessageTimeToLive": "PT1H", "MaxDeliveryCount": "3", "DuplicateDetectionHistoryTimeWindow": "PT20S", "MaxSizeInMegabytes": "100",
		},
	} {
		t.Run("§1.2, TTL-3, EMU-8 "+name, func(t *testing.T) {
			l := profile(t, name)
			c := newClocked(t, asked)
			c.limit(func(is *engine.Limits) { *is = l; is.Disabled = 0 })
			c.queue("q", engine.Config{})
			c.topic("t", engine.Config{})
			c.sub("t", "s", engine.Config{})
			for _, e := range c.ns.States(0) {
				for _, p := range engine.Properties(e.Kind) {
					want, ok := documented[p.Name]
					if other := differs[p.Name]; other != "" {
						want = other
					} else if !ok {
						want = p.Default
					}
					if got := p.Text(e.Config); got != want || p.DefaultIn(l) != want {
						t.Errorf("%s: %s of %s is %s, its default %s; want %s", name, p.Name, e.Path, got, p.DefaultIn(l), want)
					}
					// A displayed value can be submitted again, and has the same meaning.
					again := e.Config
					if err := p.Set(&again, l, e.Kind, p.Text(e.Config)); err != nil || p.Text(again) != want {
						t.Errorf("%s: %s of %s again: %s, %v", name, p.Name, e.Path, p.Text(again), err)
					}
					var fresh engine.Config
					if err := p.Set(&fresh, l, e.Kind, p.DefaultIn(l)); err != nil || p.Text(l.Complete(e.Kind, fresh)) != want {
						t.Errorf("%s: %s of a new %s: %s, %v", name, p.Name, e.Kind, p.Text(fresh), err)
					}
				}
				c.update(e.Path, func(*engine.Config) {})
				c.equal(c.state(e.Path).Config, e.Config)
			}
			// Only properties that an entity has are filled in.
			c.equal(c.state("t").Config.MaxDeliveryCount, int32(0))
			c.equal(c.state("t/Subscriptions/s").Config.MaxSizeInMegabytes, int64(0))
			c.equal(c.state("t/Subscriptions/s").Config.DuplicateDetectionHistoryTimeWindow, time.Duration(0))
		})
	}
}

// The defaults of a profile are stored in an entity's description, and the entity behaves
// accordingly.
func TestDefaultsAreStored(t *testing.T) {
	emulated := func(t *testing.T) *clocked {
		c := newClocked(t, asked)
		c.limit(func(l *engine.Limits) { *l = profile(t, "emulator") })
		return c
	}
	t.Run("PROP-2", func(t *testing.T) { // an omitted property gets the profile's default again
		c := emulated(t)
		c.queue("q", engine.Config{MaxDeliveryCount: 5, DefaultMessageTimeToLive: 10 * time.Minute, MaxSizeInMegabytes: 50})
		_, err := c.ns.Update(c.now, "q", engine.Config{UserMetadata: "b"}, "")
		c.must(err)
		c.equal(c.state("q").Config, engine.Config{
			MaxDeliveryCount: 3, DefaultMessageTimeToLive: time.Hour, MaxSizeInMegabytes: 100, UserMetadata: "b", DuplicateDetectionHistoryTimeWindow: 20 * time.Second,
		})
	})
	t.Run("EMU-8 three tries within an hour", func(t *testing.T) {
		c := emulated(t)
		c.queue("q", engine.Config{})
		c.sends("q", "a", "b")
		for range 3 {
			c.abandon(c.receive("q"))
		}
		c.wantDead("q", engine.ReasonMaxDeliveryCount, "Message could not be consumed after 3 delivery attempts.")
		c.at(time.Hour - time.Millisecond)
		c.equal(len(c.rows("q")), 1)
		c.equal(c.rows("q")[0].Expires, morning.Add(time.Hour))
		c.at(time.Hour)
		c.nothing("q")
	})
	t.Run("an entity of another time", func(t *testing.T) { // an entity keeps its values until they are changed
		c := newClocked(t, asked)
		c.queue("q", engine.Config{MaxMessageSizeInKilobytes: 2048, AutoDeleteOnIdle: time.Hour})
		c.limits = profile(t, "emulator")
		c.restart()
		was := c.state("q").Config
		c.must(sending(2000 << 10)(c))
		c.update("q", func(cfg *engine.Config) { cfg.UserMetadata = "b" })
		was.UserMetadata = "b"
		c.equal(c.state("q").Config, was)
		c.update("q", func(cfg *engine.Config) { cfg.MaxDeliveryCount = 5 })
		c.equal(c.state("q").Config.MaxDeliveries(), int32(5))
		c.update("q", func(cfg *engine.Config) { cfg.MaxDeliveryCount = 0 })
		c.equal(c.state("q").Config.MaxDeliveries(), int32(3))
		c.equal(c.state("q").Config.DefaultMessageTimeToLive, time.Duration(0))
	})
	t.Run("never, where the default is an hour", func(t *testing.T) {
		c := emulated(t)
		c.limit(func(l *engine.Limits) { c.must(l.Set("max-ttl", "never")) })
		p, _ := engine.LookupProperty(engine.Queue, "DefaultMessageTimeToLive")
		var cfg engine.Config
		c.must(p.Set(&cfg, c.limits, engine.Queue, "never"))
		c.equal(p.Text(cfg), never)
		c.queue("q", cfg)
		c.equal(c.state("q").Config.DefaultMessageTimeToLive, time.Duration(0))
		c.queue("r", engine.Config{})
		c.equal(c.state("r").Config.DefaultMessageTimeToLive, time.Hour)
		_, err := c.ns.Update(c.now, "r", cfg, "")
		c.must(err)
		c.equal(c.state("r").Config.DefaultMessageTimeToLive, time.Duration(0))
		c.send("r", engine.Content{})
		c.equal(c.rows("r")[0].Expires, engine.Instant(0))
	})
	t.Run("EMU entity size", func(t *testing.T) { // whatever size was requested
		c := emulated(t)
		c.queue("q", engine.Config{MaxSizeInMegabytes: 1024})
		for range 400 {
			c.must(sending(256 << 10)(c))
		}
		if err := sending(50)(c); !errors.Is(err, engine.ErrQuota) || !strings.Contains(err.Error(), "Max entity size in bytes:104857600.") {
			t.Errorf("got %v", err)
		}
	})
}
