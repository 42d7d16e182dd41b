package dashboard

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	adminpage "mayfly/views/page/admin"
	"mayfly/web/dashboard/admin"
)

// docs shows the list of the documentation's pages, or the result of a search in them.
func (d *Handler) docs(c echo.Context) error {
	d.prepareContext(c)
	return d.writeComponent(c, http.StatusOK, admin.Docs(c.Request().Context(), d.pages, strings.TrimSpace(c.QueryParam(adminpage.DocsQuery))).Full())
}

// doc shows a page of the documentation.
func (d *Handler) doc(c echo.Context) error {
	d.prepareContext(c)
	m, err := admin.Doc(c.Request().Context(), d.pages, c.Param("page"))
	if err != nil {
		return err
	}
	return d.writeComponent(c, http.StatusOK, m.Full())
}
