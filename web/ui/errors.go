package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/access"
	"mayfly/web/identity"
	"mayfly/web/show"
)

// status is what an error is answered with.
func status(err error) int {
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return e.Code
	}
	if _, ok := errors.AsType[*identity.RoleError](err); ok {
		return http.StatusForbidden
	}
	if _, ok := errors.AsType[*identity.Refused](err); ok {
		return http.StatusUnauthorized
	}
	for _, s := range []struct {
		kind   error
		status int
	}{
		{access.ErrForm, http.StatusForbidden},
		{access.ErrCrossSite, http.StatusForbidden},
		{access.ErrSafe, http.StatusForbidden},
		{identity.ErrNobody, http.StatusUnauthorized},
		{identity.ErrOver, http.StatusUnauthorized},
		{show.ErrNoPage, http.StatusNotFound},
		{engine.ErrRolledBack, http.StatusConflict}, // before what it was rolled back for, which is not to be tried again
		{engine.ErrSessionLockLost, http.StatusGone},
		{engine.ErrSessionLocked, http.StatusConflict},
		{engine.ErrTimeout, http.StatusRequestTimeout},
		{engine.ErrTransaction, http.StatusGone},
		{engine.ErrNotFound, http.StatusNotFound},
		{engine.ErrMessageNotFound, http.StatusNotFound},
		{engine.ErrLockLost, http.StatusGone},
		{engine.ErrExists, http.StatusConflict},
		{engine.ErrChanged, http.StatusConflict},
		{engine.ErrDisabled, http.StatusConflict},
		{engine.ErrNotAllowed, http.StatusConflict},
		{engine.ErrQuota, http.StatusConflict},
		{engine.ErrArgument, http.StatusUnprocessableEntity},
		{engine.ErrOutOfRange, http.StatusUnprocessableEntity},
		{engine.ErrTooLarge, http.StatusRequestEntityTooLarge},
		{engine.ErrNotImplemented, http.StatusNotImplemented},
		{engine.ErrBusy, http.StatusServiceUnavailable},
		{engine.ErrClosed, http.StatusServiceUnavailable},
		{context.Canceled, http.StatusServiceUnavailable},
		{context.DeadlineExceeded, http.StatusServiceUnavailable},
	} {
		if errors.Is(err, s.kind) {
			return s.status
		}
	}
	return http.StatusInternalServerError
}

// told is the sentence an error has for people in the server's own words; empty if it
// has none.
func told(err error) string {
	if e, ok := errors.AsType[*engine.RuleError](err); ok { // before the Refusal in it
		return e.Error()
	}
	if e, ok := errors.AsType[*engine.Refusal](err); ok {
		return e.Text
	}
	if e, ok := errors.AsType[*engine.PropertyError](err); ok {
		return e.Text
	}
	if errors.Is(err, access.ErrForm) || errors.Is(err, access.ErrCrossSite) || errors.Is(err, access.ErrSafe) {
		return err.Error()
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok && e.Internal != nil {
		return fmt.Sprint(e.Message)
	}
	return ""
}

// why is the sentence an error has for people; zero if it has none.
func why(err error) component.Text {
	if own, ok := errors.AsType[*show.Refusal](err); ok {
		return component.Text{S: own.Text}
	}
	return component.Said(told(err))
}

// because adds to a notice what an error says.
func because(n component.Notice, err error) component.Notice {
	if own, ok := errors.AsType[*show.Refusal](err); ok {
		if n.Title == "" {
			n.Title = own.Text
		} else {
			n.Detail = own.Text
		}
	}
	n.Said = told(err)
	return n
}

// Error presents an error as a page. It is an echo.HTTPErrorHandler.
func (d *Door) Error(err error, c echo.Context) {
	if c.Response().Committed {
		return // a client that has gone away is not ours to report
	}
	d.visit(c)
	code := status(err)
	if code == http.StatusUnauthorized {
		c.Response().Header().Set(echo.HeaderWWWAuthenticate, identity.Challenge)
	}
	ctx := c.Request().Context()
	id := c.Response().Header().Get(echo.HeaderXRequestID)
	if code == http.StatusInternalServerError {
		d.log.ErrorContext(ctx, "a page failed", "id", id, "err", err)
	}
	at, parseErr := d.place(c)
	if parseErr != nil {
		at = show.Place{}
	}
	f := page.Failure{Status: code, Said: told(err)}
	if e, ok := errors.AsType[*identity.RoleError](err); ok && f.Said == "" {
		f.Refused = locale.T(ctx, "failure.role", locale.Args{"Needs": e.Needs.String(), "Has": e.Has.String()})
		f.Do = locale.T(ctx, "failure.role.do")
	}
	if own, ok := errors.AsType[*show.Refusal](err); ok {
		f.Refused = own.Text
	}
	if back := d.back(c); back != "" {
		f.Go = component.Link{Href: back, Label: locale.T(ctx, "ui.back")}
	} else if code == http.StatusServiceUnavailable && parseErr == nil && c.Request().Method == http.MethodGet {
		f.Go = component.Link{Href: d.pages.URL(at), Label: locale.T(ctx, "ui.again")} // looking once more does no harm
	}
	p := d.pages.Failure(ctx, at, f)
	if err := d.show(c, code, p); err != nil && ctx.Err() == nil { // somebody is there to miss it
		d.log.ErrorContext(ctx, "the page of an error failed", "id", id, "err", err)
	}
}

// back is where a refused form came from; empty: nothing was sent.
func (d *Door) back(c echo.Context) string {
	if c.Request().Method != http.MethodPost || c.Request().PostForm == nil {
		return ""
	}
	return d.backOr(c, "")
}

// asks tells whether an error is about what was filled in, or about a number
// that has changed, so that the form should come back with it.
func asks(err error) bool {
	switch status(err) {
	case http.StatusConflict, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge, http.StatusNotImplemented:
		return true
	default:
		return false
	}
}

// again is the form with an error that the broker had about it: beside its
// field where it names a property, above the form otherwise.
func (d *Door) again(c echo.Context, at show.Place, t show.Typed, err error) error {
	if !asks(err) {
		return err
	}
	if t.Errors == nil {
		t.Errors = map[string]component.Text{}
	}
	code := status(err)
	if e, ok := errors.AsType[*engine.PropertyError](err); ok {
		t.Errors[e.Property], code = component.Said(e.Text), http.StatusUnprocessableEntity
	} else {
		t.Refused = because(component.Notice{Tone: component.Critical}, err)
	}
	return d.form(c, code, at, t)
}
