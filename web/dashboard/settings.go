package dashboard

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/web/auth"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/pages"
)

// settingsPage shows the settings that are stored in this browser.
func (d *Handler) settingsPage(c echo.Context) error {
	d.prepareContext(c)
	return d.writeComponent(c, http.StatusOK, admin.Settings(c.Request().Context(), d.pages).Full())
}

// saveSettings saves the language or the appearance in a cookie. It changes nothing on the
// server, so it is not audited.
func (d *Handler) saveSettings(c echo.Context, typed url.Values) error {
	if typed.Has(layout.FieldLanguage) {
		return d.setLanguage(c, typed)
	}
	looks := layout.Appearance{Theme: typed.Get("theme"), Contrast: typed.Get("contrast"), Density: typed.Get("density")}
	if !looks.Valid() {
		return pages.ErrPageNotFound // not on the page
	}
	for _, cookie := range looks.Cookies(d.base) {
		auth.SetCookie(c.Response(), c.Request(), cookie)
	}
	return d.redirectWithNotice(c, d.pages.SettingsURL(), component.Notice{Title: locale.T(c.Request().Context(), "settings.kept")})
}
