package fault

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/labstack/echo/v4"
)

// Text returns the text of an error for the client. The text for an internal error is general,
// because its details are only logged.
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
