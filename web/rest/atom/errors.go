package atom

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/rest/fault"
)

// A statused error knows what it is over HTTP.
type statused interface {
	error
	Status() int
}

// status is what an error is at this door (semantics §16, ERR-4), and its
// sub-code, zero where there is none.
func status(err error) (code, sub int) {
	if e, ok := errors.AsType[statused](err); ok {
		return e.Status(), 0
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return e.Code, 0
	}
	if r, ok := errors.AsType[*engine.Refusal](err); ok {
		sub = r.SubCode
	}
	if p, ok := errors.AsType[*engine.PropertyError](err); ok {
		sub = p.SubCode
	}
	for _, known := range []struct {
		kind      error
		code, sub int
	}{
		{engine.ErrNotFound, http.StatusNotFound, 40400},
		{engine.ErrExists, http.StatusConflict, 40900},
		{engine.ErrChanged, http.StatusConflict, 40901},
		{engine.ErrQuota, http.StatusForbidden, 40300},
		{engine.ErrTooLarge, http.StatusForbidden, 40300},
		{engine.ErrNotAllowed, http.StatusForbidden, 40301},
		{engine.ErrDisabled, http.StatusBadRequest, 40000},
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

func (d *Door) fail(err error, c echo.Context) {
	code, sub := status(err)
	if e, ok := errors.AsType[*methodError](err); ok {
		c.Response().Header().Set(echo.HeaderAllow, e.allowed())
	}
	ctx := c.Request().Context()
	if code == http.StatusInternalServerError && ctx.Err() == nil { // writing to somebody who has left fails, and is no failure
		d.o.Logger.ErrorContext(ctx, "an administration request failed", "tracking_id", fault.Tracking(c), "err", err)
	}
	fault.Fault{Code: code, SubCode: sub, Text: text(err, code), Namespace: d.o.Broker.Name()}.Answer(c)
}

func argument(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrArgument, SubCode: 40000, Text: fmt.Sprintf(format, args...)}
}
