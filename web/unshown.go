package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/identity"
	"mayfly/web/keys"
)

// unshown answers a browser that opens a link which has ended, or came by one, or looks
// for a page that its link does not show. It tells whether it did: others are told in a
// line.
func (s *Server) unshown(err error, c echo.Context) bool {
	r := c.Request()
	m, code := page.Unshown{To: s.o.Base + "/"}, http.StatusUnauthorized
	refused, over := errors.AsType[*identity.Refused](err)
	role, beyond := errors.AsType[*identity.RoleError](err)
	switch {
	case c.Response().Committed || !navigates(r):
		return false
	case beyond && role.Within != "":
		m.Within, m.To, code = role.Within, s.o.Base+belowPages+url.PathEscape(role.Within), http.StatusForbidden
	case over && (refused.Cookie != "" || strings.HasPrefix(r.URL.Path, keys.LinkPath)):
		m.SignIn = !s.open() && !identity.Asking(r).Known()
		c.Response().Header().Set(echo.HeaderWWWAuthenticate, identity.Challenge)
	default:
		return false
	}
	ctx := view.WithBase(locale.With(r.Context(), locale.Asked(r)), s.o.Base)
	locale.Mark(c.Response().Header(), locale.Lang(ctx))
	m.Shell = layout.Shell{Namespace: r.Host, Home: s.o.Base + "/", Looks: layout.LooksAsked(r), Title: locale.T(ctx, "barred.title")}
	var b bytes.Buffer
	if err := m.Full().Render(ctx, &b); err != nil {
		s.o.Logger.ErrorContext(ctx, "the page of what a link does not show failed", "err", fmt.Errorf("render: %w", err))
		return false
	}
	_ = c.HTMLBlob(code, b.Bytes()) //nolint:errcheck // a client that has gone away is not ours to report
	return true
}
