// Package api is the JSON API of the dashboard's port, which the command line also uses.
// Everything is below /api/v1. GET /api/v1/openapi.json describes each operation in OpenAPI
// 3.1: its request and answer, their bounds, and the possible problems.
//
// That document and the mounted routes are made from one table. A route is declared beside its
// handler, as a value of type route in a function that routes calls:
//
//	{
//		method: "GET", path: "/sessions/{path}", id: "listSessions", group: groupSessions, summary: "List sessions by ID",
//		query: []parameter{textParameter("from", "The first ID."), numberParameter("limit", 1, maxSessions, "The maximum number of results.")},
//		exampleParam: "chats", exampleQuery: "limit=20",
//		response: Sessions{}, problems: []string{"MessagingEntityNotFound"}, handle: (*handler).listSessions,
//	}
//
// exampleParam, exampleQuery and exampleBody are an example for readers of the document and of
// the page that shows it. A test sends it after everyExample has created the entities and
// messages that it refers to. request and response are values of structs: their members are
// found by reflection and explained by the comments beside them. Types with their own JSON
// encoding are in known. A handler gets a query that its route allows, and reads it with query
// and number; it reads the body with readBody, up to the route's limit. A code in problems is
// one of package errorcodes. Tests check every answer that they get against the document, and send
// each route requests that it must refuse.
//
// A path is an entity's, with its slashes escaped or not, and may end in /$DeadLetterQueue for
// the messages of a dead-letter queue: orders, prices/Subscriptions/eu/$DeadLetterQueue.
//
// Properties of entities have Service Bus' names; durations are written PT1M30S, 90s or
// 00:01:30, and "never" is allowed. Properties of messages are plain JSON, or
// {"type":"int","value":"5"} if the type matters; answers always include the type. Times are
// RFC 3339 in UTC. A body is text in "body" or, if it is not UTF-8, base64 in "bodyBase64".
//
// A request other than an import has at most 8 MiB, whatever its entity allows; larger
// messages go through the REST data plane, which streams them. If many large requests come at
// once, some wait, or are asked to retry (503).
//
// The answer to /send has a number for each message, in order. A 0 means that the message was
// accepted and dropped as a duplicate; "duplicates" counts these. A dropped duplicate of a
// scheduled message has a number that no message has, and is not counted.
//
// Requests are parsed strictly: unknown members and query parameters, trailing data, and too
// large or too deeply nested JSON are errors. Content-Type may be left out; a type other than
// JSON is refused (415). Errors are problem documents (RFC 9457) whose code is the name that
// Service Bus clients know, or a similar one if they know none, such as AccessRuleNotFound,
// ConnectionNotFound, JobNotFound, SceneNotFound and ViewNotFound. While another server owns
// the namespace every request is answered with 503, and "owner" is that server's address.
//
// A client that disconnects while it waits loses nothing: messages that were locked for it are
// released, and that does not count as a delivery. Messages received in receive-and-delete
// mode are lost: their delivery is at most once.
package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/alert"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/engine/job"
	"mayfly/engine/namespaces"
	"mayfly/engine/search/suggest"
	"mayfly/engine/shorten"
	"mayfly/engine/stats"
	"mayfly/web/auth"
	"mayfly/web/auth/token"
	"mayfly/web/connections"
	"mayfly/web/idempotency"
	"mayfly/web/openapi"
	"mayfly/web/proxy"
	"mayfly/web/webhook"
)

type handler struct {
	broker   *broker.Broker
	clients  connections.Source  // nil if there are none
	jobs     *job.Jobs           // nil if there are none
	alerts   *alert.Rules        // nil if there are none
	webhooks *webhook.Sender     // nil if there are none
	manager  *namespaces.Manager // nil if there is only this namespace
	player   *demo.Player        // nil if there are none
	// connectionStrings is Options.ConnectionStrings.
	connectionStrings func(name string) (messages, admin string)

	stats         *stats.Recorder // nil if there are none
	tokenRegistry *token.Registry // nil if there are none
	heldSessions  *heldSessions
	sendResults   idempotency.Cache[keyedAnswer] // by Idempotency-Key

	suggestions *suggest.Suggester
	log         *slog.Logger
	safe        bool   // irreversible deletions are refused
	base        string // the path that the dashboard is served under

	documentOnce func() *openapi.Document // creates the document once
}

