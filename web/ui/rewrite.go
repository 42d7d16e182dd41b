package ui

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/show"
)

// rewrite sends a stored message again as somebody has written it anew; the old one goes
// with it, or stays (OPS-1, OPS-2).
func (d *Door) rewrite(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	for _, name := range []string{page.SendRepeat, page.SendEvery, page.SendPlaceholders, page.SendSchedule} {
		typed.Del(name)
	}
	t := show.Typed{Values: typed, Errors: map[string]component.Text{}}
	if addRows(typed) {
		return d.form(c, http.StatusOK, at, t)
	}
	row, now, err := d.look(c, at.Key)
	if err != nil {
		return err
	}
	m, seed, _, err := d.readMessage(ctx, t, now)
	mv := engine.Move{Key: at.Key, Copy: typed.Get(page.AskHow) == "copy", DropDuplicate: typed.Get(page.AskDuplicate) != ""}
	if how := typed.Get(page.AskHow); how != "" && how != "move" && how != "copy" {
		t.Errors[page.AskHow] = component.Text{S: locale.T(ctx, "ui.how")}
	}
	if text := strings.TrimSpace(typed.Get(page.SendTarget)); text != "" {
		to, wrong := engine.ParsePath(text, d.b.Limits())
		if wrong != nil {
			t.Errors[page.SendTarget] = component.Said(wrong.Error())
		}
		mv.To = to
	}
	if len(t.Errors) > 0 {
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	if err != nil {
		return d.again(c, at, t, err)
	}
	was, err := row.Content.Content()
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	content, body, err := m.Message(1, now, seed)
	if err != nil {
		return d.again(c, at, t, err)
	}
	out := broker.Outgoing{Body: body}
	if typed.Has(page.SendKeepBody) {
		in, err := d.b.Body(ctx, row.Message.Content, was.BodySize)
		if err != nil {
			return err //nolint:wrapcheck // it says what it is about
		}
		defer func() { _ = in.Close() }()
		body, out.Body, out.Reader = nil, nil, in
	}
	if out.Content, err = show.Rewrite(was, row, content, body); err != nil {
		return d.again(c, at, t, err)
	}
	before, err := d.bodyBefore(c, row, typed)
	if err != nil {
		return err
	}
	did, err := d.b.Replace(ctx, mv, out, actor(c))
	if errors.Is(err, engine.ErrDuplicate) { // it can be let go
		t.Errors[page.AskDuplicate] = why(err)
		return d.form(c, http.StatusConflict, at, t)
	}
	if err != nil {
		return d.again(c, at, t, err)
	}
	id := "ui.rewritten"
	switch {
	case did.Seq == 0:
		id = "ui.duplicate"
	case mv.Copy:
		id = "ui.rewritten.copy"
	}
	n := says(c, id, locale.Args{"Number": locale.Number(ctx, int(did.Seq))})
	n.Undo = d.undoRewrite(mv, did, before)
	return d.done(c, d.pages.MessageURL(at.Key), n)
}

// undoMost is how many bytes of a body are kept for the time in which an edit can be
// taken back: as many as a form has room for.
const undoMost = show.EditMost

// A formerBody is the body that a message had before it was edited.
type formerBody struct {
	kept  []byte // its bytes, unless same
	same  bool   // one of the messages that are there has it
	large bool   // it was let go
}

// bodyBefore is the body that an edit does away with.
func (d *Door) bodyBefore(c echo.Context, row engine.Row, typed url.Values) (was formerBody, err error) {
	size := row.Content.BodySize()
	switch {
	case typed.Has(page.SendKeepBody), typed.Get(page.AskHow) == "copy":
		was.same = true
		return was, nil
	case size > undoMost:
		was.large = true
		return was, nil
	}
	in, err := d.b.Body(c.Request().Context(), row.Message.Content, size)
	if err != nil {
		return was, err //nolint:wrapcheck // it says what it is about
	}
	defer func() { _ = in.Close() }()
	if was.kept, err = io.ReadAll(in); err != nil {
		return was, fmt.Errorf("read the body of message %d: %w", row.Message.Key, err)
	}
	return was, nil
}

// undoRewrite is where an edit is taken back; empty if it cannot be.
func (d *Door) undoRewrite(mv engine.Move, did engine.Replaced, before formerBody) string {
	is := did.Is.Message
	switch {
	case is.Key == 0 || before.large:
		return ""
	case mv.Copy:
		var was job.Reversal
		was.Add(engine.Deed{Kind: engine.DeedCopy}, engine.Deeded{Was: did.Was, Is: engine.Target{Key: is.Key, Path: did.Is.Path, Seq: is.Seq}})
		return d.takeBack(was)
	}
	return d.undoURL(func(c echo.Context) (n component.Notice, err error) {
		ctx := c.Request().Context()
		out := broker.Outgoing{Body: before.kept}
		if out.Content, err = did.Was.Content.Content(); err != nil {
			return n, err //nolint:wrapcheck // it says what it is about
		}
		if before.same {
			in, err := d.b.Body(ctx, is.Content, out.Content.BodySize)
			if errors.Is(err, engine.ErrMessageNotFound) {
				return undone(ctx, 0, 1, nil), nil
			}
			if err != nil {
				return n, err //nolint:wrapcheck // it says what it is about
			}
			defer func() { _ = in.Close() }()
			out.Reader = in
		}
		switch err := d.b.TakeBack(ctx, did, out, actor(c)); {
		case errors.Is(err, engine.ErrMessageNotFound), errors.Is(err, engine.ErrChanged), errors.Is(err, engine.ErrNotAllowed):
			return undone(ctx, 0, 1, nil), nil // somebody has it, or had it
		case err != nil:
			return because(component.Notice{Tone: component.Low, Title: locale.T(ctx, "ui.undo.none")}, err), nil
		}
		return undone(ctx, 1, 0, nil), nil
	})
}
