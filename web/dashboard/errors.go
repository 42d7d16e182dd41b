package dashboard

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/dashboard/pages"
	"mayfly/web/errorcodes"
)

// statusCode returns the HTTP status of an error: that of package errorcodes, except for errors
// whose type has its own.
func statusCode(err error) int {
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		return e.Code
	}
	if _, ok := errors.AsType[*auth.RoleError](err); ok {
		return http.StatusForbidden
	}
	if _, ok := errors.AsType[*auth.CredentialError](err); ok {
		return http.StatusUnauthorized
	}
	return errorcodes.Page(err)
}

// errorText returns the English text of an error for users, or "" if it has none.
func errorText(err error) string {
	if e, ok := errors.AsType[*engine.RuleError](err); ok { // checked first, because it may wrap a Refusal
		return e.Error()
	}
	if e, ok := errors.AsType[*engine.Refusal](err); ok {
		return e.Text
	}
	if e, ok := errors.AsType[*engine.PropertyError](err); ok {
		return e.Text
	}
	if errors.Is(err, origin.ErrForm) || errors.Is(err, origin.ErrCrossSite) || errors.Is(err, origin.ErrSafeMode) {
		return err.Error()
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok && e.Internal != nil {
		return fmt.Sprint(e.Message)
	}
	return ""
}

// errorMessage returns the text of an error for users, in the viewer's language if it is a
// LocalizedError, or the zero Text if it has none.
func errorMessage(err error) component.Text {
	if own, ok := errors.AsType[*pages.LocalizedError](err); ok {
		return component.Text{S: own.Text}
	}
	return component.ServerText(errorText(err))
}

// withError adds an error's text to a notice.
func withError(n component.Notice, err error) component.Notice {
	if own, ok := errors.AsType[*pages.LocalizedError](err); ok {
		if n.Title == "" {
			n.Title = own.Text
		} else {
			n.Detail = own.Text
		}
	}
	n.ServerText = errorText(err)
	return n
}

// retryAfter is the Retry-After header of a busy server, in seconds, as in the APIs.
const retryAfter = "10"

// Error presents an error as a page. It is an echo.HTTPErrorHandler.
func (d *Handler) Error(err error, c echo.Context) {
	if c.Response().Committed {
		return // the response has begun, so no other can be sent
	}
	d.prepareContext(c)
	code := statusCode(err)
	if code == http.StatusUnauthorized {
		c.Response().Header().Set(echo.HeaderWWWAuthenticate, auth.Challenge)
	}
	if code == http.StatusServiceUnavailable {
		c.Response().Header().Set(echo.HeaderRetryAfter, retryAfter)
	}
	ctx := c.Request().Context()
	id := c.Response().Header().Get(echo.HeaderXRequestID)
	if code == http.StatusInternalServerError {
		d.log.ErrorContext(ctx, "a page failed", "id", id, "err", err)
	}
	at, parseErr := d.address(c)
	if parseErr != nil {
		at = pages.Address{}
	}
	f := page.Failure{Status: code, ServerText: errorText(err)}
	if e, ok := errors.AsType[*auth.RoleError](err); ok && f.ServerText == "" {
		f.Refused = locale.T(ctx, "failure.role", locale.Args{"Needs": e.Needs.String(), "Has": e.Has.String()})
		f.Advice = locale.T(ctx, "failure.role.do")
	}
	if own, ok := errors.AsType[*pages.LocalizedError](err); ok {
		f.Refused = own.Text
	}
	if back := d.refusedFormURL(c); back != "" {
		f.Continue = component.Link{Href: back, Label: locale.T(ctx, "ui.back")}
	} else if code == http.StatusServiceUnavailable && parseErr == nil && c.Request().Method == http.MethodGet {
		f.Continue = component.Link{Href: d.pages.URL(at), Label: locale.T(ctx, "ui.again")} // reading the page again does no harm
	}
	p := d.pages.Failure(ctx, at, f)
	if err := d.writePage(c, code, p); err != nil && ctx.Err() == nil { // the client is still connected
		d.log.ErrorContext(ctx, "an error page failed", "id", id, "err", err)
	}
}

// refusedFormURL returns the page that a refused form came from, or "" if no form was sent.
func (d *Handler) refusedFormURL(c echo.Context) string {
	if c.Request().Method != http.MethodPost || c.Request().PostForm == nil {
		return ""
	}
	return d.returnURL(c, "")
}

// isFormError reports whether an error is about the form's values, or about a number that has
// changed, so that the form should be shown again.
func isFormError(err error) bool {
	switch statusCode(err) {
	case http.StatusConflict, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge, http.StatusNotImplemented:
		return true
	default:
		return false
	}
}

// writeFormError shows the form with an error of the broker: beside the field of the property that it
// names, else above the form.
func (d *Handler) writeFormError(c echo.Context, at pages.Address, t pages.FormState, err error) error {
	if !isFormError(err) {
		return err
	}
	if t.Errors == nil {
		t.Errors = map[string]component.Text{}
	}
	code := statusCode(err)
	if e, ok := errors.AsType[*engine.PropertyError](err); ok {
		t.Errors[e.Property], code = component.ServerText(e.Text), http.StatusUnprocessableEntity
	} else {
		t.Refused = withError(component.Notice{Tone: component.Critical}, err)
	}
	return d.writeForm(c, code, at, t)
}
