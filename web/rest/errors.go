package rest

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/web/auth/origin"
	"mayfly/web/auth/sas"
	"mayfly/web/errorcodes"
	"mayfly/web/rest/fault"
)

// status returns the HTTP status of an error (semantics §§2.2, 16) and its sub-code (ERR-3), or
// zero if it has none. Errors whose type has a status of its own keep it; all others get the codes
// of package errorcodes.
func status(err error) (code, sub int) {
	if sas.IsRefused(err) {
		return http.StatusUnauthorized, 0
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return e.Code, errorcodes.SubCode(err)
	}
	if e, ok := errors.AsType[*origin.HostError](err); ok {
		return e.Status(), errorcodes.SubCode(err)
	}
	return errorcodes.REST(err)
}

// fail answers with an error (ERR-2, ERR-5).
func (d *handler) fail(err error, c echo.Context) {
	code, sub := status(err)
	d.log.Respond(c, fault.Response{Code: code, SubCode: sub, Text: fault.Text(err, code), Namespace: d.name}, err)
}
