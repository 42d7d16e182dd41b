package dashboard

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
	sendpage "mayfly/views/page/send"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/send"
)

// editMessage sends an edited version of a stored message. The same operation removes the
// original, unless the form asks for a copy (OPS-1, OPS-2).
func (d *Handler) editMessage(c echo.Context, at pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	for _, name := range []string{sendpage.SendRepeat, sendpage.SendEvery, sendpage.SendPlaceholders, sendpage.SendSchedule} {
		typed.Del(name)
	}
	t := pages.FormState{Values: typed, Errors: map[string]component.Text{}}
	if addRows(typed) {
		return d.writeForm(c, http.StatusOK, at, t)
	}
	row, now, err := d.readMessageRow(c, at.Key)
	if err != nil {
		return err
	}
	m, seed, _, err := d.parseMessageForm(ctx, t, now)
	mv := engine.Move{Key: at.Key, Copy: typed.Get(page.FieldHow) == "copy", DropDuplicate: typed.Get(page.FieldDuplicate) != ""}
	if how := typed.Get(page.FieldHow); how != "" && how != "move" && how != "copy" {
		t.Errors[page.FieldHow] = component.Text{S: locale.T(ctx, "ui.how")}
	}
	if text := strings.TrimSpace(typed.Get(sendpage.SendTarget)); text != "" {
		to, wrong := engine.ParsePath(text, d.b.Limits())
		if wrong != nil {
			t.Errors[sendpage.SendTarget] = component.ServerText(wrong.Error())
		}
		mv.To = to
	}
	if len(t.Errors) > 0 {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	if err != nil {
		return d.writeFormError(c, at, t, err)
	}
	was, err := row.Content.Content()
	if err != nil {
		return err
	}
	content, body, err := m.Message(1, now, seed)
	if err != nil {
		return d.writeFormError(c, at, t, err)
	}
	out := broker.Outgoing{Body: body}
	if typed.Has(sendpage.SendKeepBody) {
		in, err := d.b.Body(ctx, row.Message.Content, was.BodySize)
		if err != nil {
			return err
		}
		defer func() { _ = in.Close() }()
		body, out.Body, out.Reader = nil, nil, in
	}
	if out.Content, err = send.EditMessage(was, row, content, body); err != nil {
		return d.writeFormError(c, at, t, err)
	}
	before, err := d.readFormerBody(c, row, typed)
	if err != nil {
		return err
	}
	did, err := d.b.Replace(ctx, mv, out, actor(c))
	if errors.Is(err, engine.ErrDuplicate) { // the form offers to drop the edited message
		t.Errors[page.FieldDuplicate] = errorMessage(err)
		return d.writeForm(c, http.StatusConflict, at, t)
	}
	if err != nil {
		return d.writeFormError(c, at, t, err)
	}
	id := "ui.rewritten"
	switch {
	case did.Seq == 0:
		id = "ui.duplicate"
	case mv.Copy:
		id = "ui.rewritten.copy"
	}
	n := textNotice(c, id, locale.Args{"Number": locale.Number(ctx, int(did.Seq))})
	n.Undo = d.undoMessageEdit(mv, did, before)
	return d.redirectBack(c, d.pages.MessageURL(at.Key), n)
}

// maxUndoBody is the size of the largest body, in bytes, that is kept to undo an edit: the
// largest that a form can edit.
const maxUndoBody = send.MaxEditableBody

// A formerBody is the body of a message before it was edited.
type formerBody struct {
	bytes     []byte // nil if unchanged or tooLarge
	unchanged bool   // a stored message still has the same body
	tooLarge  bool   // the body was too large to keep
}

// readFormerBody returns the body that an edit replaces.
func (d *Handler) readFormerBody(c echo.Context, row engine.Row, typed url.Values) (was formerBody, err error) {
	size := row.Content.BodySize()
	switch {
	case typed.Has(sendpage.SendKeepBody), typed.Get(page.FieldHow) == "copy":
		was.unchanged = true
		return was, nil
	case size > maxUndoBody:
		was.tooLarge = true
		return was, nil
	}
	in, err := d.b.Body(c.Request().Context(), row.Message.Content, size)
	if err != nil {
		return was, err
	}
	defer func() { _ = in.Close() }()
	if was.bytes, err = io.ReadAll(in); err != nil {
		return was, fmt.Errorf("read the body of message %d: %w", row.Message.Key, err)
	}
	return was, nil
}

// undoMessageEdit returns the address that undoes an edit, or "" if it cannot be undone.
func (d *Handler) undoMessageEdit(mv engine.Move, did engine.ReplaceResult, before formerBody) string {
	is := did.After.Message
	switch {
	case is.Key == 0 || before.tooLarge:
		return ""
	case mv.Copy:
		var was job.UndoRecord
		was.Add(engine.Operation{Kind: engine.OperationCopy}, engine.OperationResult{Before: did.Before, After: engine.Target{Key: is.Key, Path: did.After.Path, Seq: is.Seq}})
		return d.undoReversal(was)
	}
	return d.keepUndo(func(c echo.Context) (n component.Notice, err error) {
		ctx := c.Request().Context()
		out := broker.Outgoing{Body: before.bytes}
		if out.Content, err = did.Before.Content.Content(); err != nil {
			return n, err
		}
		if before.unchanged {
			in, err := d.b.Body(ctx, is.Content, out.Content.BodySize)
			if errors.Is(err, engine.ErrMessageNotFound) {
				return undoNotice(ctx, 0, 1, nil), nil
			}
			if err != nil {
				return n, err
			}
			defer func() { _ = in.Close() }()
			out.Reader = in
		}
		switch err := d.b.UndoReplace(ctx, did, out, actor(c)); {
		case errors.Is(err, engine.ErrMessageNotFound), errors.Is(err, engine.ErrChanged), errors.Is(err, engine.ErrNotAllowed):
			return undoNotice(ctx, 0, 1, nil), nil // for example because a receiver has locked or settled the message
		case err != nil:
			return withError(component.Notice{Tone: component.Low, Title: locale.T(ctx, "ui.undo.none")}, err), nil
		}
		return undoNotice(ctx, 1, 0, nil), nil
	})
}
