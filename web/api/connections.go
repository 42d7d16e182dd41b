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
	"mayfly/engine/shorten"
	"mayfly/web/auth"
	"mayfly/web/connections"
)

const (
	connectionsCount = 100   // connections of an answer by default
	maxConnections   = 1000  // connections of an answer at most
	maxLinks         = 10000 // links of one connection
	maxHeld          = 1000  // messages that a connection has locked
)

// Connections is the answer of GET /connections.
type Connections struct {
	Connections []Connection `json:"connections"`    // newest first, without their links
	Total       int          `json:"total"`          // the number of all connections, whatever the query
	Next        string       `json:"next,omitempty"` // value for cursor to continue; missing on the last page
}

// Connection is a connected client.
type Connection struct {
	ID             string    `json:"id"`                    // identifies it in requests
	Client         string    `json:"client"`                // its name in locks and activity
	Container      string    `json:"container"`             // the client's container id on the wire
	SDK            string    `json:"sdk,omitempty"`         // go, python, javascript, java or dotnet; missing if it is another
	Product        string    `json:"product,omitempty"`     // as reported by the client
	Version        string    `json:"version,omitempty"`     // of its SDK
	Platform       string    `json:"platform,omitempty"`    // as reported by the client
	Application    string    `json:"application,omitempty"` // the program's own name
	RemoteAddress  string    `json:"remoteAddress"`         // its address and port
	TLS            bool      `json:"tls"`                   // whether the connection has TLS
	WebSocket      bool      `json:"webSocket"`             // whether the connection is inside a WebSocket
	ConnectedAt    time.Time `json:"connectedAt"`           // when it connected
	LastReceivedAt time.Time `json:"lastReceivedAt"`        // when its last bytes arrived
	Sessions       int       `json:"sessions"`              // AMQP sessions

	FramesIn  uint64 `json:"framesIn"`  // from the client
	FramesOut uint64 `json:"framesOut"` // to the client
	BytesIn   uint64 `json:"bytesIn"`   // from the client
	BytesOut  uint64 `json:"bytesOut"`  // to the client

	Receivers int `json:"receivers"` // receiving links
	Senders   int `json:"senders"`   // sending links
	Credit    int `json:"credit"`    // messages that its receivers may still be sent
	Unsettled int `json:"unsettled"` // deliveries that neither side has settled
	Locks     int `json:"locks"`     // messages locked for it

	Memory           int64 `json:"memory"`           // bytes of --limit link-bytes that its links, sessions and unsettled deliveries take
	WaitingForMemory int   `json:"waitingForMemory"` // receivers that wait for memory until clients settle messages

	Links []Link `json:"links,omitempty"` // only in GET /connections/{id}

	LockedMessages     []LockedMessage `json:"lockedMessages,omitempty"`     // only in GET /connections/{id}: the first messages that it has locked
	MoreLockedMessages bool            `json:"moreLockedMessages,omitempty"` // there may be more locked messages than these
}

// LockedMessage is a message that a client has locked.
type LockedMessage struct {
	Key            string    `json:"key"`            // the message's
	Path           string    `json:"path"`           // where it is
	SequenceNumber int64     `json:"sequenceNumber"` // in that path
	LockedUntil    time.Time `json:"lockedUntil"`    // when the lock expires
	LockHistory
}

// LockHistory is when a lock was taken and renewed.
type LockHistory struct {
	LockedSince   *time.Time `json:"lockedSince,omitempty"`   // when it was taken; missing if there is no lock, or if it was taken before a restart
	LockRenewals  int        `json:"lockRenewals,omitempty"`  // how often it was renewed since; missing if never
	LockRenewedAt *time.Time `json:"lockRenewedAt,omitempty"` // when it was last renewed
}

func presentLockHistory(l engine.Lock) LockHistory {
	return LockHistory{LockedSince: timeOf(l.Since), LockRenewals: l.Renewals, LockRenewedAt: timeOf(l.RenewedAt)}
}

// Link is a client's AMQP link to an entity.
type Link struct {
	Name             string    `json:"name"`                       // as named by the client
	Identifier       string    `json:"identifier,omitempty"`       // the id that the program gave its sender or receiver
	Path             string    `json:"path"`                       // its entity
	Role             string    `json:"role"`                       // receiver, sender or management
	AttachedAt       time.Time `json:"attachedAt"`                 // when it was attached
	Mode             string    `json:"mode,omitempty"`             // for a receiver: peek-lock or receive-and-delete
	Waiting          bool      `json:"waiting,omitempty"`          // the receiver waits for a session
	WaitingForMemory bool      `json:"waitingForMemory,omitempty"` // the receiver waits for memory
	SessionID        *string   `json:"sessionId,omitempty"`        // the session that it holds; see GET /session
	Credit           int       `json:"credit"`                     // messages that it may still be sent
	Prefetched       int       `json:"prefetched"`                 // messages taken for it but not sent to it yet
	Unsettled        int       `json:"unsettled"`                  // deliveries that neither side has settled
	Locks            int       `json:"locks"`                      // messages locked for it
	Messages         uint64    `json:"messages"`                   // messages transferred
}

