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

// A Known is what a door answers with when an error is of a kind.
type Known struct {
	Kind    error
	Code    int // HTTP's
	SubCode int // of ERR-3, where the error names none; zero: none
}

// Status is what an error is by the first of the kinds that it is of, and the
// server's failure if it is of none.
func Status(err error, kinds []Known) (code, sub int) {
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

// SubCode is the one that an error names itself, or zero.
func SubCode(err error) int {
	if p, ok := errors.AsType[*engine.PropertyError](err); ok {
		return p.SubCode
	}
	if r, ok := errors.AsType[*engine.Refusal](err); ok {
		return r.SubCode
	}
	return 0
}

// Text is what a client reads of an error. What went wrong inside is for the log.
func Text(err error, code int) string {
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
