package ui

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/show"
)

// setStatus opens or closes an entity, the rest of its description unchanged.
// What stops something that goes on now is asked about first.
func (d *Door) setStatus(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	e, err := d.state(c, at.Path)
	if err != nil {
		return err
	}
	to, ok := show.ReadStatus(e.Kind, typed.Get(page.AskTo))
	if !ok {
		return &show.Refusal{Kind: engine.ErrArgument, Text: locale.T(ctx, "ui.status.what")}
	}
	t := show.Typed{Values: typed}
	if show.Stops(e.Kind, e.Config.Status, to) && at.Query.Get("agreed") == "" {
		return d.form(c, http.StatusOK, at, t)
	}
	config := e.Config
	config.Status = to
	if _, err := d.b.Update(ctx, e.Path, config, actor(c)); err != nil {
		return d.again(c, at, t, err)
	}
	return d.goTo(c, d.pages.EntityURL(e.Kind, e.Path)+"?tab="+string(page.Settled)+"#status", component.Notice{
		Undo: d.undoURL(func(c echo.Context) (component.Notice, error) { return d.statusBack(c, e, to) }),
		Title: locale.T(ctx, map[engine.Status]string{
			engine.StatusActive: "ui.status.active", engine.StatusDisabled: "ui.status.disabled",
			engine.StatusSendDisabled: "ui.status.send", engine.StatusReceiveDisabled: "ui.status.receive",
		}[to], locale.Args{"Name": show.Shown(e.Path)}),
	})
}

// statusBack gives an entity the status that it had, if it still has the one that it
// was given.
func (d *Door) statusBack(c echo.Context, was engine.EntityState, given engine.Status) (n component.Notice, err error) {
	ctx := c.Request().Context()
	is, err := d.state(c, was.Path)
	if err != nil {
		return n, err
	}
	if is.ID != was.ID || is.Config.Status != given {
		return component.Notice{Tone: component.Low, Title: locale.T(ctx, "ui.undo.none"), Detail: locale.T(ctx, "ui.undo.status")}, nil
	}
	config := is.Config
	config.Status = was.Config.Status
	if _, err := d.b.Update(ctx, is.Path, config, actor(c)); err != nil {
		return n, err //nolint:wrapcheck // it says what it is about
	}
	return component.Notice{Title: locale.T(ctx, "ui.undone.status", locale.Args{"Name": show.Shown(is.Path)})}, nil
}
