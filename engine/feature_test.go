package engine_test

import (
	"errors"
	"testing"
	"time"

	"mayfly/engine"
)

// TestWithout tests each feature that a tier may lack: it is refused at creation and in
// updates, but an entity that had it before keeps it.
func TestWithout(t *testing.T) {
	const q = engine.Queue
	for feature, tc := range map[string]struct {
		kind     engine.EntityKind
		path     engine.Path
		has      engine.Config
		creating string
		changing string // empty if the feature is fixed at creation
	}{
		"topics": {engine.Topic, "new", engine.Config{}, "Cannot operate on type Topic because ", ""},
		"sessions": {q, "new", engine.Config{RequiresSession: true},
			"The property 'RequiresSession' cannot be set when creating a Queue because ", ""},
		"duplicate-detection": {q, "new", engine.Config{RequiresDuplicateDetection: true},
			"The property 'RequiresDuplicateDetection' cannot be set when creating a Queue because ", ""},
		"auto-forward": {q, "new", engine.Config{ForwardTo: "other"},
			"The property 'ForwardTo' cannot be set when creating a Queue because ", "The property 'ForwardTo' cannot be changed because "},
		"auto-forward of the dead": {q, "new", engine.Config{ForwardDeadLetteredMessagesTo: "other"},
			"The property 'ForwardDeadLetteredMessagesTo' cannot be set when creating a Queue because ", "The property 'ForwardDeadLetteredMessagesTo' cannot be changed because "},
		"auto-delete-on-idle": {q, "new", engine.Config{AutoDeleteOnIdle: time.Hour},
			"The property 'AutoDeleteOnIdle' cannot be set when creating a Queue because ", "The property 'AutoDeleteOnIdle' cannot be changed because "},
	} {
		t.Run(feature, func(t *testing.T) {
			name := feature
			if name == "auto-forward of the dead" {
				name = "auto-forward"
			}
			for tier, why := range map[string]string{
				"basic":    "the namespace 'default' is using 'Basic' tier.",
				"standard": "the namespace 'default' is configured without " + name + " ('Standard' tier).",
			} {
				c := newClocked(t, asked)
				c.queue("other", engine.Config{})
				c.queue("plain", engine.Config{})
				c.create(tc.kind, "old", tc.has)
				c.limits = profile(t, tier)
				c.must(c.limits.Set("without", name))
				c.restart()
				refusal := func(want string, step func() error) {
					t.Helper()
					c.refused(engine.ErrArgument, func() error {
						err := step()
						if err == nil || err.Error() != want || subCode(err) != 40000 {
							t.Errorf("%s: got %v; want %s", tier, err, want)
						}
						return err
					})
				}
				refusal(tc.creating+why, func() error { _, err := c.ns.Create(c.now, tc.kind, tc.path, tc.has, ""); return err })
				if tc.changing != "" {
					refusal(tc.changing+why, func() error { _, err := c.ns.Update(c.now, "plain", tc.has, ""); return err })
				}
				c.update("old", func(cfg *engine.Config) { cfg.UserMetadata = "kept" })
				c.must(c.limits.Set("without", ""))
				c.restart()
				c.create(tc.kind, tc.path, tc.has)
			}
		})
	}
	t.Run("subscriptions", func(t *testing.T) {
		c := newClocked(t, asked)
		c.topic("t", engine.Config{})
		c.sub("t", "old", engine.Config{})
		c.limits = profile(t, "basic")
		c.restart()
		_, err := c.ns.Create(c.now, engine.Subscription, "t/Subscriptions/s", engine.Config{}, "")
		if err == nil || err.Error() != "Cannot operate on type Subscription because the namespace 'default' is using 'Basic' tier." {
			t.Errorf("got %v", err)
		}
		c.sends("t", "m") // existing entities still work
		c.receive("t/Subscriptions/old")
	})
	t.Run("transactions", func(t *testing.T) {
		for _, tier := range engine.Profiles() {
			err := profile(t, tier).CheckTransactions()
			if tier != "basic" && err != nil || tier == "basic" && (!errors.Is(err, engine.ErrNotAllowed) || subCode(err) != 40301 ||
				err.Error() != "Transaction is unsupported because the namespace 'default' is using 'Basic' tier.") {
				t.Errorf("%s: %v", tier, err)
			}
		}
	})
	t.Run("several", func(t *testing.T) {
		l := profile(t, "basic")
		l.Namespace = "shop"
		asks := engine.Config{RequiresSession: true, AutoDeleteOnIdle: time.Hour, MaxDeliveryCount: 3}
		if missing := l.MissingFeatures(engine.Subscription, nil, asks); len(missing) != 3 {
			t.Errorf("missing is %v", missing)
		}
		if missing := l.MissingFeatures(engine.Subscription, &asks, asks); missing != nil {
			t.Errorf("an update that keeps the feature is refused: %v", missing)
		}
		if missing := l.MissingFeatures(engine.Queue, &asks, engine.Config{}); missing != nil { // giving up a feature is always allowed
			t.Errorf("giving the feature up is refused: %v", missing)
		}
		if err := l.Set("without", " topics, sessions "); err != nil || l.Disabled.String() != "topics,sessions" {
			t.Errorf("got %v, %v", l.Disabled, err)
		}
	})
}
