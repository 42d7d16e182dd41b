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
	"mayfly/engine/namespaces"
	"mayfly/engine/shorten"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/cluster"
)

// alive answers that the process is running. It does not check the store, because a restart does not
// help a server that cannot write.
func alive(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// A readiness reports whether a namespace takes messages, with an explanation.
type readiness struct {
	notReady bool
	reason   string
}

// health reports whether a broker takes messages.
func health(b *broker.Broker) readiness {
	select {
	case <-b.Done():
		return readiness{notReady: true, reason: "the broker has stopped"}
	default:
	}
	switch h := b.Health(); {
	case h.Reopening != "":
		return readiness{notReady: true, reason: "the store is being reopened: " + h.Reopening}
	case h.ReadOnly != "":
		return readiness{notReady: true, reason: "read-only: " + h.ReadOnly}
	case h.Memory.Full: // receivers free memory, so a full server must stay ready for them
		return readiness{reason: fmt.Sprintf("ready, but memory is full and sends are refused: messages use %d of the %d bytes of --limit memory", h.Memory.Used, h.Memory.Limit)}
	case h.Slow != 0:
		return readiness{reason: fmt.Sprintf("ready, but the store is slow: a write takes %s", h.Slow.Round(time.Millisecond))}
	}
	return readiness{reason: "ready"}
}

// namespaceHealth reports whether a namespace of the server takes messages.
func namespaceHealth(n namespaces.Namespace) readiness {
	if n.Broker != nil {
		return health(n.Broker)
	}
	return readiness{notReady: true, reason: Standby{Namespace: n.Name, Owner: n.Owner, Cause: n.Reason}.Reason()}
}

// ownerTimeout is how long to wait for an owner to report whether it takes messages.
const ownerTimeout = 2 * time.Second

// remoteHealth reports whether a namespace that another server owns takes messages that this server
// forwards.
func (s *Server) remoteHealth(c echo.Context, w Standby) readiness {
	ctx := c.Request().Context()
	if _, passed := cluster.ClientFromContext(ctx); passed || w.Forwarder == nil {
		return readiness{notReady: true, reason: w.Reason()}
	}
	ctx, cancel := context.WithTimeout(ctx, ownerTimeout)
	defer cancel()
	switch status, text, err := w.Forwarder.Get(ctx, readyPath+"?namespace="+url.QueryEscape(w.namespace())); {
	case err != nil:
		return readiness{notReady: true, reason: w.Reason() + " It cannot be reached."}
	case status != http.StatusOK:
		return readiness{notReady: true, reason: w.Reason() + " Its answer: " + strings.TrimSpace(text)}
	}
	return readiness{reason: fmt.Sprintf("ready: requests are forwarded to the server at %s, which owns the namespace %s", cmp.Or(w.Owner.Dashboard, w.Owner.Host, "an unknown address"), w.namespace())}
}

// ready answers whether the server's own namespace takes messages, and lists the other namespaces that
// do not. If the request names a namespace, the answer is about that namespace only.
func (s *Server) ready(c echo.Context, f *namespaces.Manager, own readiness) error {
	if name := c.QueryParam("namespace"); name != "" {
		if f == nil {
			return c.String(http.StatusNotFound, "this server has only its own namespace\n")
		}
		n, ok := f.Find(name)
		if !ok {
			return c.String(http.StatusNotFound, fmt.Sprintf("the namespace '%s' does not exist\n", shorten.Quote(name)))
		}
		if !n.Main {
			own = namespaceHealth(n)
		}
		if sp := s.namespaces.get(strings.ToLower(n.Name)); !n.Main && n.Broker == nil && sp != nil {
			if w := sp.handlers.Load().standby; w.Forwarder != nil {
				own = s.remoteHealth(c, w)
			}
		}
		f = nil
	}
	status, text := http.StatusOK, own.reason+"\n"
	if own.notReady {
		status = http.StatusServiceUnavailable
	}
	if f != nil {
		all := f.List()
		owners := s.askOwners(c.Request().Context(), all)
		for _, n := range all {
			if is := owners.namespaceHealth(n); !n.Main && is.reason != "ready" {
				text += fmt.Sprintf("namespace %s: %s\n", n.Name, is.reason)
			}
		}
	}
	return c.String(status, text)
}

// ownerHealth records which of the other servers that own namespaces can be reached.
type ownerHealth struct {
	s         *Server
	reachable map[string]bool // whether the owner answers, by its address
}

// askOwners asks the owners of the given namespaces at the same time, each once, whether they can be
// reached. If another server forwarded the request, it asks none, and all owners count as unreachable.
func (s *Server) askOwners(ctx context.Context, all []namespaces.Namespace) ownerHealth {
	out := ownerHealth{s: s, reachable: map[string]bool{}}
	if _, passed := cluster.ClientFromContext(ctx); passed {
		return out
	}
	lines := map[string]*cluster.Forwarder{}
	for _, n := range all {
		if l := s.ownerForwarder(n); l != nil && !n.Main {
			lines[l.Endpoint().String()] = l
		}
	}
	ctx, cancel := context.WithTimeout(ctx, ownerTimeout)
	defer cancel()
	var asking sync.WaitGroup
	var mu sync.Mutex
	for at, l := range lines {
		asking.Go(func() {
			status, _, err := l.Get(ctx, alivePath)
			mu.Lock()
			defer mu.Unlock()
			out.reachable[at] = err == nil && status == http.StatusOK
		})
	}
	asking.Wait()
	return out
}

// ownerForwarder returns the Forwarder to the owner of a namespace, or nil if its requests are not
// forwarded.
func (s *Server) ownerForwarder(n namespaces.Namespace) *cluster.Forwarder {
	if sp := s.namespaces.get(strings.ToLower(n.Name)); sp != nil {
		return sp.handlers.Load().standby.Forwarder
	}
	return nil
}

// namespaceHealth returns the readiness of a namespace.
func (o ownerHealth) namespaceHealth(n namespaces.Namespace) readiness {
	is, l := namespaceHealth(n), o.s.ownerForwarder(n)
	switch {
	case n.Broker != nil || l == nil:
	case o.reachable[l.Endpoint().String()]:
		is.reason = fmt.Sprintf("forwarded to the server at %s, which owns it", cmp.Or(n.Owner.Dashboard, n.Owner.Host, "an unknown address"))
	default:
		is.reason += " It cannot be reached."
	}
	return is
}

// textError presents errors as a line of text, where there are no pages.
func (s *Server) textError(err error, c echo.Context) {
	code, text := http.StatusInternalServerError, "The server failed. Search its log for "+c.Response().Header().Get(echo.HeaderXRequestID)+"."
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		code, text = e.Code, fmt.Sprint(e.Message)
	}
	if e, ok := errors.AsType[*origin.HostError](err); ok {
		code, text = e.Status(), e.Error()
	}
	if e, ok := errors.AsType[*auth.RoleError](err); ok {
		code, text = http.StatusForbidden, e.Error()
	}
	if e, ok := errors.AsType[*auth.CredentialError](err); ok {
		code, text = http.StatusUnauthorized, e.Error()
	}
	switch {
	case errors.Is(err, auth.ErrUnauthenticated), errors.Is(err, auth.ErrSignedOut):
		code, text = http.StatusUnauthorized, err.Error()
	case errors.Is(err, origin.ErrCrossSite), errors.Is(err, origin.ErrForm):
		code, text = http.StatusForbidden, err.Error()
	case errors.Is(err, engine.ErrBusy):
		setRetryAfter(c)
		code, text = http.StatusServiceUnavailable, err.Error()
	case errors.Is(err, engine.ErrClosed):
		code, text = http.StatusServiceUnavailable, "The server is shutting down."
	case code == http.StatusInternalServerError:
		s.o.Logger.ErrorContext(c.Request().Context(), "page failed", "id", c.Response().Header().Get(echo.HeaderXRequestID), "err", err)
	}
	if code == http.StatusUnauthorized {
		c.Response().Header().Set(echo.HeaderWWWAuthenticate, auth.Challenge)
	}
	if !c.Response().Committed {
		_ = c.String(code, text+"\n") //nolint:errcheck // the client may have gone away
	}
}
