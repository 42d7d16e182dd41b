package ui

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/engine/listing"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/show"
)

// editView keeps columns under a name, shows them without one, or only arranges the
// form.
func (d *Door) editView(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	t := show.Typed{Values: typed}
	a := d.pages.ReadView(ctx, &t)
	deed := typed.Get(page.AskDeed)
	if deed != page.ViewSave && deed != page.ViewAdd && deed != page.ViewApply {
		return d.form(c, http.StatusOK, at, show.Typed{Values: typed})
	}
	if len(t.Errors) == 0 && len(a.View.Columns) == 0 {
		t.Errors[page.AskColumn] = component.Text{S: locale.T(ctx, "views.none")}
	}
	if len(t.Errors) == 0 && deed != page.ViewApply && a.View.Name == "" {
		t.Errors[page.AskName] = component.Text{S: locale.T(ctx, "views.name.none")}
	}
	if len(t.Errors) > 0 {
		return d.form(c, http.StatusUnprocessableEntity, at, show.Typed{Values: typed, Errors: t.Errors})
	}
	if deed == page.ViewApply {
		if a.Back.Kind == 0 {
			return show.ErrNoPage
		}
		return c.Redirect(http.StatusSeeOther, d.pages.ListWith(a.Back, "", a.View.Columns))
	}
	var v listing.View
	var err error
	if deed == page.ViewSave {
		v, err = listing.Replace(ctx, d.b, a.View, a.Was, actor(c))
	} else {
		v, err = listing.Add(ctx, d.b, a.View, actor(c))
	}
	if err != nil {
		return d.again(c, at, show.Typed{Values: typed}, err)
	}
	to := d.pages.URL(show.Place{Namespace: at.Namespace, Kind: show.Views})
	if a.Back.Kind != 0 && d.pages.Lists(a.Back, v) {
		to = d.pages.ListWith(a.Back, v.Name, nil)
	}
	return d.goTo(c, to, component.Notice{Title: locale.T(ctx, "views.saved", locale.Args{"Name": component.Visible(v.Name)})})
}

// deleteView forgets a view. Lists that showed it show what they have by themselves.
func (d *Door) deleteView(c echo.Context, at show.Place, _ url.Values) error {
	ctx := c.Request().Context()
	name := at.Query.Get(page.AskView)
	if err := listing.Drop(ctx, d.b, name, actor(c)); err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	all := d.pages.URL(show.Place{Namespace: at.Namespace, Kind: show.Views})
	return d.goTo(c, all, component.Notice{Title: locale.T(ctx, "views.deleted", locale.Args{"Name": component.Visible(name)})})
}
