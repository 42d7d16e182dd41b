// Package rest is Service Bus over plain HTTP: the data plane, at the addresses
// and with the headers that clients of the hosted service use, and beside it, at
// every other address, the administration of package atom.
//
//	POST   /{entity}/messages                     send; 201
//	POST   /{entity}/messages/head?timeout=60     lock the next message; 201, 204 none in time
//	DELETE /{entity}/messages/head?timeout=60     receive and delete; 200, 204 none in time
//	PUT    /{entity}/messages/{id}/{lock token}   unlock; 200
//	DELETE /{entity}/messages/{id}/{lock token}   complete; 200
//	POST   /{entity}/messages/{id}/{lock token}   renew the lock; 200
//	GET    /health                                the emulator's
//
// An entity is a queue, a topic (to send to), {topic}/subscriptions/{name}, or
// one of those with /$DeadLetterQueue; its name may contain slashes, and all of
// it is found in any case. id is the sequence number or the MessageId. timeout
// is in seconds, 60 if absent and at most 300.
//
// The body of a request or an answer is the message's. System properties travel
// as JSON in the header BrokerProperties, every other header that HTTP has no
// use for is an application property (see parseHeader). With Content-Type
// application/vnd.microsoft.servicebus.json the body is a list of messages,
// which are stored all or none; it has at most 8 MiB, whatever the entity admits.
//
// Names of headers have no case, and Go's HTTP server writes those it receives
// the usual way: a property sent as "region" arrives as "Region". It is found
// in any case later; in a list of messages names are kept as they are.
//
// An error is <Error><Code/><Detail/></Error>, as clients expect it. A missing
// entity is 410, a missing message or lock 404.
package rest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/access"
	"mayfly/web/rest/atom"
	"mayfly/web/sas"
)

// Waiting for a message, unless the request says otherwise, and at most.
const (
	defaultWait = 60 * time.Second
	longestWait = 300 * time.Second
)

// Options are what the doors serve. All but SAS and Authorize is needed.
type Options struct {
	Broker *broker.Broker
	Room   *access.Room // that lists of messages and large descriptions wait for
	Logger *slog.Logger // of what went wrong inside
	SAS    sas.Policy   // what becomes of requests without a token that is good for them
	// Authorize decides whether a request of administration may be carried out, in
	// place of SAS; see atom.Options.
	Authorize func(*http.Request, atom.Wish) error
}

type door struct {
	broker *broker.Broker
	name   string // of the namespace
	room   *access.Room
	log    *slog.Logger
	admin  *atom.Door
	policy sas.Policy
}

// Mount serves the data plane and the administration, and the errors of both, on
// all of e.
func Mount(e *echo.Echo, o Options) {
	d := &door{broker: o.Broker, name: o.Broker.Name(), room: o.Room, log: o.Logger, policy: o.SAS}
	if o.Authorize == nil && o.SAS == sas.Enforce {
		o.Authorize = d.administer
	}
	admin := atom.Options{Broker: o.Broker, Room: o.Room, Logger: o.Logger, Authorize: o.Authorize}
	if o.SAS == sas.Enforce {
		admin.Forward = d.forward
	}
	d.admin = atom.New(admin)
	e.HTTPErrorHandler = d.fail
	e.GET("/health", d.health)
	e.Any("/*", d.route)
}

// Refuse is for a server without a broker: it answers every request on all of e
// with why, as Mount would have presented it.
func Refuse(e *echo.Echo, namespace string, why func(*http.Request) error, log *slog.Logger) {
	d := &door{name: namespace, log: log}
	e.HTTPErrorHandler = d.fail
	e.GET("/health", func(c echo.Context) error { return unhealthy(c, why(c.Request()).Error()) })
	e.Any("/*", func(c echo.Context) error { return why(c.Request()) })
}

