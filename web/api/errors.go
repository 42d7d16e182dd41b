package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/draft"
	"mayfly/engine/filter"
	"mayfly/engine/fleet"
	"mayfly/engine/job"
	"mayfly/engine/listing"
	"mayfly/engine/rescue"
	"mayfly/engine/scene"
	"mayfly/engine/search"
	"mayfly/web/access"
	"mayfly/web/identity"
	"mayfly/web/keys"
	"mayfly/web/peers"
)

// A Problem is an error's document (RFC 9457).
type Problem struct {
	Type     string  `json:"type"`               // always about:blank: Code tells more
	Title    string  `json:"title"`              // of the status
	Status   int     `json:"status"`             // as the answer has it
	Detail   string  `json:"detail"`             // what is wrong, for people
	Instance string  `json:"instance,omitempty"` // the address that was asked for
	Code     string  `json:"code"`               // of semantics §16, such as QuotaExceeded
	Property string  `json:"property,omitempty"` // which property of an entity, or member of an alert rule, was refused
	Rule     string  `json:"rule,omitempty"`     // which rule was
	Part     string  `json:"part,omitempty"`     // of the rule: name, filter or action; filter also of a purge and of a list of entities, q of a search and of a job, of a draft its member
	Position *int    `json:"position,omitempty"` // where in that text, in characters from 0
	Request  string  `json:"request,omitempty"`  // the id by which the log knows it
	Owner    string  `json:"owner,omitempty"`    // URL of the dashboard of the server to ask instead
	Faults   []Fault `json:"faults,omitempty"`   // all that is wrong with a scene
}

// A Fault is one thing that is wrong with a scene.
type Fault struct {
	Line int    `json:"line,omitempty"` // from 1; missing: with all of it
	At   string `json:"at,omitempty"`   // what is there, such as step 2, do 1
	Text string `json:"text"`           // what is wrong
}

func (p *Problem) Error() string { return p.Detail }

const (
	problemType   = "application/problem+json"
	codeWrongHost = "WrongHost" // of access.HostError
	codeSafe      = "SafeMode"  // of access.ErrSafe
	codeNobody    = "Unauthorized"
	codeRole      = "Forbidden" // of identity.RoleError
)

// retryAfter is how long a client should leave a busy server alone, in seconds.
const retryAfter = "10"

// A failure is how a kind of error is told.
type failure struct {
	kind   error
	status int
	code   string
}

// failures are those of the broker and of who may ask, the first that fits.
func failures() []failure {
	return []failure{
		{engine.ErrRolledBack, http.StatusConflict, "TransactionRolledBack"}, // before what it was rolled back for, which is not to be tried again
		{engine.ErrNoAccessRule, http.StatusNotFound, "AccessRuleNotFound"},  // before the kind that it is of
		{job.ErrNoJob, http.StatusNotFound, "JobNotFound"},                   // likewise
		{rescue.ErrNoRule, http.StatusNotFound, "AlertRuleNotFound"},         // likewise
		{listing.ErrNoView, http.StatusNotFound, "ViewNotFound"},             // likewise
		{listing.ErrTaken, http.StatusConflict, "ViewAlreadyExists"},         // likewise
		{draft.ErrNoTemplate, http.StatusNotFound, "TemplateNotFound"},       // likewise
		{keys.ErrNone, http.StatusNotFound, "TokenNotFound"},                 // likewise
		{fleet.ErrNone, http.StatusNotFound, "NamespaceNotFound"},            // likewise
		{fleet.ErrTaken, http.StatusConflict, "NamespaceAlreadyExists"},      // likewise
		{scene.ErrNone, http.StatusNotFound, "SceneNotFound"},                // likewise
		{scene.ErrNoPlay, http.StatusNotFound, "PlayNotFound"},               // likewise
		{scene.ErrTaken, http.StatusConflict, "SceneAlreadyExists"},          // likewise
		{engine.ErrNotFound, http.StatusNotFound, "MessagingEntityNotFound"},
		{engine.ErrMessageNotFound, http.StatusNotFound, "MessageNotFound"},
		{peers.ErrOver, http.StatusNotFound, "ConnectionNotFound"},
		{engine.ErrExists, http.StatusConflict, "MessagingEntityAlreadyExists"},
		{engine.ErrChanged, http.StatusConflict, "Changed"},
		{engine.ErrDisabled, http.StatusForbidden, "MessagingEntityDisabled"},
		{engine.ErrLockLost, http.StatusGone, "MessageLockLost"},
		{engine.ErrSessionLockLost, http.StatusGone, "SessionLockLost"},
		{engine.ErrSessionLocked, http.StatusGone, "SessionCannotBeLocked"},
		{engine.ErrTimeout, http.StatusRequestTimeout, "ServiceTimeout"},
		{engine.ErrTransaction, http.StatusGone, "TransactionOver"},
		{engine.ErrTooLarge, http.StatusRequestEntityTooLarge, "MessageSizeExceeded"},
		{errKeyReused, http.StatusUnprocessableEntity, codeKeyReused},
		{errMediaType, http.StatusUnsupportedMediaType, codeMediaType},
		{engine.ErrQuota, http.StatusForbidden, "QuotaExceeded"},
		{engine.ErrNotAllowed, http.StatusBadRequest, "InvalidOperation"},
		{engine.ErrOutOfRange, http.StatusBadRequest, "ArgumentOutOfRange"},
		{engine.ErrArgument, http.StatusBadRequest, "Argument"},
		{engine.ErrNotImplemented, http.StatusNotImplemented, "NotSupported"},
		{engine.ErrBusy, http.StatusServiceUnavailable, "ServiceBusy"},
		{engine.ErrClosed, http.StatusServiceUnavailable, "OperationCancelled"},
		{access.ErrCrossSite, http.StatusForbidden, "CrossSite"},
		{access.ErrSafe, http.StatusForbidden, codeSafe},
		{identity.ErrNobody, http.StatusUnauthorized, codeNobody},
		{identity.ErrOver, http.StatusUnauthorized, codeNobody},
		{context.Canceled, http.StatusRequestTimeout, "OperationCancelled"}, // nobody is there to read it
	}
}

