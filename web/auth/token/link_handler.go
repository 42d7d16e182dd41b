package token

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/web/auth"
)

// LeavePath is the address at which a browser drops the link that it was opened with.
const LeavePath = "/l/leave"

// A LinkHandler is a web.AuthRoutes with the addresses that open a link and drop it; see LinkPath. All of
// its fields are required.
type LinkHandler struct {
	Registry *Registry
	// CheckForm checks the token of a form that was parsed.
	CheckForm func(*http.Request) error
	// ReturnPath returns `to` if it is an address of this server, else the address of its first
	// page.
	ReturnPath func(to string) string
}

// Mount adds the handler's routes to the group `at`.
func (g *LinkHandler) Mount(at *echo.Group) {
	at.GET(LinkPath+":secret", g.open)
	at.POST(LeavePath, g.leave)
}

// RequiredRole returns the role of the handler's routes, which is none.
func (g *LinkHandler) RequiredRole(method, pattern string) (auth.Role, bool) {
	at := method + " " + pattern
	return auth.None, at == "GET "+LinkPath+":secret" || at == "POST "+LeavePath
}

// open exchanges a link for a cookie and redirects to its page, so that the secret is in no
// history and no Referer.
func (g *LinkHandler) open(c echo.Context) error {
	k, err := g.Registry.OpenLink(c.Response(), c.Request(), c.Param("secret"))
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderReferrerPolicy, "no-referrer")
	return c.Redirect(http.StatusSeeOther, g.Registry.o.Base+k.Page)
}

// maxForm bounds the form, in bytes.
const maxForm = 16 << 10

// leave drops the link cookie and returns to the same page. The link stays valid.
func (g *LinkHandler) leave(c echo.Context) error {
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return echo.NewHTTPError(http.StatusBadRequest, "The form cannot be read.").SetInternal(err)
	}
	if err := g.CheckForm(r); err != nil {
		return err
	}
	g.Registry.setCookie(c.Response(), r, &http.Cookie{MaxAge: -1})
	return c.Redirect(http.StatusSeeOther, g.ReturnPath(r.PostForm.Get("back")))
}
