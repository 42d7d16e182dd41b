// Package rest is Service Bus over plain HTTP: the data plane, at the addresses and with
// the headers that clients of the hosted service use. All other addresses belong to
// management, in package atom.
//
//	POST   /{entity}/messages                     send; 201
//	POST   /{entity}/messages/head?timeout=60     lock the next message; 201, 204 none in time
//	DELETE /{entity}/messages/head?timeout=60     receive and delete; 200, 204 none in time
//	PUT    /{entity}/messages/{id}/{lock token}   unlock; 200
//	DELETE /{entity}/messages/{id}/{lock token}   complete; 200
//	POST   /{entity}/messages/{id}/{lock token}   renew the lock; 200
//	GET    /health                                as in Microsoft's emulator
//
// An entity is a queue, a topic (to send to), {topic}/subscriptions/{name}, or one of
// those with /$DeadLetterQueue. Its name may contain slashes, and addresses are matched
// without case. id is the sequence number or the MessageId. timeout is in seconds, 60 if
// absent and at most 300.
//
// The body of a request or a response is the message's. System properties travel as JSON in the
// header BrokerProperties. Every other header that HTTP clients do not send by themselves is an
// application property (see protocolHeaders). A response has properties that cannot be headers in
// the header UserProperties, as a JSON object. With Content-Type
// application/vnd.microsoft.servicebus.json the body is a list of messages, which are stored
// together or not at all. A list has at most 8 MiB, even where one message may be larger.
//
// A slash at the end of an address is ignored. An entity may be called …/Messages or
// …/Messages/Head: see handler.isManagement.
//
// Names of headers are case-insensitive, and Go's HTTP server changes the case of those that it
// receives: a property sent as "region" arrives as "Region". Filters still find it, because they
// ignore the case of names. In a list of messages, names keep their case.
//
// An error is <Error><Code/><Detail/></Error>, as clients expect. A missing entity is
// 410, a missing message or lock 404.
package rest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/web/auth/sas"
	"mayfly/web/proxy"
	"mayfly/web/rest/atom"
	"mayfly/web/rest/fault"
)

// How long a receiver waits for a message by default, and at most.
const (
	defaultWait = 60 * time.Second
	maxWait     = 300 * time.Second
)

// HealthPath is the path of the health check on the admin port.
const HealthPath = "/health"

// Options configure Mount. Broker and Logger are required.
type Options struct {
	Broker *broker.Broker
	Logger *slog.Logger // logs refused and failed requests
	SAS    sas.Policy   // whether requests without a sufficient token are denied
	// Names returns the hosts that name the namespace in the tokens of a request. Nil means that
	// only loopback's names do.
	Names func(*http.Request) sas.Names
	// Authorize decides about a management request, in place of SAS; see atom.Options.
	Authorize func(*http.Request, atom.Request) error
}

type handler struct {
	broker *broker.Broker
	name   string // of the namespace
	log    *fault.Log
	admin  *atom.Handler
	policy sas.Policy
	names  func(*http.Request) sas.Names
}

// Mount serves the data plane and management, and the errors of both, on all paths of e.
func Mount(e *echo.Echo, o Options) {
	d := &handler{broker: o.Broker, name: o.Broker.Name(), log: newLog(o.Logger), policy: o.SAS, names: o.Names}
	if o.Authorize == nil && o.SAS == sas.Enforce {
		o.Authorize = d.authorizeManagement
	}
	admin := atom.Options{Broker: o.Broker, Logger: o.Logger, Authorize: o.Authorize}
	if o.SAS == sas.Enforce {
		admin.Forward = d.authorizeForward
	}
	d.admin = atom.New(admin)
	e.HTTPErrorHandler = d.fail
	e.GET(HealthPath, d.health)
	e.Any("/*", d.route)
}

// Refuse answers every request to e with the error that why returns, in the same form as
// Mount. It is for a server without a broker.
func Refuse(e *echo.Echo, namespace string, why func(*http.Request) error, log *slog.Logger) {
	d := &handler{name: namespace, log: newLog(log)}
	e.HTTPErrorHandler = d.fail
	e.GET(HealthPath, func(c echo.Context) error { return unhealthy(c, why(c.Request()).Error()) })
	e.Any("/*", func(c echo.Context) error { return why(c.Request()) })
}

func newLog(log *slog.Logger) *fault.Log { return &fault.Log{Logger: log, API: "REST"} }

// route calls the handler of a request. Echo's router cannot find it, because the name of an entity
// may have any number of slashes, and the end of the path decides where it ends.
func (d *handler) route(c echo.Context) error {
	t, ofMessages, err := parseTarget(c.Request().URL.EscapedPath())
	if err != nil {
		return err
	}
	if !ofMessages {
		return d.admin.Handle(c)
	}
	handle, ok := d.handlers(t.kind)[c.Request().Method]
	if d.isManagement(c, t, ok) {
		return d.admin.Handle(c)
	}
	if !ok {
		c.Response().Header().Set(echo.HeaderAllow, allowedMethods[t.kind])
		return echo.NewHTTPError(http.StatusMethodNotAllowed, fmt.Sprintf("This address accepts %s, not %s.", allowedMethods[t.kind], c.Request().Method))
	}
	t.path, err = engine.ParsePath(t.entity, d.broker.Limits())
	if err != nil {
		return err
	}
	if err := d.authorizeMessages(c.Request(), t); err != nil {
		return err
	}
	return handle(c, t)
}

