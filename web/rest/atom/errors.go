package atom

import (
	"errors"

	"github.com/labstack/echo/v4"

	"mayfly/web/errorcodes"
	"mayfly/web/rest/fault"
)

// statused is an error that has an HTTP status of its own.
type statused interface {
	error
	Status() int
}

// status returns the HTTP status of an error (semantics §16, ERR-4) and its sub-code, or zero if it
// has none. Errors with a status of their own keep it; all others get the codes of package
// errorcodes.
func status(err error) (code, sub int) {
	if e, ok := errors.AsType[statused](err); ok {
		return e.Status(), 0
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return e.Code, 0
	}
	return errorcodes.Atom(err)
}

func (d *Handler) fail(err error, c echo.Context) {
	code, sub := status(err)
	if e, ok := errors.AsType[*methodError](err); ok {
		c.Response().Header().Set(echo.HeaderAllow, e.allowed())
	}
	d.log.Respond(c, fault.Response{Code: code, SubCode: sub, Text: fault.Text(err, code), Namespace: d.o.Broker.Name()}, err)
}
