package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mayfly/engine/shorten"
)

// Limits are the quotas and ranges of semantics §1.5 and §1.2, the features that a namespace
// does not offer, and the defaults of its entities. Sizes are in bytes, lengths in
// characters. DefaultLimits returns the hosted service's values, Profile those of a tier; a
// zero Limits refuses everything, so start from one of these.
type Limits struct {
	Tier      string // for texts: Standard, Premium, Basic or Emulator
	Namespace string // for texts: the name of the namespace; empty means default

	MessageSize                int64         // of one message: header and body
	BatchSize                  int64         // of all messages of one send
	PropertySize               int64         // of one application property's name or value
	HeaderSize                 int64         // of all properties of a message together
	IDLength                   int64         // MessageId, SessionId, PartitionKey, ReplyToSessionId
	ReasonLength               int64         // DeadLetterReason and -ErrorDescription, each
	MessageMemory              int64         // the least that a message counts against the size of its entity, in addition to its texts: the memory that it takes; zero to count its size alone. See memory_account.go
	EntitySize                 int64         // caps every entity's MaxSizeInMegabytes; zero for no cap
	Entities                   int64         // queues and topics of a namespace
	SubscriptionsPerTopic      int64         // of one topic
	SQLFiltersPerTopic         int64         // over all its subscriptions
	OtherFiltersPerTopic       int64         // correlation, true and false filters, over all its subscriptions
	FilterLength               int64         // text of a SQL filter or action
	ActionExpressions          int64         // statements of one rule action
	Receives                   int64         // receives waiting at one entity, a topic's subscriptions summed
	AttachedReceivers          int64         // receivers attached to one entity and its subscriptions, including idle ones; also locked sessions of one subqueue, beyond which no session without messages and state is accepted
	Selectors                  int64         // different message selectors of the receivers of one subqueue
	PeekCount                  int64         // messages of one browse; a request for more is not an error (PEEK-7)
	BatchDelete                int64         // messages of one batch delete
	NameLength                 int64         // of a queue or topic
	SubscriptionNameLength     int64         // of a subscription or rule
	UserMetadata               int64         // of one entity
	AccessRules                int64         // of one entity, and of the namespace
	Settings                   int64         // of the namespace
	SettingKeyLength           int64         // of a setting's key, in bytes
	SettingSize                int64         // of one setting's value
	SettingsSize               int64         // of all settings' keys and values
	MaxDeliveries              int64         // MaxDeliveryCount
	MinMegabytes, MaxMegabytes int64         // MaxSizeInMegabytes, a multiple of the first
	MinKilobytes, MaxKilobytes int64         // MaxMessageSizeInKilobytes; it cannot be set if MaxKilobytes is zero
	SessionStates              int64         // sessions with state of one entity
	SessionStateSize           int64         // of one session's state
	SessionLocks               int64         // messages of one session that are locked at a time; a receiver that closes returns all of them in one step, and nothing else is done meanwhile
	DuplicateIDs               int64         // MessageIds remembered by one entity
	ForwardHops                int64         // automatic forwards of one message
	TransactionMessages        int64         // messages of one transaction: that many sent, and that many settled
	TransactionTime            time.Duration // from its first operation to its end
	Connections                int64         // AMQP connections at a time; for this and the next six except LinkUnsettled, zero means the default
	ConnectionSessions         int64         // AMQP sessions of a connection, at most 65,536
	ConnectionLinks            int64         // AMQP links of a connection
	LinkUnsettled              int64         // unsettled deliveries of an AMQP link, beyond which deliveries wait; zero for no limit
	FrameSize                  int64         // bytes of an AMQP frame that a client may send, at least 512
	IncompleteBytes            int64         // memory for AMQP messages that have arrived in part, or wait for the broker; one connection may use half of it, and the connections from one address a quarter once half is used
	LinkBytes                  int64         // memory for AMQP links, sessions and unsettled deliveries, beyond which links are refused and deliveries wait; a connection may use at most as much as it leaves free
	MinLock, MaxLock           time.Duration // LockDuration
	MinTTL, MaxTTL             time.Duration // DefaultMessageTimeToLive; MaxTTL zero for no maximum
	MinAutoDelete              time.Duration // AutoDeleteOnIdle
	MinDuplicateWindow         time.Duration
	MaxDuplicateWindow         time.Duration

	// Disabled are the features that cannot be requested. Entities stored earlier keep them.
	Disabled Features
	// Defaults are the values that Complete fills in. A zero field means the default of
	// semantics §1.2.
	Defaults Config
}

