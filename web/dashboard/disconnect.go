package dashboard

import (
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/pages"
)

// disconnect closes a client's connection, or shows a notice if it is already closed. It writes
// the audit event first, and if that fails, the connection stays open.
func (d *Handler) disconnect(c echo.Context, at pages.Address, _ url.Values) error {
	ctx := c.Request().Context()
	all := d.pages.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Connections})
	gone := component.Notice{Tone: component.Low, Title: locale.T(ctx, "disconnect.gone")}
	if d.clients == nil {
		return d.redirectWithNotice(c, all, gone)
	}
	was, ok := d.clients.Connection(at.StringID, 0)
	if !ok {
		return d.redirectWithNotice(c, all, gone)
	}
	if err := d.b.AuditDisconnect(ctx, was.Client, actor(c)); err != nil {
		return err
	}
	if _, ok := d.clients.Disconnect(was.ID); !ok {
		return d.redirectWithNotice(c, all, gone)
	}
	return d.redirectWithNotice(c, all, component.Notice{
		Title:  locale.T(ctx, "disconnect.done", locale.Args{"Name": component.ShowInvisible(admin.ClientName(was))}),
		Detail: locale.T(ctx, "disconnect.done.detail"),
	})
}
