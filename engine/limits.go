package engine

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// Limits are the quotas and minima of semantics §1.5 and §1.2. Sizes are in
// bytes, lengths in characters. DefaultLimits gives the hosted service's
// values; a zero Limits refuses everything, so start from the defaults.
type Limits struct {
	MessageSize            int64         // of one message: header and body
	BatchSize              int64         // of all messages of one send
	PropertySize           int64         // of one application property's name or value
	HeaderSize             int64         // of all properties of a message together
	IDLength               int64         // MessageId, SessionId, PartitionKey, ReplyToSessionId
	ReasonLength           int64         // DeadLetterReason and -ErrorDescription, each
	EntitySize             int64         // caps every entity's MaxSizeInMegabytes; zero: no cap
	Entities               int64         // queues and topics of a namespace
	SubscriptionsPerTopic  int64         //
	SQLFiltersPerTopic     int64         // over all its subscriptions
	OtherFiltersPerTopic   int64         // correlation, true and false filters, over all its subscriptions
	FilterLength           int64         // text of a SQL filter or action
	ActionExpressions      int64         // statements of one rule action
	Receives               int64         // receives waiting at one entity
	PeekCount              int64         // messages of one browse; more are not an error (PEEK-7)
	BatchDelete            int64         // messages of one batch delete
	NameLength             int64         // of a queue or topic
	SubscriptionNameLength int64         // of a subscription or rule
	UserMetadata           int64         //
	MaxDeliveries          int64         // MaxDeliveryCount
	SessionStates          int64         // sessions with state of one entity
	SessionStateSize       int64         // of one session's state
	DuplicateIDs           int64         // MessageIds remembered by one entity
	ForwardHops            int64         // automatic forwards of one message
	TransactionMessages    int64         // of one transaction
	TransactionTime        time.Duration // from its first operation to its end
	MinLock, MaxLock       time.Duration // LockDuration
	MinTTL, MaxTTL         time.Duration // DefaultMessageTimeToLive; MaxTTL zero: no maximum
	MinAutoDelete          time.Duration // AutoDeleteOnIdle
	MinDuplicateWindow     time.Duration
	MaxDuplicateWindow     time.Duration
}

// DefaultLimits are the hosted service's, standard tier.
func DefaultLimits() Limits {
	return Limits{
		MessageSize: 256 << 10, BatchSize: 256 << 10, PropertySize: 32 << 10, HeaderSize: 64 << 10,
		IDLength: 128, ReasonLength: 4096,
		Entities: 10_000, SubscriptionsPerTopic: 2_000,
		SQLFiltersPerTopic: 2_000, OtherFiltersPerTopic: 100_000, FilterLength: 1024, ActionExpressions: 32,
		MaxDeliveries: math.MaxInt32, SessionStates: 1_000_000, SessionStateSize: 256 << 10, DuplicateIDs: 10_000_000,
		ForwardHops: 4, TransactionMessages: 100, TransactionTime: 2 * time.Minute,
		Receives: 5_000, PeekCount: 250, BatchDelete: 4_000,
		NameLength: 260, SubscriptionNameLength: 50, UserMetadata: 1024,
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
		"session-state-size": &l.SessionStateSize, "duplicate-ids": &l.DuplicateIDs, "forward-hops": &l.ForwardHops,
		"transaction-messages": &l.TransactionMessages, "filter-length": &l.FilterLength, "receives": &l.Receives,
		"peek-count": &l.PeekCount, "batch-delete": &l.BatchDelete, "name-length": &l.NameLength,
		"subscription-name-length": &l.SubscriptionNameLength, "user-metadata": &l.UserMetadata,
	}
}

func (l *Limits) durations() map[string]*time.Duration {
	return map[string]*time.Duration{
		"min-lock": &l.MinLock, "max-lock": &l.MaxLock, "min-ttl": &l.MinTTL, "max-ttl": &l.MaxTTL,
		"min-auto-delete": &l.MinAutoDelete, "transaction-time": &l.TransactionTime, "min-duplicate-window": &l.MinDuplicateWindow, "max-duplicate-window": &l.MaxDuplicateWindow,
	}
}

// LimitNames are the names that Set takes, in order.
func LimitNames() []string {
	var l Limits
	var names []string
	for n := range l.numbers() {
		names = append(names, n)
	}
	for n := range l.durations() {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Set changes one limit by name: whole numbers for sizes and counts, durations
// for minima of time.
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
		if err != nil || never {
			return fmt.Errorf("limit %s is a duration such as 5m, not %q: %w", name, text, ErrArgument)
		}
		*p = d
		return nil
	}
	return fmt.Errorf("there is no limit called %q; there are %v: %w", name, LimitNames(), ErrArgument)
}
