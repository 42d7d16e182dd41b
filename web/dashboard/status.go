package dashboard

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/dashboard/entity"
	"mayfly/web/dashboard/pages"
)

// setStatus changes the status of an entity and no other property. It asks for confirmation if
// the change stops work that is running now.
func (d *Handler) setStatus(c echo.Context, at pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	e, err := d.readEntityState(c, at.Path)
	if err != nil {
		return err
	}
	to, ok := entity.ParseStatus(e.Kind, typed.Get(page.FieldTo))
	if !ok {
		return &pages.LocalizedError{Err: engine.ErrArgument, Text: locale.T(ctx, "ui.status.what")}
	}
	t := pages.FormState{Values: typed}
	if entity.StopsOperation(e.Kind, e.Config.Status, to) && at.Query.Get("agreed") == "" {
		return d.writeForm(c, http.StatusOK, at, t)
	}
	config := e.Config
	config.Status = to
	if _, err := d.b.Update(ctx, e.Path, config, actor(c)); err != nil {
		return d.writeFormError(c, at, t, err)
	}
	return d.redirectWithNotice(c, d.pages.EntityURL(e.Kind, e.Path)+"?tab="+string(page.TabSettings)+"#status", component.Notice{
		Undo: d.keepUndo(func(c echo.Context) (component.Notice, error) { return d.undoStatus(c, e, to) }),
		Title: locale.T(ctx, map[engine.Status]string{
			engine.StatusActive: "ui.status.active", engine.StatusDisabled: "ui.status.disabled",
			engine.StatusSendDisabled: "ui.status.send", engine.StatusReceiveDisabled: "ui.status.receive",
		}[to], locale.Args{"Name": pages.DisplayPath(e.Path)}),
	})
}

// undoStatus restores the former status of an entity, unless the status has changed again since.
func (d *Handler) undoStatus(c echo.Context, was engine.EntityState, given engine.Status) (n component.Notice, err error) {
	ctx := c.Request().Context()
	is, err := d.readEntityState(c, was.Path)
	if err != nil {
		return n, err
	}
	if is.ID != was.ID || is.Config.Status != given {
		return component.Notice{Tone: component.Low, Title: locale.T(ctx, "ui.undo.none"), Detail: locale.T(ctx, "ui.undo.status")}, nil
	}
	config := is.Config
	config.Status = was.Config.Status
	if _, err := d.b.Update(ctx, is.Path, config, actor(c)); err != nil {
		return n, err
	}
	return component.Notice{Title: locale.T(ctx, "ui.undone.status", locale.Args{"Name": pages.DisplayPath(is.Path)})}, nil
}
