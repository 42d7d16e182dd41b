package dashboard

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/engine/search/columns"
	"mayfly/views/component"
	"mayfly/views/locale"
	listpage "mayfly/views/page/list"
	"mayfly/web/dashboard/list"
	"mayfly/web/dashboard/pages"
)

// saveView saves the selected columns as a view, shows a list with them without saving, or only
// shows the form again with rearranged columns.
func (d *Handler) saveView(c echo.Context, at pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	t := pages.FormState{Values: typed}
	a := list.ParseView(ctx, d.pages, &t)
	deed := typed.Get(listpage.FieldAction)
	if deed != listpage.ViewSave && deed != listpage.ViewAdd && deed != listpage.ViewApply {
		return d.writeForm(c, http.StatusOK, at, pages.FormState{Values: typed})
	}
	if len(t.Errors) == 0 && len(a.View.Columns) == 0 {
		t.Errors[listpage.FieldColumn] = component.Text{S: locale.T(ctx, "views.none")}
	}
	if len(t.Errors) == 0 && deed != listpage.ViewApply && a.View.Name == "" {
		t.Errors[listpage.FieldViewName] = component.Text{S: locale.T(ctx, "views.name.none")}
	}
	if len(t.Errors) > 0 {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, pages.FormState{Values: typed, Errors: t.Errors})
	}
	if deed == listpage.ViewApply {
		if a.Back.Kind == "" {
			return pages.ErrPageNotFound
		}
		return c.Redirect(http.StatusSeeOther, list.URLWith(d.pages, a.Back, "", a.View.Columns))
	}
	var v columns.View
	var err error
	if deed == listpage.ViewSave {
		v, err = columns.Replace(ctx, d.b, a.View, a.Original, actor(c))
	} else {
		v, err = columns.Add(ctx, d.b, a.View, actor(c))
	}
	if err != nil {
		return d.writeFormError(c, at, pages.FormState{Values: typed}, err)
	}
	to := d.pages.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Views})
	if a.Back.Kind != "" && list.ViewApplies(d.pages, a.Back, v) {
		to = list.URLWith(d.pages, a.Back, v.Name, nil)
	}
	return d.redirectWithNotice(c, to, component.Notice{Title: locale.T(ctx, "views.saved", locale.Args{"Name": component.ShowInvisible(v.Name)})})
}

// deleteView deletes a view. Lists that showed it get their default columns.
func (d *Handler) deleteView(c echo.Context, at pages.Address, _ url.Values) error {
	ctx := c.Request().Context()
	name := at.Query.Get(listpage.FieldView)
	if err := columns.Delete(ctx, d.b, name, actor(c)); err != nil {
		return err
	}
	all := d.pages.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Views})
	return d.redirectWithNotice(c, all, component.Notice{Title: locale.T(ctx, "views.deleted", locale.Args{"Name": component.ShowInvisible(name)})})
}
