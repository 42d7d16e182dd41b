package atom

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/rest/fault"
)

// A statused error has an HTTP status of its own.
type statused interface {
	error
	Status() int
}

// status returns the HTTP status of an error (semantics §16, ERR-4) and its sub-code,
// zero if it has none.
func status(err error) (code, sub int) {
	if e, ok := errors.AsType[statused](err); ok {
		return e.Status(), 0
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return e.Code, 0
	}
	return fault.Status(err, []fault.StatusRule{
		{Kind: engine.ErrNotFound, Code: http.StatusNotFound, SubCode: 40400},
		{Kind: engine.ErrExists, Code: http.StatusConflict, SubCode: 40900},
		{Kind: engine.ErrChanged, Code: http.StatusConflict, SubCode: 40901},
		{Kind: engine.ErrQuota, Code: http.StatusForbidden, SubCode: 40300},
		{Kind: engine.ErrTooLarge, Code: http.StatusForbidden, SubCode: 40300},
		{Kind: engine.ErrNotAllowed, Code: http.StatusForbidden, SubCode: 40301},
		{Kind: engine.ErrDisabled, Code: http.StatusBadRequest, SubCode: 40000},
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

func (d *Handler) fail(err error, c echo.Context) {
	code, sub := status(err)
	if e, ok := errors.AsType[*methodError](err); ok {
		c.Response().Header().Set(echo.HeaderAllow, e.allowed())
	}
	d.log.Respond(c, fault.Response{Code: code, SubCode: sub, Text: fault.Text(err, code), Namespace: d.o.Broker.Name()}, err)
}