// route finds what a request wants. Echo cannot: the name of an entity may have
// any number of slashes, and what follows decides where it ends.
func (d *door) route(c echo.Context) error {
	t, ofMessages, err := parseTarget(c.Request().URL.EscapedPath())
	if err != nil {
		return err
	}
	if !ofMessages {
		return d.admin.Handle(c)
	}
	handle, ok := d.handlers(t.kind)[c.Request().Method]
	if !ok && c.QueryParams().Has("api-version") { // an entity called so
		return d.admin.Handle(c)
	}
	if !ok {
		c.Response().Header().Set(echo.HeaderAllow, allowed[t.kind])
		return echo.NewHTTPError(http.StatusMethodNotAllowed, fmt.Sprintf("This address takes %s, not %s.", allowed[t.kind], c.Request().Method))
	}
	t.path, err = engine.ParsePath(t.entity, d.broker.Limits())
	if err != nil {
		return err
	}
	if err := d.permit(c.Request(), t); err != nil {
		return err
	}
	return handle(c, t)
}

var allowed = map[kind]string{
	messages: "POST",
	head:     "DELETE, POST",
	locked:   "DELETE, POST, PUT",
}

func (d *door) handlers(k kind) map[string]func(echo.Context, target) error {
	switch k {
	case messages:
		return map[string]func(echo.Context, target) error{http.MethodPost: d.send}
	case head:
		return map[string]func(echo.Context, target) error{
			http.MethodPost:   func(c echo.Context, t target) error { return d.receive(c, t, engine.PeekLock) },
			http.MethodDelete: func(c echo.Context, t target) error { return d.receive(c, t, engine.ReceiveAndDelete) },
		}
	case locked:
		return map[string]func(echo.Context, target) error{
			http.MethodPut:    func(c echo.Context, t target) error { return d.settle(c, t, engine.Abandon) },
			http.MethodDelete: func(c echo.Context, t target) error { return d.settle(c, t, engine.Complete) },
			http.MethodPost:   d.renew,
		}
	default:
		panic(fmt.Sprintf("unknown kind of address %d", k))
	}
}

// health is the emulator's (EMU-5): whether sending and receiving work.
func (d *door) health(c echo.Context) error {
	if c.QueryParams().Has("api-version") { // that of an entity called so
		return d.admin.Handle(c)
	}
	h := d.broker.Health()
	ended := false
	select {
	case <-d.broker.Done():
		ended = true
	default:
	}
	if ended || h.ReadOnly != "" || h.Reopening != "" {
		return unhealthy(c, "Service not available. Please try after some time.")
	}
	return c.JSON(http.StatusOK, map[string]string{"status": "healthy", "message": "Service is healthy."})
}

func unhealthy(c echo.Context, why string) error {
	return c.JSON(http.StatusServiceUnavailable, map[string]string{"status": "unhealthy", "message": why})
}

// timeout reads ?timeout, in seconds.
func timeout(c echo.Context, absent time.Duration) (time.Duration, error) {
	q := c.Request().URL.Query()
	if !q.Has("timeout") {
		return absent, nil
	}
	text := q.Get("timeout")
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "0123456789.") != "" {
		return 0, argument("The value for 'timeout' is a number of seconds, not '%s'.", cut(text))
	}
	if seconds > longestWait.Seconds() {
		return 0, outOfRange("The value for 'timeout' is at most %g seconds, not '%s'.", longestWait.Seconds(), cut(text))
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// state looks the entity of p up.
func (d *door) state(ctx context.Context, p engine.Path) (s engine.EntityState, err error) {
	err = d.broker.Read(ctx, func(r broker.Reader) error {
		s, err = r.State(p)
		return err
	})
	return s, err
}

// client is who asks, for people.
func client(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return "REST " + host
}

// drain reads the body of a request that needs none. Until that is done the
// HTTP server would not notice that the client has left.
func drain(r *http.Request) error {
	const most = 64 << 10
	n, err := io.Copy(io.Discard, io.LimitReader(r.Body, most+1))
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	if n > most {
		return argument("This request takes no body.")
	}
	return nil
}
