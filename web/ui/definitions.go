package ui

import (
	"mime"
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/web/show"
)

// definitions sends all entities and rules as a file.
func (d *Door) definitions(c echo.Context) error {
	d.visit(c)
	if c.Param("ns") != d.b.Name() {
		return show.ErrNoPage
	}
	raw, err := d.b.Definition(c.Request().Context())
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	c.Response().Header().Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": "Config.json"}))
	return c.JSONBlob(http.StatusOK, raw)
}