// isManagement reports whether a request to an address of messages is a management request, because
// an entity is called …/Messages, …/Messages/Head or the like (REST-1). `served` reports whether
// the address accepts the method for messages. A POST never is one, and any other request with an
// Atom entry always is. A request that cannot be about messages, because of its method or because
// its token is no lock token, is one if it has an api-version or an entity in t.named exists. Any
// other request is one if an entity in t.named exists and the request has an api-version or the
// entity with the messages does not exist.
func (d *handler) isManagement(c echo.Context, t address, served bool) bool {
	r := c.Request()
	version, versioned := c.QueryParam("api-version"), c.QueryParams().Has("api-version")
	_, err := engine.ParseLockToken(t.token)
	isLock := t.kind != locked || err == nil
	switch {
	case r.Method == http.MethodPost:
		return false
	case isAtomEntry(r, version), versioned && (!served || !isLock):
		return true
	case !slices.ContainsFunc(t.named, func(path string) bool { return d.exists(r.Context(), path) }):
		return false
	}
	return !served || versioned || !isLock || !d.exists(r.Context(), t.entity)
}

// isAtomEntry reports whether the Content-Type of a request makes it a management request.
// azure-servicebus 0.50.3 for Python sends this type with every request, even with requests for
// messages, which have no body and the api-version 2011-06-01.
func isAtomEntry(r *http.Request, version string) bool {
	const administration = "2017-04" // the first version of SDKs for management
	return strings.Contains(r.Header.Get(echo.HeaderContentType), "atom+xml") && (r.ContentLength != 0 || version >= administration)
}

// exists reports whether an entity exists at path.
func (d *handler) exists(ctx context.Context, path string) bool {
	p, err := engine.ParsePath(path, d.broker.Limits())
	if err != nil {
		return false
	}
	_, err = d.state(ctx, p)
	return err == nil
}

var allowedMethods = map[kind]string{
	messages: "POST",
	head:     "DELETE, POST",
	locked:   "DELETE, POST, PUT",
}

func (d *handler) handlers(k kind) map[string]func(echo.Context, address) error {
	switch k {
	case messages:
		return map[string]func(echo.Context, address) error{http.MethodPost: d.send}
	case head:
		return map[string]func(echo.Context, address) error{
			http.MethodPost:   func(c echo.Context, t address) error { return d.receive(c, t, engine.PeekLock) },
			http.MethodDelete: func(c echo.Context, t address) error { return d.receive(c, t, engine.ReceiveAndDelete) },
		}
	case locked:
		return map[string]func(echo.Context, address) error{
			http.MethodPut:    func(c echo.Context, t address) error { return d.settle(c, t, engine.Abandon) },
			http.MethodDelete: func(c echo.Context, t address) error { return d.settle(c, t, engine.Complete) },
			http.MethodPost:   d.renew,
		}
	default:
		panic(fmt.Sprintf("unknown kind of address %d", k))
	}
}

// health answers whether sending and receiving work, in the form of the emulator (EMU-5).
func (d *handler) health(c echo.Context) error {
	if c.QueryParams().Has("api-version") { // a GET of an entity called health
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

// timeout parses ?timeout, a number of seconds up to maxWait. It returns `absent` if the request
// has no such parameter.
func timeout(c echo.Context, absent time.Duration) (time.Duration, error) {
	q := c.Request().URL.Query()
	if !q.Has("timeout") {
		return absent, nil
	}
	text := q.Get("timeout")
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "0123456789.") != "" {
		return 0, engine.Refuse(engine.ErrArgument, "The value for 'timeout' must be a number of seconds, not '%s'.", shorten.Quote(text))
	}
	if seconds > maxWait.Seconds() {
		return 0, engine.Refuse(engine.ErrOutOfRange, "The value for 'timeout' must be at most %g seconds, not '%s'.", maxWait.Seconds(), shorten.Quote(text))
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// state returns the state of the entity at p.
func (d *handler) state(ctx context.Context, p engine.Path) (s engine.EntityState, err error) {
	err = d.broker.Read(ctx, func(r broker.Reader) error {
		s, err = r.State(p)
		return err
	})
	return s, err
}

// client describes the client that sent r: the API that it uses and its address.
func client(r *http.Request) string {
	return "REST " + proxy.Address(r)
}

// drain reads and drops the body of a request that needs none. It returns an error if the body has
// more than 64 KiB. Until the body has been read, the HTTP server does not notice that the client
// has disconnected.
func drain(r *http.Request) error {
	const most = 64 << 10
	n, err := io.Copy(io.Discard, io.LimitReader(r.Body, most+1))
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	if n > most {
		return engine.Refuse(engine.ErrArgument, "This request must not have a body.")
	}
	return nil
}
