package engine

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"time"
)

// A Status says which way an entity is open (semantics §1.4).
type Status uint8

// The statuses a user can set; the numbers are Service Bus' own.
const (
	StatusActive          Status = 0
	StatusDisabled        Status = 1
	StatusSendDisabled    Status = 3
	StatusReceiveDisabled Status = 4
)

var statusNames = map[Status]string{
	StatusActive: "Active", StatusDisabled: "Disabled",
	StatusSendDisabled: "SendDisabled", StatusReceiveDisabled: "ReceiveDisabled",
}

func (s Status) String() string { return statusNames[s] }

func (s Status) sends() bool    { return s == StatusActive || s == StatusReceiveDisabled }
func (s Status) receives() bool { return s == StatusActive || s == StatusSendDisabled }

// Endless, as the DefaultMessageTimeToLive or AutoDeleteOnIdle that Create and
// Update are given, is never, also where the namespace's default is another. It
// is stored as zero.
const Endless time.Duration = math.MaxInt64

// Config is the description of a queue, topic or subscription: semantics §1.2
// says which property each kind has. Its zero value is a usable entity: a zero
// field means the documented default, a zero duration that has no other
// default means never. Create and Update take a zero field for one left out, and
// store the default of the namespace's limits there.
type Config struct {
	LockDuration                        time.Duration // zero: one minute
	MaxSizeInMegabytes                  int64         // zero: 1024
	MaxMessageSizeInKilobytes           int64         // zero: the namespace's limit
	DefaultMessageTimeToLive            time.Duration // zero: never
	AutoDeleteOnIdle                    time.Duration // zero: never
	DuplicateDetectionHistoryTimeWindow time.Duration // zero: ten minutes
	MaxDeliveryCount                    int32         // zero: ten
	Status                              Status
	DeadLetteringOnMessageExpiration    bool
	IgnoreFilterExceptions              bool // the opposite of DeadLetteringOnFilterEvaluationExceptions, whose default is true
	UnbatchedOperations                 bool // the opposite of EnableBatchedOperations, whose default is true
	EnableExpress                       bool
	SupportOrdering                     bool
	RequiresDuplicateDetection          bool
	RequiresSession                     bool
	ForwardTo                           string // path in this namespace; empty: none
	ForwardDeadLetteredMessagesTo       string // path in this namespace; empty: none
	// ForwardToAddress and ForwardDeadLetteredMessagesToAddress are how the two
	// destinations were named if not by their paths: as absolute URIs, whatever the
	// host in them. Who asks in the words of Service Bus is told them as they were
	// given.
	ForwardToAddress                     string
	ForwardDeadLetteredMessagesToAddress string
	UserMetadata                         string
	EnablePartitioning                   bool         // sixteen times the size; there is one partition all the same
	AuthorizationRules                   []AccessRule // of a queue or topic, as they were given; not to be changed in place
}

// LockFor is how long a message is locked for its receiver.
func (c Config) LockFor() time.Duration { return cmp.Or(c.LockDuration, time.Minute) }

// Deliveries is how many deliveries may fail before a message is dead-lettered.
func (c Config) Deliveries() int32 { return cmp.Or(c.MaxDeliveryCount, 10) }

// Megabytes is MaxSizeInMegabytes, of each partition where there are several.
func (c Config) Megabytes() int64 { return cmp.Or(c.MaxSizeInMegabytes, 1024) }

// Partitions is of how many partitions a partitioned entity has the size.
const Partitions = 16

// Capacity is how many bytes the entity may hold, its dead letters included.
func (c Config) Capacity() int64 {
	n := min(c.Megabytes(), math.MaxInt64>>20)
	if c.EnablePartitioning {
		n = min(n, math.MaxInt64>>20/Partitions) * Partitions
	}
	return n << 20
}

// DuplicateWindow is how long a MessageId is remembered.
func (c Config) DuplicateWindow() time.Duration {
	return cmp.Or(c.DuplicateDetectionHistoryTimeWindow, 10*time.Minute)
}

// InForce is what counts of a description: where messages are forwarded neither
// they nor the entity run out of time, whatever it says (TTL-18, IDLE-12, IDLE-13).
func (c Config) InForce() Config {
	if c.ForwardTo != "" {
		c.DefaultMessageTimeToLive, c.AutoDeleteOnIdle = 0, 0
	}
	return c
}

// withoutKeys is a description as it is told to whom it may concern: without
// its rules' keys.
func (c Config) withoutKeys() Config {
	c.AuthorizationRules = slices.Clone(c.AuthorizationRules)
	for i := range c.AuthorizationRules {
		c.AuthorizationRules[i].PrimaryKey, c.AuthorizationRules[i].SecondaryKey = "", ""
	}
	return c
}

// Equal tells whether two descriptions say the same.
func (c Config) Equal(o Config) bool {
	if !slices.Equal(c.AuthorizationRules, o.AuthorizationRules) {
		return false
	}
	c.AuthorizationRules, o.AuthorizationRules = nil, nil
	return reflect.DeepEqual(c, o)
}
