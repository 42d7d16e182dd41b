// Package peers says what is told of the clients that stay connected, the same
// at every door that tells it. It is values and a [Source] of them: of how a
// client is connected it knows nothing.
package peers

import (
	"errors"
	"strings"
	"time"

	"mayfly/engine"
)

// ErrOver says that a connection that somebody asks for is over.
var ErrOver = errors.New("the connection is over")

// Prefix begins the name by which locks, sessions and events know a client that
// stays connected; what it calls itself follows.
const Prefix = "AMQP "

// A Connection is a client's connection, as it was at one instant.
type Connection struct {
	ID     string // one of a kind while the namespace is open
	Client string // how locks, sessions and events name it: Prefix and Container, else Remote
	Kit

	Container string // what the client calls itself, printable and not long; may be empty
	Remote    string // its address: "10.0.0.7:51234"
	TLS       bool   // as far as this server can see
	WebSocket bool

	Since time.Time // it is open
	Heard time.Time // when anything came from it last

	Sessions int // of AMQP, not of messages
	Traffic

	Links []Link // the first that were asked for, by when they were attached
	Sum          // over all its links
}

// A Kit is the library that a client is made with, as it says itself.
type Kit struct {
	SDK      SDK
	Product  string // "MSGolangClient"; may be empty
	Version  string // of the library; may be empty
	Platform string // of the language and the machine, as one text; may be empty
	// Application is what the program that uses the library calls itself; most do
	// not, and it is empty.
	Application string
}

// An SDK is one of the libraries that the service has.
type SDK string

// The SDKs there are; Other is whatever else speaks the protocol.
const (
	Other      SDK = ""
	Go         SDK = "go"
	Python     SDK = "python"
	JavaScript SDK = "javascript"
	Java       SDK = "java"
	DotNET     SDK = "dotnet"
)

// Name is what people call the SDK; empty for Other.
func (s SDK) Name() string {
	return map[SDK]string{Go: "Go SDK", Python: "Python SDK", JavaScript: "JavaScript SDK", Java: "Java SDK", DotNET: ".NET SDK"}[s]
}

// Traffic counts what has passed since the beginning of a connection. In is what
// the client has sent.
type Traffic struct {
	FramesIn, FramesOut uint64
	BytesIn, BytesOut   uint64
}

// A Sum is what all links of a connection come to.
type Sum struct {
	Attached           int    // links to entities, those that wait for a session too
	Receivers, Senders int    // of these
	Credit             int    // messages that its receivers still ask for
	Unsettled          int    // deliveries that it has and has not settled
	Locks              int    // locks on messages that its links have
	Sent, Given        uint64 // messages that these links have sent and were given
}

// Add counts a link.
func (s *Sum) Add(l Link) {
	switch l.Role {
	case Receiver:
		s.Attached++
		s.Receivers++
		s.Credit += l.Credit
		s.Given += l.Messages
	case Sender:
		s.Attached++
		s.Senders++
		s.Sent += l.Messages
	case Manager:
	}
	s.Unsettled += l.Unsettled
	s.Locks += l.Locks
}

// A Role says what a client does on a link.
type Role string

// The roles there are.
const (
	Receiver Role = "receiver"
	Sender   Role = "sender"
	Manager  Role = "management" // it asks for an entity's $management
)

// A Link is one end of a client at an entity, as it was at one instant.
type Link struct {
	Name string // as the client calls it, cut if it is long
	// Identifier is what the client's program calls its sender or receiver, as SDKs
	// other than Go's have it say; cut if it is long. Empty: it does not say.
	Identifier string
	Path       engine.Path
	Role       Role
	Since      time.Time // attached, or began to wait for a session

	// What follows is of a receiver, but for Credit and Messages.
	Deletes bool   // it receives and deletes
	Waits   bool   // it has no session yet, and wants one
	Session string // that it holds
	Holds   bool   // a session, whose id may be empty

	Credit    int // messages that it may still be given, or of a sender that it may still send
	Ahead     int // that are taken for it and not written yet
	Unsettled int // that it was given and has not settled
	Locks     int // on messages, of this link: those Unsettled and Ahead, unless it Deletes

	Messages uint64 // that were given to it, or that it has sent
}

// At tells whether the link is to an entity: to its dead letters, and for a topic
// to one of its subscriptions, too.
func (l Link) At(entity engine.Path) bool {
	rest, ok := strings.CutPrefix(l.Path.Fold(), entity.Fold())
	return ok && (rest == "" || rest[0] == '/')
}

// heldLooked is how many locked messages, whoever has them, are looked at for
// those of one client.
const heldLooked = 2000

// Holding asks for the first messages that c has locked, up to a number of them:
// where c has links that receive, and then wherever else something is locked.
func (c Connection) Holding(locked []engine.Room, most int) engine.Holding {
	q := engine.Holding{Client: c.Client, Limit: most, Look: heldLooked}
	seen := map[engine.Path]bool{}
	add := func(p engine.Path) {
		if at := engine.Path(p.Fold()); !seen[at] {
			seen[at] = true
			q.Paths = append(q.Paths, p)
		}
	}
	for _, l := range c.Links {
		if l.Role != Sender {
			add(l.Path)
		}
	}
	for _, r := range locked {
		add(r.Path)
	}
	return q
}

// A Query picks connections. The zero value picks all.
type Query struct {
	Entity engine.Path // only those with a link at it, and of these such links first; empty: any
	Client string      // only those that locks and events name so; empty: any
	Before uint64      // only those that came before the one this is the number of; zero: any
	Limit  int         // at most so many; zero: no bound
	Links  int         // how many links of each are listed; zero: none
}

// A List is the answer to a Query, newest first.
type List struct {
	Connections []Connection
	All         int    // how many there are, whatever was asked for
	Before      uint64 // what to ask for next; zero: there is no more
}

// A Source tells of connections and ends them. It is safe for concurrent use and
// waits for nobody's connection.
type Source interface {
	Connections(q Query) List
	// Connection is one with at most so many of its links; not ok: it is over.
	Connection(id string, links int) (c Connection, ok bool)
	// Client is who locks and events name so, whether it is still connected or went
	// lately: then Gone says when, and ID is empty. Of several that call themselves
	// alike it is the newest. Not ok: it is not remembered.
	Client(name string) (c Client, ok bool)
	// Disconnect closes a connection with a word to its client; not ok: it is over.
	Disconnect(id string) (c Connection, ok bool)
}

// A Client is somebody who stays connected, or did.
type Client struct {
	ID        string // of the connection; empty: it is over
	Container string
	Kit
	Gone time.Time // zero: it is there
}
