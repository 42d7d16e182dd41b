package ui

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/views/locale"
	"mayfly/web/identity"
	"mayfly/web/show"
)

// setLanguage chooses the language of the pages for this browser, or
// leaves it to what that asks for.
func (d *Door) setLanguage(c echo.Context, typed url.Values) error {
	tag := typed.Get("lang")
	if tag != locale.Auto && !locale.Known(tag) {
		return show.ErrNoPage // none that the menu has
	}
	cookie := &http.Cookie{Name: locale.Cookie, Value: tag, Path: identity.CookiePath(d.base), MaxAge: 365 * 24 * 60 * 60, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if tag == locale.Auto {
		cookie.MaxAge = -1
	}
	c.SetCookie(cookie)
	return c.Redirect(http.StatusSeeOther, d.backOr(c, d.pages.Home()))
}
