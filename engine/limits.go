package engine

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits are the quotas and ranges of semantics §1.5 and §1.2, what a namespace
// does without, and the defaults of its entities. Sizes are in bytes, lengths in
// characters. DefaultLimits gives the hosted service's values, Profile those of
// a tier; a zero Limits refuses everything, so start from one of these.
type Limits struct {
	Tier      string // for texts: Standard, Premium, Basic or Emulator
	Namespace string // for texts: whose limits they are; empty: default

	MessageSize                int64         // of one message: header and body
	BatchSize                  int64         // of all messages of one send
	PropertySize               int64         // of one application property's name or value
	HeaderSize                 int64         // of all properties of a message together
	IDLength                   int64         // MessageId, SessionId, PartitionKey, ReplyToSessionId
	ReasonLength               int64         // DeadLetterReason and -ErrorDescription, each
	EntitySize                 int64         // caps every entity's MaxSizeInMegabytes; zero: no cap
	Entities                   int64         // queues and topics of a namespace
	SubscriptionsPerTopic      int64         //
	SQLFiltersPerTopic         int64         // over all its subscriptions
	OtherFiltersPerTopic       int64         // correlation, true and false filters, over all its subscriptions
	FilterLength               int64         // text of a SQL filter or action
	ActionExpressions          int64         // statements of one rule action
	Receives                   int64         // receives waiting at one entity, a topic's subscriptions counted together
	AttachedReceivers          int64         // receivers attached to one entity, idle ones and its subscriptions' too; and sessions locked that have nothing else, of one place
	PeekCount                  int64         // messages of one browse; more are not an error (PEEK-7)
	BatchDelete                int64         // messages of one batch delete
	NameLength                 int64         // of a queue or topic
	SubscriptionNameLength     int64         // of a subscription or rule
	UserMetadata               int64         //
	AccessRules                int64         // of one entity, and of the namespace
	Settings                   int64         // of the namespace
	SettingKeyLength           int64         // of a setting's key, in bytes
	SettingSize                int64         // of one setting's value
	SettingsSize               int64         // of all settings' keys and values
	MaxDeliveries              int64         // MaxDeliveryCount
	MinMegabytes, MaxMegabytes int64         // MaxSizeInMegabytes, a multiple of the first
	MinKilobytes, MaxKilobytes int64         // MaxMessageSizeInKilobytes; MaxKilobytes zero: it cannot be set
	SessionStates              int64         // sessions with state of one entity
	SessionStateSize           int64         // of one session's state
	SessionLocks               int64         // messages of one session that are locked at once
	DuplicateIDs               int64         // MessageIds remembered by one entity
	ForwardHops                int64         // automatic forwards of one message
	TransactionMessages        int64         // of one transaction: so many sent, and so many settled
	TransactionTime            time.Duration // from its first operation to its end
	Connections                int64         // AMQP connections at a time; this and the next five: zero stands for the default
	ConnectionSessions         int64         // AMQP sessions of a connection, at most 65,536
	ConnectionLinks            int64         // AMQP links of a connection
	LinkUnsettled              int64         // deliveries of an AMQP link that its client has not settled; more wait
	FrameSize                  int64         // bytes of an AMQP frame that a client may send, from 512
	IncompleteBytes            int64         // memory for AMQP messages that have come in part, or wait to be handed on; a connection has half of it at most
	MinLock, MaxLock           time.Duration // LockDuration
	MinTTL, MaxTTL             time.Duration // DefaultMessageTimeToLive; MaxTTL zero: no maximum
	MinAutoDelete              time.Duration // AutoDeleteOnIdle
	MinDuplicateWindow         time.Duration
	MaxDuplicateWindow         time.Duration

	// Without is what cannot be asked for. What was stored earlier goes on.
	Without Features
	// Defaults are what Complete fills in. A zero field is the default of
	// semantics §1.2.
	Defaults Config
}

