// Package connections describes connected clients, in the same way for every protocol. It holds
// values and a [Source] of them; it does not know how a client is connected.
package connections

import (
	"errors"
	"strings"
	"time"

	"mayfly/engine"
)

// ErrClosed is returned for a connection that has been closed.
var ErrClosed = errors.New("the connection has ended")

// Prefix begins the name of a connected client in locks, sessions and events; the name that
// the client gives itself follows.
const Prefix = "AMQP "

// A Connection is a client's connection, as it was at one instant.
type Connection struct {
	ID     string // unique while the namespace is open
	Client string // its name in locks, sessions and events: Prefix and Container, else Remote
	Library

	Container string // the name that the client gives itself, printable and not long; may be empty
	Remote    string // its address: "10.0.0.7:51234"
	TLS       bool   // as far as this server can see
	WebSocket bool

	Since        time.Time // when it was opened
	LastReceived time.Time // when the last bytes arrived from the client

	Sessions int   // AMQP sessions, not message sessions
	Memory   int64 // bytes counted for its links, sessions and unsettled deliveries
	Traffic

	Links  []Link // the first ones, up to the number asked for, oldest first
	Totals        // over all its links
}

// A Library is the client library, as the client itself reports it.
type Library struct {
	SDK      SDK
	Product  string // "MSGolangClient"; may be empty
	Version  string // of the library; may be empty
	Platform string // language and machine in one text; may be empty
	// Application is the name that the program using the library gives itself. It is empty for
	// most programs.
	Application string
}

// An SDK is one of Azure's client libraries for Service Bus.
type SDK string

// The SDKs. Other means any other AMQP client.
const (
	Other      SDK = ""
	Go         SDK = "go"
	Python     SDK = "python"
	JavaScript SDK = "javascript"
	Java       SDK = "java"
	DotNET     SDK = "dotnet"
)

// Name returns the SDK's usual name, or "" for Other.
func (s SDK) Name() string {
	return map[SDK]string{Go: "Go SDK", Python: "Python SDK", JavaScript: "JavaScript SDK", Java: "Java SDK", DotNET: ".NET SDK"}[s]
}

// Traffic counts frames and bytes since a connection was opened. In counts what the client has
// sent.
type Traffic struct {
	FramesIn, FramesOut uint64
	BytesIn, BytesOut   uint64
}

// A Totals holds the totals over all links of a connection.
type Totals struct {
	Attached           int    // links to entities, including those that wait for a session
	Receivers, Senders int    // of these
	Credit             int    // messages that its receivers still ask for
	Unsettled          int    // deliveries that the client has not settled
	Starved            int    // receivers that wait for memory
	Locks              int    // message locks that its links hold
	Sent, Delivered    uint64 // messages sent by these links, and delivered to them
}

// Add adds a link to the sum.
func (s *Totals) Add(l Link) {
	switch l.Role {
	case Receiver:
		s.Attached++
		s.Receivers++
		s.Credit += l.Credit
		s.Delivered += l.Messages
	case Sender:
		s.Attached++
		s.Senders++
		s.Sent += l.Messages
	case Manager:
	}
	if l.Starved {
		s.Starved++
	}
	s.Unsettled += l.Unsettled
	s.Locks += l.Locks
}

// A Role is what a client does on a link.
type Role string

// The roles.
const (
	Receiver Role = "receiver"
	Sender   Role = "sender"
	Manager  Role = "management" // sends requests to an entity's $management
)

// A Link is a client's link to an entity, as it was at one instant.
type Link struct {
	Name string // given by the client, cut if it is long
	// Identifier is the name that the client's program gave its sender or receiver, as SDKs
	// other than Go's report it; cut if it is long. It is empty if the client does not report it.
	Identifier string
	Path       engine.Path
	Role       Role
	Since      time.Time // when it was attached, or began to wait for a session

	// The fields below are of receivers, except Credit and Messages.
	ReceiveAndDelete bool   // receive-and-delete mode
	Starved          bool   // gets no deliveries until this or other clients settle some
	WaitsForSession  bool   // waits for a session
	Session          string // the session that it holds
	HoldsSession     bool   // it holds a session, whose id may be empty

	Credit    int // messages that it may still be given, or, of a sender, that it may still send
	Buffered  int // messages taken from the queue for it and not yet written
	Unsettled int // deliveries that it has not settled
	Locks     int // message locks of this link: its Unsettled and Buffered deliveries, unless ReceiveAndDelete is set

	Messages uint64 // delivered to it, or sent by it
}

// ConcernsEntity reports whether the link is to entity, to its dead letters or, if entity is a topic, to
// one of its subscriptions.
func (l Link) ConcernsEntity(entity engine.Path) bool {
	rest, ok := strings.CutPrefix(l.Path.Fold(), entity.Fold())
	return ok && (rest == "" || rest[0] == '/')
}

// maxLockedScan is how many locked messages of all clients are examined to find those of one
// client.
const maxLockedScan = 2000

// LockedQuery returns a query for at most `most` messages that c has locked. It examines the entities
// of c's receiving links first, and then the other subqueues in `locked`, which have locked messages.
func (c Connection) LockedQuery(locked []engine.Subqueue, most int) engine.LockQuery {
	q := engine.LockQuery{Client: c.Client, Limit: most, MaxLooks: maxLockedScan}
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
	Entity engine.Path // only connections with a link to it, and such links listed first; empty means any
	Client string      // only connections with this Client; empty means any
	Before uint64      // only connections older than the one with this number; zero means any
	Limit  int         // zero means no limit
	Links  int         // links listed of each connection; zero means none
}

// A List is the answer to a Query, newest first.
type List struct {
	Connections []Connection
	Total       int    // how many connections there are, without the filter
	Before      uint64 // the Query.Before of the next page; zero if this is the last
}

// A Source lists connections and closes them. It is safe for concurrent use and never waits
// for a connection.
type Source interface {
	Connections(q Query) List
	// Connection returns a connection with at most `links` of its links. It returns false if the
	// connection is closed.
	Connection(id string, links int) (c Connection, ok bool)
	// Client returns the client with this name in locks and events, whether it is connected or
	// has recently disconnected; in the latter case DisconnectedAt is set and ID is empty. Of several
	// clients with the same name it returns the newest. It returns false if no such client is
	// remembered.
	Client(name string) (c Client, ok bool)
	// Disconnect closes a connection with an error that gives the client the reason. It returns
	// false if the connection is already closed.
	Disconnect(id string) (c Connection, ok bool)
}

// A Client is a client that is connected or has disconnected.
type Client struct {
	ID        string // of the connection; empty if it is closed
	Container string
	Library
	DisconnectedAt time.Time // when it disconnected; zero if it is connected
}
