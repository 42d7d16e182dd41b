package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Errors of Commit. After any other error it is unknown whether the batch was applied: the
// store must be reopened.
var (
	// ErrFenced means that another owner has taken over; nothing was applied.
	ErrFenced = errors.New("this server no longer owns the namespace")
	// ErrUnwritable means that the store cannot accept writes now, for instance because the
	// disk is full; nothing of the batch was applied and the same batch may be tried again.
	ErrUnwritable = errors.New("the store accepts no writes")
)

// ErrDamaged means that stored data is not as it was written.
var ErrDamaged = errors.New("the store is damaged")

// ErrUnreachable means that the store's server does not respond. Opening may be tried again,
// unlike after a wrong password.
var ErrUnreachable = errors.New("the store cannot be reached")

// A Store persists the changes that the engine has decided. It applies no rule and reads no clock.
// Commits do not overlap, because there is one writer. Stage and Body may be called at any time,
// concurrently.
type Store interface {
	// Load yields everything stored: the Clock, Access and settings, then entities, then
	// rules and meters, then sessions and, in the order of their numbers, SeenIDs, then contents,
	// then messages. It skips records of subqueues that no entity has, and may skip contents that
	// no message refers to.
	Load(ctx context.Context) iter.Seq2[Record, error]
	// Stage stores a large body ahead of the batch whose Content refers to it; it is durable
	// on return. A staged body that no content refers to is garbage after the next open.
	Stage(ctx context.Context, k Key, body io.Reader) error
	// Commit applies all of b or nothing. A hard batch is durable when Commit
	// returns; a soft one may be lost in a crash, but never out of order.
	Commit(ctx context.Context, b *Batch) error
	// Body opens a body for reading. The error is ErrMessageNotFound if there is none. The
	// reader stays valid if the body is dropped before it is closed.
	Body(ctx context.Context, k Key) (io.ReadSeekCloser, error)
	// Epoch returns a number that every open increases, from 1; it fits 24 bits.
	Epoch() uint64
	// Lost is closed when ownership of the namespace has ended. This may be noticed late, for
	// instance by a process that was stopped; Owned is never late.
	Lost() <-chan struct{}
	// Owned reports whether it is certain that no other server has taken over the namespace
	// yet. Call it before returning something that no Commit has just confirmed: a message
	// under a lock that is only softly stored, or the result of a read.
	Owned() bool
	Close() error
}

// SmallBodies is implemented by a Store that can read several bodies faster than one after
// another.
type SmallBodies interface {
	// SmallBodies calls found with the body of keys[i], in any order; the bytes belong to the
	// store, and are valid until found returns. It skips missing bodies, and may skip bodies
	// that are staged or larger than 64 KiB.
	SmallBodies(ctx context.Context, keys []Key, found func(i int, bytes []byte)) error
}

// InMemory is implemented by a Store that may keep its records in memory. If it does,
// bodies and its copies of the engine's records count as memory.
type InMemory interface {
	InMemory() bool
}

// WriteFailureNotifier is implemented by a Store that notices between commits that it cannot accept
// writes any more, for instance because its file was deleted.
type WriteFailureNotifier interface {
	// WriteFailure yields the reason once; it wraps ErrUnwritable.
	WriteFailure() <-chan error
}

// DropAccepter is implemented by a Store that may accept some batches while it refuses others.
type DropAccepter interface {
	// AcceptsDrops reports whether Commit accepts batches of which NeedsNoSpace is true, although
	// it refuses others with ErrUnwritable because the disk is full.
	AcceptsDrops() bool
}

// An OwnedError means that another server owns the namespace and may be alive, so that the namespace
// was not taken over.
type OwnedError struct{ Owner Owner }

func (e *OwnedError) Error() string {
	at := e.Owner.Dashboard
	if at == "" {
		at = "an unknown address"
	}
	return fmt.Sprintf("the namespace is owned by the server at %s", at)
}

// An Owner is the published description of a server that owns a namespace.
type Owner struct {
	Dashboard string // URL, for people; empty if not published
	Admin     string // URL of Service Bus REST; empty if not published
	AMQP      string // host and port; empty if not published
	Host      string // the name of its machine
	// Peer is the host and port at which it accepts requests forwarded by other servers;
	// empty if it accepts none.
	Peer  string
	Epoch uint64
}

// A Record is a value that Load yields: a Clock, Entity, Rule, Meter, SessionRecord, SeenIDs,
// Access, Setting, StoredContent, Message or Damaged.
type Record interface{ record() }

func (Clock) record()         {}
func (Entity) record()        {}
func (Rule) record()          {}
func (Meter) record()         {}
func (SessionRecord) record() {}
func (SeenIDs) record()       {}
func (Access) record()        {}
func (Setting) record()       {}
func (StoredContent) record() {}
func (Message) record()       {}
func (Damaged) record()       {}

// A Clock is the latest instant of a hard batch.
type Clock struct{ Now Instant }

// Access contains all access rules of the namespace itself. There is no such record if none
// were ever set.
type Access struct{ Rules []AccessRule }

