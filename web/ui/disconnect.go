package ui

import (
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/web/show"
)

// disconnect closes a client's connection. That it has left already is what was
// wanted. Who did it is remembered before: while that cannot be written, the
// connection stays.
func (d *Door) disconnect(c echo.Context, at show.Place, _ url.Values) error {
	ctx := c.Request().Context()
	all := d.pages.URL(show.Place{Namespace: at.Namespace, Kind: show.Connections})
	gone := component.Notice{Tone: component.Low, Title: locale.T(ctx, "disconnect.gone")}
	if d.peers == nil {
		return d.goTo(c, all, gone)
	}
	was, ok := d.peers.Connection(at.Peer, 0)
	if !ok {
		return d.goTo(c, all, gone)
	}
	if err := d.b.Disconnected(ctx, was.Client, actor(c)); err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	if _, ok := d.peers.Disconnect(was.ID); !ok {
		return d.goTo(c, all, gone)
	}
	return d.goTo(c, all, component.Notice{
		Title:  locale.T(ctx, "disconnect.done", locale.Args{"Name": component.Visible(show.ClientName(was))}),
		Detail: locale.T(ctx, "disconnect.done.detail"),
	})
}
