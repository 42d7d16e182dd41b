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
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return e.Code, fault.SubCode(err)
	}
	if e, ok := errors.AsType[*access.HostError](err); ok {
		return e.Status(), fault.SubCode(err)
	}
	return fault.Status(err, []fault.Known{
		{Kind: engine.ErrRolledBack, Code: http.StatusBadRequest, SubCode: 40000}, // before what it was rolled back for, which is not to be tried again
		{Kind: engine.ErrNotFound, Code: http.StatusGone, SubCode: 40400},
		{Kind: engine.ErrMessageNotFound, Code: http.StatusNotFound, SubCode: 0},
		{Kind: engine.ErrLockLost, Code: http.StatusNotFound, SubCode: 0},
		{Kind: engine.ErrSessionLockLost, Code: http.StatusGone, SubCode: 0},
		{Kind: engine.ErrSessionLocked, Code: http.StatusGone, SubCode: 0},
		{Kind: engine.ErrTimeout, Code: http.StatusRequestTimeout, SubCode: 0},
		{Kind: engine.ErrDisabled, Code: http.StatusForbidden, SubCode: 0},
		{Kind: engine.ErrTooLarge, Code: http.StatusForbidden, SubCode: 40300},
		{Kind: engine.ErrQuota, Code: http.StatusForbidden, SubCode: 40300},
		{Kind: access.ErrCrossSite, Code: http.StatusForbidden, SubCode: 40300},
		{Kind: engine.ErrExists, Code: http.StatusConflict, SubCode: 40900},
		{Kind: engine.ErrChanged, Code: http.StatusConflict, SubCode: 40900},
		{Kind: engine.ErrNotAllowed, Code: http.StatusBadRequest, SubCode: 40301},
		{Kind: engine.ErrTransaction, Code: http.StatusBadRequest, SubCode: 40000},
		{Kind: engine.ErrArgument, Code: http.StatusBadRequest, SubCode: 40000},
		{Kind: engine.ErrOutOfRange, Code: http.StatusBadRequest, SubCode: 40000},
		{Kind: io.ErrUnexpectedEOF, Code: http.StatusBadRequest, SubCode: 40000},
		{Kind: engine.ErrNotImplemented, Code: http.StatusNotImplemented, SubCode: 0},
		{Kind: engine.ErrBusy, Code: http.StatusServiceUnavailable, SubCode: 50004},
		{Kind: engine.ErrClosed, Code: http.StatusServiceUnavailable, SubCode: 50004},
		{Kind: os.ErrDeadlineExceeded, Code: http.StatusRequestTimeout, SubCode: 0},
		{Kind: context.DeadlineExceeded, Code: http.StatusRequestTimeout, SubCode: 0},
		{Kind: context.Canceled, Code: http.StatusRequestTimeout, SubCode: 0}, // nobody is there to read it
	})
}

// fail answers with an error (ERR-2, ERR-5).
func (d *door) fail(err error, c echo.Context) {
	code, sub := status(err)
	ctx := c.Request().Context()
	if code == http.StatusInternalServerError && ctx.Err() == nil { // writing to somebody who has left fails, and is no failure
		d.log.ErrorContext(ctx, "a REST request failed", "tracking_id", fault.Tracking(c), "err", err)
	}
	fault.Fault{Code: code, SubCode: sub, Text: fault.Text(err, code), Namespace: d.name}.Answer(c)
}

func argument(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrArgument, SubCode: 40000, Text: fmt.Sprintf(format, args...)}
}

func outOfRange(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrOutOfRange, SubCode: 40000, Text: fmt.Sprintf(format, args...)}
}

// cut shortens what somebody sent for use in an error.
func cut(s string) string { return fault.Cut(s) }