// DefaultLimits are the hosted service's, standard tier.
func DefaultLimits() Limits {
	return Limits{
		Tier:        "Standard",
		MessageSize: 256 << 10, BatchSize: 256 << 10, PropertySize: 32 << 10, HeaderSize: 64 << 10,
		IDLength: 128, ReasonLength: 4096,
		Entities: 10_000, SubscriptionsPerTopic: 2_000,
		SQLFiltersPerTopic: 2_000, OtherFiltersPerTopic: 100_000, FilterLength: 1024, ActionExpressions: 32,
		MaxDeliveries: math.MaxInt32, MinMegabytes: 1024, MaxMegabytes: 5120, MinKilobytes: 1024,
		SessionStates: 1_000_000, SessionStateSize: 256 << 10, SessionLocks: 5_000, DuplicateIDs: 10_000_000,
		ForwardHops: 4, TransactionMessages: 100, TransactionTime: 2 * time.Minute,
		Receives: 5_000, AttachedReceivers: 20_000, PeekCount: 250, BatchDelete: 500,
		NameLength: 260, SubscriptionNameLength: 50, UserMetadata: 1024, AccessRules: 12,
		Settings: 10_000, SettingKeyLength: 256, SettingSize: 256 << 10, SettingsSize: 32 << 20,
		Connections: 5_000, ConnectionSessions: 5_000, ConnectionLinks: 10_000, LinkUnsettled: 5_000,
		FrameSize: 64 << 10, IncompleteBytes: 256 << 20,
		MinLock: 5 * time.Second, MaxLock: 5 * time.Minute,
		MinTTL: time.Second, MinAutoDelete: 5 * time.Minute,
		MinDuplicateWindow: 20 * time.Second, MaxDuplicateWindow: 7 * 24 * time.Hour,
	}
}

// numbers and durations are the limits that can be set by name.
func (l *Limits) numbers() map[string]*int64 {
	return map[string]*int64{
		"message-size": &l.MessageSize, "batch-size": &l.BatchSize, "property-size": &l.PropertySize,
		"header-size": &l.HeaderSize, "id-length": &l.IDLength, "reason-length": &l.ReasonLength,
		"entity-size": &l.EntitySize, "entities": &l.Entities, "subscriptions-per-topic": &l.SubscriptionsPerTopic,
		"sql-filters-per-topic": &l.SQLFiltersPerTopic, "other-filters-per-topic": &l.OtherFiltersPerTopic,
		"action-expressions": &l.ActionExpressions, "max-deliveries": &l.MaxDeliveries, "session-states": &l.SessionStates,
		"session-state-size": &l.SessionStateSize, "session-locks": &l.SessionLocks, "duplicate-ids": &l.DuplicateIDs, "forward-hops": &l.ForwardHops,
		"transaction-messages": &l.TransactionMessages, "filter-length": &l.FilterLength, "receives": &l.Receives, "attached-receivers": &l.AttachedReceivers,
		"peek-count": &l.PeekCount, "batch-delete": &l.BatchDelete, "name-length": &l.NameLength,
		"subscription-name-length": &l.SubscriptionNameLength, "user-metadata": &l.UserMetadata, "access-rules": &l.AccessRules,
		"settings": &l.Settings, "setting-key-length": &l.SettingKeyLength, "setting-size": &l.SettingSize, "settings-size": &l.SettingsSize,
		"connections": &l.Connections, "connection-sessions": &l.ConnectionSessions, "connection-links": &l.ConnectionLinks,
		"link-unsettled": &l.LinkUnsettled, "frame-size": &l.FrameSize, "incomplete-bytes": &l.IncompleteBytes,
		"min-megabytes": &l.MinMegabytes, "max-megabytes": &l.MaxMegabytes, "min-kilobytes": &l.MinKilobytes, "max-kilobytes": &l.MaxKilobytes,
	}
}

func (l *Limits) durations() map[string]*time.Duration {
	return map[string]*time.Duration{
		"min-lock": &l.MinLock, "max-lock": &l.MaxLock, "min-ttl": &l.MinTTL, "max-ttl": &l.MaxTTL,
		"min-auto-delete": &l.MinAutoDelete, "transaction-time": &l.TransactionTime,
		"min-duplicate-window": &l.MinDuplicateWindow, "max-duplicate-window": &l.MaxDuplicateWindow,
	}
}

// LimitNames are the names that Set takes, in order.
func LimitNames() []string {
	var l Limits
	names := []string{without}
	for n := range l.numbers() {
		names = append(names, n)
	}
	for n := range l.durations() {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// without is the limit that names features.
const without = "without"

// Set changes one limit by name: whole numbers for sizes and counts, durations
// for ranges of time (never, for max-ttl: no maximum), and for without a list of
// features. Errors are ErrArgument and leave l as it was.
func (l *Limits) Set(name, text string) error {
	if p, ok := l.numbers()[name]; ok {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("limit %s is a whole number from 0, not %q: %w", name, text, ErrArgument)
		}
		*p = n
		return nil
	}
	if p, ok := l.durations()[name]; ok {
		d, never, err := ParseDuration(text)
		if err != nil || never && p != &l.MaxTTL {
			return fmt.Errorf("limit %s is a duration such as 5m, not %q: %w", name, text, ErrArgument)
		}
		*p = d
		return nil
	}
	if name == without {
		f, err := parseFeatures(text)
		if err == nil {
			l.Without = f
		}
		return err
	}
	return fmt.Errorf("there is no limit called %q; there are %s: %w", name, strings.Join(LimitNames(), ", "), ErrArgument)
}
