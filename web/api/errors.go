package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/alert"
	"mayfly/engine/demo"
	"mayfly/engine/filter"
	"mayfly/engine/search"
	"mayfly/engine/shorten"
	"mayfly/engine/template"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/errorcodes"
)

// A Problem is an error document (RFC 9457).
type Problem struct {
	Type     string         `json:"type"`               // always about:blank; see code
	Title    string         `json:"title"`              // of the status
	Status   int            `json:"status"`             // of the answer
	Detail   string         `json:"detail"`             // the error, for people
	Instance string         `json:"instance,omitempty"` // the requested address
	Code     string         `json:"code"`               // of semantics §16, such as QuotaExceeded
	Property string         `json:"property,omitempty"` // the property of an entity, or the member of an alert rule, that was refused
	Rule     string         `json:"rule,omitempty"`     // the rule that was refused
	Part     string         `json:"part,omitempty"`     // for a rule: name, filter or action; for a purge and a list of entities: filter; for a search and a job: q; for a draft: its member
	Position *int           `json:"position,omitempty"` // where in that text, in characters from 0
	Request  string         `json:"request,omitempty"`  // the id of the request in the log
	Owner    string         `json:"owner,omitempty"`    // URL of the dashboard of the server that owns the namespace
	Faults   []SceneProblem `json:"faults,omitempty"`   // all errors of a scene
}

// A SceneProblem is an error in a scene.
type SceneProblem struct {
	Line int    `json:"line,omitempty"` // from 1; missing if it concerns the whole scene
	At   string `json:"at,omitempty"`   // the part, such as step 2, action 1
	Text string `json:"text"`           // the error
}

func (p *Problem) Error() string { return p.Detail }

const (
	problemType         = "application/problem+json"
	codeWrongHost       = "WrongHost"    // for origin.HostError
	codeSafe            = "SafeMode"     // for origin.ErrSafeMode
	codeUnauthenticated = "Unauthorized" // for auth.CredentialError, and in package errorcodes
	codeRole            = "Forbidden"    // for auth.RoleError
)

// retryAfter is how long a client should wait before it tries a busy server again, in seconds.
const retryAfter = "10"

// problem returns the problem document of an error. Its status and code are those of package
// errorcodes, except for errors whose type has its own.
func problem(err error) Problem {
	p := Problem{Type: "about:blank", Detail: "The server failed. See its log for the reason."}
	if e, ok := errors.AsType[*engine.PropertyError](err); ok {
		p.Property = e.Property
	}
	if e, ok := errors.AsType[*alert.FieldError](err); ok {
		p.Property = e.Field
	}
	if e, ok := errors.AsType[*engine.RuleError](err); ok {
		p.Rule, p.Part = e.Rule, string(e.Part)
		if s, ok := errors.AsType[*filter.SyntaxError](err); ok {
			p.Position = &s.Pos
		}
	}
	if e, ok := errors.AsType[*engine.MessageFilterError](err); ok {
		p.Part = string(engine.PartFilter)
		if s, ok := errors.AsType[*filter.SyntaxError](e.Err); ok {
			p.Position = &s.Pos
		}
	}
	if e, ok := errors.AsType[*search.Error](err); ok {
		p.Part, p.Position = "q", &e.Pos
		if e.Entities {
			p.Part = "filter"
		}
	}
	if e, ok := errors.AsType[*demo.SceneError](err); ok {
		for _, f := range e.Problems {
			p.Faults = append(p.Faults, SceneProblem(f))
		}
	}
	if all := template.FieldErrors(err); len(all) > 0 {
		p.Part = all[0].Field
	}
	if e, ok := errors.AsType[*engine.OwnedError](err); ok {
		p.Owner = e.Owner.Dashboard
	}
	if p.Status, p.Code = errorcodes.API(err); p.Status != http.StatusInternalServerError {
		p.Detail = sentence(err.Error())
	}
	switch e, ok := errors.AsType[*echo.HTTPError](err); {
	case ok && e.Code == http.StatusNotFound:
		p.Status, p.Code, p.Detail = e.Code, "NoSuchAddress", "Nothing is served at this address. The API is documented at /docs/api and in /api/v1/openapi.json."
	case ok:
		p.Status, p.Code, p.Detail = e.Code, "HTTP", sentence(fmt.Sprint(e.Message))
	case errors.Is(err, io.ErrUnexpectedEOF):
		p.Status, p.Code = errorcodes.API(io.ErrUnexpectedEOF) // whatever else the error is
		p.Detail = "The body ended before it was complete."
	case errors.Is(err, os.ErrDeadlineExceeded):
		p.Status, p.Code = errorcodes.API(os.ErrDeadlineExceeded)
		p.Detail = "The body did not arrive in time."
	}
	if e, ok := errors.AsType[*origin.HostError](err); ok {
		p.Status, p.Code, p.Detail = e.Status(), codeWrongHost, e.Error()
	}
	if e, ok := errors.AsType[*auth.RoleError](err); ok {
		p.Status, p.Code, p.Detail = http.StatusForbidden, codeRole, e.Error()
	}
	if e, ok := errors.AsType[*auth.CredentialError](err); ok {
		p.Status, p.Code, p.Detail = http.StatusUnauthorized, codeUnauthenticated, e.Error()
	}
	p.Title = http.StatusText(p.Status)
	return p
}

// fail answers with the problem document of an error.
func (d *handler) fail(err error, c echo.Context) {
	p := problem(err)
	if allow := c.Response().Header().Get(echo.HeaderAllow); p.Status == http.StatusMethodNotAllowed && allow != "" {
		if strings.Contains(allow, http.MethodGet) {
			allow = strings.Replace(allow, http.MethodGet, http.MethodGet+", "+http.MethodHead, 1)
			c.Response().Header().Set(echo.HeaderAllow, allow)
		}
		p.Detail = fmt.Sprintf("This address accepts %s, not %s.", allow, shorten.Quote(c.Request().Method))
	}
	p.Request = c.Response().Header().Get(echo.HeaderXRequestID)
	p.Instance = shorten.To(d.base+c.Request().URL.EscapedPath(), 1000)
	ctx := c.Request().Context()
	if p.Status == http.StatusInternalServerError && ctx.Err() == nil { // writing to a client that has left fails, which is no failure of the server
		d.log.ErrorContext(ctx, "an API request failed", "id", p.Request, "err", err)
	}
	if c.Response().Committed {
		return
	}
	if p.Status == http.StatusUnauthorized {
		c.Response().Header().Set(echo.HeaderWWWAuthenticate, auth.Challenge)
	}
	if p.Status == http.StatusServiceUnavailable {
		c.Response().Header().Set(echo.HeaderRetryAfter, retryAfter)
	}
	body, err := marshal(p)
	if err != nil {
		panic(err) // only texts and numbers
	}
	_ = c.Blob(p.Status, problemType, body) //nolint:errcheck // the client may have gone away
}

// sentence makes an error's text a sentence.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	s = strings.ToUpper(string(r)) + s[n:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}