func connectionRoutes() []route {
	over := []string{"ConnectionNotFound"}
	return []route{
		{
			method: "GET", path: "/connections", id: "listConnections", group: groupConnections, summary: "List connected AMQP clients, newest first",
			exampleQuery: "entity=orders",
			query: []parameter{
				entityPath("Only clients with a link to this entity, to its dead letters or, for a topic, to one of its subscriptions."),
				textParameter("cursor", "The next of the previous answer, to continue.").withExample("12"),
				numberParameter("limit", 1, maxConnections, fmt.Sprintf("The maximum number of results; %d if absent.", connectionsCount)),
			},
			response: Connections{}, handle: (*handler).connections,
		},
		{
			method: "GET", path: "/connections/{id}", id: "getConnection", group: groupConnections, summary: "Get a client, its links and its locked messages",
			exampleParam: "1-17", nameMeaning: "The ID of a connection.",
			description: "IDs of connections are unique while the namespace is open.",
			response:    Connection{}, problems: over, handle: (*handler).connection,
		},
		{
			method: "DELETE", path: "/connections/{id}", id: "closeConnection", role: auth.Operator, group: groupConnections, summary: "Disconnect a client",
			exampleParam: "1-17", nameMeaning: "The ID of a connection.",
			description: "SDKs connect again. Messages that the client has locked stay locked until their locks expire.",
			problems:    over, handle: (*handler).disconnect,
		},
	}
}

// connections lists connected clients.
func (d *handler) connections(c echo.Context) error {
	q := query(c)
	ask := connections.Query{Limit: int(number(c, "limit", connectionsCount))}
	var err error
	if q.Has("cursor") {
		if ask.Before, err = strconv.ParseUint(q.Get("cursor"), 10, 64); err != nil || ask.Before == 0 {
			return engine.Refuse(engine.ErrArgument, "The value for 'cursor' must be the 'next' of a previous answer, not '%s'.", shorten.Quote(q.Get("cursor")))
		}
	}
	if q.Has("entity") {
		if ask.Entity, err = engine.ParsePath(q.Get("entity"), d.broker.Limits()); err != nil {
			return err
		}
	}
	out := Connections{Connections: []Connection{}}
	if d.clients != nil {
		list := d.clients.Connections(ask)
		out.Total = list.Total
		for _, p := range list.Connections {
			out.Connections = append(out.Connections, presentConnection(p))
		}
		if list.Before != 0 {
			out.Next = strconv.FormatUint(list.Before, 10)
		}
	}
	return reply(c, http.StatusOK, out)
}

// connection returns one connection, with its links.
func (d *handler) connection(c echo.Context) error {
	if d.clients != nil {
		if p, ok := d.clients.Connection(c.Param("id"), maxLinks); ok {
			out := presentConnection(p)
			err := d.broker.Read(c.Request().Context(), func(r broker.Reader) error {
				rows, all := r.LockedBy(p.LockedQuery(r.SubqueuesWith(engine.ClassLocked), maxHeld))
				out.LockedMessages, out.MoreLockedMessages = presentLocked(rows), !all
				return nil
			})
			if err != nil {
				return err
			}
			return reply(c, http.StatusOK, out)
		}
	}
	return errNoConnection(c)
}

func presentLocked(rows []engine.Row) (out []LockedMessage) {
	for _, row := range rows {
		m := row.Message
		out = append(out, LockedMessage{
			Key: fmt.Sprint(uint64(m.Key)), Path: string(row.Path), SequenceNumber: int64(m.Seq), LockedUntil: m.LockedUntil.Time(), LockHistory: presentLockHistory(row.Lock),
		})
	}
	return out
}

// disconnect closes a connection with amqp:connection:forced; SDKs then reconnect. Its locks
// stay until they expire. The audit event is written first: if that fails, the connection
// stays.
func (d *handler) disconnect(c echo.Context) error {
	if d.clients == nil {
		return errNoConnection(c)
	}
	p, ok := d.clients.Connection(c.Param("id"), 0)
	if !ok {
		return errNoConnection(c)
	}
	if err := d.broker.AuditDisconnect(c.Request().Context(), p.Client, client(c.Request())); err != nil {
		return err
	}
	d.clients.Disconnect(p.ID) // it may have left in the meantime, which is fine
	return c.NoContent(http.StatusNoContent)
}

func errNoConnection(c echo.Context) error {
	return fmt.Errorf("'%s': %w", shorten.Quote(c.Param("id")), connections.ErrClosed)
}

func presentConnection(p connections.Connection) Connection {
	out := Connection{
		ID: p.ID, Client: p.Client, Container: p.Container, SDK: string(p.SDK), Product: p.Product, Version: p.Version, Platform: p.Platform, Application: p.Application,
		RemoteAddress: p.Remote, TLS: p.TLS, WebSocket: p.WebSocket, ConnectedAt: p.Since.UTC(), LastReceivedAt: p.LastReceived.UTC(), Sessions: p.Sessions,
		FramesIn: p.FramesIn, FramesOut: p.FramesOut, BytesIn: p.BytesIn, BytesOut: p.BytesOut,
		Receivers: p.Receivers, Senders: p.Senders, Credit: p.Credit, Unsettled: p.Unsettled, Locks: p.Locks,
		Memory: p.Memory, WaitingForMemory: p.Starved,
	}
	for _, l := range p.Links {
		link := Link{
			Name: l.Name, Identifier: l.Identifier, Path: strings.ToValidUTF8(string(l.Path), ""), Role: string(l.Role), AttachedAt: l.Since.UTC(), Waiting: l.WaitsForSession, WaitingForMemory: l.Starved,
			Credit: l.Credit, Prefetched: l.Buffered, Unsettled: l.Unsettled, Locks: l.Locks, Messages: l.Messages,
		}
		if l.Role == connections.Receiver {
			link.Mode = "peek-lock"
			if l.ReceiveAndDelete {
				link.Mode = "receive-and-delete"
			}
		}
		if l.HoldsSession {
			link.SessionID = &l.Session
		}
		out.Links = append(out.Links, link)
	}
	return out
}
