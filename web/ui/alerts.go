package ui

import (
	"context"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/engine/rescue"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/web/show"
)

// addAlert makes a rule for rescue and alerts.
func (d *Door) addAlert(c echo.Context, at show.Place, typed url.Values) error {
	if d.rescue == nil {
		return show.ErrNoPage
	}
	return d.setAlert(c, at, typed, "alerts.added", d.rescue.Add)
}

// editAlert gives a rule other words.
func (d *Door) editAlert(c echo.Context, at show.Place, typed url.Values) error {
	if d.rescue == nil {
		return show.ErrNoPage
	}
	return d.setAlert(c, at, typed, "alerts.saved", func(ctx context.Context, r rescue.Rule, actor string) (rescue.Status, error) {
		was, err := d.rescue.Rule(rescue.ID(at.ID)) //nolint:gosec // it is no more than can be
		if err != nil {
			return was, err //nolint:wrapcheck // it says what it is about
		}
		r.Off = was.Off
		return d.rescue.Replace(ctx, was.ID, r, actor) //nolint:wrapcheck // likewise
	})
}

func (d *Door) setAlert(c echo.Context, at show.Place, typed url.Values, said string, set func(context.Context, rescue.Rule, string) (rescue.Status, error)) error {
	ctx := c.Request().Context()
	t := show.Typed{Values: typed}
	r := show.ReadAlert(ctx, &t)
	if len(t.Errors) > 0 {
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	is, err := set(ctx, r, actor(c))
	if err != nil {
		if show.AlertWrong(&t, err) {
			return d.form(c, http.StatusUnprocessableEntity, at, t)
		}
		return d.again(c, at, t, err)
	}
	return d.goTo(c, d.pages.AlertURL(is.ID), component.Notice{Title: locale.T(ctx, said)})
}

// tryAlert says what a rule would do, and keeps nothing.
func (d *Door) tryAlert(c echo.Context, at show.Place, typed url.Values) error {
	at.Do = "new"
	if at.Kind == show.Alert {
		at.Do = "edit"
	}
	return d.form(c, http.StatusOK, at, show.Typed{Values: typed})
}

// onAlert does something to a rule.
func (d *Door) onAlert(c echo.Context, at show.Place, _ url.Values) error {
	if d.rescue == nil {
		return show.ErrNoPage
	}
	ctx, id := c.Request().Context(), rescue.ID(at.ID) //nolint:gosec // it is no more than can be
	to, said := d.pages.AlertURL(id), ""
	var err error
	switch at.Do {
	case "on":
		_, err = d.rescue.Switch(ctx, id, rescue.On, actor(c))
		said = "alerts.switched.on"
	case "off":
		_, err = d.rescue.Switch(ctx, id, rescue.Off, actor(c))
		said = "alerts.switched.off"
	case "test":
		err, said = d.rescue.Test(id), "alerts.tested"
	case "remove":
		err = d.rescue.Remove(ctx, id, actor(c))
		to, said = d.pages.AlertsURL(), "alerts.removed"
	default:
		return show.ErrNoPage
	}
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.goTo(c, to, component.Notice{Title: locale.T(ctx, said)})
}

// toasts are the latest alerts, for the script.
func (d *Door) toasts(c echo.Context) error {
	d.visit(c)
	at, err := d.place(c)
	if err != nil {
		return err
	}
	return d.write(c, http.StatusOK, d.pages.Toasts(c.Request().Context(), at).Full())
}
