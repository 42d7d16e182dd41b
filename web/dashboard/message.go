package dashboard

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/send"
	"mayfly/web/dashboard/pages"
)

// readMessageRow returns the current state of a message, and the broker's time.
func (d *Handler) readMessageRow(c echo.Context, k engine.Key) (row engine.Row, now engine.Instant, err error) {
	err = d.b.Read(c.Request().Context(), func(r broker.Reader) error {
		now = r.Now
		row, err = r.Message(k)
		return err
	})
	return row, now, err
}

// textNotice returns a notice whose title is the text with the given id in the viewer's language.
func textNotice(c echo.Context, id string, args locale.Args) component.Notice {
	return component.Notice{Title: locale.T(c.Request().Context(), id, args)}
}

// redirectToMessage redirects to the page that the form came from, else to the message.
func (d *Handler) redirectToMessage(c echo.Context, at pages.Address, n component.Notice) error {
	return d.redirectBack(c, d.pages.MessageURL(at.Key), n)
}

// receiveMessage locks one message for inspection and opens it.
func (d *Handler) receiveMessage(c echo.Context, at pages.Address, typed url.Values) error {
	ctx, path := c.Request().Context(), at.Path
	switch typed.Get("dlq") {
	case "":
		e, err := d.readEntityState(c, path)
		if err != nil {
			return err
		}
		if e.Config.RequiresSession && e.Kind != engine.Topic {
			return d.receiveSession(c, at, optionalSession(typed.Get(page.FieldSession)))
		}
	case string(page.TabTransfers):
		path = path.Transfer()
	default:
		path = path.DeadLetter()
	}
	got, err := d.b.Receive(ctx, broker.ReceiveRequest{Path: path, Client: actor(c)})
	if err != nil {
		return err
	}
	if len(got) == 0 {
		return d.redirectBack(c, d.pages.EntityURL(at.EntityType, path), component.Notice{
			Tone: component.Low, Title: locale.T(ctx, "ui.receive.none", locale.Args{"Name": pages.DisplayPath(path)}), Detail: locale.T(ctx, "ui.receive.none.detail"),
		})
	}
	return d.openReceived(c, got[0])
}

// optionalSession returns the session id, or nil for the next available session.
func optionalSession(id string) *string {
	if id == "" {
		return nil
	}
	return &id
}

// openReceived redirects to the page of a received message, with its lock token.
func (d *Handler) openReceived(c echo.Context, got broker.Received) error {
	if err := got.Body.Close(); err != nil {
		d.log.Debug("a body was not closed", "err", err)
	}
	to := d.pages.MessageURL(got.Message.Key) + "?lock=" + got.Token().String()
	return d.redirectWithNotice(c, to, component.Notice{
		Title:  locale.T(c.Request().Context(), "ui.received"),
		Detail: locale.T(c.Request().Context(), "ui.received.detail"),
	})
}

// receiveDeferred receives a deferred message by its sequence number.
func (d *Handler) receiveDeferred(c echo.Context, at pages.Address, _ url.Values) error {
	row, _, err := d.readMessageRow(c, at.Key)
	if err != nil {
		return err
	}
	got, err := d.b.ReceiveDeferred(c.Request().Context(), row.Path, []engine.Seq{row.Message.Seq}, engine.PeekLock, actor(c))
	if err != nil {
		return err
	}
	return d.openReceived(c, got[0])
}

// lockToken returns the lock token in a form or, if it has none, in its address. `given` is false
// if there is none in either.
func lockToken(at pages.Address, typed url.Values) (t engine.LockToken, given bool, err error) {
	text := cmp.Or(typed.Get(page.FieldLockToken), at.Query.Get(page.FieldLockToken))
	if text == "" {
		return t, false, nil
	}
	t, err = engine.ParseLockToken(text)
	return t, true, err
}

// settle completes, abandons or defers a message that was received for inspection.
func (d *Handler) settle(c echo.Context, at pages.Address, typed url.Values) error {
	outcome := map[string]engine.Outcome{"complete": engine.Complete, "abandon": engine.Abandon, "defer": engine.Defer}[at.Action]
	id := map[string]string{"complete": "ui.completed", "abandon": "ui.abandoned", "defer": "ui.deferred"}[at.Action]
	return d.settleWith(c, at, typed, engine.Settlement{Outcome: outcome}, id)
}

