// Package api is the JSON API of the dashboard's port, which the command line
// uses too. Everything is below /api/v1. GET /api/v1/openapi.json describes each
// operation in OpenAPI's terms (3.1): what it takes and gives, with which bounds,
// and the problems it can have.
//
// That document and the mounted routes are made of one table. A route stands beside
// its handler, in a function that routes names, as a value of the type route:
//
//	{
//		method: "GET", path: "/sessions/{path}", id: "listSessions", group: groupSessions, summary: "Sessions, by id",
//		query: []parameter{word("from", "The id to begin at."), whole("count", 1, maxSessions, "How many at most.")},
//		at: "chats", ask: "count=20",
//		gives: Sessions{}, fails: []string{"MessagingEntityNotFound"}, serve: (*door).sessions,
//	}
//
// at, ask and sends are an example for readers of the document and of the page
// that shows it, which a test sends: everyExample makes what it is about.
// takes and gives are values of structs: their members are found by reflection and
// explained by the comments beside them. Types that write their JSON themselves are
// in known. A handler is called with a query that its route allows, and asks query
// and number for it; it reads a body by readBody of at most as many bytes as the
// route says. A code in fails is one of failures. Tests hold every answer that they
// get against the document, and send each route what it must refuse.
//
// A path is an entity's, with its slashes escaped or not, and may end in
// /$DeadLetterQueue where there are messages to be had: orders,
// prices/Subscriptions/eu/$DeadLetterQueue.
//
// Properties of entities have Service Bus' names; durations are written PT1M30S,
// 90s or 00:01:30, and "never" is one. Properties of messages are plain JSON, or
// {"type":"int","value":"5"} where the type matters; answers always say the
// type. Times are RFC 3339 in UTC. A body is text in "body" or, where it is not
// UTF-8, base64 in "bodyBase64".
//
// A request other than an import has at most 8 MiB, whatever its entity admits; larger messages go
// through the REST data plane, which does not hold them in memory. When many
// large requests come at once, some wait, or are told to come again (503).
//
// The answer to /send has a number for each message, in order. A 0 stands for one
// that was accepted and dropped as a duplicate of one sent before; "duplicates"
// says how many there are of these. A duplicate that was to be scheduled has a
// number, which nothing has, and is not counted.
//
// What is sent is read strictly: unknown members and query parameters, anything
// after the end, too much of it or nested too deeply are errors. Content-Type
// may be left out; a body that is said to be no JSON is refused (415). Errors are problem documents (RFC 9457) whose code is the
// name by which Service Bus' clients know them, or one of the same kind where they
// know none, such as AccessRuleNotFound,
// ConnectionNotFound, JobNotFound, SceneNotFound and ViewNotFound. While another server owns the
// namespace everything is answered with 503, and "owner" is where that one is.
//
// A client that leaves while it waits loses nothing: what was locked for it is
// given back and does not count as a delivery. What was received and deleted
// is gone, as at-most-once has it.
package api

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/fleet"
	"mayfly/engine/job"
	"mayfly/engine/rescue"
	"mayfly/engine/scene"
	"mayfly/engine/suggest"
	"mayfly/web/access"
	"mayfly/web/figures"
	"mayfly/web/hook"
	"mayfly/web/identity"
	"mayfly/web/keys"
	"mayfly/web/once"
	"mayfly/web/openapi"
	"mayfly/web/peers"
)

type door struct {
	broker *broker.Broker
	peers  peers.Source  // nil: nobody stays connected
	jobs   *job.Jobs     // nil: there are none
	rescue *rescue.Rules // nil: there are none
	hooks  *hook.Sender  // nil: there are none
	fleet  *fleet.Fleet  // nil: there is this one namespace
	plays  *scene.Stages // nil: there are none
	// dials is Options.Connections.
	dials   func(name string) (messages, admin string)
	room    *access.Room
	figures *figures.Recorder // nil: there are none
	keys    *keys.Ring        // nil: there are none
	holds   *holds
	sends   once.Memory[answered] // by Idempotency-Key

	suggests *suggest.Source
	log      *slog.Logger
	safe     bool   // what does away with something is refused
	base     string // the path that the dashboard is served under

	described func() *openapi.Document // makes it once
}