// problem is what an error is at this door.
func problem(err error) Problem {
	p := Problem{Type: "about:blank", Status: http.StatusInternalServerError, Code: "InternalError", Detail: "The server failed. Its log says why."}
	if e, ok := errors.AsType[*engine.PropertyError](err); ok {
		p.Property = e.Property
	}
	if e, ok := errors.AsType[*rescue.FieldError](err); ok {
		p.Property = e.Field
	}
	if e, ok := errors.AsType[*engine.RuleError](err); ok {
		p.Rule, p.Part = e.Rule, string(e.Part)
		if s, ok := errors.AsType[*filter.SyntaxError](err); ok {
			p.Position = &s.Pos
		}
	}
	if e, ok := errors.AsType[*engine.SieveError](err); ok {
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
	if e, ok := errors.AsType[*scene.WrongError](err); ok {
		for _, f := range e.Faults {
			p.Faults = append(p.Faults, Fault(f))
		}
	}
	if all := draft.Wrong(err); len(all) > 0 {
		p.Part = all[0].Field
	}
	if e, ok := errors.AsType[*engine.OwnedError](err); ok {
		p.Owner = e.Owner.Dashboard
	}
	for _, known := range failures() {
		if errors.Is(err, known.kind) {
			p.Status, p.Code, p.Detail = known.status, known.code, sentence(err.Error())
			break
		}
	}
	switch e, ok := errors.AsType[*echo.HTTPError](err); {
	case ok && e.Code == http.StatusNotFound:
		p.Status, p.Code, p.Detail = e.Code, "NoSuchAddress", "There is nothing at this address. What there is stands at /docs/api and in /api/v1/openapi.json."
	case ok:
		p.Status, p.Code, p.Detail = e.Code, "HTTP", sentence(fmt.Sprint(e.Message))
	case errors.Is(err, io.ErrUnexpectedEOF):
		p.Status, p.Code, p.Detail = http.StatusBadRequest, "Argument", "The body ended before it was complete."
	case errors.Is(err, os.ErrDeadlineExceeded):
		p.Status, p.Code, p.Detail = http.StatusRequestTimeout, "ServiceTimeout", "The body did not arrive in time."
	}
	if e, ok := errors.AsType[*access.HostError](err); ok {
		p.Status, p.Code, p.Detail = e.Status(), codeWrongHost, e.Error()
	}
	if e, ok := errors.AsType[*identity.RoleError](err); ok {
		p.Status, p.Code, p.Detail = http.StatusForbidden, codeRole, e.Error()
	}
	if e, ok := errors.AsType[*identity.Refused](err); ok {
		p.Status, p.Code, p.Detail = http.StatusUnauthorized, codeNobody, e.Error()
	}
	p.Title = http.StatusText(p.Status)
	return p
}

// fail answers with an error.
func (d *door) fail(err error, c echo.Context) {
	p := problem(err)
	if allow := c.Response().Header().Get(echo.HeaderAllow); p.Status == http.StatusMethodNotAllowed && allow != "" {
		if strings.Contains(allow, http.MethodGet) {
			allow = strings.Replace(allow, http.MethodGet, http.MethodGet+", "+http.MethodHead, 1)
			c.Response().Header().Set(echo.HeaderAllow, allow)
		}
		p.Detail = fmt.Sprintf("This address takes %s, not %s.", allow, cut(c.Request().Method))
	}
	p.Request = c.Response().Header().Get(echo.HeaderXRequestID)
	p.Instance = cutAt(d.base+c.Request().URL.EscapedPath(), 1000)
	ctx := c.Request().Context()
	if p.Status == http.StatusInternalServerError && ctx.Err() == nil { // writing to somebody who has left fails, and is no failure
		d.log.ErrorContext(ctx, "an API request failed", "id", p.Request, "err", err)
	}
	if c.Response().Committed {
		return
	}
	if p.Status == http.StatusUnauthorized {
		c.Response().Header().Set(echo.HeaderWWWAuthenticate, identity.Challenge)
	}
	if p.Status == http.StatusServiceUnavailable {
		c.Response().Header().Set(echo.HeaderRetryAfter, retryAfter)
	}
	body, err := marshal(p)
	if err != nil {
		panic(err) // texts and a number
	}
	_ = c.Blob(p.Status, problemType, body) //nolint:errcheck // a client that has gone away is not ours to report
}

func argument(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrArgument, Text: fmt.Sprintf(format, args...)}
}

func outOfRange(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrOutOfRange, Text: fmt.Sprintf(format, args...)}
}

// sentence gives an error the looks of one.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	s = strings.ToUpper(string(r)) + s[n:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// cut shortens what somebody sent for use in an error.
func cut(s string) string { return cutAt(s, 64) }

func cutAt(s string, most int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