func (d *Handler) settleWith(c echo.Context, at pages.Address, typed url.Values, s engine.Settlement, id string) error {
	ctx := c.Request().Context()
	t, given, err := lockToken(at, typed)
	switch {
	case err != nil:
		return err
	case !given:
		return &pages.LocalizedError{Err: engine.ErrArgument, Text: locale.T(ctx, "ui.token.none")}
	}
	s.Token, s.Client = t, actor(c)
	row, _, err := d.readMessageRow(c, at.Key)
	if err != nil && !errors.Is(err, engine.ErrMessageNotFound) {
		return err
	}
	if err != nil || row.Message.Token() != t {
		return engine.Refuse(engine.ErrLockLost, "%s", engine.LockLostText) // the token does not belong to this message's lock
	}
	errs, err := d.b.Settle(ctx, s)
	if err != nil {
		return err
	}
	if errs[0] != nil {
		return errs[0]
	}
	n := textNotice(c, id, nil)
	if s.Outcome == engine.Defer {
		if row, _, err = d.readMessageRow(c, at.Key); err == nil && row.Message.State == engine.Deferred { // else its state has changed in the meantime
			var was job.UndoRecord
			was.AddDeferred(row)
			n.Undo = d.undoReversal(was)
		}
	}
	return d.redirectToMessage(c, at, n)
}

// deadLetter moves a message to the dead-letter queue: with the form's lock token, or without
// one if the message is not locked (OPS-5).
func (d *Handler) deadLetter(c echo.Context, at pages.Address, typed url.Values) error {
	if wrong := d.reasonsTooLong(c.Request().Context(), typed); len(wrong) > 0 {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, pages.FormState{Values: typed, Errors: wrong})
	}
	reason, description := typed.Get(page.FieldReason), typed.Get(page.FieldDescription)
	if _, given, err := lockToken(at, typed); given || err != nil {
		err := d.settleWith(c, at, typed, engine.Settlement{Outcome: engine.DeadLetter, Reason: reason, Description: description}, "ui.dead")
		return d.writeFieldError(c, at, typed, page.FieldReason, err)
	}
	row, _, err := d.readMessageRow(c, at.Key)
	if err != nil {
		return err
	}
	_, undo, err := d.operateOnOne(c, row, engine.Operation{Kind: engine.OperationDeadLetter, Reason: reason, Description: description})
	if err != nil {
		return d.writeFieldError(c, at, typed, page.FieldReason, err)
	}
	n := textNotice(c, "ui.dead", nil)
	n.Undo = undo
	return d.redirectToMessage(c, at, n)
}

// writeFieldError shows the form again with an error beside a field if the value is out of range. It
// returns other errors.
func (d *Handler) writeFieldError(c echo.Context, at pages.Address, typed url.Values, field string, err error) error {
	if err == nil || statusCode(err) != http.StatusUnprocessableEntity {
		return err
	}
	return d.writeForm(c, http.StatusUnprocessableEntity, at, pages.FormState{Values: typed, Errors: map[string]component.Text{field: errorMessage(err)}})
}

// deleteMessage deletes or cancels one message, once the user has confirmed it.
func (d *Handler) deleteMessage(c echo.Context, at pages.Address, typed url.Values) error {
	if n, ok := confirmedCount(typed); !ok || n != 1 {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, pages.FormState{})
	}
	row, _, err := d.readMessageRow(c, at.Key)
	if err != nil {
		return err
	}
	if at.Action == "cancel" && row.Message.State != engine.Scheduled {
		return &pages.LocalizedError{Err: engine.ErrNotAllowed, Text: locale.T(c.Request().Context(), "ui.cancel.active")}
	}
	if err := d.b.DeleteMessage(c.Request().Context(), at.Key, actor(c)); err != nil {
		return err
	}
	if at.Action == "cancel" {
		return d.redirectToMessage(c, at, textNotice(c, "ui.cancelled", nil))
	}
	return d.redirectToMessage(c, at, textNotice(c, "ui.gone", nil))
}

