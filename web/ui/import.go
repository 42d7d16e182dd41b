package ui

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
	"mayfly/views/page"
	"mayfly/web/access"
	"mayfly/web/intake"
	"mayfly/web/show"
)

const (
	smallField  = 64 << 10 // bytes of a field that is no file
	smallFields = 32       // fields
	drained     = 64 << 20 // bytes that are read of what is refused, so that a browser hears why
)

// takeFile keeps a file, or lines that were pasted, and leads to the page that says what
// would become of its messages.
func (d *Door) takeFile(c echo.Context) error {
	d.visit(c)
	at, err := d.place(c)
	if err != nil {
		return err
	}
	if d.shelf == nil {
		return show.ErrNoPage
	}
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, intake.MostFile+drained)
	typed, f, err := d.readFile(r, at)
	if text := why(err); text.S != "" && !errors.Is(err, access.ErrForm) && !errors.Is(err, echo.ErrBadRequest) {
		_, _ = io.CopyN(io.Discard, r.Body, drained) //nolint:errcheck // it is read to be thrown away
		return d.form(c, status(err), at, show.Typed{Values: typed, Errors: map[string]component.Text{page.ImportFile: text}})
	}
	if err != nil {
		return err
	}
	if f == nil {
		return d.form(c, http.StatusUnprocessableEntity, at, show.Typed{Values: typed, Errors: map[string]component.Text{page.ImportFile: {S: locale.T(r.Context(), "import.nothing")}}})
	}
	q := url.Values{page.ImportFile: {f.Word}}
	for _, name := range []string{page.ImportTo, page.ImportTTL, page.ImportSchedule, page.ImportIDs} {
		if v := typed.Get(name); v != "" {
			q.Set(name, v)
		}
	}
	at.Query = q
	return c.Redirect(http.StatusSeeOther, d.pages.URL(at))
}

// readFile reads a form with a file: what is small first, which has to say that the form
// is one of ours, and then the file, which goes to the shelf as it comes. There is no
// file where none was chosen.
func (d *Door) readFile(r *http.Request, at show.Place) (typed url.Values, f *intake.File, err error) {
	typed = url.Values{}
	defer func() {
		if err != nil && f != nil {
			d.shelf.Drop(f.Word)
			f = nil
		}
	}()
	parts, err := r.MultipartReader()
	if err != nil {
		return typed, nil, access.ErrForm
	}
	r.Form, r.PostForm = typed, typed
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			if n == 0 {
				err = access.ErrForm
				return typed, f, err
			}
			return typed, f, d.forms.Check(r) //nolint:wrapcheck // it is shown as it is
		}
		if err != nil || n == smallFields {
			return typed, f, &show.Refusal{Kind: echo.ErrBadRequest, Text: locale.T(r.Context(), "ui.form.unread")}
		}
		name := part.FormName()
		if name != page.ImportFile && name != page.ImportText {
			raw, err := io.ReadAll(io.LimitReader(part, smallField))
			if err != nil {
				return typed, f, &show.Refusal{Kind: echo.ErrBadRequest, Text: locale.T(r.Context(), "ui.form.unread")}
			}
			typed.Add(name, string(raw))
			continue
		}
		if err := d.forms.Check(r); err != nil {
			return typed, f, err //nolint:wrapcheck // it is shown as it is
		}
		if f, err = d.keepFile(r, at, part, f); err != nil {
			return typed, f, err
		}
	}
}

// keepFile puts a part on the shelf, unless it is empty.
func (d *Door) keepFile(r *http.Request, at show.Place, part *multipart.Part, before *intake.File) (*intake.File, error) {
	in := bufio.NewReaderSize(part, 4<<10)
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return before, nil
	}
	if before != nil {
		return before, &show.Refusal{Kind: engine.ErrArgument, Text: locale.T(r.Context(), "import.both")}
	}
	name := ""
	if part.FormName() == page.ImportFile {
		name = path.Base(strings.ReplaceAll(part.FileName(), `\`, "/"))
	}
	return d.shelf.Put(at.Namespace, strings.ToValidUTF8(name[:min(len(name), 200)], ""), in) //nolint:wrapcheck // it says what it is about
}

// startImport has a job send the messages of a file that is kept: however often it is
// asked for, once.
func (d *Door) startImport(c echo.Context, at show.Place, typed url.Values) error {
	if d.shelf == nil || d.jobs == nil {
		return show.ErrNoPage
	}
	ctx := c.Request().Context()
	word, how := typed.Get(page.ImportFile), show.ImportWords(typed)
	at.Do = strings.TrimSuffix(strings.TrimSuffix(at.Do, "start"), "/")
	again := func(err error) error {
		at.Query = url.Values{page.ImportFile: {word}}
		if why(err).S == "" || !asks(err) && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
		return d.form(c, status(err), at, show.Typed{Values: typed, Refused: because(component.Notice{Tone: component.Critical}, err)})
	}
	to, err := d.pages.ImportTarget(at, typed)
	if err == nil {
		err = how.Check()
	}
	if err != nil {
		return again(err)
	}
	p := job.Plan{To: to, Imports: &job.Imports{Word: word}, Once: word}
	is, ok := d.jobs.Imported(p)
	if !ok {
		f, lines, err := d.shelf.Look(d.b.Name(), word)
		if err != nil {
			return again(err)
		}
		p.Imports.File = f.Name
		if is, err = d.jobs.Import(ctx, p, lines, d.shelf.Feed(d.b, word, how), actor(c)); err != nil {
			return again(err)
		}
	}
	return d.goTo(c, d.pages.JobURL(is.ID), component.Notice{Title: locale.T(ctx, "import.started")})
}
