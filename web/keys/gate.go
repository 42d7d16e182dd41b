package keys

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/web/identity"
)

// LeavePath is where a browser asks to forget the link that it was opened with.
const LeavePath = "/l/leave"

// A Gate is a web.Gate: it has the addresses that links are, see LinkPath, and the one
// that ends with them. Its fields are needed.
type Gate struct {
	Ring *Ring
	// Check looks at a form that was parsed: it is to be one of ours.
	Check func(*http.Request) error
	// Within is an address to return to, if it is one of this server's.
	Within func(to string) string
}

// Mount adds the addresses to at.
func (g *Gate) Mount(at *echo.Group) {
	at.GET(LinkPath+":secret", g.open)
	at.POST(LeavePath, g.leave)
}

// Needs is the role that one of its addresses takes: none.
func (g *Gate) Needs(method, pattern string) (identity.Role, bool) {
	at := method + " " + pattern
	return identity.None, at == "GET "+LinkPath+":secret" || at == "POST "+LeavePath
}

// open changes a link for a cookie, and leads to its page, so that its secret is in no
// history and no Referer.
func (g *Gate) open(c echo.Context) error {
	k, err := g.Ring.Open(c.Response(), c.Request(), c.Param("secret"))
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderReferrerPolicy, "no-referrer")
	return c.Redirect(http.StatusSeeOther, g.Ring.o.Base+k.Page)
}

// mostForm bounds the form, in bytes.
const mostForm = 16 << 10

// leave has the browser be whoever it is without the link, on the page that it was on.
// The link stays as good as it is.
func (g *Gate) leave(c echo.Context) error {
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, mostForm)
	if err := r.ParseForm(); err != nil {
		return echo.NewHTTPError(http.StatusBadRequest, "The form cannot be read.").SetInternal(err)
	}
	if err := g.Check(r); err != nil {
		return err
	}
	g.Ring.setCookie(c.Response(), r, &http.Cookie{MaxAge: -1})
	return c.Redirect(http.StatusSeeOther, g.Within(r.PostForm.Get("back")))
}