// resubmit moves a dead letter to its pages.Destination, or sends a copy there (OPS-1, OPS-2).
func (d *Handler) resubmit(c echo.Context, at pages.Address, typed url.Values) error {
	how := typed.Get(page.FieldHow)
	if how != "" && how != "move" && how != "copy" {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, pages.FormState{Values: typed, Errors: map[string]component.Text{page.FieldHow: {S: locale.T(c.Request().Context(), "ui.how")}}})
	}
	row, _, err := d.readMessageRow(c, at.Key)
	if err != nil {
		return err
	}
	operation := engine.Operation{Kind: engine.OperationMove, DropDuplicate: typed.Get(page.FieldDuplicate) != ""}
	if at.Action == "resubmit-copy" || how == "copy" {
		operation.Kind = engine.OperationCopy
	}
	is, undo, err := d.operateOnOne(c, row, operation)
	if errors.Is(err, engine.ErrDuplicate) { // the form offers to drop the message
		at.Action = "resubmit"
		return d.writeFormError(c, at, pages.FormState{Values: typed}, err)
	}
	if err != nil {
		return err
	}
	id := "ui.resubmitted"
	switch {
	case is.Dropped:
		id = "ui.duplicate"
	case is.After.Seq == 0:
		id = "ui.resubmitted.on"
	case operation.Kind == engine.OperationCopy:
		id = "ui.copied"
	}
	n := textNotice(c, id, locale.Args{"Number": locale.Number(c.Request().Context(), int(is.After.Seq))})
	n.Undo = undo
	return d.redirectToMessage(c, at, n)
}

// Operations without parameters other than the message.

func (d *Handler) sendNow(c echo.Context, at pages.Address, _ url.Values) error {
	return d.runOnMessage(c, at, d.b.SendNow, "ui.sentnow")
}

func (d *Handler) returnToActive(c echo.Context, at pages.Address, _ url.Values) error {
	return d.runOnMessage(c, at, d.b.ReturnToActive, "ui.returned")
}

func (d *Handler) breakLock(c echo.Context, at pages.Address, _ url.Values) error {
	return d.runOnMessage(c, at, d.b.BreakLock, "ui.broken")
}

func (d *Handler) renew(c echo.Context, at pages.Address, _ url.Values) error {
	return d.runOnMessage(c, at, func(ctx context.Context, k engine.Key, actor string) error {
		_, err := d.b.RenewLockFor(ctx, k, actor)
		return err
	}, "ui.renewed")
}

func (d *Handler) runOnMessage(c echo.Context, at pages.Address, do func(context.Context, engine.Key, string) error, id string) error {
	if err := do(c.Request().Context(), at.Key, actor(c)); err != nil {
		return err
	}
	return d.redirectToMessage(c, at, textNotice(c, id, nil))
}

// reschedule changes the time of a scheduled message (OPS-8).
func (d *Handler) reschedule(c echo.Context, at pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	row, now, err := d.readMessageRow(c, at.Key)
	if err != nil {
		return err
	}
	when, field, err := parseDue(ctx, typed, now)
	if err == nil && when == 0 {
		field, err = send.SendIn, formError(ctx, "ui.when")
	}
	if err != nil {
		return d.writeFieldError(c, at, typed, field, err)
	}
	is, undo, err := d.operateOnOne(c, row, engine.Operation{Kind: engine.OperationReschedule, Until: when})
	if err != nil {
		return d.writeFieldError(c, at, typed, field, err)
	}
	n := textNotice(c, "ui.rescheduled", locale.Args{"Number": locale.Number(ctx, int(is.After.Seq))})
	n.Undo = undo
	return d.redirectToMessage(c, at, n)
}

// extend adds a duration to the remaining time of a message, or subtracts one (OPS-3).
func (d *Handler) extend(c echo.Context, at pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	by, err := parseSignedLength(ctx, typed.Get(page.FieldBy))
	if err != nil {
		return d.writeFieldError(c, at, typed, page.FieldBy, err)
	}
	row, now, err := d.readMessageRow(c, at.Key)
	if err != nil {
		return err
	}
	is, undo, err := d.operateOnOne(c, row, engine.Operation{Kind: engine.OperationExtend, ExtendBy: by})
	if err != nil {
		return d.writeFieldError(c, at, typed, page.FieldBy, err)
	}
	n := textNotice(c, "ui.extended", locale.Args{"At": pages.ClockTime(ctx, is.Until, now)})
	n.Undo = undo
	return d.redirectToMessage(c, at, n)
}

// downloadBody sends the whole body of a message as a download. It ignores the content type of
// the message, because the sender chose it.
func (d *Handler) downloadBody(c echo.Context) error {
	at, err := d.address(c)
	if err != nil {
		return err
	}
	row, _, err := d.readMessageRow(c, at.Key)
	if err != nil {
		return err
	}
	in, err := d.b.Body(c.Request().Context(), row.Message.Content, row.Content.BodySize())
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	h := c.Response().Header()
	h.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": "message-" + strconv.FormatUint(uint64(at.Key), 10) + ".bin"}))
	h.Set(echo.HeaderContentSecurityPolicy, "sandbox")
	return c.Stream(http.StatusOK, echo.MIMEOctetStream, in)
}
