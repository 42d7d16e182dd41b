package ui

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
	"mayfly/web/show"
)

// look is a message as it is now, and the broker's clock.
func (d *Door) look(c echo.Context, k engine.Key) (row engine.Row, now engine.Instant, err error) {
	err = d.b.Read(c.Request().Context(), func(r broker.Reader) error {
		now = r.Now
		row, err = r.Message(k)
		return err //nolint:wrapcheck // it says what it is about
	})
	return row, now, err //nolint:wrapcheck // it says what it is about
}

// says is a notice about one message.
func says(c echo.Context, id string, args locale.Args) component.Notice {
	return component.Notice{Title: locale.T(c.Request().Context(), id, args)}
}

// settled ends a request about one message: back to where it came from.
func (d *Door) settled(c echo.Context, at show.Place, n component.Notice) error {
	return d.done(c, d.pages.MessageURL(at.Key), n)
}

// receive locks one message for inspection and opens it.
func (d *Door) receive(c echo.Context, at show.Place, typed url.Values) error {
	ctx, path := c.Request().Context(), at.Path
	switch typed.Get("dlq") {
	case "":
		e, err := d.state(c, path)
		if err != nil {
			return err
		}
		if e.Config.RequiresSession && e.Kind != engine.Topic {
			return d.receiveSession(c, at, named(typed.Get(page.AskSession)))
		}
	case string(page.Transfers):
		path = path.Transfer()
	default:
		path = path.DeadLetter()
	}
	got, err := d.b.Receive(ctx, broker.Receive{Path: path, Client: actor(c)})
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	if len(got) == 0 {
		return d.done(c, d.pages.EntityURL(at.Entity, path), component.Notice{
			Tone: component.Low, Title: locale.T(ctx, "ui.receive.none", locale.Args{"Name": show.Shown(path)}), Detail: locale.T(ctx, "ui.receive.none.detail"),
		})
	}
	return d.received(c, got[0])
}

// named is a session by its id; nil: the next one.
func named(id string) *string {
	if id == "" {
		return nil
	}
	return &id
}

// received opens a message under the lock that it was just given.
func (d *Door) received(c echo.Context, got broker.Received) error {
	if err := got.Body.Close(); err != nil {
		d.log.Debug("a body was not closed", "err", err)
	}
	to := d.pages.MessageURL(got.Message.Key) + "?lock=" + got.Token().String()
	return d.goTo(c, to, component.Notice{
		Title:  locale.T(c.Request().Context(), "ui.received"),
		Detail: locale.T(c.Request().Context(), "ui.received.detail"),
	})
}

// fetch receives a deferred message by its number.
func (d *Door) fetch(c echo.Context, at show.Place, _ url.Values) error {
	row, _, err := d.look(c, at.Key)
	if err != nil {
		return err
	}
	got, err := d.b.Fetch(c.Request().Context(), row.Path, []engine.Seq{row.Message.Seq}, engine.PeekLock, actor(c))
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.received(c, got[0])
}

// token is the lock a form settles by; zero and false if it has none.
func token(at show.Place, typed url.Values) (t engine.LockToken, given bool, err error) {
	text := cmp.Or(typed.Get(page.AskToken), at.Query.Get(page.AskToken))
	if text == "" {
		return t, false, nil
	}
	t, err = engine.ParseLockToken(text)
	return t, true, err //nolint:wrapcheck // it says what it is about
}

// settle completes, abandons or defers a message that was received for
// inspection.
func (d *Door) settle(c echo.Context, at show.Place, typed url.Values) error {
	outcome := map[string]engine.Outcome{"complete": engine.Complete, "abandon": engine.Abandon, "defer": engine.Defer}[at.Do]
	id := map[string]string{"complete": "ui.completed", "abandon": "ui.abandoned", "defer": "ui.deferred"}[at.Do]
	return d.settleWith(c, at, typed, engine.Settlement{Outcome: outcome}, id)
}

