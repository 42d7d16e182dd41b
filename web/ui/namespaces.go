package ui

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/definition"
	"mayfly/engine/fleet"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/access"
	"mayfly/web/show"
)

// mountNamespaces adds the page of all namespaces of the server, which belongs to
// none of them.
func (d *Door) mountNamespaces(g *echo.Group) {
	if d.fleet == nil {
		return
	}
	g.GET("/namespaces", func(c echo.Context) error { return d.namespaces(c, http.StatusOK, show.Typed{}) })
	g.POST("/namespaces", d.sent(d.createNamespace))
	g.GET("/namespaces/:name/remove", func(c echo.Context) error { return d.removal(c, http.StatusOK, show.Typed{}) })
	g.POST("/namespaces/:name/remove", d.sent(d.removeNamespace))
	g.GET("/namespaces/:name/limits", func(c echo.Context) error { return d.limits(c, http.StatusOK, show.Typed{}) })
	g.POST("/namespaces/:name/limits", d.sent(d.limitNamespace))
}

func (d *Door) namespaces(c echo.Context, status int, t show.Typed) error {
	d.visit(c)
	p, err := d.pages.Namespaces(c.Request().Context(), t)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.write(c, status, p.Full())
}

func (d *Door) removal(c echo.Context, status int, t show.Typed) error {
	d.visit(c)
	p, err := d.pages.NamespaceRemoval(c.Request().Context(), c.Param("name"), t)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.show(c, status, p)
}

func (d *Door) limits(c echo.Context, status int, t show.Typed) error {
	d.visit(c)
	p, err := d.pages.NamespaceLimits(c.Request().Context(), c.Param("name"), t)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.write(c, status, p.Full())
}

// limitNamespace gives a namespace other limits.
func (d *Door) limitNamespace(c echo.Context, typed url.Values) error {
	ctx := c.Request().Context()
	n, err := d.fleet.Change(ctx, c.Param("name"), typed.Get(page.AskProfile), actor(c))
	switch {
	case errors.Is(err, engine.ErrNotAllowed), errors.Is(err, engine.ErrArgument), errors.Is(err, engine.ErrChanged):
		return d.limits(c, http.StatusUnprocessableEntity, show.Typed{Values: typed, Refused: because(component.Notice{Tone: component.Lost}, err)})
	case err != nil:
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.goTo(c, d.pages.NamespacesURL(""), component.Notice{Title: locale.T(ctx, "spaces.limits.changed", locale.Args{"Name": n.Name})})
}

// createNamespace makes a namespace, and leads there.
func (d *Door) createNamespace(c echo.Context, typed url.Values) error {
	ctx := c.Request().Context()
	t := show.Typed{Values: typed, Errors: map[string]component.Text{}}
	s := fleet.Spec{Name: strings.TrimSpace(typed.Get(page.AskNamespace)), Profile: typed.Get(page.AskProfile)}
	if stay := typed.Get(page.AskStay); stay != "" {
		stays, never, err := engine.ParseDuration(stay)
		if err != nil || never || stays <= 0 {
			return show.ErrNoPage // none that the form has
		}
		s.Temporary, s.Until = true, time.Now().Add(stays).UTC().Truncate(time.Millisecond)
	}
	var n fleet.Namespace
	var err error
	if config := typed.Get(page.AskConfig); strings.TrimSpace(config) == "" {
		n, err = d.fleet.Create(ctx, s, actor(c))
	} else {
		n, err = d.fleet.CreateDefined(ctx, s, []byte(config), actor(c))
	}
	var problems definition.Problems
	switch {
	case errors.As(err, &problems):
		t.Errors[page.AskConfig] = component.Said(problems.Error())
		return d.namespaces(c, http.StatusUnprocessableEntity, t)
	case errors.Is(err, engine.ErrBusy):
		t.Refused = because(component.Notice{Tone: component.Lost}, err)
		return d.namespaces(c, http.StatusServiceUnavailable, t)
	case errors.Is(err, fleet.ErrTaken):
		t.Errors[page.AskNamespace] = why(err)
		return d.namespaces(c, http.StatusConflict, t)
	case errors.Is(err, engine.ErrArgument):
		t.Errors[page.AskNamespace] = why(err)
		return d.namespaces(c, http.StatusUnprocessableEntity, t)
	case errors.Is(err, engine.ErrQuota):
		t.Refused = because(component.Notice{Tone: component.Lost}, err)
		return d.namespaces(c, http.StatusForbidden, t)
	case err != nil:
		return err //nolint:wrapcheck // it says what it is about
	}
	to := d.base + "/n/" + n.Name
	if n.State != fleet.Serving {
		to = d.pages.NamespacesURL("")
	}
	return d.goTo(c, to, component.Notice{Title: locale.T(ctx, "spaces.made", locale.Args{"Name": n.Name})})
}

// removeNamespace removes a namespace whose name was typed.
func (d *Door) removeNamespace(c echo.Context, typed url.Values) error {
	ctx, name := c.Request().Context(), c.Param("name")
	if view.Safe(ctx) {
		return access.ErrSafe
	}
	t := show.Typed{Values: typed, Errors: map[string]component.Text{}}
	if !strings.EqualFold(strings.TrimSpace(typed.Get(page.AskConfirm)), name) {
		t.Errors[page.AskConfirm] = component.Text{S: locale.T(ctx, "spaces.remove.type")}
		return d.removal(c, http.StatusUnprocessableEntity, t)
	}
	aside, err := d.fleet.Remove(ctx, name, actor(c))
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	n := component.Notice{Title: locale.T(ctx, "spaces.removed", locale.Args{"Name": name})}
	if aside != "" {
		n.Tone, n.Detail = component.Never, locale.T(ctx, "spaces.removed.aside", locale.Args{"At": aside}) // a path is read slowly, and copied
	}
	return d.goTo(c, d.pages.NamespacesURL(""), n)
}
