package ui

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/views/component"
	"mayfly/web/show"
)

// tryAll answers with the filter lab and what every subscription makes of the
// message in it. Nothing is sent.
func (d *Door) tryAll(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	t := show.Typed{Values: typed, Errors: map[string]component.Text{}}
	if !addRows(typed) {
		if m, ok := d.readTried(ctx, &t); ok {
			t.Try = &show.Attempt{Message: m}
		}
	}
	return d.lab(c, http.StatusOK, at, t)
}

func (d *Door) lab(c echo.Context, status int, at show.Place, t show.Typed) error {
	p, err := d.pages.Lab(c.Request().Context(), at, t)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.write(c, status, p.Full())
}

// catch leads to the form of the subscription that would have caught the chosen
// messages.
func (d *Door) catch(c echo.Context) error {
	d.visit(c)
	at, err := d.place(c)
	if err != nil {
		return err
	}
	form, err := d.pages.Catch(c.Request().Context(), at)
	if err != nil {
		at.Do, at.Query = "", url.Values{}
		return d.lab(c, http.StatusUnprocessableEntity, at, show.Typed{Refused: because(component.Notice{Tone: component.Critical}, err)})
	}
	return c.Redirect(http.StatusSeeOther, d.pages.URL(form))
}
