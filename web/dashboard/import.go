package dashboard

import (
	"bufio"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/job"
	"mayfly/views/component"
	"mayfly/views/locale"
	sendpage "mayfly/views/page/send"
	"mayfly/web/auth/origin"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/send"
	"mayfly/web/exchange"
	"mayfly/web/timeout"
)

const (
	maxFieldBytes = 64 << 10 // bytes of a field other than the file
	maxFields     = 32       // number of fields that a form may have
	maxDrained    = 64 << 20 // bytes of a refused upload that are read, so that the browser shows the error
)

// uploadFile stores an uploaded file, or pasted lines, and redirects to the page that previews
// the import of its messages.
func (d *Handler) uploadFile(c echo.Context) error {
	d.prepareContext(c)
	at, err := d.address(c)
	if err != nil {
		return err
	}
	if d.uploads == nil {
		return pages.ErrPageNotFound
	}
	r := c.Request()
	timeout.Stream(r)
	r.Body = http.MaxBytesReader(c.Response(), r.Body, exchange.MaxFile+maxDrained)
	typed, f, err := d.parseUpload(r, at)
	if text := errorMessage(err); text.S != "" && !errors.Is(err, origin.ErrForm) && !errors.Is(err, echo.ErrBadRequest) {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrained) //nolint:errcheck // it is discarded
		return d.writeForm(c, statusCode(err), at, pages.FormState{Values: typed, Errors: map[string]component.Text{sendpage.ImportFile: text}})
	}
	if err != nil {
		return err
	}
	if f == nil {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, pages.FormState{Values: typed, Errors: map[string]component.Text{sendpage.ImportFile: {S: locale.T(r.Context(), "import.nothing")}}})
	}
	q := url.Values{sendpage.ImportFile: {f.ID}}
	for _, name := range []string{sendpage.ImportTo, sendpage.ImportTTL, sendpage.ImportSchedule, sendpage.ImportIDs} {
		if v := typed.Get(name); v != "" {
			q.Set(name, v)
		}
	}
	at.Query = q
	return c.Redirect(http.StatusSeeOther, d.pages.URL(at))
}

// parseUpload reads a form with a file: first the small fields, which must include a valid form
// token, and then the file, which is stored as it arrives. f is nil if no file was selected.
func (d *Handler) parseUpload(r *http.Request, at pages.Address) (typed url.Values, f *exchange.File, err error) {
	typed = url.Values{}
	defer func() {
		if err != nil && f != nil {
			d.uploads.Drop(f.ID)
			f = nil
		}
	}()
	parts, err := r.MultipartReader()
	if err != nil {
		return typed, nil, origin.ErrForm
	}
	r.Form, r.PostForm = typed, typed
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			if n == 0 {
				err = origin.ErrForm
				return typed, f, err
			}
			return typed, f, d.forms.Check(r)
		}
		if err != nil || n == maxFields {
			return typed, f, &pages.LocalizedError{Err: echo.ErrBadRequest, Text: locale.T(r.Context(), "ui.form.unread")}
		}
		name := part.FormName()
		if name != sendpage.ImportFile && name != sendpage.ImportText {
			raw, err := io.ReadAll(io.LimitReader(part, maxFieldBytes))
			if err != nil {
				return typed, f, &pages.LocalizedError{Err: echo.ErrBadRequest, Text: locale.T(r.Context(), "ui.form.unread")}
			}
			typed.Add(name, string(raw))
			continue
		}
		if err := d.forms.Check(r); err != nil {
			return typed, f, err
		}
		if f, err = d.storeUpload(r, at, part, f); err != nil {
			return typed, f, err
		}
	}
}

// storeUpload stores a part of a form as a file and returns the file. If the part is empty, it
// returns `before`, the file of an earlier part or nil. A second file is an error.
func (d *Handler) storeUpload(r *http.Request, at pages.Address, part *multipart.Part, before *exchange.File) (*exchange.File, error) {
	in := bufio.NewReaderSize(part, 4<<10)
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return before, nil
	}
	if before != nil {
		return before, &pages.LocalizedError{Err: engine.ErrArgument, Text: locale.T(r.Context(), "import.both")}
	}
	name := ""
	if part.FormName() == sendpage.ImportFile {
		name = path.Base(strings.ReplaceAll(part.FileName(), `\`, "/"))
	}
	return d.uploads.Put(at.Namespace, strings.ToValidUTF8(name[:min(len(name), 200)], ""), in)
}

// startImport starts a job that sends the messages of a stored file. Only one job is started
// for a file, however often it is requested.
func (d *Handler) startImport(c echo.Context, at pages.Address, typed url.Values) error {
	if d.uploads == nil || d.jobs == nil {
		return pages.ErrPageNotFound
	}
	ctx := c.Request().Context()
	word, how := typed.Get(sendpage.ImportFile), send.ParseRemap(typed)
	at.Action = strings.TrimSuffix(strings.TrimSuffix(at.Action, "start"), "/")
	again := func(err error) error {
		at.Query = url.Values{sendpage.ImportFile: {word}}
		if errorMessage(err).S == "" || !isFormError(err) && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
		return d.writeForm(c, statusCode(err), at, pages.FormState{Values: typed, Refused: withError(component.Notice{Tone: component.Critical}, err)})
	}
	to, err := send.ImportTarget(d.pages, at, typed)
	if err == nil {
		err = how.Check()
	}
	if err != nil {
		return again(err)
	}
	p := job.Plan{To: to, ImportSpec: &job.ImportSpec{FeedID: word}, IdempotencyKey: word}
	is, ok := d.jobs.FindImport(p)
	if !ok {
		f, lines, err := d.uploads.Find(d.b.Name(), word)
		if err != nil {
			return again(err)
		}
		p.ImportSpec.File = f.Name
		if is, err = d.jobs.Import(ctx, p, lines, d.uploads.Feed(d.b, word, how), actor(c)); err != nil {
			return again(err)
		}
	}
	return d.redirectWithNotice(c, d.pages.JobURL(is.ID), component.Notice{Title: locale.T(ctx, "import.started")})
}
