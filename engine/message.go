package engine

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"mayfly/engine/value"
)

// A Seq is a message's place in one holder: gap-free from 1, a new one when the
// message enters another store (SEQ-1 … SEQ-5).
type Seq int64

// A Key identifies a stored message for its whole life, through dead-lettering
// and resubmission: the epoch in the upper 24 bits, a counter in the lower 40.
type Key uint64

// A LockToken stands for one delivery: the message's key and a nonce that is
// new each time, so that an old token never fits again (LOCK-10).
type LockToken [16]byte

func newToken(k Key, nonce uint64) (t LockToken) {
	binary.BigEndian.PutUint64(t[:8], uint64(k))
	binary.BigEndian.PutUint64(t[8:], nonce)
	return t
}

// Key is the message that the token locks, or locked once.
func (t LockToken) Key() Key { return Key(binary.BigEndian.Uint64(t[:8])) }

func (t LockToken) nonce() uint64 { return binary.BigEndian.Uint64(t[8:]) }

// String writes the token as a GUID.
func (t LockToken) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", t[:4], t[4:6], t[6:8], t[8:10], t[10:])
}

// ParseLockToken reads a GUID with or without dashes and braces.
func ParseLockToken(s string) (t LockToken, err error) {
	digits := strings.NewReplacer("-", "", "{", "", "}", "").Replace(cut(s, 64))
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw) != len(t) {
		return t, refuse(ErrArgument, "'%s' is not a lock token.", cut(s, 64))
	}
	return LockToken(raw), nil
}

// State is a message's state as clients see it (§0.3). Locked, expired and
// dead-lettered are not states.
type State uint8

// The states, with the numbers of the wire.
const (
	Active State = iota
	Deferred
	Scheduled
)

func (s State) String() string { return [...]string{"Active", "Deferred", "Scheduled"}[s] }

// A Message is what the broker knows of one copy of a message. What the sender
// wrote is its Content, which several copies share.
type Message struct {
	Key           Key
	Content       Key // of the Content, and of the Body if there is one
	Holder        HolderID
	Seq           Seq
	EnqueuedSeq   Seq     // number at the first point of submission (SEQ-5)
	EnqueuedAt    Instant // while scheduled: when it was submitted (SCH-6)
	ExpiresAt     Instant // by its own TTL; zero: only the entity's default counts (TTL-13, TTL-14)
	ScheduledFor  Instant // zero unless scheduled
	LockedUntil   Instant // zero: not locked; in a session only the last locked one need have the session's
	Nonce         uint64  // of the lock
	Extra         *Extra  // nil for most; never changed in place
	DeliveryCount uint32  // deliveries that failed
	State         State
	Hops          uint8 // how often it was forwarded since it was sent (FWD-10)
}

// Extra is what few messages have. A value is immutable once a message refers
// to it.
type Extra struct {
	DeadLettered bool             // in a dead-letter queue, or was when it left
	Reason       string           // DeadLetterReason; empty: null
	Description  string           // DeadLetterErrorDescription; empty: null
	Source       string           // DeadLetterSource (DLQ-9): where it died, once it was forwarded from there
	To           string           // in a transfer dead-letter queue: where it was to go (FWD-14)
	DeadAt       Instant          // when it was dead-lettered
	DeferredAt   Instant          // when it was last deferred
	By           string           // who deferred or dead-lettered it, as far as known
	Properties   value.Properties // application properties changed by settlements, over the sender's (SETL-2)
	Rewritten    Packed           // what rule actions made of its content; empty: it is as sent (MSG-2)
	Stays        bool             // in a dead-letter queue: it made all its hops and is not forwarded from there (FWD-6)
}

// Token is the lock token of the message's present delivery.
func (m Message) Token() LockToken { return newToken(m.Key, m.Nonce) }

// Locked tells whether a lock stands or has run out unnoticed; compare
// LockedUntil to know which.
func (m Message) Locked() bool { return m.LockedUntil != 0 }

// extra is a copy of m's Extra to change and put back.
func (m Message) extra() *Extra {
	if m.Extra == nil {
		return &Extra{}
	}
	x := *m.Extra
	return &x
}

// size is what Extra adds to a message's size.
func (x *Extra) size() int64 {
	if x == nil {
		return 0
	}
	n := len(x.Reason) + len(x.Description) + len(x.Source) + len(x.To) + len(x.Rewritten)
	if len(x.Properties) > 0 {
		n += len(x.Properties.Append(nil))
	}
	return int64(n)
}

// OwnProperties are Properties without those that tell why it is a dead letter.
func (m Message) OwnProperties(c Content) value.Properties {
	if x := m.Extra; x != nil {
		m.Extra = &Extra{Properties: x.Properties}
	}
	return m.Properties(c)
}

// The application properties that tell of a dead letter why it is one (TTL-27).
const (
	reasonProperty      = "DeadLetterReason"
	descriptionProperty = "DeadLetterErrorDescription"
)

// Properties are the application properties of m as a receiver sees them: the
// sender's, changed by settlements, and in a dead-letter queue the reason
// (SETL-2, TTL-27). c is m's decoded content.
func (m Message) Properties(c Content) value.Properties {
	props := c.Properties
	x := m.Extra
	if x == nil {
		return props
	}
	if len(x.Properties) > 0 {
		props = props.Merge(x.Properties)
	}
	var dead value.Properties
	if x.Reason != "" {
		dead = append(dead, value.Property{Name: reasonProperty, Value: value.OfString(x.Reason)})
	}
	if x.Description != "" {
		dead = append(dead, value.Property{Name: descriptionProperty, Value: value.OfString(x.Description)})
	}
	if len(dead) > 0 {
		props = props.Merge(dead)
	}
	return props
}

// effectiveTTL is the shorter of a message's own time to live and the ceiling
// its entity sets; zero is never (TTL-4 … TTL-7).
func effectiveTTL(own, ceiling time.Duration) time.Duration {
	if own == 0 || ceiling != 0 && ceiling < own {
		return ceiling
	}
	return own
}
