package engine

import (
	"cmp"
	"errors"
	"math"
	"reflect"
	"slices"
	"time"

	"mayfly/engine/value"
)

// A SubqueueID identifies a subqueue: the main one of a queue, topic (for its scheduled
// messages) or subscription, or a dead-letter subqueue. It is never reused, so dropping and
// recreating an entity cannot mix messages.
type SubqueueID uint64

// EntityKind is the kind of an entity.
type EntityKind uint8

// The kinds of entities.
const (
	Queue EntityKind = iota + 1
	Topic
	Subscription
)

func (k EntityKind) String() string {
	switch k {
	case Queue:
		return "queue"
	case Topic:
		return "topic"
	case Subscription:
		return "subscription"
	default:
		return "entity"
	}
}

// An Entity is the stored record of a queue, topic or subscription.
type Entity struct {
	ID           SubqueueID
	DeadLetterID SubqueueID // the id of its dead-letter subqueue; zero for a topic (DLQ-1)
	Kind         EntityKind
	Path         Path // with upper and lower case as it was created (NAME-6)
	Config       Config
	CreatedAt    Instant
	UpdatedAt    Instant       // when the description last changed (RT-1)
	UnpinnedIdle time.Duration // the AutoDeleteOnIdle that unpinning restores; zero if not pinned (OPS-9)
	TransferID   SubqueueID    // the id of its transfer dead-letter subqueue (DLQ-3)
}

// A Rule selects messages of a topic for a subscription (semantics §14).
type Rule struct {
	Subscription SubqueueID
	Name         string
	Filter       Filter
	Action       string // SQL text; empty if none
	CreatedAt    Instant
}

// FilterKind is the kind of a rule's filter.
type FilterKind uint8

// The kinds of filters of §14.2.
const (
	TrueFilter FilterKind = iota
	FalseFilter
	CorrelationFilter
	SQLFilter
)

func (k FilterKind) String() string {
	return [...]string{"True", "False", "Correlation", "Sql"}[k]
}

// A Filter is a rule's filter as the client gave it; the zero Filter is the true filter.
type Filter struct {
	Kind FilterKind
	Text string // SQL expression, or the correlation conditions as JSON
	// Parameters are the values of @names in a SQL expression (FILT-25); their names include
	// the @, as clients send them.
	Parameters value.Properties
}

// Equal reports whether two filters have the same kind, text and parameters.
func (f Filter) Equal(o Filter) bool {
	return f.Kind == o.Kind && f.Text == o.Text && slices.Equal(f.Parameters, o.Parameters)
}

// DefaultRule is the name of the rule that a subscription is created with
// (FILT-2).
const DefaultRule = "$Default"

// A Meter holds the counters and times of a subqueue.
type Meter struct {
	Subqueue   SubqueueID
	NextSeq    Seq     // the number the next message gets
	LastUsed   Instant // when the idle clock was last reset; the stored value may be older by idleResetPeriod (IDLE-17)
	AccessedAt Instant // time of the last send, attach of a receiver, or creation of a subscription; the stored value may be older (RT-2)
	Duplicates uint64  // messages dropped as duplicates since the entity was created; the stored value may be lower
}

// A Status determines whether clients can send to an entity and receive from it (semantics §1.4).
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

// MaxDuration means never, as a DefaultMessageTimeToLive or AutoDeleteOnIdle given to Create or
// Update, even where the namespace has another default. It is stored as zero.
const MaxDuration time.Duration = math.MaxInt64

// Config is the description of a queue, topic or subscription: semantics §1.2 lists which
// properties each kind has. Its zero value is a usable entity: a zero field means the
// documented default, or never for a duration without one. Create and Update treat a zero
// field as absent, and store the default of the namespace's limits there.
type Config struct {
	LockDuration                        time.Duration // zero means one minute
	MaxSizeInMegabytes                  int64         // zero means 1024
	MaxMessageSizeInKilobytes           int64         // zero means the namespace's limit
	DefaultMessageTimeToLive            time.Duration // zero means never
	AutoDeleteOnIdle                    time.Duration // zero means never
	DuplicateDetectionHistoryTimeWindow time.Duration // zero means ten minutes
	MaxDeliveryCount                    int32         // zero means ten
	Status                              Status
	DeadLetteringOnMessageExpiration    bool
	IgnoreFilterExceptions              bool // the opposite of DeadLetteringOnFilterEvaluationExceptions, whose default is true
	UnbatchedOperations                 bool // the opposite of EnableBatchedOperations, whose default is true
	EnableExpress                       bool
	SupportOrdering                     bool // of a queue; without effect on a topic, where old stores may have it true
	UnorderedTopic                      bool // of a topic, the opposite of its SupportOrdering, whose default is true
	RequiresDuplicateDetection          bool
	RequiresSession                     bool
	ForwardTo                           string // path in this namespace; empty if none
	ForwardDeadLetteredMessagesTo       string // path in this namespace; empty if none
	// ForwardToAddress and ForwardDeadLetteredMessagesToAddress are the two destinations as
	// the client gave them, if it gave absolute URIs (with any host) instead of paths. Service
	// Bus clients get them back unchanged.
	ForwardToAddress                     string
	ForwardDeadLetteredMessagesToAddress string
	UserMetadata                         string
	EnablePartitioning                   bool         // sixteen times the size; there is still one partition
	AuthorizationRules                   []AccessRule // of a queue or topic, in the order given; must not be changed in place
}

// LockTime returns how long a message is locked for its receiver.
func (c Config) LockTime() time.Duration { return cmp.Or(c.LockDuration, time.Minute) }

