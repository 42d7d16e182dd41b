package dashboard

import (
	"context"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/engine/alert"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/web/dashboard/activity"
	"mayfly/web/dashboard/pages"
)

// addAlert creates an alert rule.
func (d *Handler) addAlert(c echo.Context, at pages.Address, typed url.Values) error {
	if d.alertRules == nil {
		return pages.ErrPageNotFound
	}
	return d.saveAlert(c, at, typed, "alerts.added", d.alertRules.Add)
}

// editAlert replaces an alert rule. A rule that is off stays off.
func (d *Handler) editAlert(c echo.Context, at pages.Address, typed url.Values) error {
	if d.alertRules == nil {
		return pages.ErrPageNotFound
	}
	return d.saveAlert(c, at, typed, "alerts.saved", func(ctx context.Context, r alert.Rule, actor string) (alert.Status, error) {
		was, err := d.alertRules.Rule(alert.ID(at.ID))
		if err != nil {
			return was, err
		}
		r.Off = was.Off
		return d.alertRules.Replace(ctx, was.ID, r, actor)
	})
}

func (d *Handler) saveAlert(c echo.Context, at pages.Address, typed url.Values, said string, set func(context.Context, alert.Rule, string) (alert.Status, error)) error {
	ctx := c.Request().Context()
	t := pages.FormState{Values: typed}
	r := activity.ParseAlert(ctx, &t)
	if len(t.Errors) > 0 {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	is, err := set(ctx, r, actor(c))
	if err != nil {
		if activity.SetAlertError(&t, err) {
			return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
		}
		return d.writeFormError(c, at, t, err)
	}
	return d.redirectWithNotice(c, activity.AlertURL(d.pages, is.ID), component.Notice{Title: locale.T(ctx, said)})
}

// tryAlert shows the effects of a rule without saving it.
func (d *Handler) tryAlert(c echo.Context, at pages.Address, typed url.Values) error {
	at.Action = "new"
	if at.Kind == pages.Alert {
		at.Action = "edit"
	}
	return d.writeForm(c, http.StatusOK, at, pages.FormState{Values: typed})
}

// changeAlert switches a rule on or off, tests it or removes it.
func (d *Handler) changeAlert(c echo.Context, at pages.Address, _ url.Values) error {
	if d.alertRules == nil {
		return pages.ErrPageNotFound
	}
	ctx, id := c.Request().Context(), alert.ID(at.ID)
	to, said := activity.AlertURL(d.pages, id), ""
	var err error
	switch at.Action {
	case "on":
		_, err = d.alertRules.SetPower(ctx, id, alert.On, actor(c))
		said = "alerts.switched.on"
	case "off":
		_, err = d.alertRules.SetPower(ctx, id, alert.Off, actor(c))
		said = "alerts.switched.off"
	case "test":
		err, said = d.alertRules.Test(ctx, id), "alerts.tested"
	case "remove":
		err = d.alertRules.Remove(ctx, id, actor(c))
		to, said = activity.AlertsURL(d.pages), "alerts.removed"
	default:
		return pages.ErrPageNotFound
	}
	if err != nil {
		return err
	}
	return d.redirectWithNotice(c, to, component.Notice{Title: locale.T(ctx, said)})
}

// alertToasts serves the latest alerts as toasts, which the script fetches.
func (d *Handler) alertToasts(c echo.Context) error {
	d.prepareContext(c)
	at, err := d.address(c)
	if err != nil {
		return err
	}
	return d.writeComponent(c, http.StatusOK, activity.Toasts(c.Request().Context(), d.pages, at).Full())
}
