package fault

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
)

// A StatusRule is the status with which an API answers a kind of error.
type StatusRule struct {
	Kind    error
	Code    int // the HTTP status
	SubCode int // of ERR-3, if the error has none of its own; zero if there is none
}

// Status returns the status and sub-code of the first of kinds that err is, or those of a
// server failure if it is none of them.
func Status(err error, kinds []StatusRule) (code, sub int) {
	for _, k := range kinds {
		if errors.Is(err, k.Kind) {
			if sub = SubCode(err); sub == 0 {
				sub = k.SubCode
			}
			return k.Code, sub
		}
	}
	return http.StatusInternalServerError, 50000
}

// SubCode returns the sub-code of the error itself, or zero.
func SubCode(err error) int {
	if p, ok := errors.AsType[*engine.PropertyError](err); ok {
		return p.SubCode
	}
	if r, ok := errors.AsType[*engine.Refusal](err); ok {
		return r.SubCode
	}
	return 0
}

// Text returns the text of an error for the client. Internal errors are only logged.
func Text(err error, code int) string {
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return fmt.Sprint(e.Message)
	}
	switch {
	case code == http.StatusInternalServerError:
		return "The server failed. Search its log for this TrackingId."
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "The body ended before it was complete."
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "The body did not arrive in time."
	default:
		return err.Error()
	}
}