// MaxDeliveries returns how many deliveries may fail before a message is dead-lettered.
func (c Config) MaxDeliveries() int32 { return cmp.Or(c.MaxDeliveryCount, 10) }

// MaxMegabytes returns MaxSizeInMegabytes, which is per partition if the entity is partitioned.
func (c Config) MaxMegabytes() int64 { return cmp.Or(c.MaxSizeInMegabytes, 1024) }

// Partitions is the number of partitions that count for the size of a partitioned entity.
const Partitions = 16

// MaxBytes returns how many bytes the entity may hold, its dead letters included.
func (c Config) MaxBytes() int64 {
	n := min(c.MaxMegabytes(), math.MaxInt64>>20)
	if c.EnablePartitioning {
		n = min(n, math.MaxInt64>>20/Partitions) * Partitions
	}
	return n << 20
}

// DuplicateWindow returns how long a MessageId is remembered.
func (c Config) DuplicateWindow() time.Duration {
	return cmp.Or(c.DuplicateDetectionHistoryTimeWindow, 10*time.Minute)
}

// Effective returns c with the values that apply: an entity that forwards its messages neither
// expires them nor is deleted when idle, whatever its description says (TTL-18, IDLE-12, IDLE-13).
func (c Config) Effective() Config {
	if c.ForwardTo != "" {
		c.DefaultMessageTimeToLive, c.AutoDeleteOnIdle = 0, 0
	}
	return c
}

// withoutKeys returns a copy of c without the keys of its rules, for events.
func (c Config) withoutKeys() Config {
	c.AuthorizationRules = slices.Clone(c.AuthorizationRules)
	for i := range c.AuthorizationRules {
		c.AuthorizationRules[i].PrimaryKey, c.AuthorizationRules[i].SecondaryKey = "", ""
	}
	return c
}

// Equal reports whether two descriptions are the same.
func (c Config) Equal(o Config) bool {
	if !slices.Equal(c.AuthorizationRules, o.AuthorizationRules) {
		return false
	}
	c.AuthorizationRules, o.AuthorizationRules = nil, nil
	return reflect.DeepEqual(c, o)
}

// A Subqueue describes a subqueue that SubqueuesWith returns.
type Subqueue struct {
	Path     Path
	Messages int // of the requested class
	EndSeq   Seq // above the number of every message in the subqueue
}

// SubqueuesWith returns the subqueues that have messages of a class, sorted by the path of their
// entity; within an entity, its main queue comes before its dead-letter and transfer dead-letter
// subqueues.
func (ns *Namespace) SubqueuesWith(c Class) []Subqueue {
	var subqueues []Subqueue
	for _, e := range ns.sorted() {
		for _, h := range e.subqueues() {
			n := h.order.len()
			if c != ClassAll {
				n = int(h.count[class(c-ClassActive)])
			}
			if n > 0 {
				subqueues = append(subqueues, Subqueue{Path: h.path, Messages: n, EndSeq: e.main.meter.NextSeq})
			}
		}
	}
	return subqueues
}

// An EntityName is the name of an entity, without its state.
type EntityName struct {
	Kind EntityKind
	Path Path
}

// EntityNames returns the names of all entities, sorted by path. It is cheap even for many
// entities.
func (ns *Namespace) EntityNames() []EntityName {
	all := ns.sorted()
	names := make([]EntityName, len(all))
	for i, e := range all {
		names[i] = EntityName{e.Kind, e.Path}
	}
	return names
}

// A TermsChange holds the terms of a subqueue before and after an update of its entity's
// description, or its topic's.
type TermsChange struct {
	Path          Path
	Before, After Terms
}

// SameExpiry reports whether the update leaves the times at which messages expire as they are.
func (p TermsChange) SameExpiry() bool {
	return p.Before.TTL == p.After.TTL && p.Before.Forwards == p.After.Forwards
}

// Expires reports whether a message has expired at now by the new terms, but not by the present
// ones. A locked message expires only when its lock ends (TTL-20), and a deferred one when it is
// requested (DEF-9).
func (p TermsChange) Expires(m Message, now Instant) bool {
	return m.State == Active && hasPassed(p.After.ExpiresAt(m), now) && !hasPassed(p.Before.ExpiresAt(m), now)
}

func hasPassed(at, now Instant) bool { return at != 0 && at.Passed(now) }

// PreviewUpdate returns what Update would do to the terms by which messages expire (TTL-16). It
// returns the errors of Update, and changes nothing.
func (ns *Namespace) PreviewUpdate(p Path, c Config) ([]TermsChange, error) {
	e, c, err := ns.admitUpdate(p, c)
	if err != nil {
		return nil, err
	}
	if e.topic != nil {
		return []TermsChange{{e.Path, e.main.terms, ns.terms(c, &e.topic.Config)}}, nil
	}
	all := []TermsChange{{e.Path, e.main.terms, ns.terms(c, nil)}}
	for _, s := range e.subs {
		all = append(all, TermsChange{s.Path, s.main.terms, ns.terms(s.Config, &c)})
	}
	return all, nil
}

// RestoreMark is the kind of an entity that is only a mark: the restore of a backup into this
// store has not finished. Restore returns ErrRestoreIncomplete for it, so that no server serves an
// incomplete store.
const RestoreMark EntityKind = 255

// ErrRestoreIncomplete means that a store contains a RestoreMark.
var ErrRestoreIncomplete = errors.New("a restore into this store did not finish; restore the backup again")
