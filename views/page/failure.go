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

// Failure says that something was refused or is not there. It stands still:
// Shell.Live is left empty.
type Failure struct {
	Shell   layout.Shell
	Status  int            // of the answer: 403, 404, 409, 422, 501, 503; others are told like 500
	Title   string         // in a few words; empty: what the status says
	Said    string         // what the server says of it in its own words, which are English; empty: Refused
	Refused string         // what was refused, in a sentence; empty: Said, or what the status says
	Rule    string         // by which rule; empty: none is named
	Do      string         // what to do; empty: what the status says, if Refused does not
	Go      component.Link // where to go from here; zero: the overview
}

// Full is the page.
func (m Failure) Full() templ.Component { return failure(m) }

// Asks is what the page says, for the dialog whose form was refused.
func (m Failure) Asks() templ.Component { return failureInDialog(m) }

// Watches is nil; the page stands still.
func (m Failure) Watches() []string { return nil }

// Parts is what is live in the page: the shell.
func (m Failure) Parts() []view.Part { return m.Shell.Parts() }

// A refusal is what a status says by itself: ids of texts.
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

// Heading is what the page is called.
func (m Failure) Heading(ctx context.Context) string {
	return cmp.Or(m.Title, locale.T(ctx, m.refusal().title))
}

func (m Failure) refused(ctx context.Context) string {
	return cmp.Or(m.Refused, locale.T(ctx, m.refusal().refused))
}

// todo is what to do, empty if what was refused says that: of a change whose
// outcome nobody knows it would be wrong to say that it can be tried again.
func (m Failure) todo(ctx context.Context) string {
	if m.Do == "" && cmp.Or(m.Said, m.Refused) != "" && m.refusal().title == "failure.503" {
		return ""
	}
	return cmp.Or(m.Do, locale.T(ctx, m.refusal().do))
}

// way is where to go from here.
func (m Failure) way(ctx context.Context) component.Link {
	if m.Go.Href != "" {
		return m.Go
	}
	return component.Link{Href: m.Shell.Home, Label: locale.T(ctx, "failure.home")}
}
