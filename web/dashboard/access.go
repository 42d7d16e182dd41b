package dashboard

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
	adminpage "mayfly/views/page/admin"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/pages"
)

// addAccess adds an access rule with random keys.
func (d *Handler) addAccess(c echo.Context, at pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	of, err := admin.AccessOwner(d.pages, at)
	if err != nil {
		return err
	}
	t := pages.FormState{Values: typed, Errors: map[string]component.Text{}}
	rule := admin.ParseAccessRule(&t)
	if rule.Name == "" {
		t.Errors[adminpage.FieldRule] = component.Text{S: locale.T(ctx, "access.name.none")}
	}
	if rule.Rights == 0 && t.Errors[adminpage.FieldRights].S == "" {
		t.Errors[adminpage.FieldRights] = component.Text{S: locale.T(ctx, "access.rights.none")}
	}
	if len(t.Errors) > 0 {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	made, err := d.b.AddAccessRule(ctx, of, rule, actor(c))
	if errors.Is(err, engine.ErrExists) {
		t.Errors[adminpage.FieldRule] = errorMessage(err)
		return d.writeForm(c, http.StatusConflict, at, t)
	}
	if wrong, ok := errors.AsType[*engine.PropertyError](err); ok {
		t.Errors[adminpage.FieldRule] = component.ServerText(wrong.Text)
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	if err != nil {
		return d.writeFormError(c, at, t, err)
	}
	return d.redirectWithNotice(c, d.pages.AccessURL(of), component.Notice{
		Title: locale.T(ctx, "access.made", locale.Args{"Name": component.ShowInvisible(made.Name)}), Detail: locale.T(ctx, "access.made.detail"),
	})
}

// showKeys serves the page with the keys of a rule. It handles a POST, so that no address in the
// browser's history shows the keys again.
func (d *Handler) showKeys(c echo.Context, at pages.Address, _ url.Values) error {
	p, err := admin.AccessKeys(c.Request().Context(), d.pages, at)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return d.writeComponent(c, http.StatusOK, p.Full())
}

// redirectFromKeys redirects a GET of the keys' address to the rules.
func (d *Handler) redirectFromKeys(c echo.Context) error {
	at, err := d.address(c)
	if err != nil {
		return err
	}
	of, err := admin.AccessOwner(d.pages, at)
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, d.pages.AccessURL(of))
}

// renewKey regenerates a key of a rule.
func (d *Handler) renewKey(c echo.Context, at pages.Address, _ url.Values) error {
	ctx := c.Request().Context()
	of, err := admin.AccessOwner(d.pages, at)
	if err != nil {
		return err
	}
	which, ok := admin.ParseKeyKind(at.Query)
	if !ok {
		return pages.ErrPageNotFound
	}
	r, err := d.b.RegenerateAccessKey(ctx, of, at.Query.Get("rule"), which, actor(c))
	if err != nil {
		return err
	}
	title := "access.renewed.primary"
	if which == engine.SecondaryKey {
		title = "access.renewed.secondary"
	}
	return d.redirectWithNotice(c, d.pages.AccessURL(of), component.Notice{
		Title: locale.T(ctx, title, locale.Args{"Name": component.ShowInvisible(r.Name)}), Detail: locale.T(ctx, "access.renewed.detail"),
	})
}

// removeAccess removes a rule.
func (d *Handler) removeAccess(c echo.Context, at pages.Address, _ url.Values) error {
	ctx, name := c.Request().Context(), at.Query.Get("rule")
	of, err := admin.AccessOwner(d.pages, at)
	if err != nil {
		return err
	}
	if err := d.b.RemoveAccessRule(ctx, of, name, actor(c)); err != nil {
		return err
	}
	return d.redirectWithNotice(c, d.pages.AccessURL(of), component.Notice{Title: locale.T(ctx, "access.removed", locale.Args{"Name": component.ShowInvisible(name)})})
}