// Options are what the API is of. Broker, Room and Logger are needed.
type Options struct {
	Broker  *broker.Broker
	Peers   peers.Source      // clients that stay connected; zero: there are none
	Jobs    *job.Jobs         // of Broker; zero: there are none
	Rules   *rescue.Rules     // of Broker; zero: there are none
	Hooks   *hook.Sender      // of Rules; zero: there are none
	Figures *figures.Recorder // of Broker; zero: there are none
	Fleet   *fleet.Fleet      // the server's namespaces; zero: there is this one alone
	Scenes  *scene.Stages     // those of Fleet; zero: there are none
	// Connections are what SDKs are given for one of them, for messages and for
	// entities; zero: nobody knows.
	Connections func(name string) (messages, admin string)
	Keys        *keys.Ring   // of the server; zero: there are none
	Base        string       // the path that the dashboard is served under; empty: the root
	Safe        bool         // what does away with something for good is refused: see route.ruin
	Room        *access.Room // for which large requests wait
	Logger      *slog.Logger // is told what went wrong inside
}

// Mount adds the API to g, and to others where it is to be had as well, and returns
// what presents its errors.
func Mount(g *echo.Group, o Options, also ...*echo.Group) echo.HTTPErrorHandler {
	d := &door{broker: o.Broker, peers: o.Peers, jobs: o.Jobs, rescue: o.Rules, hooks: o.Hooks, figures: o.Figures, keys: o.Keys, fleet: o.Fleet, plays: o.Scenes, dials: o.Connections, room: o.Room, holds: &holds{}, safe: o.Safe, suggests: suggest.New(o.Broker), log: o.Logger, base: o.Base}
	d.described = sync.OnceValue(func() *openapi.Document {
		doc := Document()
		doc.Servers[0].URL = o.Base + doc.Servers[0].URL
		return doc
	})
	for _, at := range append([]*echo.Group{g}, also...) {
		for _, r := range routes() {
			d.mount(at, r)
		}
	}
	return d.fail
}

// Refuse is for a server without a broker: every request to g is answered with
// why, as Mount would have presented it, but for those about the server's
// namespaces, if there is a Fleet. It returns what presents errors.
func Refuse(g *echo.Group, why error, o Options) echo.HTTPErrorHandler {
	d := &door{log: o.Logger, fleet: o.Fleet, safe: o.Safe, base: o.Base}
	if d.fleet != nil {
		for _, r := range namespaceRoutes() {
			d.mount(g, r)
		}
	}
	g.Any("/*", func(echo.Context) error { return why })
	return d.fail
}

// path is what follows the route's fixed part, decoded and checked.
func (d *door) path(c echo.Context) (engine.Path, error) {
	rest := strings.TrimPrefix(c.Request().URL.EscapedPath(), strings.TrimSuffix(c.Path(), "*"))
	text, err := url.PathUnescape(rest)
	if err != nil {
		return "", argument("The address cannot be decoded: '%s'.", cut(rest))
	}
	return engine.ParsePath(text, d.broker.Limits())
}

// client is who asks, for people.
func client(r *http.Request) string {
	if name := identity.Asking(r).Name; name != "" {
		return name
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return "API " + host
}

func (d *door) state(ctx context.Context, p engine.Path) (s engine.EntityState, err error) {
	err = d.broker.Read(ctx, func(r broker.Reader) error {
		s, err = r.State(p)
		return err
	})
	return s, err
}

// Health is the answer of GET /health.
type Health struct {
	Status    string `json:"status"`           // "ok", "slow", "read-only", "reopening" or "stopped"
	Reason    string `json:"reason,omitempty"` // why it is not ok
	Namespace string `json:"namespace"`        // the name of it
	Epoch     uint64 `json:"epoch"`            // counts how often it was opened
	Safe      bool   `json:"safe,omitempty"`   // Safe mode is on: what does away with something for good is refused
}

func (d *door) health(c echo.Context) error {
	out := Health{Status: "ok", Namespace: d.broker.Name(), Epoch: d.broker.Epoch(), Safe: d.safe}
	h := d.broker.Health()
	switch {
	case h.Reopening != "":
		out.Status, out.Reason = "reopening", h.Reopening
	case h.ReadOnly != "":
		out.Status, out.Reason = "read-only", h.ReadOnly
	case h.Slow != 0:
		out.Status, out.Reason = "slow", fmt.Sprintf("a write takes %s", h.Slow.Round(time.Millisecond))
	}
	select {
	case <-d.broker.Done():
		out.Status = "stopped"
	default:
	}
	return reply(c, http.StatusOK, out)
}