func (d *Door) settleWith(c echo.Context, at show.Place, typed url.Values, s engine.Settlement, id string) error {
	ctx := c.Request().Context()
	t, given, err := token(at, typed)
	switch {
	case err != nil:
		return err
	case !given:
		return &show.Refusal{Kind: engine.ErrArgument, Text: locale.T(ctx, "ui.token.none")}
	}
	s.Token, s.Client = t, actor(c)
	row, _, err := d.look(c, at.Key)
	if err != nil && !errors.Is(err, engine.ErrMessageNotFound) {
		return err
	}
	if err != nil || row.Message.Token() != t {
		return &engine.Refusal{Kind: engine.ErrLockLost, Text: engine.LockLostText} // it is not this message's
	}
	errs, err := d.b.Settle(ctx, s)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	if errs[0] != nil {
		return errs[0]
	}
	n := says(c, id, nil)
	if s.Outcome == engine.Defer {
		if row, _, err = d.look(c, at.Key); err == nil && row.Message.State == engine.Deferred { // else it has gone on meanwhile
			var was job.Reversal
			was.AddDeferred(row)
			n.Undo = d.takeBack(was)
		}
	}
	return d.settled(c, at, n)
}

// deadLetter moves a message to the dead-letter queue: with the lock of whoever
// received it, else if nobody holds it (OPS-5).
func (d *Door) deadLetter(c echo.Context, at show.Place, typed url.Values) error {
	if wrong := d.reasonsTooLong(c.Request().Context(), typed); len(wrong) > 0 {
		return d.form(c, http.StatusUnprocessableEntity, at, show.Typed{Values: typed, Errors: wrong})
	}
	reason, description := typed.Get(page.AskReason), typed.Get(page.AskDescription)
	if _, given, err := token(at, typed); given || err != nil {
		err := d.settleWith(c, at, typed, engine.Settlement{Outcome: engine.DeadLetter, Reason: reason, Description: description}, "ui.dead")
		return d.againOr(c, at, typed, page.AskReason, err)
	}
	row, _, err := d.look(c, at.Key)
	if err != nil {
		return err
	}
	_, undo, err := d.doOne(c, row, engine.Deed{Kind: engine.DeedDeadLetter, Reason: reason, Description: description})
	if err != nil {
		return d.againOr(c, at, typed, page.AskReason, err)
	}
	n := says(c, "ui.dead", nil)
	n.Undo = undo
	return d.settled(c, at, n)
}

// againOr asks again when what was typed is out of range: with the error beside
// a field. Other errors are the request's.
func (d *Door) againOr(c echo.Context, at show.Place, typed url.Values, field string, err error) error {
	if err == nil || status(err) != http.StatusUnprocessableEntity {
		return err
	}
	return d.form(c, http.StatusUnprocessableEntity, at, show.Typed{Values: typed, Errors: map[string]component.Text{field: why(err)}})
}

// deleteMessage deletes or cancels one message, once that was agreed to.
func (d *Door) deleteMessage(c echo.Context, at show.Place, typed url.Values) error {
	if n, ok := agreedTo(typed); !ok || n != 1 {
		return d.form(c, http.StatusUnprocessableEntity, at, show.Typed{})
	}
	row, _, err := d.look(c, at.Key)
	if err != nil {
		return err
	}
	if at.Do == "cancel" && row.Message.State != engine.Scheduled {
		return &show.Refusal{Kind: engine.ErrNotAllowed, Text: locale.T(c.Request().Context(), "ui.cancel.active")}
	}
	if err := d.b.DeleteOne(c.Request().Context(), at.Key, actor(c)); err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	if at.Do == "cancel" {
		return d.settled(c, at, says(c, "ui.cancelled", nil))
	}
	return d.settled(c, at, says(c, "ui.gone", nil))
}

