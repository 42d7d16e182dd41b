package ui

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine/definition"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/access"
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

// askDefinitions asks for a Config.json.
func (d *Door) askDefinitions(c echo.Context) error {
	d.visit(c)
	at, err := d.place(c)
	if err != nil {
		return err
	}
	return d.drawn(c, http.StatusOK, at, show.Drawing{})
}

func (d *Door) drawn(c echo.Context, status int, at show.Place, draw show.Drawing) error {
	p, err := d.pages.Definitions(c.Request().Context(), at, draw)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.write(c, status, p.Full())
}

// define says what a Config.json would do, and does it where somebody has seen just
// that.
func (d *Door) define(c echo.Context) error {
	d.visit(c)
	at, err := d.place(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	draw, agreed, err := d.readDrawing(c)
	if err != nil {
		return err
	}
	if draw.Refused.Shown() {
		return d.drawn(c, http.StatusUnprocessableEntity, at, draw)
	}
	limits := d.b.Limits()
	draw.Want, err = definition.Read(strings.NewReader(draw.Text), definition.Options{Limits: &limits})
	if err == nil {
		draw.Steps, err = d.b.ForeseeDefine(ctx, draw.Want)
	}
	if errors.As(err, &draw.Problems) {
		return d.drawn(c, http.StatusUnprocessableEntity, at, draw)
	}
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	draw.Seen = true
	switch {
	case agreed == "":
		return d.drawn(c, http.StatusOK, at, draw)
	case len(draw.Steps) == 0: // it was sent twice, or somebody else did it
		return d.goTo(c, d.pages.Home()+"/queues", component.Notice{Title: locale.T(ctx, "definitions.nothing")})
	case agreed != show.Agreed(draw.Steps):
		draw.Refused = component.Notice{Tone: component.Critical, Title: locale.T(ctx, "definitions.changed")}
		return d.drawn(c, http.StatusConflict, at, draw)
	case view.Safe(ctx) && slices.ContainsFunc(draw.Steps, definition.Step.Alters):
		return access.ErrSafe
	}
	done, err := d.b.Define(ctx, draw.Want, actor(c))
	if err != nil && why(err).S == "" {
		return err //nolint:wrapcheck // it says what it is about
	}
	n := component.Notice{Title: locale.N(ctx, "definitions.done", len(done))}
	if err != nil {
		n.Tone, n.Said = component.Critical, told(err)
	}
	return d.goTo(c, d.pages.Home()+"/queues", n)
}

// readDrawing reads the form: a file wins over what stands in it.
func (d *Door) readDrawing(c echo.Context) (draw show.Drawing, agreed string, err error) {
	r := c.Request()
	large := locale.T(r.Context(), "definitions.large", locale.Args{"Most": component.Bytes(c.Request().Context(), show.MostDefinition)})
	typed := url.Values{}
	r.Body = http.MaxBytesReader(c.Response(), r.Body, 3*show.MostDefinition)
	parts, err := r.MultipartReader()
	if err != nil {
		return draw, "", access.ErrForm
	}
	r.Form, r.PostForm = typed, typed
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		var raw []byte
		if err == nil && n < smallFields {
			raw, err = io.ReadAll(io.LimitReader(part, show.MostDefinition+1))
		}
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return draw, "", &show.Refusal{Kind: echo.ErrStatusRequestEntityTooLarge, Text: large}
		}
		if err != nil || n == smallFields {
			return draw, "", &show.Refusal{Kind: echo.ErrBadRequest, Text: locale.T(r.Context(), "ui.form.unread")}
		}
		typed.Add(part.FormName(), string(raw))
	}
	if err := d.forms.Check(r); err != nil {
		return draw, "", err //nolint:wrapcheck // it is shown as it is
	}
	agreed, draw.Text = typed.Get(page.DefinitionAgreed), strings.ToValidUTF8(typed.Get(page.DefinitionText), "\ufffd")
	if file := typed.Get(page.DefinitionFile); file != "" {
		agreed, draw.Text = "", strings.ToValidUTF8(file, "\ufffd") // nobody has seen what it would do
	}
	refused := ""
	switch {
	case len(draw.Text) > show.MostDefinition:
		draw.Text, refused = "", large
	case strings.TrimSpace(draw.Text) == "":
		refused = locale.T(r.Context(), "definitions.missing")
	}
	if refused != "" {
		draw.Refused = component.Notice{Tone: component.Critical, Title: refused}
	}
	return draw, agreed, nil
}
