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
	"mayfly/engine/fleet"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/api"
	"mayfly/web/identity"
	"mayfly/web/relay"
	"mayfly/web/rest"
)

// A Standby is what a server without a namespace says of itself. Whoever asks
// for anything, and cannot be passed on to the owner, is told 503 and who to ask instead, by a page, by a problem
// document or by Service Bus' XML; that the process is alive is all that it
// affirms. Its zero value says that the server starts.
type Standby struct {
	Namespace string
	Owner     engine.Owner  // who owns the namespace; zero: nobody is known to
	Why       string        // what else keeps this server from owning it, in a sentence
	Since     time.Time     // since when it waits
	Within    time.Duration // of the owner's death it takes over
	Kept      string        // where the namespace is kept, for people
	Fleet     *fleet.Fleet  // the server's namespaces; nil: there is this one alone
	Safe      bool          // as Doors has it
	// Line leads to the owner: what is asked is passed on, and what is said above only
	// where that fails. Nil: nothing is passed on.
	Line *relay.Line

	base   string // the path that the dashboard is served under
	unsure bool   // the owner was asked for this one request, and did not answer
}

// standbyRefresh is how often pages look again, in seconds; unsureRefresh, where they
// have said that it is not known what came of a form.
const (
	standbyRefresh = 2
	unsureRefresh  = 20
)

// standbySpaces is how many namespaces the menu has.
const standbySpaces = 12

// owned tells whether a server is known to own the namespace.
func (w Standby) owned() bool { return w.Owner != (engine.Owner{}) }

func (w Standby) namespace() string { return cmp.Or(w.Namespace, "default") }

// standingBy begins what a server says that does not have a namespace.
const standingBy = "Standing by: "

// Reason is the whole of it in a sentence.
func (w Standby) Reason() string {
	switch {
	case w.unsure:
		return w.ownedAt(w.Owner.Dashboard) + " It was asked, and ended before it answered: whether it has done it is not known."
	case w.owned():
		return w.ownedAt(w.Owner.Dashboard)
	case w.Why != "":
		return standingBy + w.Why
	default:
		return fmt.Sprintf(standingBy+"this server is about to own the namespace %s, or to learn who does.", w.namespace())
	}
}

// ReasonAMQP is Reason for those who speak AMQP: the owner is where that is
// spoken, if it has told.
func (w Standby) ReasonAMQP() string {
	if w.owned() {
		return w.ownedAt(cmp.Or(w.Owner.AMQP, w.Owner.Dashboard))
	}
	return w.Reason()
}

func (w Standby) ownedAt(address string) string {
	return fmt.Sprintf(standingBy+"the server at %s owns the namespace %s.", cmp.Or(address, w.Owner.Host, "an unknown address"), w.namespace())
}

// A standbyError is reason as an error that every door knows how to present.
type standbyError struct{ w Standby }

func (e *standbyError) Error() string { return e.w.Reason() }

func (e *standbyError) Unwrap() []error {
	if !e.w.owned() {
		return []error{engine.ErrBusy}
	}
	return []error{engine.ErrBusy, &engine.OwnedError{Owner: e.w.Owner}}
}

func (s *Server) standbyAdmin(w Standby) http.Handler {
	e := s.base(adminPolicy)
	e.Pre(s.tunnelled, passOn(w, relay.Admin))
	rest.Refuse(e, w.namespace(), func(*http.Request) error { return &standbyError{w} }, s.o.Logger)
	return e
}

func (s *Server) standbyDashboard(w Standby) http.Handler {
	e := s.pages(ofNobody)
	e.Use(passOn(w, relay.Dashboard))
	plain := func(c echo.Context) error {
		again(c)
		return c.String(http.StatusServiceUnavailable, w.Reason()+"\n")
	}
	e.GET("/readyz", func(c echo.Context) error {
		if w.Line == nil {
			again(c)
		}
		return s.ready(c, w.Fleet, s.beyond(c, w))
	})
	// The script looks at its page instead, and finds it here.
	e.GET("/live", plain)
	presentAPI := api.Refuse(e.Group("/api/v1"), &standbyError{w}, api.Options{Base: w.base, Fleet: w.Fleet, Safe: w.Safe, Logger: s.o.Logger})
	e.Any("/api/*", func(echo.Context) error { return &standbyError{w} })
	e.Any("/*", func(c echo.Context) error { return w.page(c) })
	e.HTTPErrorHandler = s.present(presentAPI, s.plainError)
	return e
}

// ofNobody is what the addresses of a server that stands by take: they tell how it is,
// and do nothing.
func ofNobody(_, pattern string) (identity.Role, bool) {
	return identity.Viewer, strings.HasSuffix(pattern, "/*") || pattern == "/live"
}

// again tells clients when to come again.
func again(c echo.Context) {
	c.Response().Header().Set(echo.HeaderRetryAfter, fmt.Sprint(standbyRefresh))
}

// page answers every request for a page, and every form.
func (w Standby) page(c echo.Context) error {
	r := c.Request()
	ctx := view.WithBase(locale.With(r.Context(), locale.Asked(r)), w.base)
	shell := layout.Shell{
		Namespace: w.namespace(), Home: w.base + belowPages + w.namespace(), Title: locale.T(ctx, "standby.title"), Refresh: standbyRefresh,
	}
	if w.Fleet != nil {
		shell.AllSpaces = w.base + ofAll
		for _, n := range w.Fleet.List() {
			here := strings.EqualFold(n.Name, shell.Namespace)
			if here || len(shell.Spaces) < standbySpaces {
				shell.Spaces = append(shell.Spaces, layout.Space{Name: n.Name, Href: w.base + belowPages + n.Name, Here: here, Down: n.State != fleet.Serving, Away: n.State == fleet.Standby})
			}
		}
	}
	if w.unsure {
		shell.Refresh = unsureRefresh // there is something to read
		shell.Notice = component.Notice{Tone: component.Low, Title: locale.T(ctx, "standby.unsure")}
	}
	shell.Looks = layout.LooksAsked(r)
	m := page.Standby{
		Shell: shell, Why: w.Why, Within: w.Within, Since: w.Since, Now: time.Now(), Kept: w.Kept, Owned: w.owned(),
		Owner: page.Owner{URL: w.Owner.Dashboard, Host: w.Owner.Host, Epoch: w.Owner.Epoch},
	}
	var b bytes.Buffer
	if err := m.Full().Render(ctx, &b); err != nil {
		return fmt.Errorf("the page of a server that stands by: %w", err)
	}
	again(c)
	locale.Mark(c.Response().Header(), locale.Lang(ctx))
	c.Response().Header().Set(StandbyHeader, "1")
	return c.HTMLBlob(http.StatusServiceUnavailable, b.Bytes())
}

// StandbyHeader marks the page of a server that stands by, so that the script of
// a page that it served before loads that one.
const StandbyHeader = "Mayfly-Standby"