// DefaultLimits returns the hosted service's limits for the standard tier.
func DefaultLimits() Limits {
	return Limits{
		Tier:        "Standard",
		MessageSize: 256 << 10, BatchSize: 256 << 10, PropertySize: 32 << 10, HeaderSize: 64 << 10,
		IDLength: 128, ReasonLength: 4096, MessageMemory: 512,
		Entities: 10_000, SubscriptionsPerTopic: 2_000,
		SQLFiltersPerTopic: 2_000, OtherFiltersPerTopic: 100_000, FilterLength: 1024, ActionExpressions: 32,
		MaxDeliveries: math.MaxInt32, MinMegabytes: 1024, MaxMegabytes: 5120, MinKilobytes: 1024,
		SessionStates: 1_000_000, SessionStateSize: 256 << 10, SessionLocks: 20_000, DuplicateIDs: 10_000_000,
		ForwardHops: 4, TransactionMessages: 100, TransactionTime: 2 * time.Minute,
		Receives: 5_000, AttachedReceivers: 20_000, Selectors: 1_000, PeekCount: 250, BatchDelete: 500,
		NameLength: 260, SubscriptionNameLength: 50, UserMetadata: 1024, AccessRules: 12,
		Settings: 10_000, SettingKeyLength: 256, SettingSize: 256 << 10, SettingsSize: 32 << 20,
		Connections: 5_000, ConnectionSessions: 5_000, ConnectionLinks: 10_000, LinkBytes: 256 << 20,
		FrameSize: 64 << 10, IncompleteBytes: 256 << 20,
		MinLock: 5 * time.Second, MaxLock: 5 * time.Minute,
		MinTTL: time.Second, MinAutoDelete: 5 * time.Minute,
		MinDuplicateWindow: 20 * time.Second, MaxDuplicateWindow: 7 * 24 * time.Hour,
	}
}

// MaxBatchSize returns the largest total size in bytes of the messages of one send. An
// entity's own MaxMessageSizeInKilobytes does not raise it: the service accepts batches of 1
// MB on Premium, where a message may have 100 MB.
func (l *Limits) MaxBatchSize() int64 { return max(l.BatchSize, l.MessageSize) }

