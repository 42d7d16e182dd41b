// Package fault writes what the HTTP doors of Service Bus answer when they
// refuse: a status with a body that always names the code, the reason, the
// sub-code where there is one, and where to look further (ERR-2, ERR-5).
package fault

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

// retryAfter is how long a client should leave a busy server alone, in seconds.
const retryAfter = "10"

// A Fault is one answer.
type Fault struct {
	Code      int    // HTTP's
	SubCode   int    // of ERR-3; zero: none, or Text has it
	Text      string // what a client reads, a sentence
	Namespace string // whose it is
}

// Answer writes f unless an answer has begun.
func (f Fault) Answer(c echo.Context) {
	if c.Response().Committed {
		return
	}
	if f.Code == http.StatusServiceUnavailable {
		c.Response().Header().Set(echo.HeaderRetryAfter, retryAfter)
	}
	_ = c.Blob(f.Code, "application/xml; charset=utf-8", []byte(f.body(Tracking(c)))) //nolint:errcheck // a client that has gone away is not ours to report
}

// Tracking is the id by which the log knows the request.
func Tracking(c echo.Context) string { return c.Response().Header().Get(echo.HeaderXRequestID) }

func (f Fault) body(tracking string) string {
	detail := strings.TrimSpace(f.Text)
	if f.SubCode != 0 {
		detail += " SubCode=" + strconv.Itoa(f.SubCode) + "."
	}
	detail += " TrackingId:" + tracking + ", SystemTracker:" + f.Namespace + ", Timestamp:" + time.Now().UTC().Format("2006-01-02T15:04:05")
	return "<Error><Code>" + strconv.Itoa(f.Code) + "</Code><Detail>" + Escape(detail) + "</Detail></Error>"
}

// Escape is s as text of an XML element. Apostrophes and quotes stay as they
// are: clients look for words in the raw body. What XML cannot say becomes a
// replacement character.
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
		case r == '\r': // a reader would make a line feed of it
			b.WriteString("&#xD;")
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"), r < ' ' && r != '\t' && r != '\n', r == 0xFFFE, r == 0xFFFF:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Cut shortens what somebody sent for use in an error.
func Cut(s string) string {
	const most = 64
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "�")
	}
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
