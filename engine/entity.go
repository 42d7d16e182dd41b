package engine

import (
	"slices"
	"time"

	"mayfly/engine/value"
)

// A HolderID is the identity of a place for messages: a queue, a topic (for
// its scheduled messages), a subscription or a dead-letter queue. It is never
// given twice, so dropping and recreating an entity cannot mix messages.
type HolderID uint64

// EntityKind tells what an entity is.
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

// An Entity is a queue, topic or subscription as it is remembered.
type Entity struct {
	ID           HolderID
	DeadLetterID HolderID // of its dead-letter queue; zero for a topic (DLQ-1)
	Kind         EntityKind
	Path         Path // in the case it was created with (NAME-6)
	Config       Config
	CreatedAt    Instant
	UpdatedAt    Instant       // moves when the description changes (RT-1)
	Unpinned     time.Duration // the AutoDeleteOnIdle that unpinning restores; zero: not pinned (OPS-9)
	TransferID   HolderID      // of its transfer dead-letter queue (DLQ-3); zero in what older versions stored
}

// A Rule selects messages of a topic for a subscription (semantics §14).
type Rule struct {
	Subscription HolderID
	Name         string
	Filter       Filter
	Action       string // SQL text; empty: none
	CreatedAt    Instant
}

// FilterKind tells how a rule selects.
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

// A Filter is kept as it was given; the zero Filter is the true filter.
type Filter struct {
	Kind FilterKind
	Text string // SQL expression, or the correlation conditions as JSON
	// Parameters are what @names in a SQL expression stand for (FILT-25); they
	// are named with the @, as clients send them.
	Parameters value.Properties
}

// Equal tells whether two filters are the same as they were given.
func (f Filter) Equal(o Filter) bool {
	return f.Kind == o.Kind && f.Text == o.Text && slices.Equal(f.Parameters, o.Parameters)
}

// DefaultRule is the name of the rule that a subscription is created with
// (FILT-2).
const DefaultRule = "$Default"

// A Meter is what is counted for a holder beside its messages.
type Meter struct {
	Holder     HolderID
	NextSeq    Seq     // the number the next message gets
	LastUsed   Instant // when the idle clock last went back, coarse (IDLE-17)
	AccessedAt Instant // last send, or receiver opened, or when a subscription was created; coarse (RT-2)
	Duplicates uint64  // messages dropped as duplicates since it was created; coarse
}
