package engine

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"mayfly/engine/shorten"
	"mayfly/engine/value"
)

// A Seq is a message's number in one entity: gap-free from 1, and a new one when the message
// enters another entity (SEQ-1 … SEQ-5).
type Seq int64

// A Key identifies a stored message for its whole life, through dead-lettering
// and resubmission: the epoch in the upper 24 bits, a counter in the lower 40.
type Key uint64

// A LockToken identifies one delivery: the message's key and a nonce that is new each time,
// so that an old token never matches again (LOCK-10).
type LockToken [16]byte

func newToken(k Key, nonce uint64) (t LockToken) {
	binary.BigEndian.PutUint64(t[:8], uint64(k))
	binary.BigEndian.PutUint64(t[8:], nonce)
	return t
}

// Key returns the key of the message that the token locks, or once locked.
func (t LockToken) Key() Key { return Key(binary.BigEndian.Uint64(t[:8])) }

func (t LockToken) nonce() uint64 { return binary.BigEndian.Uint64(t[8:]) }

// String returns the token as a GUID.
func (t LockToken) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", t[:4], t[4:6], t[6:8], t[8:10], t[10:])
}

var guidPunctuation = strings.NewReplacer("-", "", "{", "", "}", "") //nolint:gochecknoglobals // in effect a constant

// ParseLockToken parses a GUID with or without dashes and braces.
func ParseLockToken(s string) (t LockToken, err error) {
	digits := guidPunctuation.Replace(shorten.To(s, 64))
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw) != len(t) {
		return t, Refuse(ErrArgument, "'%s' is not a lock token.", shorten.To(s, 64))
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

// A Message is the broker's data about one copy of a message. The sender's data is its Content,
// which several copies share.
type Message struct {
	Key           Key
	Content       Key // the key of the Content, and of the Body if there is one
	Subqueue      SubqueueID
	Seq           Seq
	EnqueuedSeq   Seq     // the number at the first point of submission (SEQ-5)
	EnqueuedAt    Instant // while scheduled: when it was submitted (SCH-6)
	ExpiresAt     Instant // by its own TTL; zero if only the entity's default counts (TTL-13, TTL-14)
	ScheduledFor  Instant // zero unless scheduled
	LockedUntil   Instant // zero if not locked; in a session only the last locked message must have the session's deadline
	Nonce         uint64  // the nonce in the lock token
	Extra         *Extra  // nil for most; never changed in place
	DeliveryCount uint32  // failed deliveries
	State         State
	Hops          uint8 // how often it was forwarded since it was sent (FWD-10)
}

// Extra is data that few messages have. A value is immutable once a message refers to it.
type Extra struct {
	DeadLettered   bool             // whether it is in a dead-letter subqueue; events of a removed message keep the value
	Reason         string           // DeadLetterReason; empty if null
	Description    string           // DeadLetterErrorDescription; empty if null
	Source         string           // DeadLetterSource (DLQ-9): the entity that dead-lettered it, once it was forwarded from there
	To             string           // in a transfer dead-letter subqueue: its destination (FWD-14)
	DeadAt         Instant          // when it was dead-lettered
	DeferredAt     Instant          // when it was last deferred
	By             string           // the client or operator that deferred or dead-lettered it, as far as known
	Properties     value.Properties // application properties changed by settlements, over the sender's (SETL-2)
	Rewritten      Packed           // its content as rewritten by rule actions; empty if it is as sent (MSG-2)
	NeverForwarded bool             // in a dead-letter subqueue: it exceeded its hops and is not forwarded from there (FWD-6)
}

// Token returns the lock token of the message's present delivery.
func (m Message) Token() LockToken { return newToken(m.Key, m.Nonce) }

// Locked reports whether the message has a lock, including one that has expired but was not removed
// yet; compare LockedUntil with the time to exclude that.
func (m Message) Locked() bool { return m.LockedUntil != 0 }

// copyExtra returns a copy of m's Extra to modify and store again.
func (m Message) copyExtra() *Extra {
	if m.Extra == nil {
		return &Extra{}
	}
	x := *m.Extra
	return &x
}

// size returns how many bytes x adds to a message's size, zero for nil.
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

// OwnProperties returns Properties without the dead-letter reason and description.
func (m Message) OwnProperties(c Content) value.Properties {
	if x := m.Extra; x != nil {
		m.Extra = &Extra{Properties: x.Properties}
	}
	return m.Properties(c)
}

// The application properties with the reason of a dead letter (TTL-27).
const (
	reasonProperty      = "DeadLetterReason"
	descriptionProperty = "DeadLetterErrorDescription"
)

// Properties returns the application properties of m as a receiver sees them: the sender's,
// changed by settlements, and for a dead letter the reason (SETL-2, TTL-27). c is m's decoded
// content.
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

// effectiveTTL returns the shorter of a message's own time to live and the ceiling of its
// entity; zero means never (TTL-4 … TTL-7).
func effectiveTTL(own, ceiling time.Duration) time.Duration {
	if own == 0 || ceiling != 0 && ceiling < own {
		return ceiling
	}
	return own
}

// sessionID returns the id of m's session, at an entity with sessions.
func (m *message) sessionID() string { return m.packed().SessionID() }

// hasSession reports whether m has a SessionId, as it must have where sessions are required.
func (m *message) hasSession() bool { return m.packed().HasSessionID() }