// Damaged identifies a message that is not stored as it was written. It stays in the store
// and is not delivered, even if parts of it can be read.
type Damaged struct {
	Key      Key
	Subqueue SubqueueID // as read; it may be wrong
	Seq      Seq        // as read
	Content  Key        // as read; the content and its body stay as long as the message does
	Part     string     // DamagedRecord, DamagedContent or DamagedBody
}

// The parts of a message that can be damaged.
const (
	DamagedRecord  = "record"  // its queue, number, state and dead-letter reason
	DamagedContent = "content" // its properties, which are wrong or missing
	DamagedBody    = "body"
)

// StoredContent is a Content as stores keep it.
type StoredContent struct {
	Key     Key
	Content Packed
}

// A Body contains the bytes of a message body that was not staged.
type Body struct {
	Key   Key
	Bytes []byte
}

// A Batch is the content of one commit: values to put and identities to drop. It names each
// identity at most once, so the order of application does not matter. Dropping a subqueue also
// drops its messages, meter, rules, sessions and SeenIDs, at once or later: Load does not yield
// them again.
type Batch struct {
	Hard bool
	Now  Instant // becomes the Clock if Hard; a store may also store it otherwise

	Entities []Entity // by ID
	Rules    []Rule   // by Subscription and folded Name
	Meters   []Meter  // by Subqueue
	Sessions []SessionRecord
	Seen     []SeenIDs
	Messages []Message
	Added    uint32   // how many of Messages the store does not have yet
	Written  []Packed // the content of each of Messages as the receiver sees it, for stores that show it beside them
	Contents []StoredContent
	Bodies   []Body
	Access   *Access   // nil if unchanged
	Settings []Setting // by Key

	DropSubqueues []SubqueueID // subqueues of deleted entities
	DropRules     []RuleID
	DropSessions  []SessionID
	DropSeen      []SeenIDsThrough
	DropSettings  []string // keys
	DropMessages  []Key
	DropContents  []DroppedContent
	SetAside      []Key // damaged messages, to be copied before DropContents drops their contents; stores that never yield Damaged may ignore it

	// Audit are the events of operators' actions, numbered; a History stores them with the
	// batch, other stores may ignore them.
	Audit []Event
}

// A RuleID identifies a rule; Name is folded to lower case.
type RuleID struct {
	Subscription SubqueueID
	Name         string
}

// A SessionRecord is the record of a session: its state, which outlives its messages (SES-11). A
// session whose state was never set, or was cleared, has no record.
type SessionRecord struct {
	Subqueue  SubqueueID // a queue or subscription
	ID        string     // as the sender wrote it: case matters
	State     string     // opaque bytes; may be empty
	ChangedAt Instant
}

// A SessionID identifies a session.
type SessionID struct {
	Subqueue SubqueueID
	ID       string
}

// A Digest represents a MessageId in the duplicate history: the first 16 bytes of its
// SHA-256.
type Digest [16]byte

// SeenIDs records the MessageIds that were accepted together at an entity with duplicate
// detection (DUP-12). It is never changed, only dropped. One without digests means that ids
// accepted at At or earlier are forgotten.
type SeenIDs struct {
	Subqueue SubqueueID // a queue or topic
	N        uint64     // increases within a subqueue, where it identifies the record
	At       Instant    // when they were accepted
	Digests  []Digest
}

// SeenIDsThrough identifies all SeenIDs of a subqueue up to a number, whose window has passed. A
// batch that contains one contains no SeenIDs of that subqueue with such a number.
type SeenIDsThrough struct {
	Subqueue SubqueueID
	N        uint64 // inclusive
}

// DroppedContent identifies a content that nothing refers to any more.
type DroppedContent struct {
	Key     Key
	HasBody bool // there is a body to drop with it
}

// NeedsNoSpace reports whether b only drops something or changes messages that the store has,
// so that a store on a full disk may accept it. It may include Meters, which the store has as
// well, and Audit events: few bytes, and the events of operators' deletions must not be
// missing. A message that is set aside is copied, which takes room.
func (b *Batch) NeedsNoSpace() bool {
	adds := len(b.Entities) + len(b.Rules) + len(b.Sessions) + len(b.Seen) + int(b.Added) + len(b.Contents) + len(b.Bodies) + len(b.Settings) + len(b.SetAside)
	rest := len(b.DropSubqueues) + len(b.DropRules) + len(b.DropSessions) + len(b.DropSeen) + len(b.DropSettings) + len(b.DropMessages) + len(b.DropContents) + len(b.Messages)
	return adds == 0 && rest > 0 && b.Access == nil
}

// Empty reports whether there is nothing to store.
func (b *Batch) Empty() bool {
	return len(b.Entities)+len(b.Rules)+len(b.Meters)+len(b.Sessions)+len(b.Seen)+len(b.DropSessions)+len(b.DropSeen)+len(b.Messages)+len(b.Contents)+len(b.Bodies)+
		len(b.DropSubqueues)+len(b.DropRules)+len(b.DropMessages)+len(b.DropContents)+len(b.Settings)+len(b.DropSettings)+len(b.SetAside)+len(b.Audit) == 0 && b.Access == nil
}
