package ui

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/web/show"
)

// settings shows what this browser keeps.
func (d *Door) settings(c echo.Context) error {
	d.visit(c)
	return d.write(c, http.StatusOK, d.pages.Settings(c.Request().Context()).Full())
}

// setSettings keeps the language or the looks that were chosen. It changes nothing
// on the server, so nothing of it is audited.
func (d *Door) setSettings(c echo.Context, typed url.Values) error {
	if typed.Has(layout.AskLanguage) {
		return d.setLanguage(c, typed)
	}
	looks := layout.Looks{Theme: typed.Get("theme"), Contrast: typed.Get("contrast"), Density: typed.Get("density")}
	if !looks.Known() {
		return show.ErrNoPage // none that the page has
	}
	for _, cookie := range looks.Cookies(d.base) {
		c.SetCookie(cookie)
	}
	return d.goTo(c, d.pages.SettingsURL(), component.Notice{Title: locale.T(c.Request().Context(), "settings.kept")})
}
