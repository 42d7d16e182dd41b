// Package api is the JSON API of the dashboard's port, which the command line
// uses too. Everything is below /api/v1:
//
//	GET    /health                         what keeps the broker from working, if anything does
//	GET    /entities[?kind=queue]          all entities, or those of a kind
//	POST   /entities                       create: {"kind":"queue","path":"orders","properties":{…}}; 201
//	GET    /entities/{path}                one entity
//	PATCH  /entities/{path}[?dryRun=true]  change some properties: {"properties":{…}}; or say what it would cost
//	DELETE /entities/{path}[?count=N]      delete with everything in it; 204
//	POST   /send/{path}[?create=queue]     send a message, or a list of them, all or none; 201
//	GET    /peek/{path}[?from=1&count=20]  look at messages without touching them
//	POST   /receive/{path}                 take messages: {"mode":"peek-lock","max":1,"wait":"10s"}
//	POST   /settle                         end a delivery: {"lockToken":"…","outcome":"complete"}; 204
//	POST   /renew                          start a lock anew: {"lockToken":"…"}
//	GET    /rules/{subscription}           its rules
//	POST   /rules/{subscription}           one more: {"name":"dear","filter":"price > 10","action":"SET dear = TRUE"}; 201
//	PUT    /rules/{subscription}           give a rule another filter and action
//	DELETE /rules/{subscription}?name=N    204
//	POST   /try/{topic or subscription}    what the rules make of a message that is not sent: {"message":{…}}
//	GET    /sessions/{path}[?from=ID]      sessions, by id
//	GET    /session/{path}?id=ID           one, with its state
//	PUT    /session/{path}?id=ID           set its state: {"state":"…"}; {} clears it; see below
//	DELETE /session/{path}?id=ID           end its lock as if it had run out; 204
//	POST   /accept/{path}                  take a session: {"session":"ID"}, or the next one: {"wait":"10s"}; 201
//	DELETE /accept/{path}?hold=H           give it back; 204
//	POST   /purge/{path}                   remove messages: {"states":["active"],"count":N,"filter":"price > 10"}
//	GET    /export/{path}[?state=active]   the messages there, a JSON line each; see below
//	POST   /import/{path}[?ttl=remaining]  send the messages of an export
//	GET    /connections[?entity=P&count=N] clients that stay connected (AMQP), newest first
//	GET    /connections/{id}               one, with its links
//	DELETE /connections/{id}               disconnect it: SDKs connect again; 204
//	GET    /access[?keys=true]             the namespace's access rules; keys only if they are asked for
//	PUT    /access/{name}                  add a rule, or change it: {"rights":["Send","Listen"],"primaryKey":"…"}
//	POST   /access/{name}/renew?key=K      another primary or secondary key, at random
//	DELETE /access/{name}                  204
//	       …?entity=PATH                   each of these for the rules of a queue or topic
//	GET    /activity[?scope=all&count=100] what was done and what happened, newest first
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
// large requests come at once, some wait, or are told to come again (503). In
// answers a body of more than 1 MiB is left out and "bodyOmitted" is true: the
// REST data plane gives it, and so does /n/{namespace}/m/{key}/body. Only what was
// received and deleted is given whatever its size, as base64, since nobody could
// ask for it again.
//
// With ?create=queue a missing queue is made before the message is sent, so
// that a first try needs nothing else.
//
// The answer to /send has a number for each message, in order. A 0 stands for one
// that was accepted and dropped as a duplicate of one sent before; "duplicates"
// says how many there are of these. A duplicate that was to be scheduled has a
// number, which nothing has, and is not counted.
//
// A rule without "filter" and "correlation" takes every message. An empty filter
// is an error.
//
// A key that is left out where an access rule is set stays what it was, and is
// made at random for a new rule. The answer has the keys that were given or made by
// it; to see the others, ask for keys. RootManageSharedAccessKey cannot be removed.
//
// A session is received from by what /accept answered: {"hold":"…"} given to
// /receive and /renew. It is over when it is given back or when its lock has run
// out (410).
//
// A state can be set on condition that it is still the one that was seen: give
// the stateTag of GET /session as "seen", as in {"state":"…","seen":"none"}; it is
// 409 if somebody has set another meanwhile.
//
// count, where it may be given, is the number of messages that whoever asks has
// seen: if there is more than a tenth more by now, nothing happens (409).
//
// A shorter DefaultMessageTimeToLive has messages run out that are there, of a topic
// those in its subscriptions. With dryRun=true nothing is changed: "expire" are how
// many would run out at once, "deadLetter" how many of these would become dead
// letters, "whenUnlocked" how many would run out when their locks end, and "unseen"
// how many were too many to look at. What would be refused is refused.
//
// A purge by a filter, SQL as in a rule, removes only messages of which it is
// true. With "dryRun":true it only counts: "matching" are how many would go, and
// "unseen" how many were too many to look at and may match or not. What the
// purge itself takes as count is their sum.
//
// An export has one message in a line, with all that its sender wrote and, in
// "system", what the broker knows of it; state= is all (the default), active,
// locked, deferred or scheduled. A body of more than 1 MiB is in lines of its own that
// follow, "bodyParts" of them. What comes meanwhile is not in it, and an export that
// does not end in order was cut off.
//
// An import sends such lines as they come, so that it may be of any size; a line has at
// most 8 MiB. ttl=keep lets their own time to live begin anew, remaining has them
// expire when they would have (what is past that is left out: "expired"), and drop
// leaves it to the entity. schedule=keep leaves the times of scheduled messages, shift
// moves them by as long as the export is old, and drop sends them at once. ids=new gives
// them other MessageIds. What is refused is counted in "failed", and the first
// hundred are told; a line that cannot be read ends the import, and the error says
// which it was and how many messages were sent before it.
//
// The connections at an entity, ?entity=orders, are those with a link there, to
// its dead letters or, for a topic, to one of its subscriptions. A connection's
// id is its own while the namespace is open. What was locked on one that ends
// stays locked until the lock runs out.
//
// Activity is what operators did and what happened to the server; scope=audit or
// system is one of these, scope=all what happened to messages as well. It can be
// narrowed: path=orders (with its dead letters; a topic with its subscriptions),
// message=KEY (the life of one, of scope all), actor= and q= (part of a text,
// whatever the case), from= and until= (a time such as 2026-07-14T10:30Z), and
// group= entities, arrivals, locks, aside, dead-letters, ends or server. "next" is
// what to give as before= to go on; there may be fewer events than were asked for
// before it, even none. A store that keeps no history answers 501.
//
// What is sent is read strictly: unknown members and query parameters, anything
// after the end, too much of it or nested too deeply are errors. Content-Type
// does not matter. Errors are problem documents (RFC 9457) whose code is the
// name by which Service Bus' clients know them, or one of the same kind where they
// know none, such as AccessRuleNotFound and ConnectionNotFound. While another server owns the
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
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/access"
	"mayfly/web/peers"
)

