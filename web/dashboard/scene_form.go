package dashboard

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/demo"
	"mayfly/views/component"
	"mayfly/views/locale"
	activitypage "mayfly/views/page/activity"
	"mayfly/web/auth/origin"
	"mayfly/web/dashboard/activity"
	"mayfly/web/dashboard/pages"
)

// maxSceneForm bounds the form that adds a scene, in bytes: a pasted scene and another one as
// a file, so that an error can name the one that is too large.
const maxSceneForm = 1 << 20

func (d *Handler) writeSceneForm(c echo.Context, status int, typed activity.SceneFormState) error {
	d.prepareContext(c)
	p, err := activity.SceneForm(c.Request().Context(), d.pages, typed)
	if err != nil {
		return err
	}
	return d.writeComponent(c, status, p.Full())
}

// addScene adds a scene from a file or from pasted text. Errors are shown beside the text,
// which is kept.
func (d *Handler) addScene(c echo.Context) error {
	d.prepareContext(c)
	ctx, r := c.Request().Context(), c.Request()
	whole := r.Body
	r.Body = origin.ShareOf(ctx).CountReads(ctx, http.MaxBytesReader(c.Response(), whole, maxSceneForm), formMemoryFactor)
	if err := r.ParseMultipartForm(maxSceneForm); err != nil {
		if errors.Is(err, engine.ErrBusy) {
			return err
		}
		if _, big := errors.AsType[*http.MaxBytesError](err); big {
			_, _ = io.CopyN(io.Discard, whole, maxDrained) //nolint:errcheck // it is discarded, so that the browser shows the error
			return d.writeSceneForm(c, http.StatusRequestEntityTooLarge, activity.SceneFormState{Error: component.Text{S: locale.T(ctx, "scenes.add.large", locale.Args{"Most": component.Bytes(ctx, demo.MaxBytes)})}})
		}
		return &pages.LocalizedError{Err: echo.ErrBadRequest, Text: locale.T(ctx, "ui.form.unread")}
	}
	defer func() { _ = r.MultipartForm.RemoveAll() }() //nolint:errcheck // it was in memory
	if err := d.forms.Check(r); err != nil {
		return err
	}
	typed := activity.SceneFormState{ID: r.PostFormValue(activitypage.SceneID), Text: r.PostFormValue(activitypage.SceneText)}
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
		return d.writeSceneForm(c, http.StatusUnprocessableEntity, typed)
	}
	s, err := d.scenes.SaveScene(ctx, typed.ID, []byte(typed.Text), actor(c))
	wrong, ok := errors.AsType[*demo.SceneError](err)
	switch {
	case ok:
		typed.Faults = wrong.Problems
	case err == nil:
		return d.redirectWithNotice(c, d.pages.ScenesURL(), component.Notice{Title: locale.T(ctx, "scenes.added", locale.Args{"Title": s.InLanguage(locale.Lang(ctx)).Title})})
	case isFormError(err) || errors.Is(err, engine.ErrExists) || errors.Is(err, engine.ErrQuota):
		typed.IDError = errorMessage(err)
	default:
		return err
	}
	return d.writeSceneForm(c, statusCode(err), typed)
}

// readSceneFile reads the file of a form, if one was selected, which takes precedence over
// pasted text, and names the scene after the file unless a name was typed.
func readSceneFile(form *multipart.Form, typed *activity.SceneFormState) error {
	files := form.File[activitypage.SceneFile]
	if len(files) == 0 || files[0].Size == 0 {
		return nil
	}
	f, err := files[0].Open()
	if err != nil {
		return origin.ErrForm
	}
	raw, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return origin.ErrForm
	}
	typed.Text = string(raw)
	if typed.ID == "" {
		typed.ID = demo.IDOf(files[0].Filename)
	}
	return nil
}

// newSceneForm shows the empty form, or the form to repair a stored scene that is invalid.
func (d *Handler) newSceneForm(c echo.Context) error {
	u, ok := d.scenes.FindInvalidScene(c.QueryParam(activitypage.QueryRepair))
	if !ok {
		return d.writeSceneForm(c, http.StatusOK, activity.SceneFormState{})
	}
	typed := activity.SceneFormState{ID: u.ID, Text: u.Text}
	if wrong, ok := errors.AsType[*demo.SceneError](u.Err); ok {
		typed.Faults = wrong.Problems
	} else {
		typed.IDError = errorMessage(u.Err)
	}
	return d.writeSceneForm(c, http.StatusOK, typed)
}

// confirmRemoveScene asks for confirmation before a scene is removed.
func (d *Handler) confirmRemoveScene(c echo.Context) error {
	d.prepareContext(c)
	p, err := activity.ConfirmRemoveScene(c.Request().Context(), d.pages, c.Param("scene"))
	if err != nil {
		return err
	}
	return d.writePage(c, http.StatusOK, p)
}

// removeScene removes an added scene, once the user has confirmed it.
func (d *Handler) removeScene(c echo.Context, typed url.Values) error {
	ctx, id := c.Request().Context(), c.Param("scene")
	if n, ok := confirmedCount(typed); !ok || n != 1 {
		return d.confirmRemoveScene(c)
	}
	title := id
	if _, unfit := d.scenes.FindInvalidScene(id); !unfit {
		if s, err := d.scenes.Library().Find(id); err == nil {
			title = s.InLanguage(locale.Lang(ctx)).Title
		}
	}
	err := d.scenes.DeleteScene(ctx, id, actor(c))
	switch {
	case errors.Is(err, demo.ErrNoScene), errors.Is(err, engine.ErrNotAllowed):
		return d.redirectWithNotice(c, d.pages.ScenesURL(), withError(component.Notice{Tone: component.Critical}, err))
	case err != nil:
		return err
	}
	return d.redirectWithNotice(c, d.pages.ScenesURL(), component.Notice{Title: locale.T(ctx, "scenes.removed", locale.Args{"Title": title})})
}

// downloadScene sends the source of a scene as a file.
func (d *Handler) downloadScene(c echo.Context) error {
	id := c.Param("scene")
	text := ""
	if u, ok := d.scenes.FindInvalidScene(id); ok && c.QueryParam(activitypage.QueryRepair) != "" {
		text = u.Text
	} else if s, err := d.scenes.Library().Find(id); err == nil {
		id, text = s.ID, s.Text
	} else {
		return pages.ErrPageNotFound
	}
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+id+`.yaml"`)
	return c.Blob(http.StatusOK, "application/yaml", []byte(text))
}
