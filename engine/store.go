package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
)

// What a Commit can say besides success. Any other error means that nobody
// knows whether the batch was applied: the store must be reopened.
var (
	// ErrFenced says that another owner has taken over; nothing was applied.
	ErrFenced = errors.New("this server no longer owns the namespace")
	// ErrUnwritable says that the store cannot take writes just now, a full
	// disk for instance; nothing of the batch was applied and the same batch
	// may be tried again.
	ErrUnwritable = errors.New("the store cannot take writes")
)

// ErrUnreachable is what opening a store says when nobody answers where it
// should be: it may be tried again, as a wrong password may not.
var ErrUnreachable = errors.New("the store cannot be reached")

// A Store remembers what the engine decided. It applies no rule and reads no
// clock. Commits do not overlap: there is one writer; Stage and Body may be
// called at any time, by many.
type Store interface {
	// Load yields everything remembered: the Clock, Access and settings, then entities,
	// then rules and meters, then sessions and what was seen in the order of its numbers, then
	// contents, then messages. What belongs to a holder that no entity claims is
	// skipped, and contents that no message refers to may be.
	Load(ctx context.Context) iter.Seq2[Record, error]
	// Stage keeps a large body ahead of the batch whose Content refers to it;
	// durable on return. A staged body that no content refers to is garbage
	// after the next open.
	Stage(ctx context.Context, k Key, body io.Reader) error
	// Commit applies all of b or nothing. A hard batch is durable when Commit
	// returns; a soft one may be lost in a crash, but never out of order.
	Commit(ctx context.Context, b *Batch) error
	// Body opens a body for reading; ErrMessageNotFound if there is none. The
	// reader stays good when the body is dropped meanwhile.
	Body(ctx context.Context, k Key) (io.ReadSeekCloser, error)
	// Epoch is raised by every open, from 1; it fits 24 bits.
	Epoch() uint64
	// Lost is closed when ownership of the namespace is over. It may be noticed
	// late, as by a process that was stopped; Owned is never late.
	Lost() <-chan struct{}
	// Owned tells whether nobody else can have taken the namespace over yet. Ask
	// it before handing out what no Commit has just confirmed: a message under a
	// lock that is only remembered softly, or the answer to a look.
	Owned() bool
	Close() error
}

// SmallBodies is what a Store may have that reads several bodies for less than
// one after another costs.
type SmallBodies interface {
	// SmallBodies gives found the body of keys[i], in any order; the bytes are the
	// store's, and there until found returns. One that is not there is left out; one
	// that was staged, or has more than 64 KiB, may be.
	SmallBodies(ctx context.Context, keys []Key, found func(i int, bytes []byte)) error
}

// An OwnedError says that a server owns the namespace and may be alive. Nothing
// was taken from it.
type OwnedError struct{ Owner Owner }

func (e *OwnedError) Error() string {
	at := e.Owner.Dashboard
	if at == "" {
		at = "an unknown address"
	}
	return fmt.Sprintf("the namespace is owned by the server at %s", at)
}

// An Owner is what a server tells others of itself while it owns a namespace.
type Owner struct {
	Dashboard string // URL, for people; empty: not told
	Admin     string // URL of Service Bus REST; empty: not told
	AMQP      string // host and port; empty: not told
	Host      string // name of its machine
	// Peer is the host and port at which it takes what other servers pass on to it;
	// empty: it takes nothing.
	Peer  string
	Epoch uint64
}

// A Record is one thing that Load yields: Clock, Entity, Rule, Meter, Session,
// Seen, Access, Setting, StoredContent or Message.
type Record interface{ record() }

func (Clock) record()         {}
func (Entity) record()        {}
func (Rule) record()          {}
func (Meter) record()         {}
func (Session) record()       {}
func (Seen) record()          {}
func (Access) record()        {}
func (Setting) record()       {}
func (StoredContent) record() {}
func (Message) record()       {}

// A Clock is the latest instant that a hard batch was decided at.
type Clock struct{ Now Instant }

// Access is the namespace's own access rules, all of them. A namespace that was
// never given any has no such record.
type Access struct{ Rules []AccessRule }

// StoredContent is a Content as stores keep it.
type StoredContent struct {
	Key     Key
	Content Packed
}

// A Body is the bytes of a message that were not staged.
type Body struct {
	Key   Key
	Bytes []byte
}

// A Batch is what one commit remembers: values to put and identities to drop.
// It names each identity at most once, so the order of application does not
// matter. Dropping a holder drops its messages, meter, rules, sessions and what
// it has seen as well, at once or later: Load does not show them again.
type Batch struct {
	Hard bool
	Now  Instant // becomes the Clock if Hard; else it may

	Entities []Entity // by ID
	Rules    []Rule   // by Subscription and folded Name
	Meters   []Meter  // by Holder
	Sessions []Session
	Seen     []Seen
	Messages []Message
	Written  []Packed // of Messages, one by one: what the sender wrote, for stores that show it beside them
	Contents []StoredContent
	Bodies   []Body
	Access   *Access   // nil: it stays as it is
	Settings []Setting // by Key

	DropHolders  []HolderID // entities and dead-letter queues
	DropRules    []RuleID
	DropSessions []SessionID
	DropSeen     []SeenThrough
	DropSettings []string // keys
	DropMessages []Key
	DropContents []DroppedContent

	// Audit is what operators did, numbered; a History keeps it with the batch,
	// other stores may leave it.
	Audit []Event
}

// A RuleID identifies a rule; Name is folded to lower case.
type RuleID struct {
	Subscription HolderID
	Name         string
}

// A Session is what is remembered of a session: its state, which outlives its
// messages (SES-11). A session whose state was never set, or was cleared, has
// no such record.
type Session struct {
	Holder    HolderID // a queue or subscription
	ID        string   // as the sender wrote it: case matters
	State     string   // opaque bytes; empty is a state, too
	ChangedAt Instant
}

// A SessionID identifies a session.
type SessionID struct {
	Holder HolderID
	ID     string
}

// A Digest stands for a MessageId in the history of duplicates: the first 16
// bytes of its SHA-256.
type Digest [16]byte

// Seen remembers the MessageIds that were accepted together at an entity with
// duplicate detection (DUP-12). It is never changed, only dropped. One without
// digests says that what was accepted at At or earlier is forgotten.
type Seen struct {
	Holder  HolderID // a queue or topic
	N       uint64   // rising at its holder; identifies it there
	At      Instant  // when they were accepted
	Digests []Digest
}

// SeenThrough names all Seen of a holder up to a number: their window has
// passed. A batch that has one has no Seen of that holder with such a number.
type SeenThrough struct {
	Holder HolderID
	N      uint64 // inclusive
}

// DroppedContent names a content that nothing refers to any more.
type DroppedContent struct {
	Key     Key
	HasBody bool // there is a body to drop with it
}

// Empty tells whether there is nothing to remember.
func (b *Batch) Empty() bool {
	return len(b.Entities)+len(b.Rules)+len(b.Meters)+len(b.Sessions)+len(b.Seen)+len(b.DropSessions)+len(b.DropSeen)+len(b.Messages)+len(b.Contents)+len(b.Bodies)+
		len(b.DropHolders)+len(b.DropRules)+len(b.DropMessages)+len(b.DropContents)+len(b.Settings)+len(b.DropSettings)+len(b.Audit) == 0 && b.Access == nil
}
