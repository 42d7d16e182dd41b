package ui

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/engine/search/columns"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/show"
)

// saveView saves columns under a name, shows them without saving, or only rearranges the form.
func (d *Handler) saveView(c echo.Context, at show.Address, typed url.Values) error {
	ctx := c.Request().Context()
	t := show.FormState{Values: typed}
	a := d.pages.ParseView(ctx, &t)
	deed := typed.Get(page.FieldAction)
	if deed != page.ViewSave && deed != page.ViewAdd && deed != page.ViewApply {
		return d.writeForm(c, http.StatusOK, at, show.FormState{Values: typed})
	}
	if len(t.Errors) == 0 && len(a.View.Columns) == 0 {
		t.Errors[page.FieldColumn] = component.Text{S: locale.T(ctx, "views.none")}
	}
	if len(t.Errors) == 0 && deed != page.ViewApply && a.View.Name == "" {
		t.Errors[page.FieldViewName] = component.Text{S: locale.T(ctx, "views.name.none")}
	}
	if len(t.Errors) > 0 {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, show.FormState{Values: typed, Errors: t.Errors})
	}
	if deed == page.ViewApply {
		if a.Back.Kind == "" {
			return show.ErrPageNotFound
		}
		return c.Redirect(http.StatusSeeOther, d.pages.ListWith(a.Back, "", a.View.Columns))
	}
	var v columns.View
	var err error
	if deed == page.ViewSave {
		v, err = columns.Replace(ctx, d.b, a.View, a.Original, actor(c))
	} else {
		v, err = columns.Add(ctx, d.b, a.View, actor(c))
	}
	if err != nil {
		return d.writeFormError(c, at, show.FormState{Values: typed}, err)
	}
	to := d.pages.URL(show.Address{Namespace: at.Namespace, Kind: show.Views})
	if a.Back.Kind != "" && d.pages.ViewApplies(a.Back, v) {
		to = d.pages.ListWith(a.Back, v.Name, nil)
	}
	return d.redirectWithNotice(c, to, component.Notice{Title: locale.T(ctx, "views.saved", locale.Args{"Name": component.ShowInvisible(v.Name)})})
}

// deleteView deletes a view. Lists that showed it get their default columns.
func (d *Handler) deleteView(c echo.Context, at show.Address, _ url.Values) error {
	ctx := c.Request().Context()
	name := at.Query.Get(page.FieldView)
	if err := columns.Delete(ctx, d.b, name, actor(c)); err != nil {
		return err
	}
	all := d.pages.URL(show.Address{Namespace: at.Namespace, Kind: show.Views})
	return d.redirectWithNotice(c, all, component.Notice{Title: locale.T(ctx, "views.deleted", locale.Args{"Name": component.ShowInvisible(name)})})
}