// resubmit sends a dead letter back to where it died, or a copy of it (OPS-1,
// OPS-2).
func (d *Door) resubmit(c echo.Context, at show.Place, typed url.Values) error {
	how := typed.Get(page.AskHow)
	if how != "" && how != "move" && how != "copy" {
		return d.form(c, http.StatusUnprocessableEntity, at, show.Typed{Values: typed, Errors: map[string]component.Text{page.AskHow: {S: locale.T(c.Request().Context(), "ui.how")}}})
	}
	row, _, err := d.look(c, at.Key)
	if err != nil {
		return err
	}
	deed := engine.Deed{Kind: engine.DeedMove, DropDuplicate: typed.Get(page.AskDuplicate) != ""}
	if at.Do == "resubmit-copy" || how == "copy" {
		deed.Kind = engine.DeedCopy
	}
	is, undo, err := d.doOne(c, row, deed)
	if errors.Is(err, engine.ErrDuplicate) { // it can be let go
		at.Do = "resubmit"
		return d.again(c, at, show.Typed{Values: typed}, err)
	}
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	id := "ui.resubmitted"
	switch {
	case is.Dropped:
		id = "ui.duplicate"
	case is.Is.Seq == 0:
		id = "ui.resubmitted.on"
	case deed.Kind == engine.DeedCopy:
		id = "ui.copied"
	}
	n := says(c, id, locale.Args{"Number": locale.Number(c.Request().Context(), int(is.Is.Seq))})
	n.Undo = undo
	return d.settled(c, at, n)
}

// The deeds that need nothing but the message.

func (d *Door) sendNow(c echo.Context, at show.Place, _ url.Values) error {
	return d.simple(c, at, d.b.SendNow, "ui.sentnow")
}

func (d *Door) returnToActive(c echo.Context, at show.Place, _ url.Values) error {
	return d.simple(c, at, d.b.ReturnToActive, "ui.returned")
}

func (d *Door) breakLock(c echo.Context, at show.Place, _ url.Values) error {
	return d.simple(c, at, d.b.BreakLock, "ui.broken")
}

func (d *Door) renew(c echo.Context, at show.Place, _ url.Values) error {
	return d.simple(c, at, func(ctx context.Context, k engine.Key, actor string) error {
		_, err := d.b.RenewFor(ctx, k, actor)
		return err //nolint:wrapcheck // it says what it is about
	}, "ui.renewed")
}

func (d *Door) simple(c echo.Context, at show.Place, do func(context.Context, engine.Key, string) error, id string) error {
	if err := do(c.Request().Context(), at.Key, actor(c)); err != nil {
		return err
	}
	return d.settled(c, at, says(c, id, nil))
}

// reschedule gives a scheduled message another time (OPS-8).
func (d *Door) reschedule(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	row, now, err := d.look(c, at.Key)
	if err != nil {
		return err
	}
	when, field, err := due(ctx, typed, now)
	if err == nil && when == 0 {
		field, err = page.SendIn, refuse(ctx, "ui.when")
	}
	if err != nil {
		return d.againOr(c, at, typed, field, err)
	}
	is, undo, err := d.doOne(c, row, engine.Deed{Kind: engine.DeedReschedule, Until: when})
	if err != nil {
		return d.againOr(c, at, typed, field, err)
	}
	n := says(c, "ui.rescheduled", locale.Args{"Number": locale.Number(ctx, int(is.Is.Seq))})
	n.Undo = undo
	return d.settled(c, at, n)
}

// extend adds to the time that a message has left, or takes from it (OPS-3).
func (d *Door) extend(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	by, err := signed(ctx, typed.Get(page.AskBy))
	if err != nil {
		return d.againOr(c, at, typed, page.AskBy, err)
	}
	row, now, err := d.look(c, at.Key)
	if err != nil {
		return err
	}
	is, undo, err := d.doOne(c, row, engine.Deed{Kind: engine.DeedExtend, By: by})
	if err != nil {
		return d.againOr(c, at, typed, page.AskBy, err)
	}
	n := says(c, "ui.extended", locale.Args{"At": show.ClockTime(ctx, is.Until, now)})
	n.Undo = undo
	return d.settled(c, at, n)
}

// body sends all of a message's body, as something to keep: its content type is
// its sender's word, and not to be believed.
func (d *Door) body(c echo.Context) error {
	at, err := d.place(c)
	if err != nil {
		return err
	}
	row, _, err := d.look(c, at.Key)
	if err != nil {
		return err
	}
	in, err := d.b.Body(c.Request().Context(), row.Message.Content, row.Content.BodySize())
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	defer func() { _ = in.Close() }()
	h := c.Response().Header()
	h.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": "message-" + strconv.FormatUint(uint64(at.Key), 10) + ".bin"}))
	h.Set(echo.HeaderContentSecurityPolicy, "sandbox")
	return c.Stream(http.StatusOK, echo.MIMEOctetStream, in)
}
