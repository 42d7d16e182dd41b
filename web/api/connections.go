package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/identity"
	"mayfly/web/peers"
)

const (
	connectionsCount = 100   // connections of an answer, unless fewer or more are asked for
	connectionsMost  = 1000  // of one answer at most
	linksMost        = 10000 // links of one connection
	heldMost         = 1000  // messages that it has locked
)

// Connections is the answer of GET /connections.
type Connections struct {
	Connections []Connection `json:"connections"`    // newest first, without their links
	All         int          `json:"all"`            // how many there are, whatever was asked for
	Next        string       `json:"next,omitempty"` // for before, to go on; missing: these were the last
}

// Connection is a client that stays connected.
type Connection struct {
	ID          string    `json:"id"`                    // by which it is asked for
	Client      string    `json:"client"`                // by which locks and activity name it
	Container   string    `json:"container"`             // as the client calls itself on the wire
	SDK         string    `json:"sdk,omitempty"`         // go, python, javascript, java or dotnet; missing: another
	Product     string    `json:"product,omitempty"`     // as it says
	Version     string    `json:"version,omitempty"`     // of its SDK
	Platform    string    `json:"platform,omitempty"`    // as it says
	Application string    `json:"application,omitempty"` // what the program calls itself
	Remote      string    `json:"remote"`                // its address and port
	TLS         bool      `json:"tls"`                   // whether it came with TLS
	WebSocket   bool      `json:"webSocket"`             // whether it came inside a WebSocket
	Since       time.Time `json:"since"`                 // when it came
	Heard       time.Time `json:"heard"`                 // when anything came from it last
	Sessions    int       `json:"sessions"`              // of AMQP

	FramesIn  uint64 `json:"framesIn"`  // from the client
	FramesOut uint64 `json:"framesOut"` // to the client
	BytesIn   uint64 `json:"bytesIn"`   // from the client
	BytesOut  uint64 `json:"bytesOut"`  // to the client

	Receivers int `json:"receivers"` // links that receive
	Senders   int `json:"senders"`   // links that send
	Credit    int `json:"credit"`    // messages that its receivers still ask for
	Unsettled int `json:"unsettled"` // deliveries that neither side has settled
	Locks     int `json:"locks"`     // messages locked for it

	Links []Link `json:"links,omitempty"` // of GET /connections/{id}

	Held     []Held `json:"held,omitempty"`     // of GET /connections/{id}: messages that it has locked, the first of them
	HeldMore bool   `json:"heldMore,omitempty"` // there may be more than those in held
}

// Held is a message that a client has locked.
type Held struct {
	Key            string    `json:"key"`            // the message's
	Path           string    `json:"path"`           // where it is
	SequenceNumber int64     `json:"sequenceNumber"` // of that place
	LockedUntil    time.Time `json:"lockedUntil"`    // when the lock runs out
	Tenure
}

// Tenure is what is known of a lock beside its end.
type Tenure struct {
	LockedSince   *time.Time `json:"lockedSince,omitempty"`   // when it began; missing: there is no lock, or it began before a restart
	LockRenewals  int        `json:"lockRenewals,omitempty"`  // how often it was renewed since; missing: never
	LockRenewedAt *time.Time `json:"lockRenewedAt,omitempty"` // when it was renewed last
}

func presentTenure(l engine.Lock) Tenure {
	return Tenure{LockedSince: moment(l.Since), LockRenewals: l.Renewals, LockRenewedAt: moment(l.RenewedAt)}
}

// Link is one end of a client at an entity.
type Link struct {
	Name       string    `json:"name"`                 // as the client calls it
	Identifier string    `json:"identifier,omitempty"` // of the client's sender or receiver, as its program has it
	Path       string    `json:"path"`                 // where it leads
	Role       string    `json:"role"`                 // receiver, sender or management
	Since      time.Time `json:"since"`                // when it was attached
	Mode       string    `json:"mode,omitempty"`       // of a receiver: peek-lock or receive-and-delete
	Waiting    bool      `json:"waiting,omitempty"`    // for a session
	Session    *string   `json:"session,omitempty"`    // that it holds, which GET /session tells more of
	Credit     int       `json:"credit"`               // messages that it still asks for
	Ahead      int       `json:"ahead"`                // messages taken for it and not sent to it yet
	Unsettled  int       `json:"unsettled"`            // deliveries that neither side has settled
	Locks      int       `json:"locks"`                // messages locked for it
	Messages   uint64    `json:"messages"`             // that have passed
}

