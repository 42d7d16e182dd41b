package web

import (
	"context"
	"net"
	"net/http"

	"github.com/labstack/echo/v4"
)

// A Reset is what a reset of the namespace did: how many entities there were,
// subscriptions among them, and how many there are again.
type Reset struct {
	Deleted int `json:"deleted"`
	Created int `json:"created"`
}

// mountReset serves POST /reset, which asks for no confirmation: that the server
// was started so is one. No entity's address takes a POST, so one called reset
// is not hidden.
//
// may is asked first whether the one who asks may.
func mountReset(e *echo.Echo, may func(*http.Request) error, reset func(ctx context.Context, actor string) (Reset, error)) {
	e.POST("/reset", func(c echo.Context) error {
		if reset == nil {
			return echo.NewHTTPError(http.StatusNotFound, "This server cannot be reset: it was started without --allow-reset.")
		}
		r := c.Request()
		if err := may(r); err != nil {
			return err
		}
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			host = r.RemoteAddr
		}
		done, err := reset(r.Context(), "reset by "+host)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, done)
	})
}
