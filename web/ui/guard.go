package ui

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine/job"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/access"
	"mayfly/web/identity"
	"mayfly/web/show"
)

// safeCookie is there where a browser has chosen Safe mode for itself.
const safeCookie = "mayfly_safe"

// Safety is that of a request: the server's, else what its browser has chosen.
func (d *Door) Safety(r *http.Request) view.Safety {
	if d.safe {
		return view.SafeAll
	}
	if c, err := r.Cookie(safeCookie); err == nil && c.Value == "on" {
		return view.SafeHere
	}
	return view.Unsafe
}

// ruinous are the deeds that do away with something for good, by what they are done
// to.
func ruinous() map[show.Kind][]string {
	return map[show.Kind][]string{
		show.Entity:  {"delete", "purge", "rules/remove", "bulk/delete", "bulk/cancel"},
		show.Chosen:  {"bulk/delete", "bulk/cancel"},
		show.Message: {"delete", "cancel", "complete"},
		show.Session: {"state", "clear"},
		show.Access:  {"remove", "renew"},
	}
}

// ruins tells whether a form would do away with something for good: also where that
// depends on what was typed. What only asks or counts does not.
func (d *Door) ruins(at show.Place, typed url.Values) bool {
	switch {
	case at.Kind == show.Jobs && at.Do == "new":
		return job.Kind(typed.Get(page.AskKind)).Destructive() || shortens(typed)
	case at.Kind == show.Job && at.Do == "resume":
		is, err := d.jobs.Job(job.ID(at.ID))
		return err == nil && is.Plan.Ruins()
	case at.Do == "extend" || at.Do == "bulk/extend":
		return shortens(typed)
	case at.Do == "purge" && typed.Has(page.AskLook):
		return false
	case strings.HasPrefix(at.Do, "bulk/") && (!typed.Has(page.AskCount) || typed.Has(page.AskAll)):
		return false
	}
	return slices.Contains(ruinous()[at.Kind], at.Do)
}

// shortens tells whether time is taken from messages, which may be all they have.
func shortens(typed url.Values) bool {
	return strings.ContainsAny(typed.Get(page.AskBy), "-−")
}

// spare refuses in Safe mode what does away with something.
func (d *Door) spare(c echo.Context, at show.Place, typed url.Values) error {
	if view.Safe(c.Request().Context()) && d.ruins(at, typed) {
		return access.ErrSafe
	}
	return nil
}

// setSafe switches Safe mode on or off for this browser.
func (d *Door) setSafe(c echo.Context, _ show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	if d.safe {
		return access.ErrSafe
	}
	cookie := &http.Cookie{Name: safeCookie, Value: "on", Path: identity.CookiePath(d.base), MaxAge: 365 * 24 * 60 * 60, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	n := component.Notice{Title: locale.T(ctx, "ui.safe.on"), Detail: locale.T(ctx, "ui.safe.on.detail")}
	if typed.Get("safe") != "on" {
		cookie.MaxAge = -1
		n = component.Notice{Title: locale.T(ctx, "ui.safe.off")}
	}
	c.SetCookie(cookie)
	return d.done(c, d.pages.Home(), n)
}
