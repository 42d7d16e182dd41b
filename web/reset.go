package web

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/web/proxy"
)

// A Reset is the result of a namespace's reset: how many entities were deleted and created,
// counting subscriptions.
type Reset struct {
	Deleted int `json:"deleted"`
	Created int `json:"created"`
}

// mountReset serves POST /reset. It asks for no confirmation: the operator gave it by starting
// the server with --allow-reset. No entity's address takes a POST, so an entity called reset
// is not hidden.
//
// `may` returns an error if the caller is not allowed to reset. If `reset` is nil, the answer is 404.
func mountReset(e *echo.Echo, may func(*http.Request) error, reset func(ctx context.Context, actor string) (Reset, error)) {
	e.POST("/reset", func(c echo.Context) error {
		if reset == nil {
			return echo.NewHTTPError(http.StatusNotFound, "This server cannot be reset: it was started without --allow-reset.")
		}
		r := c.Request()
		if err := may(r); err != nil {
			return err
		}
		done, err := reset(r.Context(), "reset by "+proxy.Address(r))
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, done)
	})
}
