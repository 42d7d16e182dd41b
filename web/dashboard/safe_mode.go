package dashboard

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/view"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/dashboard/pages"
)

// safeCookie is set in browsers that have switched Safe mode on.
const safeCookie = "mayfly_safe"

// SafeMode returns the Safe mode of a request: the server's, else the browser's own.
func (d *Handler) SafeMode(r *http.Request) view.SafeMode {
	if d.safe {
		return view.SafeModeServer
	}
	if c, err := r.Cookie(safeCookie); err == nil && c.Value == "on" {
		return view.SafeModeBrowser
	}
	return view.SafeModeOff
}

// checkSafeMode refuses irreversible deletions in Safe mode.
func (d *Handler) checkSafeMode(c echo.Context, r *pages.Route, at pages.Address, typed url.Values) error {
	if view.SafeModeOn(c.Request().Context()) && r.IsDestructive(d.pages, at, typed) {
		return origin.ErrSafeMode
	}
	return nil
}

// setSafeMode switches Safe mode on or off for the browser.
func (d *Handler) setSafeMode(c echo.Context, _ pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	if d.safe {
		return origin.ErrSafeMode
	}
	cookie := &http.Cookie{Name: safeCookie, Value: "on", Path: auth.CookiePath(d.base), MaxAge: 365 * 24 * 60 * 60, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	n := component.Notice{Title: locale.T(ctx, "ui.safe.on"), Detail: locale.T(ctx, "ui.safe.on.detail")}
	if typed.Get("safe") != "on" {
		cookie.MaxAge = -1
		n = component.Notice{Title: locale.T(ctx, "ui.safe.off")}
	}
	auth.SetCookie(c.Response(), c.Request(), cookie)
	return d.redirectBack(c, d.pages.Home(), n)
}
