// Package fault writes the error answers of the Service Bus HTTP APIs: a status with a
// body that always has the code, the reason, the sub-code if there is one, and the
// tracking id (ERR-2, ERR-5).
package fault

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

// retryAfter is how long clients should wait before they ask a busy server again, in
// seconds.
const retryAfter = "10"

// A Response is an error answer.
type Response struct {
	Code      int    // the HTTP status
	SubCode   int    // of ERR-3; zero if there is none or Text contains it
	Text      string // a sentence for the client
	Namespace string // the namespace of the request
}

// Write writes f, unless a response has already begun.
func (f Response) Write(c echo.Context) {
	if c.Response().Committed {
		return
	}
	if f.Code == http.StatusServiceUnavailable {
		c.Response().Header().Set(echo.HeaderRetryAfter, retryAfter)
	}
	_ = c.Blob(f.Code, "application/xml; charset=utf-8", []byte(f.body(Tracking(c)))) //nolint:errcheck // the client may have disconnected
}

// Tracking returns the tracking id of a request, which the log contains too.
func Tracking(c echo.Context) string { return c.Response().Header().Get(echo.HeaderXRequestID) }

func (f Response) body(tracking string) string {
	detail := strings.TrimSpace(f.Text)
	if f.SubCode != 0 {
		detail += " SubCode=" + strconv.Itoa(f.SubCode) + "."
	}
	detail += " TrackingId:" + tracking + ", SystemTracker:" + f.Namespace + ", Timestamp:" + time.Now().UTC().Format("2006-01-02T15:04:05")
	return "<Error><Code>" + strconv.Itoa(f.Code) + "</Code><Detail>" + Escape(detail) + "</Detail></Error>"
}

// Escape escapes s as text of an XML element. Apostrophes and quotes stay as they are,
// because clients look for words in the raw body. Characters that XML does not allow
// become replacement characters.
func Escape(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '\r': // an XML reader would turn it into a line feed
			b.WriteString("&#xD;")
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"), r < ' ' && r != '\t' && r != '\n', r == 0xFFFE, r == 0xFFFF:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
