package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/peers"
)

const (
	connectionsCount = 100   // connections of an answer, unless fewer or more are asked for
	connectionsMost  = 1000  // of one answer at most
	linksMost        = 10000 // links of one connection
)

// Connections is the answer of GET /connections.
type Connections struct {
	Connections []Connection `json:"connections"`    // newest first, without their links
	All         int          `json:"all"`            // how many there are, whatever was asked for
	Next        string       `json:"next,omitempty"` // for before, to go on; missing: these were the last
}

// Connection is a client that stays connected.
type Connection struct {
	ID          string    `json:"id"`
	Client      string    `json:"client"` // by which locks and activity name it
	Container   string    `json:"container"`
	SDK         string    `json:"sdk,omitempty"` // go, python, javascript, java or dotnet; missing: another
	Product     string    `json:"product,omitempty"`
	Version     string    `json:"version,omitempty"`
	Platform    string    `json:"platform,omitempty"`
	Application string    `json:"application,omitempty"` // what the program calls itself
	Remote      string    `json:"remote"`
	TLS         bool      `json:"tls"`
	WebSocket   bool      `json:"webSocket"`
	Since       time.Time `json:"since"`
	Heard       time.Time `json:"heard"` // when anything came from it last
	Sessions    int       `json:"sessions"`

	FramesIn  uint64 `json:"framesIn"` // from the client
	FramesOut uint64 `json:"framesOut"`
	BytesIn   uint64 `json:"bytesIn"`
	BytesOut  uint64 `json:"bytesOut"`

	Receivers int `json:"receivers"`
	Senders   int `json:"senders"`
	Credit    int `json:"credit"` // messages that its receivers still ask for
	Unsettled int `json:"unsettled"`
	Locks     int `json:"locks"`

	Links []Link `json:"links,omitempty"` // of GET /connections/{id}
}

// Link is one end of a client at an entity.
type Link struct {
	Name       string    `json:"name"`
	Identifier string    `json:"identifier,omitempty"` // of the client's sender or receiver, as its program has it
	Path       string    `json:"path"`
	Role       string    `json:"role"` // receiver, sender or management
	Since      time.Time `json:"since"`
	Mode       string    `json:"mode,omitempty"`    // of a receiver: peek-lock or receive-and-delete
	Waiting    bool      `json:"waiting,omitempty"` // for a session
	Session    *string   `json:"session,omitempty"` // that it holds
	Credit     int       `json:"credit"`
	Ahead      int       `json:"ahead"` // messages taken for it and not sent to it yet
	Unsettled  int       `json:"unsettled"`
	Locks      int       `json:"locks"`
	Messages   uint64    `json:"messages"` // that have passed
}

func connectionRoutes() []route {
	over := []string{"ConnectionNotFound"}
	return []route{
		{
			method: "GET", path: "/connections", id: "listConnections", group: groupConnections, summary: "Clients that stay connected (AMQP), newest first",
			query: []parameter{
				entityPath("Only clients with a link there, to its dead letters or, for a topic, to one of its subscriptions."),
				word("before", "What an answer had as next, to go on."),
				whole("count", 1, connectionsMost, fmt.Sprintf("How many at most; %d if absent.", connectionsCount)),
			},
			gives: Connections{}, serve: (*door).connections,
		},
		{
			method: "GET", path: "/connections/{id}", id: "getConnection", group: groupConnections, summary: "One client, with its links",
			about: "A connection's id is its own while the namespace is open.",
			gives: Connection{}, fails: over, serve: (*door).connection,
		},
		{
			method: "DELETE", path: "/connections/{id}", id: "disconnect", group: groupConnections, summary: "Disconnect a client: SDKs connect again",
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
			return reply(c, http.StatusOK, presentConnection(p))
		}
	}
	return noConnection(c)
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
