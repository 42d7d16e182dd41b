package fault

import (
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/web/loglimit"
	"mayfly/web/proxy"
)

// A Log writes one line for each request that an API refuses or fails to serve, because
// client frameworks hide the server's answers. The same refusal of one client is written
// once in 30 seconds. A Log is safe for concurrent use.
type Log struct {
	Logger *slog.Logger
	API    string // the API, such as "REST"

	repeats loglimit.Repeats
}

// Respond answers c with f, the response for err, and logs it. Two kinds of answers are not logged:
// those to clients that have disconnected, and 404 for a GET, because clients ask whether an entity
// exists before they create it.
func (l *Log) Respond(c echo.Context, f Response, err error) {
	l.write(c, f, err)
	f.Write(c)
}

func (l *Log) write(c echo.Context, f Response, err error) {
	r := c.Request()
	ctx := r.Context()
	switch {
	case ctx.Err() != nil:
		return
	case f.Code == http.StatusInternalServerError:
		l.Logger.ErrorContext(ctx, "a request failed", "api", l.API, "tracking_id", Tracking(c), "err", err)
		return
	case f.Code == http.StatusNotFound && r.Method == http.MethodGet:
		return
	}
	client, path := proxy.Address(r), r.URL.Path
	if !l.repeats.First(loglimit.Line{Client: client, Subject: r.Method + " " + path, Reason: f.Text}) {
		return
	}
	l.Logger.InfoContext(ctx, "a request was refused", "api", l.API, "client", client, "agent", r.UserAgent(), "method", r.Method, "path", path,
		"status", f.Code, "description", f.Text, "tracking_id", Tracking(c))
}