// numbers and durations return the limits that can be set by name.
func (l *Limits) numbers() map[string]*int64 {
	return map[string]*int64{
		"message-size": &l.MessageSize, "batch-size": &l.BatchSize, "property-size": &l.PropertySize,
		"header-size": &l.HeaderSize, "id-length": &l.IDLength, "reason-length": &l.ReasonLength,
		"message-memory": &l.MessageMemory, "entity-size": &l.EntitySize, "entities": &l.Entities, "subscriptions-per-topic": &l.SubscriptionsPerTopic,
		"sql-filters-per-topic": &l.SQLFiltersPerTopic, "other-filters-per-topic": &l.OtherFiltersPerTopic,
		"action-expressions": &l.ActionExpressions, "max-deliveries": &l.MaxDeliveries, "session-states": &l.SessionStates,
		"session-state-size": &l.SessionStateSize, "session-locks": &l.SessionLocks, "duplicate-ids": &l.DuplicateIDs, "forward-hops": &l.ForwardHops,
		"transaction-messages": &l.TransactionMessages, "filter-length": &l.FilterLength, "receives": &l.Receives, "attached-receivers": &l.AttachedReceivers, "selectors": &l.Selectors,
		"peek-count": &l.PeekCount, "batch-delete": &l.BatchDelete, "name-length": &l.NameLength,
		"subscription-name-length": &l.SubscriptionNameLength, "user-metadata": &l.UserMetadata, "access-rules": &l.AccessRules,
		"settings": &l.Settings, "setting-key-length": &l.SettingKeyLength, "setting-size": &l.SettingSize, "settings-size": &l.SettingsSize,
		"connections": &l.Connections, "connection-sessions": &l.ConnectionSessions, "connection-links": &l.ConnectionLinks,
		"link-unsettled": &l.LinkUnsettled, "frame-size": &l.FrameSize, "incomplete-bytes": &l.IncompleteBytes, "link-bytes": &l.LinkBytes,
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

// LimitNames returns the names that Set accepts, sorted.
func LimitNames() []string {
	var l Limits
	names := []string{disabledFeatures}
	for n := range l.numbers() {
		names = append(names, n)
	}
	for n := range l.durations() {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// disabledFeatures is the name of the limit that lists the features not offered.
const disabledFeatures = "without"

// Set changes one limit by name: text is a whole number for sizes and counts, a duration for
// ranges of time (for max-ttl also never, which means no maximum), and a list of features for
// without. Errors are ErrArgument and leave l as it was.
func (l *Limits) Set(name, text string) error {
	if p, ok := l.numbers()[name]; ok {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("limit %s must be a whole number, 0 or more, not %q: %w", name, text, ErrArgument)
		}
		*p = n
		return nil
	}
	if p, ok := l.durations()[name]; ok {
		d, never, err := ParseDuration(text)
		if err != nil || never && p != &l.MaxTTL {
			return fmt.Errorf("limit %s must be a duration such as 5m, not %q: %w", name, text, ErrArgument)
		}
		*p = d
		return nil
	}
	if name == disabledFeatures {
		f, err := parseFeatures(text)
		if err == nil {
			l.Disabled = f
		}
		return err
	}
	return fmt.Errorf("the limit %q does not exist; choose from %s: %w", name, strings.Join(LimitNames(), ", "), ErrArgument)
}

// Profiles returns the names that Profile accepts, the default first.
func Profiles() []string { return []string{"standard", "premium", "basic", "emulator"} }

// Profile returns the limits and defaults of a tier of the hosted service, or of its emulator
// (semantics §1.2, §1.5, §17.3). A profile has no other effects. The error is ErrArgument.
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
		return Limits{}, fmt.Errorf("the profile %q does not exist; choose from %s: %w", shorten.To(name, 64), strings.Join(Profiles(), ", "), ErrArgument)
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
	l.Disabled = TopicFeature | SessionFeature | DuplicateFeature | TransactionFeature | ForwardFeature | IdleFeature
}

func (l *Limits) emulator() {
	l.Tier = "Emulator"
	l.Entities, l.SubscriptionsPerTopic, l.Receives = 50, 50, 200
	l.SQLFiltersPerTopic, l.OtherFiltersPerTopic = 20, 1_000
	// SDKs request a gigabyte by default, so a larger size than EntitySize may be requested.
	l.EntitySize, l.MinMegabytes, l.Defaults.MaxSizeInMegabytes = 100<<20, 1, 100
	l.MinTTL, l.MaxTTL, l.Defaults.DefaultMessageTimeToLive = 5*time.Minute, time.Hour, time.Hour
	l.MinDuplicateWindow, l.MaxDuplicateWindow = 5*time.Second, 5*time.Minute
	l.Defaults.DuplicateDetectionHistoryTimeWindow = 20 * time.Second
	l.MaxDeliveries, l.Defaults.MaxDeliveryCount = 10, 3
}

// Complete returns c with the namespace's defaults for zero fields (PROP-2, EMU-8), as far as
// an entity of this kind has them.
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

// completeUpdate returns the description that results from updating an entity with the description
// `was` to c: complete, except for fields that were left to the documented default, so that an update
// without new values changes nothing.
func (l Limits) completeUpdate(kind EntityKind, was, c Config) Config {
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

// unlessZero returns def, or the zero value if `was` is zero.
func unlessZero[T comparable](was, def T) (zero T) {
	if was == zero {
		return zero
	}
	return def
}

// stored returns c in the form to store: durations that mean never are zero, and the access rules are
// a copy.
func (c Config) stored() Config {
	c.AuthorizationRules = slices.Clone(c.AuthorizationRules)
	if len(c.AuthorizationRules) == 0 {
		c.AuthorizationRules = nil // as restored from the store
	}
	for _, d := range []*time.Duration{&c.DefaultMessageTimeToLive, &c.AutoDeleteOnIdle} {
		if *d == MaxDuration {
			*d = 0
		}
	}
	return c
}

// Features is a set of the features that a tier may lack (semantics §1.5).
type Features uint8

// The features.
const (
	TopicFeature       Features = 1 << iota // and subscriptions
	SessionFeature                          // RequiresSession
	DuplicateFeature                        // RequiresDuplicateDetection
	TransactionFeature                      // transactions
	ForwardFeature                          // ForwardTo, ForwardDeadLetteredMessagesTo
	IdleFeature                             // AutoDeleteOnIdle
)

// featureNames are the names of the features in a limit, in bit order.
var featureNames = []string{
	"topics", "sessions", "duplicate-detection", "transactions", "auto-forward", "auto-delete-on-idle",
}

// String returns the features' names separated by commas, as Limits.Set parses them.
func (f Features) String() string {
	var names []string
	for i, name := range featureNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

func parseFeatures(text string) (f Features, err error) {
next:
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		for i, known := range featureNames {
			if name == known {
				f |= 1 << i
				continue next
			}
		}
		return 0, fmt.Errorf("the feature %q does not exist; choose from %s: %w", shorten.To(name, 64), strings.Join(featureNames, ", "), ErrArgument)
	}
	return f, nil
}

// MissingFeatures returns an error for each feature that an entity's description requests and the
// namespace does not offer. was is the present description, whose values may stay, or nil for a
// new entity.
func (l Limits) MissingFeatures(kind EntityKind, was *Config, is Config) (missing []error) {
	if l.Disabled == 0 {
		return nil
	}
	if l.Disabled&TopicFeature != 0 && kind != Queue && was == nil {
		missing = append(missing, RefuseCode(ErrArgument, 40000, "Cannot operate on type %s because %s.", kindTitle(kind), l.featureReason(TopicFeature)))
	}
	for _, p := range Properties(kind) {
		f := p.feature()
		text := p.Text(is)
		if l.Disabled&f == 0 || text == p.Text(Config{}) {
			continue
		}
		switch {
		case was == nil:
			missing = append(missing, p.refuse(text, ErrArgument, "The property '%s' cannot be set when creating a %s because %s.", p.Name, kindTitle(kind), l.featureReason(f)))
		case text != p.Text(*was):
			missing = append(missing, p.refuse(text, ErrArgument, "The property '%s' cannot be changed because %s.", p.Name, l.featureReason(f)))
		}
	}
	return missing
}

// checkFeatures returns the first error of MissingFeatures.
func (l Limits) checkFeatures(kind EntityKind, was *Config, is Config) error {
	if missing := l.MissingFeatures(kind, was, is); len(missing) > 0 {
		return missing[0]
	}
	return nil
}

// CheckTransactions returns ErrNotAllowed if the namespace does not offer transactions.
func (l Limits) CheckTransactions() error {
	if l.Disabled&TransactionFeature == 0 {
		return nil
	}
	return RefuseCode(ErrNotAllowed, 40301, "Transaction is unsupported because %s.", l.featureReason(TransactionFeature))
}

// featureReason returns why a feature is missing: the tier lacks it, or the namespace was configured
// without it.
func (l Limits) featureReason(f Features) string {
	tier, err := Profile(strings.ToLower(l.Tier))
	if err != nil || tier.Disabled&f == 0 {
		return fmt.Sprintf("the namespace '%s' is configured without %s ('%s' tier)", l.title(), f, l.Tier)
	}
	return fmt.Sprintf("the namespace '%s' is using '%s' tier", l.title(), l.Tier)
}

// Offers reports whether a property may have a value other than its default.
func (l Limits) Offers(p Property) bool { return l.Disabled&p.feature() == 0 }

func (l Limits) title() string { return cmp.Or(l.Namespace, "default") }

// feature returns the feature that a property needs, or zero if every tier has it.
func (p Property) feature() Features {
	switch p.Name {
	case "RequiresSession":
		return SessionFeature
	case "RequiresDuplicateDetection":
		return DuplicateFeature
	case "ForwardTo", "ForwardDeadLetteredMessagesTo":
		return ForwardFeature
	case "AutoDeleteOnIdle":
		return IdleFeature
	default:
		return 0
	}
}

// kindTitle returns the name of a kind with a capital: Queue.
func kindTitle(kind EntityKind) string {
	s := kind.String()
	return strings.ToUpper(s[:1]) + s[1:]
}
