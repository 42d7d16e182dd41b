package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/access"
	"mayfly/web/rest/fault"
	"mayfly/web/sas"
)

// status is what an error is at this door (semantics §§2.2, 16), and its
// sub-code of ERR-3, zero where there is none.
func status(err error) (code, sub int) {
	if sas.Refused(err) {
		return http.StatusUnauthorized, 0
	}
	if r, ok := errors.AsType[*engine.Refusal](err); ok {
		sub = r.SubCode
	}
	if p, ok := errors.AsType[*engine.PropertyError](err); ok {
		sub = p.SubCode
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return e.Code, sub
	}
	if e, ok := errors.AsType[*access.HostError](err); ok {
		return e.Status(), sub
	}
	for _, known := range []struct {
		kind      error
		code, sub int
	}{
		{engine.ErrRolledBack, http.StatusBadRequest, 40000}, // before what it was rolled back for, which is not to be tried again
		{engine.ErrNotFound, http.StatusGone, 40400},
		{engine.ErrMessageNotFound, http.StatusNotFound, 0},
		{engine.ErrLockLost, http.StatusNotFound, 0},
		{engine.ErrSessionLockLost, http.StatusGone, 0},
		{engine.ErrSessionLocked, http.StatusGone, 0},
		{engine.ErrTimeout, http.StatusRequestTimeout, 0},
		{engine.ErrDisabled, http.StatusForbidden, 0},
		{engine.ErrTooLarge, http.StatusForbidden, 40300},
		{engine.ErrQuota, http.StatusForbidden, 40300},
		{access.ErrCrossSite, http.StatusForbidden, 40300},
		{engine.ErrExists, http.StatusConflict, 40900},
		{engine.ErrChanged, http.StatusConflict, 40900},
		{engine.ErrNotAllowed, http.StatusBadRequest, 40301},
		{engine.ErrTransaction, http.StatusBadRequest, 40000},
		{engine.ErrArgument, http.StatusBadRequest, 40000},
		{engine.ErrOutOfRange, http.StatusBadRequest, 40000},
		{io.ErrUnexpectedEOF, http.StatusBadRequest, 40000},
		{engine.ErrNotImplemented, http.StatusNotImplemented, 0},
		{engine.ErrBusy, http.StatusServiceUnavailable, 50004},
		{engine.ErrClosed, http.StatusServiceUnavailable, 50004},
		{os.ErrDeadlineExceeded, http.StatusRequestTimeout, 0},
		{context.DeadlineExceeded, http.StatusRequestTimeout, 0},
		{context.Canceled, http.StatusRequestTimeout, 0}, // nobody is there to read it
	} {
		if errors.Is(err, known.kind) {
			if sub == 0 {
				sub = known.sub
			}
			return known.code, sub
		}
	}
	return http.StatusInternalServerError, 50000
}

// text is what a client reads. What went wrong inside is for the log.
func text(err error, code int) string {
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return fmt.Sprint(e.Message)
	}
	switch {
	case code == http.StatusInternalServerError:
		return "The server failed. Its log says why, at this TrackingId."
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "The body ended before it was complete."
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "The body did not arrive in time."
	default:
		return err.Error()
	}
}

// fail answers with an error (ERR-2, ERR-5).
func (d *door) fail(err error, c echo.Context) {
	code, sub := status(err)
	ctx := c.Request().Context()
	if code == http.StatusInternalServerError && ctx.Err() == nil { // writing to somebody who has left fails, and is no failure
		d.log.ErrorContext(ctx, "a REST request failed", "tracking_id", fault.Tracking(c), "err", err)
	}
	fault.Fault{Code: code, SubCode: sub, Text: text(err, code), Namespace: d.name}.Answer(c)
}

func argument(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrArgument, SubCode: 40000, Text: fmt.Sprintf(format, args...)}
}

func outOfRange(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrOutOfRange, SubCode: 40000, Text: fmt.Sprintf(format, args...)}
}

// cut shortens what somebody sent for use in an error.
func cut(s string) string { return fault.Cut(s) }
