package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/fleet"
	"mayfly/web/access"
	"mayfly/web/identity"
	"mayfly/web/relay"
)

// alive says that the process answers, no more: a server that cannot write is
// not helped by a restart.
func alive(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// A readiness is whether a namespace takes messages, and what there is to say of it.
type readiness struct {
	not  bool
	says string
}

// health is whether a broker takes messages.
func health(b *broker.Broker) readiness {
	select {
	case <-b.Done():
		return readiness{not: true, says: "the broker has stopped"}
	default:
	}
	switch h := b.Health(); {
	case h.Reopening != "":
		return readiness{not: true, says: "the store is being opened again: " + h.Reopening}
	case h.ReadOnly != "":
		return readiness{not: true, says: "read-only: " + h.ReadOnly}
	case h.Slow != 0:
		return readiness{says: fmt.Sprintf("ready, but the store is slow: a write takes %s", h.Slow.Round(time.Millisecond))}
	}
	return readiness{says: "ready"}
}

// healthOf is whether a namespace of the server takes messages.
func healthOf(n fleet.Namespace) readiness {
	if n.Broker != nil {
		return health(n.Broker)
	}
	return readiness{not: true, says: Standby{Namespace: n.Name, Owner: n.Owner, Why: n.Why}.Reason()}
}

// ownerPatience is how long an owner may take to say whether it takes messages.
const ownerPatience = 2 * time.Second

// beyond is whether a namespace that another server owns takes messages, by way of
// this one.
func (s *Server) beyond(c echo.Context, w Standby) readiness {
	ctx := c.Request().Context()
	if _, passed := relay.Of(ctx); passed || w.Line == nil {
		return readiness{not: true, says: w.Reason()}
	}
	ctx, cancel := context.WithTimeout(ctx, ownerPatience)
	defer cancel()
	switch status, text, err := w.Line.Ask(ctx, "/readyz?namespace="+url.QueryEscape(w.namespace())); {
	case err != nil:
		return readiness{not: true, says: w.Reason() + " It cannot be reached."}
	case status != http.StatusOK:
		return readiness{not: true, says: w.Reason() + " It says: " + strings.TrimSpace(text)}
	}
	return readiness{says: fmt.Sprintf("ready: what is asked here is passed on to the server at %s, which owns the namespace %s", cmp.Or(w.Owner.Dashboard, w.Owner.Host, "an unknown address"), w.namespace())}
}

// ready says whether the server's own namespace takes messages, and which others do
// not; or of the one that is asked for, whether that does.
func (s *Server) ready(c echo.Context, f *fleet.Fleet, own readiness) error {
	if name := c.QueryParam("namespace"); name != "" {
		if f == nil {
			return c.String(http.StatusNotFound, "this server has one namespace\n")
		}
		n, ok := f.Find(name)
		if !ok {
			return c.String(http.StatusNotFound, fmt.Sprintf("there is no namespace '%s'\n", cut(name)))
		}
		if !n.Main {
			own = healthOf(n)
		}
		if sp := s.others.named(strings.ToLower(n.Name)); !n.Main && n.Broker == nil && sp != nil {
			if w := sp.behind.Load().standby; w.Line != nil {
				own = s.beyond(c, w)
			}
		}
		f = nil
	}
	status, text := http.StatusOK, own.says+"\n"
	if own.not {
		status = http.StatusServiceUnavailable
	}
	if f != nil {
		all := f.List()
		owners := s.owners(c.Request().Context(), all)
		for _, n := range all {
			if is := owners.healthOf(n); !n.Main && is.says != "ready" {
				text += fmt.Sprintf("namespace %s: %s\n", n.Name, is.says)
			}
		}
	}
	return c.String(status, text)
}

// owners are other servers that own namespaces, and whether they can be reached.
type owners struct {
	s     *Server
	there map[string]bool // by place
}

// owners asks each of them once, all at the same time. What another server asks is not
// passed on, and none of them is reached.
func (s *Server) owners(ctx context.Context, all []fleet.Namespace) owners {
	out := owners{s: s, there: map[string]bool{}}
	if _, passed := relay.Of(ctx); passed {
		return out
	}
	lines := map[string]*relay.Line{}
	for _, n := range all {
		if l := s.lineTo(n); l != nil && !n.Main {
			lines[l.To().String()] = l
		}
	}
	ctx, cancel := context.WithTimeout(ctx, ownerPatience)
	defer cancel()
	var asking sync.WaitGroup
	var mu sync.Mutex
	for at, l := range lines {
		asking.Go(func() {
			status, _, err := l.Ask(ctx, "/livez")
			mu.Lock()
			defer mu.Unlock()
			out.there[at] = err == nil && status == http.StatusOK
		})
	}
	asking.Wait()
	return out
}

// lineTo leads to the owner of a namespace; nil: nothing is passed on.
func (s *Server) lineTo(n fleet.Namespace) *relay.Line {
	if sp := s.others.named(strings.ToLower(n.Name)); sp != nil {
		return sp.behind.Load().standby.Line
	}
	return nil
}

// healthOf is what there is to say of a namespace.
func (o owners) healthOf(n fleet.Namespace) readiness {
	is, l := healthOf(n), o.s.lineTo(n)
	switch {
	case n.Broker != nil || l == nil:
	case o.there[l.To().String()]:
		is.says = fmt.Sprintf("passed on to the server at %s, which owns it", cmp.Or(n.Owner.Dashboard, n.Owner.Host, "an unknown address"))
	default:
		is.says += " It cannot be reached."
	}
	return is
}

// plainError presents errors where no pages do.
func (s *Server) plainError(err error, c echo.Context) {
	code, text := http.StatusInternalServerError, "The server failed. Its log says why, at "+c.Response().Header().Get(echo.HeaderXRequestID)+"."
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		code, text = e.Code, fmt.Sprint(e.Message)
	}
	if e, ok := errors.AsType[*access.HostError](err); ok {
		code, text = e.Status(), e.Error()
	}
	if e, ok := errors.AsType[*identity.RoleError](err); ok {
		code, text = http.StatusForbidden, e.Error()
	}
	if e, ok := errors.AsType[*identity.Refused](err); ok {
		code, text = http.StatusUnauthorized, e.Error()
	}
	switch {
	case errors.Is(err, identity.ErrNobody), errors.Is(err, identity.ErrOver):
		code, text = http.StatusUnauthorized, err.Error()
	case errors.Is(err, access.ErrCrossSite), errors.Is(err, access.ErrForm):
		code, text = http.StatusForbidden, err.Error()
	case errors.Is(err, engine.ErrBusy):
		again(c)
		code, text = http.StatusServiceUnavailable, err.Error()
	case errors.Is(err, engine.ErrClosed):
		code, text = http.StatusServiceUnavailable, "The server stops."
	case code == http.StatusInternalServerError:
		s.o.Logger.ErrorContext(c.Request().Context(), "a page failed", "id", c.Response().Header().Get(echo.HeaderXRequestID), "err", err)
	}
	if code == http.StatusUnauthorized {
		c.Response().Header().Set(echo.HeaderWWWAuthenticate, identity.Challenge)
	}
	if !c.Response().Committed {
		_ = c.String(code, text+"\n") //nolint:errcheck // a client that has gone away is not ours to report
	}
}
