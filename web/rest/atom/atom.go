package atom

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/access"
)

// Options are what the door serves, and for whom. All but Authorize and Forward is
// needed.
type Options struct {
	Broker *broker.Broker
	Room   *access.Room // that large descriptions wait for
	Logger *slog.Logger // of what went wrong inside
	// Authorize decides whether a request may be carried out, before anything is
	// read or looked up for it; nil: every request may. An error with a method
	// Status() int is answered with that status, and its text as it is.
	Authorize func(*http.Request, Wish) error
	// Forward decides whether a request may have its entity send on to another one,
	// which is not looked up; header is where clients put a token for that, beside
	// Authorization. Nil: every request may. Its errors are as Authorize's.
	Forward func(r *http.Request, header string, to engine.Path) error
}

// A Door answers requests. It is safe for concurrent use.
type Door struct {
	o      Options
	opened time.Time
}

// New makes a door.
func New(o Options) *Door { return &Door{o: o, opened: time.Now()} }

// Handle answers a request for anything but messages. It presents its errors
// itself and returns none.
func (d *Door) Handle(c echo.Context) error {
	if err := d.serve(c); err != nil {
		d.fail(err, c)
	}
	return nil
}

func (d *Door) serve(c echo.Context) error {
	r := c.Request()
	w, err := parseWish(r.Method, r.URL.EscapedPath())
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

var errUnknownAction = errors.New("an address has an action that is none")

func (d *Door) get(c echo.Context, w Wish) error {
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

func (d *Door) put(c echo.Context, w Wish) error {
	update, err := conditional(c.Request())
	if err != nil {
		return err
	}
	if w.Action = Create; update {
		w.Action = Update
	}
	r := c.Request()
	leave, err := d.o.Room.Take(r.Context(), min(r.ContentLength, mostBytes)*treeFactor, mostBytes*treeFactor)
	if err != nil {
		return err //nolint:wrapcheck // the door knows what it says
	}
	defer leave()
	root, err := readBody(r)
	if err != nil {
		return err
	}
	if w.Kind == Rule {
		return d.putRule(c, w, root)
	}
	return d.putEntity(c, w, root)
}

// conditional tells whether a request is an update. The only condition there is
// to be made is that the entity exists, for answers carry no tags.
func conditional(r *http.Request) (update bool, err error) {
	switch tag := r.Header.Get("If-Match"); tag {
	case "":
		return false, nil
	case "*", `"*"`:
		return true, nil
	default:
		return false, &echo.HTTPError{Code: http.StatusPreconditionFailed, Message: "If-Match takes nothing but '*': the entity is to exist."}
	}
}

func (d *Door) remove(c echo.Context, w Wish) (err error) {
	r := c.Request()
	switch w.Kind {
	case Rule:
		err = d.o.Broker.RemoveRule(r.Context(), w.Path(), w.Rule, client(r))
	default:
		err = d.o.Broker.Delete(r.Context(), w.Path(), broker.Unasked, client(r))
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// state looks the entity of p up.
func (d *Door) state(ctx context.Context, p engine.Path) (s engine.EntityState, err error) {
	err = d.o.Broker.Read(ctx, func(r broker.Reader) error {
		s, err = r.State(p)
		return err
	})
	return s, err
}

// rule looks the rule of w up, and the path of its subscription.
func (d *Door) rule(ctx context.Context, w Wish) (engine.Path, engine.Rule, error) {
	s, err := d.state(ctx, w.Path())
	if err != nil {
		return "", engine.Rule{}, err
	}
	r, err := ruleOf(s, w.Rule)
	return s.Path, r, err
}

// client is who asks, for people.
func client(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return "Atom " + host
}