// Options are the settings of the API. Broker and Logger are required.
type Options struct {
	Broker     *broker.Broker
	Clients    connections.Source  // connected clients; zero means none
	Jobs       *job.Jobs           // of Broker; zero means none
	AlertRules *alert.Rules        // of Broker; zero means none
	Webhooks   *webhook.Sender     // of AlertRules; zero means none
	Stats      *stats.Recorder     // of Broker; zero means none
	Namespaces *namespaces.Manager // the server's namespaces; zero means that this is the only one
	Scenes     *demo.Player        // of Namespaces; zero means none
	// ConnectionStrings returns a namespace's connection strings for messages and for entities; zero
	// means that they are unknown.
	ConnectionStrings func(name string) (messages, admin string)
	Tokens            *token.Registry // of the server; zero means none
	Base              string          // the path that the dashboard is served under; empty means the root
	Safe              bool            // irreversible deletions are refused: see route.destruction
	Logger            *slog.Logger    // logs internal errors
}

// Mount adds the API to g, and to the other groups, and returns its error handler.
func Mount(g *echo.Group, o Options, also ...*echo.Group) echo.HTTPErrorHandler {
	d := &handler{broker: o.Broker, clients: o.Clients, jobs: o.Jobs, alerts: o.AlertRules, webhooks: o.Webhooks, stats: o.Stats, tokenRegistry: o.Tokens, manager: o.Namespaces, player: o.Scenes, connectionStrings: o.ConnectionStrings, heldSessions: &heldSessions{}, safe: o.Safe, suggestions: suggest.New(o.Broker), log: o.Logger, base: o.Base}
	d.documentOnce = sync.OnceValue(func() *openapi.Document {
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

// Refuse mounts the API of a server without a broker on g. Every request gets the error `why`, except
// requests about the server's namespaces, if o.Namespaces is set. Refuse returns the error handler.
func Refuse(g *echo.Group, why error, o Options) echo.HTTPErrorHandler {
	d := &handler{log: o.Logger, manager: o.Namespaces, safe: o.Safe, base: o.Base}
	if d.manager != nil {
		for _, r := range namespaceRoutes() {
			d.mount(g, r)
		}
	}
	g.Any("/*", func(echo.Context) error { return why })
	return d.fail
}

// path returns the entity's path in the address, decoded and checked.
func (d *handler) path(c echo.Context) (engine.Path, error) {
	rest := strings.TrimPrefix(c.Request().URL.EscapedPath(), strings.TrimSuffix(c.Path(), "*"))
	text, err := url.PathUnescape(rest)
	if err != nil {
		return "", engine.Refuse(engine.ErrArgument, "The address cannot be decoded: '%s'.", shorten.Quote(rest))
	}
	return engine.ParsePath(text, d.broker.Limits())
}

// client returns the name of the caller, for people.
func client(r *http.Request) string {
	if name := auth.FromRequest(r).Name; name != "" {
		return name
	}
	return "API " + proxy.Address(r)
}

func (d *handler) state(ctx context.Context, p engine.Path) (s engine.EntityState, err error) {
	err = d.broker.Read(ctx, func(r broker.Reader) error {
		s, err = r.State(p)
		return err
	})
	return s, err
}

// Health is the answer of GET /health.
type Health struct {
	Status    string `json:"status"`             // "ok", "slow", "memory-full", "read-only", "reopening" or "stopped"
	Reason    string `json:"reason,omitempty"`   // why it is not ok
	Namespace string `json:"namespace"`          // its name
	Epoch     uint64 `json:"epoch"`              // how often the namespace was opened
	Damaged   int    `json:"damaged,omitempty"`  // damaged messages, which are not delivered: see GET /damaged
	SafeMode  bool   `json:"safeMode,omitempty"` // Safe mode is on: irreversible deletions are refused
}

func (d *handler) health(c echo.Context) error {
	out := Health{Status: "ok", Namespace: d.broker.Name(), Epoch: d.broker.Epoch(), SafeMode: d.safe}
	h := d.broker.Health()
	out.Damaged = h.Damaged
	switch {
	case h.Reopening != "":
		out.Status, out.Reason = "reopening", h.Reopening
	case h.ReadOnly != "":
		out.Status, out.Reason = "read-only", h.ReadOnly
	case h.Memory.Full:
		out.Status, out.Reason = "memory-full", fmt.Sprintf("sends are refused: messages use %d of the %d bytes of --limit memory", h.Memory.Used, h.Memory.Limit)
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
