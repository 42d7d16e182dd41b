package web

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/namespaces"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/api"
	"mayfly/web/auth"
	"mayfly/web/cluster"
	"mayfly/web/rest"
)

// A Standby describes a server that does not have a namespace. A request that cannot be
// forwarded to the owner gets 503 with the owner's address, as a page, a problem document or
// Service Bus XML. Only the liveness check succeeds. The zero value means that the server is
// starting.
type Standby struct {
	Namespace     string
	Owner         engine.Owner        // who owns the namespace; zero if unknown
	Cause         string              // what else keeps this server from owning it, in a sentence
	Since         time.Time           // when it began to wait
	TakeoverAfter time.Duration       // how soon after the owner has failed it takes over
	StoredIn      string              // where the namespace is stored, for people
	Namespaces    *namespaces.Manager // the server's namespaces; nil if this is the only one
	Safe          bool                // as in Services
	// Forwarder leads to the owner: requests are forwarded, and answered from the fields above only
	// where that fails. Nil means that nothing is forwarded.
	Forwarder *cluster.Forwarder

	base       string // the path that the dashboard is served under
	notOwn     bool   // the namespace is not the server's own
	unanswered bool   // the owner was sent this one request, and did not answer
}

// The seconds after which a page reloads: standbyRefresh in general, and outcomeRefresh if the page
// reports that the outcome of a form is unknown.
const (
	standbyRefresh = 2
	outcomeRefresh = 20
)

// standbyNamespaces is how many namespaces the menu lists.
const standbyNamespaces = 12

// ownerKnown reports whether the namespace's owner is known.
func (w Standby) ownerKnown() bool { return w.Owner != (engine.Owner{}) }

func (w Standby) namespace() string { return cmp.Or(w.Namespace, "default") }

// standingBy is the beginning of the answer of a server that does not have a namespace.
const standingBy = "Standing by: "

// Reason explains the standby in a sentence.
func (w Standby) Reason() string {
	switch {
	case w.unanswered:
		return w.reasonAt(w.Owner.Dashboard) + " It stopped before it answered the request, so the request may or may not have been executed. Check before you retry."
	case w.ownerKnown():
		return w.reasonAt(w.Owner.Dashboard)
	case w.Cause != "":
		return standingBy + w.Cause
	default:
		return fmt.Sprintf(standingBy+"this server is about to own the namespace %s, or to find its owner.", w.namespace())
	}
}

// ReasonAMQP is Reason for AMQP clients. It contains the owner's AMQP address, if that is known.
func (w Standby) ReasonAMQP() string {
	if w.ownerKnown() {
		return w.reasonAt(cmp.Or(w.Owner.AMQP, w.Owner.Dashboard))
	}
	return w.Reason()
}

func (w Standby) reasonAt(address string) string {
	return fmt.Sprintf(standingBy+"the server at %s owns the namespace %s.", cmp.Or(address, w.Owner.Host, "an unknown address"), w.namespace())
}

// A standbyError is Reason as an error that every API and page knows how to present.
type standbyError struct{ w Standby }

func (e *standbyError) Error() string { return e.w.Reason() }

func (e *standbyError) Unwrap() []error {
	if !e.w.ownerKnown() {
		return []error{engine.ErrBusy}
	}
	return []error{engine.ErrBusy, &engine.OwnedError{Owner: e.w.Owner}}
}

func (s *Server) standbyAdmin(w Standby) http.Handler {
	e := s.newBase(adminPolicy)
	e.Pre(s.amqpWebSocket, s.forward(w, cluster.Admin))
	rest.Refuse(e, w.namespace(), func(*http.Request) error { return &standbyError{w} }, s.o.Logger)
	return e
}

func (s *Server) standbyDashboard(w Standby) http.Handler {
	e := s.newDashboardBase(standbyRole)
	e.Use(s.forward(w, cluster.Dashboard))
	plain := func(c echo.Context) error {
		setRetryAfter(c)
		return c.String(http.StatusServiceUnavailable, w.Reason()+"\n")
	}
	e.GET(readyPath, func(c echo.Context) error {
		if w.Forwarder == nil {
			setRetryAfter(c)
		}
		return s.ready(c, w.Namespaces, s.remoteHealth(c, w))
	})
	// The page's script loads its page instead, and finds the standby page there.
	e.GET("/live", plain)
	presentAPI := api.Refuse(e.Group("/api/v1"), &standbyError{w}, api.Options{Base: w.base, Namespaces: w.Namespaces, Safe: w.Safe, Logger: s.o.Logger})
	e.Any("/api/*", func(echo.Context) error { return &standbyError{w} })
	e.Any("/*", func(c echo.Context) error { return w.page(c) })
	e.HTTPErrorHandler = s.presentErrors(presentAPI, s.textError)
	return e
}

// standbyRole returns the roles of the routes of a server that stands by: they report its state
// and change nothing.
func standbyRole(_, pattern string) (auth.Role, bool) {
	return auth.Viewer, strings.HasSuffix(pattern, "/*") || pattern == "/live"
}

// setRetryAfter sets the answer's Retry-After header to standbyRefresh.
func setRetryAfter(c echo.Context) {
	c.Response().Header().Set(echo.HeaderRetryAfter, fmt.Sprint(standbyRefresh))
}

// page answers all requests for pages, and all forms.
func (w Standby) page(c echo.Context) error {
	r := c.Request()
	ctx := view.WithBase(locale.With(r.Context(), locale.Requested(r)), w.base)
	shell := layout.Shell{
		Namespace: w.namespace(), Home: w.base + pagesPrefix + w.namespace(), Title: locale.T(ctx, "standby.title"), Refresh: standbyRefresh,
	}
	if w.Namespaces != nil {
		shell.AllNamespaces = w.base + allNamespacesPath
		for _, n := range w.Namespaces.List() {
			here := strings.EqualFold(n.Name, shell.Namespace)
			if here || len(shell.Namespaces) < standbyNamespaces {
				shell.Namespaces = append(shell.Namespaces, layout.NamespaceLink{Name: n.Name, Href: w.base + pagesPrefix + n.Name, Here: here, Unserved: n.State != namespaces.Serving, Elsewhere: n.State == namespaces.Standby})
			}
		}
	}
	if w.unanswered {
		shell.Refresh = outcomeRefresh // leaves time to read the text
		shell.Notice = component.Notice{Tone: component.Low, Title: locale.T(ctx, "standby.unsure")}
	}
	shell.Appearance = layout.AppearanceOf(r)
	m := page.Standby{
		Shell: shell, Why: w.Cause, Within: w.TakeoverAfter, Since: w.Since, Now: time.Now(), StoredIn: w.StoredIn, Owned: w.ownerKnown(),
		Owner: page.Owner{URL: w.Owner.Dashboard, Host: w.Owner.Host, Epoch: w.Owner.Epoch},
	}
	var b bytes.Buffer
	if err := m.Full().Render(ctx, &b); err != nil {
		return fmt.Errorf("render the standby page: %w", err)
	}
	setRetryAfter(c)
	locale.SetHeader(c.Response().Header(), locale.Lang(ctx))
	c.Response().Header().Set(StandbyHeader, "1")
	return c.HTMLBlob(http.StatusServiceUnavailable, b.Bytes())
}

// StandbyHeader marks the page of a server that stands by, so that the script of a page that
// was served before loads it.
const StandbyHeader = "Mayfly-Standby"
