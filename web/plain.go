package web

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/static"
	"mayfly/web/access"
)

// alive says that the process answers, no more: a server that cannot write is
// not helped by a restart.
func alive(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// ready says whether the broker takes messages, and if not, why.
func ready(c echo.Context, b *broker.Broker) error {
	select {
	case <-b.Done():
		return c.String(http.StatusServiceUnavailable, "the broker has stopped\n")
	default:
	}
	switch h := b.Health(); {
	case h.Reopening != "":
		return c.String(http.StatusServiceUnavailable, "the store is being opened again: "+h.Reopening+"\n")
	case h.ReadOnly != "":
		return c.String(http.StatusServiceUnavailable, "read-only: "+h.ReadOnly+"\n")
	case h.Slow != 0:
		return c.String(http.StatusOK, fmt.Sprintf("ready, but the store is slow: a write takes %s\n", h.Slow.Round(time.Millisecond)))
	}
	return c.String(http.StatusOK, "ready\n")
}

// serveStatic serves files whose address changes with their content.
func serveStatic(c echo.Context) error {
	content, contentType, ok := static.Open(strings.TrimPrefix(c.Request().URL.Path, static.Prefix))
	if !ok {
		return echo.ErrNotFound
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "public, max-age=31536000, immutable")
	return c.Blob(http.StatusOK, contentType, content)
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
	switch {
	case errors.Is(err, access.ErrCrossSite):
		code, text = http.StatusForbidden, err.Error()
	case errors.Is(err, engine.ErrClosed):
		code, text = http.StatusServiceUnavailable, "The server stops."
	case code == http.StatusInternalServerError:
		s.o.Logger.ErrorContext(c.Request().Context(), "a page failed", "id", c.Response().Header().Get(echo.HeaderXRequestID), "err", err)
	}
	if !c.Response().Committed {
		_ = c.String(code, text+"\n") //nolint:errcheck // a client that has gone away is not ours to report
	}
}
