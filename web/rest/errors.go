package rest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/auth/origin"
	"mayfly/web/auth/sas"
	"mayfly/web/rest/fault"
)

// status returns the HTTP status of an error (semantics §§2.2, 16) and its sub-code of
// ERR-3, zero if it has none.
func status(err error) (code, sub int) {
	if sas.IsRefused(err) {
		return http.StatusUnauthorized, 0
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return e.Code, fault.SubCode(err)
	}
	if e, ok := errors.AsType[*origin.HostError](err); ok {
		return e.Status(), fault.SubCode(err)
	}
	return fault.Status(err, []fault.StatusRule{
		{Kind: engine.ErrRolledBack, Code: http.StatusBadRequest, SubCode: 40000}, // before the error that caused the rollback, which would invite a retry
		{Kind: engine.ErrNotFound, Code: http.StatusGone, SubCode: 40400},
		{Kind: engine.ErrMessageNotFound, Code: http.StatusNotFound, SubCode: 0},
		{Kind: engine.ErrLockLost, Code: http.StatusNotFound, SubCode: 0},
		{Kind: engine.ErrSessionLockLost, Code: http.StatusGone, SubCode: 0},
		{Kind: engine.ErrSessionLocked, Code: http.StatusGone, SubCode: 0},
		{Kind: engine.ErrTimeout, Code: http.StatusRequestTimeout, SubCode: 0},
		{Kind: engine.ErrDisabled, Code: http.StatusForbidden, SubCode: 0},
		{Kind: engine.ErrTooLarge, Code: http.StatusForbidden, SubCode: 40300},
		{Kind: engine.ErrQuota, Code: http.StatusForbidden, SubCode: 40300},
		{Kind: origin.ErrCrossSite, Code: http.StatusForbidden, SubCode: 40300},
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
		{Kind: context.Canceled, Code: http.StatusRequestTimeout, SubCode: 0}, // the client has disconnected
	})
}

// fail answers with an error (ERR-2, ERR-5).
func (d *handler) fail(err error, c echo.Context) {
	code, sub := status(err)
	d.log.Respond(c, fault.Response{Code: code, SubCode: sub, Text: fault.Text(err, code), Namespace: d.name}, err)
}
