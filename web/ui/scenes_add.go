package ui

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/scene"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/access"
	"mayfly/web/show"
)

// mostSceneForm bounds the form that adds a scene, in bytes: a scene that is pasted and
// another one as a file, so that somebody who sends too much is told which is.
const mostSceneForm = 1 << 20

func (d *Door) sceneForm(c echo.Context, status int, typed show.SceneTyped) error {
	d.visit(c)
	p, err := d.pages.SceneForm(c.Request().Context(), typed)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.write(c, status, p.Full())
}

// addScene adds a scene from a file or from what was pasted. What is wrong with it is
// told beside what was sent, which is not lost.
func (d *Door) addScene(c echo.Context) error {
	d.visit(c)
	ctx, r := c.Request().Context(), c.Request()
	whole := r.Body
	r.Body = http.MaxBytesReader(c.Response(), whole, mostSceneForm)
	if err := r.ParseMultipartForm(mostSceneForm); err != nil {
		if _, big := errors.AsType[*http.MaxBytesError](err); big {
			_, _ = io.CopyN(io.Discard, whole, drained) //nolint:errcheck // it is read to be thrown away, so that the browser hears why
			return d.sceneForm(c, http.StatusRequestEntityTooLarge, show.SceneTyped{Error: component.Text{S: locale.T(ctx, "scenes.add.large", locale.Args{"Most": component.Bytes(ctx, scene.MostBytes)})}})
		}
		return &show.Refusal{Kind: echo.ErrBadRequest, Text: locale.T(ctx, "ui.form.unread")}
	}
	defer func() { _ = r.MultipartForm.RemoveAll() }() //nolint:errcheck // it was in memory
	if err := d.forms.Check(r); err != nil {
		return err //nolint:wrapcheck // it is shown as it is
	}
	typed := show.SceneTyped{ID: r.PostFormValue(page.SceneID), Text: r.PostFormValue(page.SceneText)}
	if err := readSceneFile(r.MultipartForm, &typed); err != nil {
		return err
	}
	switch {
	case typed.Text == "":
		typed.Error = component.Text{S: locale.T(ctx, "scenes.add.nothing")}
	case typed.ID == "":
		typed.IDError = component.Text{S: locale.T(ctx, "scenes.add.unnamed")}
	}
	if typed.Error.S != "" || typed.IDError.S != "" {
		return d.sceneForm(c, http.StatusUnprocessableEntity, typed)
	}
	s, err := d.scenes.Keep(ctx, typed.ID, []byte(typed.Text), actor(c))
	wrong, ok := errors.AsType[*scene.WrongError](err)
	switch {
	case ok:
		typed.Faults = wrong.Faults
	case err == nil:
		return d.goTo(c, d.pages.ScenesURL(), component.Notice{Title: locale.T(ctx, "scenes.added", locale.Args{"Title": s.In(locale.Lang(ctx)).Title})})
	case asks(err) || errors.Is(err, engine.ErrExists) || errors.Is(err, engine.ErrQuota):
		typed.IDError = why(err)
	default:
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.sceneForm(c, status(err), typed)
}

// readSceneFile reads the file of a form, if one was chosen, which goes before what was
// pasted, and calls the scene as it is called unless something else was typed.
func readSceneFile(form *multipart.Form, typed *show.SceneTyped) error {
	files := form.File[page.SceneFile]
	if len(files) == 0 || files[0].Size == 0 {
		return nil
	}
	f, err := files[0].Open()
	if err != nil {
		return access.ErrForm
	}
	raw, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return access.ErrForm
	}
	typed.Text = string(raw)
	if typed.ID == "" {
		typed.ID = scene.IDOf(files[0].Filename)
	}
	return nil
}

// newScene is the empty form, or that of a scene which is kept and is to be mended.
func (d *Door) newScene(c echo.Context) error {
	u, ok := d.scenes.FindUnfit(c.QueryParam(page.SceneMend))
	if !ok {
		return d.sceneForm(c, http.StatusOK, show.SceneTyped{})
	}
	typed := show.SceneTyped{ID: u.ID, Text: u.Text}
	if wrong, ok := errors.AsType[*scene.WrongError](u.Err); ok {
		typed.Faults = wrong.Faults
	} else {
		typed.IDError = why(u.Err)
	}
	return d.sceneForm(c, http.StatusOK, typed)
}

// askScene asks whether to remove a scene that was added.
func (d *Door) askScene(c echo.Context) error {
	d.visit(c)
	p, err := d.pages.SceneAsk(c.Request().Context(), c.Param("scene"))
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.show(c, http.StatusOK, p)
}

// removeScene takes a scene out that was added, once that was agreed to.
func (d *Door) removeScene(c echo.Context, typed url.Values) error {
	ctx, id := c.Request().Context(), c.Param("scene")
	if n, ok := agreedTo(typed); !ok || n != 1 {
		return d.askScene(c)
	}
	title := id
	if _, unfit := d.scenes.FindUnfit(id); !unfit {
		if s, err := d.scenes.Library().Find(id); err == nil {
			title = s.In(locale.Lang(ctx)).Title
		}
	}
	err := d.scenes.Forget(ctx, id, actor(c))
	switch {
	case errors.Is(err, scene.ErrNone), errors.Is(err, engine.ErrNotAllowed):
		return d.goTo(c, d.pages.ScenesURL(), because(component.Notice{Tone: component.Critical}, err))
	case err != nil:
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.goTo(c, d.pages.ScenesURL(), component.Notice{Title: locale.T(ctx, "scenes.removed", locale.Args{"Title": title})})
}

// sceneText is a scene as it was written, as a file.
func (d *Door) sceneText(c echo.Context) error {
	id := c.Param("scene")
	text := ""
	if u, ok := d.scenes.FindUnfit(id); ok && c.QueryParam(page.SceneMend) != "" {
		text = u.Text
	} else if s, err := d.scenes.Library().Find(id); err == nil {
		id, text = s.ID, s.Text
	} else {
		return show.ErrNoPage
	}
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+id+`.yaml"`)
	return c.Blob(http.StatusOK, "application/yaml", []byte(text))
}
