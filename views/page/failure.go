package page

import (
	"cmp"
	"context"
	"net/http"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Failure reports that a request was refused or its target does not exist. It is not live:
// Shell.Live is left empty.
type Failure struct {
	Shell      layout.Shell
	Status     int            // of the response: 403, 404, 409, 422, 501, 503; others are shown like 500
	Title      string         // short title; empty means the title of the status
	ServerText string         // the server's own English words; empty means that Refused is shown
	Refused    string         // the refused request, as a sentence; empty means ServerText, or the text of the status
	Rule       string         // id of the rule; empty means none
	Advice     string         // what to do; empty means the text of the status, unless Refused covers it
	Continue   component.Link // link to continue with; zero means the overview
}

// Full returns the whole page.
func (m Failure) Full() templ.Component { return failure(m) }

// Dialog returns the message for the dialog whose form was refused.
func (m Failure) Dialog() templ.Component { return failureInDialog(m) }

// Watches returns nil, because the page is not live.
func (m Failure) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m Failure) Parts() []view.Part { return m.Shell.Parts() }

// A refusal holds the text ids of a status.
type refusal struct{ icon, title, refused, do string }

func (m Failure) refusal() refusal {
	switch m.Status {
	case http.StatusForbidden:
		return refusal{"locked", "failure.403", "failure.403.why", "failure.403.do"}
	case http.StatusNotFound, http.StatusGone:
		return refusal{"search", "failure.404", "failure.404.why", "failure.404.do"}
	case http.StatusConflict:
		return refusal{"resubmit", "failure.409", "failure.409.why", "failure.409.do"}
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return refusal{"warn", "failure.422", "failure.422.why", "failure.422.do"}
	case http.StatusNotImplemented:
		return refusal{"info", "failure.501", "failure.501.why", "failure.501.do"}
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return refusal{"pause", "failure.503", "failure.503.why", "failure.503.do"}
	default:
		return refusal{"warn", "failure.500", "failure.500.why", "failure.500.do"}
	}
}

func (m Failure) icon() string { return m.refusal().icon }

// Heading returns the page's title.
func (m Failure) Heading(ctx context.Context) string {
	return cmp.Or(m.Title, locale.T(ctx, m.refusal().title))
}

func (m Failure) refused(ctx context.Context) string {
	return cmp.Or(m.Refused, locale.T(ctx, m.refusal().refused))
}

// todo returns what to do. It is empty if the refusal already explains it: after a change
// whose outcome is unknown, "try again" would be wrong.
func (m Failure) todo(ctx context.Context) string {
	if m.Advice == "" && cmp.Or(m.ServerText, m.Refused) != "" && m.refusal().title == "failure.503" {
		return ""
	}
	return cmp.Or(m.Advice, locale.T(ctx, m.refusal().do))
}

// way returns the link to continue with.
func (m Failure) way(ctx context.Context) component.Link {
	if m.Continue.Href != "" {
		return m.Continue
	}
	return component.Link{Href: m.Shell.Home, Label: locale.T(ctx, "failure.home")}
}