type door struct {
	broker *broker.Broker
	peers  peers.Source // nil: nobody stays connected
	room   *access.Room
	holds  *holds
	log    *slog.Logger
}

// Mount adds the API of b, and of the clients that stay connected to it, if p is
// not nil, to g and returns what presents its errors. Large requests wait for
// room. What went wrong inside is told to log.
func Mount(g *echo.Group, b *broker.Broker, p peers.Source, room *access.Room, log *slog.Logger) echo.HTTPErrorHandler {
	d := &door{broker: b, peers: p, room: room, holds: &holds{}, log: log}
	g.GET("/health", d.health)
	g.GET("/entities", d.list)
	g.POST("/entities", d.create)
	g.GET("/entities/*", d.entity)
	g.PATCH("/entities/*", d.update)
	g.DELETE("/entities/*", d.remove)
	g.GET("/rules/*", d.rules)
	g.POST("/rules/*", d.addRule)
	g.PUT("/rules/*", d.replaceRule)
	g.DELETE("/rules/*", d.removeRule)
	g.POST("/try/*", d.try)
	g.GET("/sessions/*", d.sessions)
	g.GET("/session/*", d.session)
	g.PUT("/session/*", d.setState)
	g.DELETE("/session/*", d.breakSession)
	g.POST("/accept/*", d.accept)
	g.DELETE("/accept/*", d.giveUp)
	g.POST("/send/*", d.send)
	g.GET("/access", d.accessRules)
	g.PUT("/access/:name", d.setAccessRule)
	g.POST("/access/:name/renew", d.renewAccessKey)
	g.DELETE("/access/:name", d.removeAccessRule)
	g.GET("/peek/*", d.peek)
	g.POST("/receive/*", d.receive)
	g.POST("/settle", d.settle)
	g.POST("/renew", d.renew)
	g.POST("/purge/*", d.purge)
	g.GET("/export/*", d.export)
	g.POST("/import/*", d.importAll)
	g.GET("/activity", d.activity)
	g.GET("/connections", d.connections)
	g.GET("/connections/:id", d.connection)
	g.DELETE("/connections/:id", d.disconnect)
	return d.fail
}

// Refuse is for a server without a broker: every request to g is answered with
// why, as Mount would have presented it. It returns what presents errors.
func Refuse(g *echo.Group, why error, log *slog.Logger) echo.HTTPErrorHandler {
	g.Any("/*", func(echo.Context) error { return why })
	return (&door{log: log}).fail
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

// query refuses parameters that the route does not have, and repeated ones.
func query(c echo.Context, known ...string) (url.Values, error) {
	q, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil {
		return nil, argument("The query cannot be decoded: '%s'.", cut(c.Request().URL.RawQuery))
	}
	for name, values := range q {
		if !slices.Contains(known, name) {
			if len(known) == 0 {
				return nil, argument("There is no query parameter '%s' here, nor any other.", cut(name))
			}
			return nil, argument("There is no query parameter '%s' here; there is %s.", cut(name), strings.Join(known, ", "))
		}
		if len(values) > 1 {
			return nil, argument("The query parameter '%s' is given %d times.", name, len(values))
		}
	}
	return q, nil
}

// client is who asks, for people.
func client(r *http.Request) string {
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
	Status    string `json:"status"` // "ok", "slow", "read-only", "reopening" or "stopped"
	Reason    string `json:"reason,omitempty"`
	Namespace string `json:"namespace"`
	Epoch     uint64 `json:"epoch"`
}

func (d *door) health(c echo.Context) error {
	out := Health{Status: "ok", Namespace: d.broker.Name(), Epoch: d.broker.Epoch()}
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
