package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Profiles are the names that Profile takes, the default first.
func Profiles() []string { return []string{"standard", "premium", "basic", "emulator"} }

// Profile gives the limits and defaults of a tier of the hosted service, or of
// its emulator (semantics §1.2, §1.5, §17.3). A profile is these values and
// nothing else. The error is ErrArgument.
func Profile(name string) (Limits, error) {
	l := DefaultLimits()
	switch name {
	case "standard":
	case "premium":
		l.premium()
	case "basic":
		l.basic()
	case "emulator":
		l.emulator()
	default:
		return Limits{}, fmt.Errorf("there is no profile called %q; there are %s: %w", cut(name, 64), strings.Join(Profiles(), ", "), ErrArgument)
	}
	return l, nil
}

func (l *Limits) premium() {
	l.Tier = "Premium"
	l.MessageSize, l.BatchSize, l.SessionStateSize = 1<<20, 1<<20, 1<<20
	l.MaxKilobytes, l.MaxMegabytes = 100<<10, 80<<10
	l.Entities, l.BatchDelete = 1_000, 4_000 // of one messaging unit; CONF-22
}

func (l *Limits) basic() {
	l.Tier = "Basic"
	l.MaxTTL, l.Defaults.DefaultMessageTimeToLive = 14*24*time.Hour, 14*24*time.Hour // TTL-3
	l.Without = TopicFeature | SessionFeature | DuplicateFeature | TransactionFeature | ForwardFeature | IdleFeature
}

func (l *Limits) emulator() {
	l.Tier = "Emulator"
	l.Entities, l.SubscriptionsPerTopic, l.Receives = 50, 50, 200
	l.SQLFiltersPerTopic, l.OtherFiltersPerTopic = 20, 1_000
	// SDKs ask for a gigabyte of themselves, so more than there is may be asked for.
	l.EntitySize, l.MinMegabytes, l.Defaults.MaxSizeInMegabytes = 100<<20, 1, 100
	l.MinTTL, l.MaxTTL, l.Defaults.DefaultMessageTimeToLive = 5*time.Minute, time.Hour, time.Hour
	l.MinDuplicateWindow, l.MaxDuplicateWindow = 5*time.Second, 5*time.Minute
	l.Defaults.DuplicateDetectionHistoryTimeWindow = 20 * time.Second
	l.MaxDeliveries, l.Defaults.MaxDeliveryCount = 10, 3
}

// Complete is a description with the namespace's defaults where it says nothing
// (PROP-2, EMU-8). Only what an entity of this kind has is filled in.
func (l Limits) Complete(kind EntityKind, c Config) Config {
	d := l.Defaults
	c.DefaultMessageTimeToLive = cmp.Or(c.DefaultMessageTimeToLive, d.DefaultMessageTimeToLive)
	c.AutoDeleteOnIdle = cmp.Or(c.AutoDeleteOnIdle, d.AutoDeleteOnIdle)
	if kind != Topic {
		c.LockDuration = cmp.Or(c.LockDuration, d.LockDuration)
		c.MaxDeliveryCount = cmp.Or(c.MaxDeliveryCount, d.MaxDeliveryCount)
	}
	if kind != Subscription {
		c.MaxSizeInMegabytes = cmp.Or(c.MaxSizeInMegabytes, d.MaxSizeInMegabytes)
		c.MaxMessageSizeInKilobytes = cmp.Or(c.MaxMessageSizeInKilobytes, d.MaxMessageSizeInKilobytes)
		c.DuplicateDetectionHistoryTimeWindow = cmp.Or(c.DuplicateDetectionHistoryTimeWindow, d.DuplicateDetectionHistoryTimeWindow)
	}
	return c
}

// described is the description that an entity is given which has was: complete,
// but for what the entity has always left to the documented default, so that an
// update which says nothing new changes nothing.
func (l Limits) described(kind EntityKind, was, c Config) Config {
	l.Defaults = Config{
		DefaultMessageTimeToLive:            unlessZero(was.DefaultMessageTimeToLive, l.Defaults.DefaultMessageTimeToLive),
		AutoDeleteOnIdle:                    unlessZero(was.AutoDeleteOnIdle, l.Defaults.AutoDeleteOnIdle),
		LockDuration:                        unlessZero(was.LockDuration, l.Defaults.LockDuration),
		MaxDeliveryCount:                    unlessZero(was.MaxDeliveryCount, l.Defaults.MaxDeliveryCount),
		MaxSizeInMegabytes:                  unlessZero(was.MaxSizeInMegabytes, l.Defaults.MaxSizeInMegabytes),
		MaxMessageSizeInKilobytes:           unlessZero(was.MaxMessageSizeInKilobytes, l.Defaults.MaxMessageSizeInKilobytes),
		DuplicateDetectionHistoryTimeWindow: unlessZero(was.DuplicateDetectionHistoryTimeWindow, l.Defaults.DuplicateDetectionHistoryTimeWindow),
	}
	return l.Complete(kind, c).stored()
}

// unlessZero is def, or zero where was is.
func unlessZero[T comparable](was, def T) (zero T) {
	if was == zero {
		return zero
	}
	return def
}

// stored has zero for never, and rules of its own. A partitioned entity does not
// order its messages.
func (c Config) stored() Config {
	c.SupportOrdering = c.SupportOrdering && !c.EnablePartitioning
	c.AuthorizationRules = slices.Clone(c.AuthorizationRules)
	if len(c.AuthorizationRules) == 0 {
		c.AuthorizationRules = nil // as it is stored
	}
	for _, d := range []*time.Duration{&c.DefaultMessageTimeToLive, &c.AutoDeleteOnIdle} {
		if *d == Endless {
			*d = 0
		}
	}
	return c
}
