package dashboard

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/views/locale"
	"mayfly/web/auth"
	"mayfly/web/dashboard/pages"
)

// setLanguage sets the language of the pages for the browser, or resets it to the browser's
// own.
func (d *Handler) setLanguage(c echo.Context, typed url.Values) error {
	tag := typed.Get("lang")
	if tag != locale.Auto && !locale.Supported(tag) {
		return pages.ErrPageNotFound // not in the menu
	}
	cookie := &http.Cookie{Name: locale.Cookie, Value: tag, Path: auth.CookiePath(d.base), MaxAge: 365 * 24 * 60 * 60, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if tag == locale.Auto {
		cookie.MaxAge = -1
	}
	auth.SetCookie(c.Response(), c.Request(), cookie)
	return c.Redirect(http.StatusSeeOther, d.returnURL(c, d.pages.Home()))
}
