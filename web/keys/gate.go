package keys

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/web/identity"
)

// Gate has the address that links are: see LinkPath. Base is the path that the
// dashboard is served under.
func (r *Ring) Gate(base string) *Gate { return &Gate{r, base} }

// A Gate is a web.Gate.
type Gate struct {
	r    *Ring
	base string
}

// Mount adds the address to g.
func (g *Gate) Mount(at *echo.Group) { at.GET(LinkPath+":secret", g.open) }

// Needs is the role that one of its addresses takes: none.
func (g *Gate) Needs(method, pattern string) (identity.Role, bool) {
	return identity.None, method == http.MethodGet && pattern == LinkPath+":secret"
}

// open changes a link for a cookie, and leads to its page, so that its secret is in no
// history and no Referer.
func (g *Gate) open(c echo.Context) error {
	k, err := g.r.Open(c.Response(), c.Request(), c.Param("secret"))
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderReferrerPolicy, "no-referrer")
	return c.Redirect(http.StatusSeeOther, g.base+k.Page)
}
