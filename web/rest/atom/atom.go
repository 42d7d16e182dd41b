package atom

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/auth/origin"
	"mayfly/web/proxy"
	"mayfly/web/rest/fault"
)

// Options configure a Handler. Broker and Logger are required.
type Options struct {
	Broker *broker.Broker
	Logger *slog.Logger // logs refused and failed requests
	// Authorize decides whether a request may be carried out, before its body is read or its entity
	// is looked up. Nil allows every request. An error with a method Status() int is answered with
	// that status and the error's text.
	Authorize func(*http.Request, Request) error
	// Forward decides whether a request may make its entity forward to another one, which need not
	// exist. header names the header, besides Authorization, in which clients send a token for that
	// entity. Nil allows every request. Errors are answered as those of Authorize are.
	Forward func(r *http.Request, header string, to engine.Path) error
}

// A Handler answers management requests. It is safe for concurrent use.
type Handler struct {
	o      Options
	log    *fault.Log
	opened time.Time
}

// New returns a Handler.
func New(o Options) *Handler {
	return &Handler{o: o, log: &fault.Log{Logger: o.Logger, API: "administration"}, opened: time.Now()}
}

// Handle answers a management request. It writes error responses itself and returns nil.
func (d *Handler) Handle(c echo.Context) error {
	if err := d.serve(c); err != nil {
		d.fail(err, c)
	}
	return nil
}

func (d *Handler) serve(c echo.Context) error {
	r := c.Request()
	w, err := parseRequest(r.Method, r.URL.EscapedPath())
	if err != nil {
		return err
	}
	if d.o.Authorize != nil {
		if err := d.o.Authorize(r, w); err != nil {
			return err
		}
	}
	if err := w.check(d.o.Broker.Limits()); err != nil {
		return err
	}
	switch w.Action {
	case Get:
		return d.get(c, w)
	case List:
		return d.list(c, w)
	case Delete:
		return d.remove(c, w)
	case Create, Update:
		return d.put(c, w)
	default:
		return errUnknownAction
	}
}

var errUnknownAction = errors.New("unknown action of an address")

func (d *Handler) get(c echo.Context, w Request) error {
	a := d.answer(c)
	switch w.Kind {
	case Namespace:
		rules, err := d.o.Broker.AccessRules(c.Request().Context())
		if err != nil {
			return err
		}
		return a.entry(http.StatusOK, d.namespace(a, rules))
	case Rule:
		p, r, err := d.rule(c.Request().Context(), w)
		if err != nil {
			return err
		}
		return a.entry(http.StatusOK, a.rule(p, r))
	default:
		s, err := d.state(c.Request().Context(), w.Path())
		if err != nil {
			return err
		}
		return a.entry(http.StatusOK, a.entity(s))
	}
}

func (d *Handler) put(c echo.Context, w Request) error {
	update, err := isUpdate(c.Request())
	if err != nil {
		return err
	}
	if w.Action = Create; update {
		w.Action = Update
	}
	r := c.Request()
	raw, err := readBody(r)
	if err != nil {
		return err
	}
	if err := origin.ShareOf(r.Context()).Grow(r.Context(), int64(len(raw))*treeFactor); err != nil {
		return err
	}
	root, err := parse(raw)
	if err != nil {
		return err
	}
	if w.Kind == Rule {
		return d.putRule(c, w, root)
	}
	return d.putEntity(c, w, root)
}

// isUpdate reports whether a request is an update. The only supported condition is
// that the entity exists, because responses have no ETags.
func isUpdate(r *http.Request) (update bool, err error) {
	switch tag := r.Header.Get("If-Match"); tag {
	case "":
		return false, nil
	case "*", `"*"`:
		return true, nil
	default:
		return false, &echo.HTTPError{Code: http.StatusPreconditionFailed, Message: "If-Match must be '*', which means that the entity exists."}
	}
}

func (d *Handler) remove(c echo.Context, w Request) (err error) {
	r := c.Request()
	switch w.Kind {
	case Rule:
		err = d.o.Broker.RemoveRule(r.Context(), w.Path(), w.Rule, client(r))
	default:
		err = d.o.Broker.Delete(r.Context(), w.Path(), broker.Unconfirmed, client(r))
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// state returns the state of the entity at p.
func (d *Handler) state(ctx context.Context, p engine.Path) (s engine.EntityState, err error) {
	err = d.o.Broker.Read(ctx, func(r broker.Reader) error {
		s, err = r.State(p)
		return err
	})
	return s, err
}

// rule returns the rule of w and the path of its subscription.
func (d *Handler) rule(ctx context.Context, w Request) (engine.Path, engine.Rule, error) {
	s, err := d.state(ctx, w.Path())
	if err != nil {
		return "", engine.Rule{}, err
	}
	r, err := ruleOf(d.o.Broker.Limits(), s, w.Rule)
	return s.Path, r, err
}

// client describes the client that sent r: the API that it uses and its address.
func client(r *http.Request) string {
	return "Atom " + proxy.Address(r)
}
