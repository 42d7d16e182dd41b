package ui

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/show"
)

// addAccess adds an access rule with random keys.
func (d *Door) addAccess(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	of, err := d.pages.AccessOwner(at)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	t := show.Typed{Values: typed, Errors: map[string]component.Text{}}
	rule := show.ReadAccessRule(&t)
	if rule.Name == "" {
		t.Errors[page.AskRule] = component.Text{S: locale.T(ctx, "access.name.none")}
	}
	if rule.Rights == 0 && t.Errors[page.AskRights].S == "" {
		t.Errors[page.AskRights] = component.Text{S: locale.T(ctx, "access.rights.none")}
	}
	if len(t.Errors) > 0 {
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	made, err := d.b.AddAccessRule(ctx, of, rule, actor(c))
	if errors.Is(err, engine.ErrExists) {
		t.Errors[page.AskRule] = why(err)
		return d.form(c, http.StatusConflict, at, t)
	}
	if wrong, ok := errors.AsType[*engine.PropertyError](err); ok {
		t.Errors[page.AskRule] = component.Said(wrong.Text)
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	if err != nil {
		return d.again(c, at, t, err)
	}
	return d.goTo(c, d.pages.AccessURL(of), component.Notice{
		Title: locale.T(ctx, "access.made", locale.Args{"Name": component.Visible(made.Name)}), Detail: locale.T(ctx, "access.made.detail"),
	})
}

// showKeys answers with the keys of a rule: by POST, so that no address brings
// them back.
func (d *Door) showKeys(c echo.Context, at show.Place, _ url.Values) error {
	p, err := d.pages.AccessKeys(c.Request().Context(), at)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return d.write(c, http.StatusOK, p.Full())
}

// hideKeys leads who opens the address of keys to the rules.
func (d *Door) hideKeys(c echo.Context) error {
	at, err := d.place(c)
	if err != nil {
		return err
	}
	of, err := d.pages.AccessOwner(at)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return c.Redirect(http.StatusSeeOther, d.pages.AccessURL(of))
}

// renewKey gives a rule another key.
func (d *Door) renewKey(c echo.Context, at show.Place, _ url.Values) error {
	ctx := c.Request().Context()
	of, err := d.pages.AccessOwner(at)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	which, ok := show.ReadKeyKind(at.Query)
	if !ok {
		return show.ErrNoPage
	}
	r, err := d.b.RenewAccessKey(ctx, of, at.Query.Get("rule"), which, actor(c))
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	title := "access.renewed.primary"
	if which == engine.SecondaryKey {
		title = "access.renewed.secondary"
	}
	return d.goTo(c, d.pages.AccessURL(of), component.Notice{
		Title: locale.T(ctx, title, locale.Args{"Name": component.Visible(r.Name)}), Detail: locale.T(ctx, "access.renewed.detail"),
	})
}

// removeAccess removes a rule.
func (d *Door) removeAccess(c echo.Context, at show.Place, _ url.Values) error {
	ctx, name := c.Request().Context(), at.Query.Get("rule")
	of, err := d.pages.AccessOwner(at)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	if err := d.b.RemoveAccessRule(ctx, of, name, actor(c)); err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.goTo(c, d.pages.AccessURL(of), component.Notice{Title: locale.T(ctx, "access.removed", locale.Args{"Name": component.Visible(name)})})
}
