package dashboard

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/topology"
	"mayfly/views/component"
	"mayfly/views/locale"
	adminpage "mayfly/views/page/admin"
	"mayfly/views/view"
	"mayfly/web/auth/origin"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/pages"
)

// definitions sends all entities and rules as a file, Config.json.
func (d *Handler) definitions(c echo.Context) error {
	d.prepareContext(c)
	if c.Param("ns") != d.b.Name() {
		return pages.ErrPageNotFound
	}
	raw, err := d.b.ConfigJSON(c.Request().Context())
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": "Config.json"}))
	return c.JSONBlob(http.StatusOK, raw)
}

func (d *Handler) writeDefinitions(c echo.Context, status int, at pages.Address, draw admin.ConfigUpload) error {
	p, err := admin.Definitions(c.Request().Context(), d.pages, at, draw)
	if err != nil {
		return err
	}
	return d.writeComponent(c, status, p.Full())
}

// applyDefinitions shows what a Config.json would change, and applies it once the user has confirmed
// exactly these changes.
func (d *Handler) applyDefinitions(c echo.Context) error {
	d.prepareContext(c)
	at, err := d.address(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	draw, agreed, err := d.parseConfigUpload(c)
	if err != nil {
		return err
	}
	if draw.Refused.Visible() {
		return d.writeDefinitions(c, http.StatusUnprocessableEntity, at, draw)
	}
	limits := d.b.Limits()
	draw.Topology, err = topology.Read(strings.NewReader(draw.Text), topology.Options{Limits: &limits})
	problems, wrong := errors.AsType[topology.Problems](err)
	if err == nil || wrong {
		draw.Steps, err = d.b.PreviewTopology(ctx, draw.Topology)
	}
	if wrong {
		err = problems.With(err)
	}
	if errors.As(err, &draw.Problems) {
		return d.writeDefinitions(c, http.StatusUnprocessableEntity, at, draw)
	}
	if err != nil {
		return err
	}
	draw.Checked = true
	switch {
	case agreed == "":
		return d.writeDefinitions(c, http.StatusOK, at, draw)
	case len(draw.Steps) == 0: // the form was sent twice, or another user made the changes
		return d.redirectWithNotice(c, d.pages.Home()+"/queues", component.Notice{Title: locale.T(ctx, "definitions.nothing")})
	case agreed != admin.StepsHash(draw.Steps):
		draw.Refused = component.Notice{Tone: component.Critical, Title: locale.T(ctx, "definitions.changed")}
		return d.writeDefinitions(c, http.StatusConflict, at, draw)
	case view.SafeModeOn(ctx) && slices.ContainsFunc(draw.Steps, topology.Step.ChangesExisting):
		return origin.ErrSafeMode
	}
	done, err := d.b.ApplyTopology(ctx, draw.Topology, actor(c))
	if err != nil && errorMessage(err).S == "" {
		return err
	}
	n := component.Notice{Title: locale.N(ctx, "definitions.done", len(done))}
	if err != nil {
		n.Tone, n.ServerText = component.Critical, errorText(err)
	}
	return d.redirectWithNotice(c, d.pages.Home()+"/queues", n)
}

// parseConfigUpload reads the form: a file takes precedence over the text field.
func (d *Handler) parseConfigUpload(c echo.Context) (draw admin.ConfigUpload, agreed string, err error) {
	r := c.Request()
	large := locale.T(r.Context(), "definitions.large", locale.Args{"Most": component.Bytes(c.Request().Context(), admin.MaxConfigSize)})
	typed := url.Values{}
	r.Body = origin.ShareOf(r.Context()).CountReads(r.Context(), http.MaxBytesReader(c.Response(), r.Body, 3*admin.MaxConfigSize), formMemoryFactor)
	parts, err := r.MultipartReader()
	if err != nil {
		return draw, "", origin.ErrForm
	}
	r.Form, r.PostForm = typed, typed
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		var raw []byte
		if err == nil && n < maxFields {
			raw, err = io.ReadAll(io.LimitReader(part, admin.MaxConfigSize+1))
		}
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return draw, "", &pages.LocalizedError{Err: echo.ErrStatusRequestEntityTooLarge, Text: large}
		}
		if errors.Is(err, engine.ErrBusy) {
			return draw, "", err
		}
		if err != nil || n == maxFields {
			return draw, "", &pages.LocalizedError{Err: echo.ErrBadRequest, Text: locale.T(r.Context(), "ui.form.unread")}
		}
		typed.Add(part.FormName(), string(raw))
	}
	if err := d.forms.Check(r); err != nil {
		return draw, "", err
	}
	agreed, draw.Text = typed.Get(adminpage.DefinitionAgreed), strings.ToValidUTF8(typed.Get(adminpage.DefinitionText), "\ufffd")
	if file := typed.Get(adminpage.DefinitionFile); file != "" {
		agreed, draw.Text = "", strings.ToValidUTF8(file, "\ufffd") // the changes of a new file were not shown yet
	}
	refused := ""
	switch {
	case len(draw.Text) > admin.MaxConfigSize:
		draw.Text, refused = "", large
	case strings.TrimSpace(draw.Text) == "":
		refused = locale.T(r.Context(), "definitions.missing")
	}
	if refused != "" {
		draw.Refused = component.Notice{Tone: component.Critical, Title: refused}
	}
	return draw, agreed, nil
}
