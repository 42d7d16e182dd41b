package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/namespaces"
	"mayfly/engine/topology"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	adminpage "mayfly/views/page/admin"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/pages"
)

func (d *Handler) namespacesPage(c echo.Context, status int, t pages.FormState) error {
	d.prepareContext(c)
	p, err := admin.Namespaces(c.Request().Context(), d.pages, t)
	if err != nil {
		return err
	}
	return d.writeComponent(c, status, p.Full())
}

func (d *Handler) writeNamespaceRemoval(c echo.Context, status int, t pages.FormState) error {
	d.prepareContext(c)
	p, err := admin.NamespaceRemoval(c.Request().Context(), d.pages, c.Param("name"), t)
	if err != nil {
		return err
	}
	return d.writePage(c, status, p)
}

func (d *Handler) writeNamespaceLimits(c echo.Context, status int, t pages.FormState) error {
	d.prepareContext(c)
	p, err := admin.NamespaceLimits(c.Request().Context(), d.pages, c.Param("name"), t)
	if err != nil {
		return err
	}
	return d.writeComponent(c, status, p.Full())
}

// limitNamespace changes the limits of a namespace.
func (d *Handler) limitNamespace(c echo.Context, typed url.Values) error {
	ctx := c.Request().Context()
	n, err := d.namespaces.Change(ctx, c.Param("name"), typed.Get(adminpage.FieldProfile), actor(c))
	switch {
	case errors.Is(err, engine.ErrNotAllowed), errors.Is(err, engine.ErrArgument), errors.Is(err, engine.ErrChanged):
		return d.writeNamespaceLimits(c, http.StatusUnprocessableEntity, pages.FormState{Values: typed, Refused: withError(component.Notice{Tone: component.Lost}, err)})
	case err != nil:
		return err
	}
	return d.redirectWithNotice(c, d.pages.NamespacesURL(""), component.Notice{Title: locale.T(ctx, "spaces.limits.changed", locale.Args{"Name": n.Name})})
}

// createNamespace creates a namespace, and redirects to it.
func (d *Handler) createNamespace(c echo.Context, typed url.Values) error {
	ctx := c.Request().Context()
	t := pages.FormState{Values: typed, Errors: map[string]component.Text{}}
	s := namespaces.Spec{Name: strings.TrimSpace(typed.Get(adminpage.FieldNamespace)), Profile: typed.Get(adminpage.FieldProfile)}
	if stay := typed.Get(adminpage.FieldLifetime); stay != "" {
		stays, never, err := engine.ParseDuration(stay)
		if err != nil || never || stays <= 0 {
			return pages.ErrPageNotFound // not in the form
		}
		s.Temporary, s.Until = true, time.Now().Add(stays).UTC().Truncate(time.Millisecond)
	}
	var n namespaces.Namespace
	var warnings topology.Problems
	var err error
	if config := typed.Get(adminpage.FieldConfig); strings.TrimSpace(config) == "" {
		n, err = d.namespaces.Create(ctx, s, actor(c))
	} else {
		n, warnings, err = d.namespaces.CreateDefined(ctx, s, []byte(config), actor(c))
	}
	var problems topology.Problems
	switch {
	case errors.As(err, &problems):
		t.Errors[adminpage.FieldConfig] = component.ServerText(problems.Error())
		return d.namespacesPage(c, http.StatusUnprocessableEntity, t)
	case errors.Is(err, engine.ErrBusy):
		t.Refused = withError(component.Notice{Tone: component.Lost}, err)
		return d.namespacesPage(c, http.StatusServiceUnavailable, t)
	case errors.Is(err, namespaces.ErrNamespaceExists):
		t.Errors[adminpage.FieldNamespace] = errorMessage(err)
		return d.namespacesPage(c, http.StatusConflict, t)
	case errors.Is(err, engine.ErrArgument):
		t.Errors[adminpage.FieldNamespace] = errorMessage(err)
		return d.namespacesPage(c, http.StatusUnprocessableEntity, t)
	case errors.Is(err, engine.ErrQuota):
		t.Refused = withError(component.Notice{Tone: component.Lost}, err)
		return d.namespacesPage(c, http.StatusForbidden, t)
	case err != nil:
		return err
	}
	to := d.base + "/n/" + n.Name
	if n.State != namespaces.Serving {
		to = d.pages.NamespacesURL("")
	}
	made := component.Notice{Title: locale.T(ctx, "spaces.made", locale.Args{"Name": n.Name})}
	if told := len(warnings.First) + warnings.More; told > 0 {
		made.Tone, made.Detail, made.ServerText = component.Low, locale.N(ctx, "definitions.warned", told), warnings.Error()
	}
	return d.redirectWithNotice(c, to, made)
}

// removeNamespace removes a namespace, once the user has typed its name.
func (d *Handler) removeNamespace(c echo.Context, typed url.Values) error {
	ctx, name := c.Request().Context(), c.Param("name")
	t := pages.FormState{Values: typed, Errors: map[string]component.Text{}}
	if !strings.EqualFold(strings.TrimSpace(typed.Get(page.FieldConfirm)), name) {
		t.Errors[page.FieldConfirm] = component.Text{S: locale.T(ctx, "spaces.remove.type")}
		return d.writeNamespaceRemoval(c, http.StatusUnprocessableEntity, t)
	}
	aside, err := d.namespaces.Remove(ctx, name, actor(c))
	if err != nil {
		return err
	}
	n := component.Notice{Title: locale.T(ctx, "spaces.removed", locale.Args{"Name": name})}
	if aside != "" {
		n.Tone, n.Detail = component.Never, locale.T(ctx, "spaces.removed.aside", locale.Args{"At": aside}) // not transient, because a path takes time to read and copy
	}
	return d.redirectWithNotice(c, d.pages.NamespacesURL(""), n)
}