func connectionRoutes() []route {
	over := []string{"ConnectionNotFound"}
	return []route{
		{
			method: "GET", path: "/connections", id: "listConnections", group: groupConnections, summary: "Clients that stay connected (AMQP), newest first",
			ask: "entity=orders",
			query: []parameter{
				entityPath("Only clients with a link there, to its dead letters or, for a topic, to one of its subscriptions."),
				word("before", "What an answer had as next, to go on.").like("12"),
				whole("count", 1, connectionsMost, fmt.Sprintf("How many at most; %d if absent.", connectionsCount)),
			},
			gives: Connections{}, serve: (*door).connections,
		},
		{
			method: "GET", path: "/connections/{id}", id: "getConnection", group: groupConnections, summary: "One client, with its links and what it has locked",
			at: "1-17", part: "The id of a connection.",
			about: "A connection's id is its own while the namespace is open.",
			gives: Connection{}, fails: over, serve: (*door).connection,
		},
		{
			method: "DELETE", path: "/connections/{id}", id: "disconnect", needs: identity.Operator, group: groupConnections, summary: "Disconnect a client: SDKs connect again",
			at: "1-17", part: "The id of a connection.",
			about: "What was locked on it stays locked until the lock runs out.",
			fails: over, serve: (*door).disconnect,
		},
	}
}

// connections lists clients that stay connected.
func (d *door) connections(c echo.Context) error {
	q := query(c)
	ask := peers.Query{Limit: int(number(c, "count", connectionsCount))}
	var err error
	if q.Has("before") {
		if ask.Before, err = strconv.ParseUint(q.Get("before"), 10, 64); err != nil || ask.Before == 0 {
			return argument("What is given as 'before' is what an answer had as 'next', not '%s'.", cut(q.Get("before")))
		}
	}
	if q.Has("entity") {
		if ask.Entity, err = engine.ParsePath(q.Get("entity"), d.broker.Limits()); err != nil {
			return err
		}
	}
	out := Connections{Connections: []Connection{}}
	if d.peers != nil {
		list := d.peers.Connections(ask)
		out.All = list.All
		for _, p := range list.Connections {
			out.Connections = append(out.Connections, presentConnection(p))
		}
		if list.Before != 0 {
			out.Next = strconv.FormatUint(list.Before, 10)
		}
	}
	return reply(c, http.StatusOK, out)
}

// connection is one, with its links.
func (d *door) connection(c echo.Context) error {
	if d.peers != nil {
		if p, ok := d.peers.Connection(c.Param("id"), linksMost); ok {
			out := presentConnection(p)
			err := d.broker.Read(c.Request().Context(), func(r broker.Reader) error {
				rows, all := r.Holding(p.Holding(r.Rooms(engine.ClassLocked), heldMost))
				out.Held, out.HeldMore = presentHeld(rows), !all
				return nil
			})
			if err != nil {
				return err //nolint:wrapcheck // the broker says what it is about
			}
			return reply(c, http.StatusOK, out)
		}
	}
	return noConnection(c)
}

func presentHeld(rows []engine.Row) (out []Held) {
	for _, row := range rows {
		m := row.Message
		out = append(out, Held{
			Key: fmt.Sprint(uint64(m.Key)), Path: string(row.Path), SequenceNumber: int64(m.Seq), LockedUntil: m.LockedUntil.Time(), Tenure: presentTenure(row.Lock),
		})
	}
	return out
}

// disconnect closes one with amqp:connection:forced, after which an SDK connects
// again. Its locks stay until they run out. Who did it is remembered before: while
// that cannot be written, the connection stays.
func (d *door) disconnect(c echo.Context) error {
	if d.peers == nil {
		return noConnection(c)
	}
	p, ok := d.peers.Connection(c.Param("id"), 0)
	if !ok {
		return noConnection(c)
	}
	if err := d.broker.Disconnected(c.Request().Context(), p.Client, client(c.Request())); err != nil {
		return err
	}
	d.peers.Disconnect(p.ID) // that it has left meanwhile is what was wanted
	return c.NoContent(http.StatusNoContent)
}

func noConnection(c echo.Context) error {
	return fmt.Errorf("'%s': %w", cut(c.Param("id")), peers.ErrOver)
}

func presentConnection(p peers.Connection) Connection {
	out := Connection{
		ID: p.ID, Client: p.Client, Container: p.Container, SDK: string(p.SDK), Product: p.Product, Version: p.Version, Platform: p.Platform, Application: p.Application,
		Remote: p.Remote, TLS: p.TLS, WebSocket: p.WebSocket, Since: p.Since.UTC(), Heard: p.Heard.UTC(), Sessions: p.Sessions,
		FramesIn: p.FramesIn, FramesOut: p.FramesOut, BytesIn: p.BytesIn, BytesOut: p.BytesOut,
		Receivers: p.Receivers, Senders: p.Senders, Credit: p.Credit, Unsettled: p.Unsettled, Locks: p.Locks,
	}
	for _, l := range p.Links {
		link := Link{
			Name: l.Name, Identifier: l.Identifier, Path: strings.ToValidUTF8(string(l.Path), ""), Role: string(l.Role), Since: l.Since.UTC(), Waiting: l.Waits,
			Credit: l.Credit, Ahead: l.Ahead, Unsettled: l.Unsettled, Locks: l.Locks, Messages: l.Messages,
		}
		if l.Role == peers.Receiver {
			link.Mode = "peek-lock"
			if l.Deletes {
				link.Mode = "receive-and-delete"
			}
		}
		if l.Holds {
			link.Session = &l.Session
		}
		out.Links = append(out.Links, link)
	}
	return out
}
