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
	"mayfly/web/auth"
	"mayfly/web/auth/token"
)

// linkError answers a browser that opens or has followed a link which has ended, or that asks
// for a page outside its link. It reports whether it did; other clients get a line of text.
func (s *Server) linkError(err error, c echo.Context) bool {
	r := c.Request()
	m, code := page.LinkDenied{To: s.o.Base + "/"}, http.StatusUnauthorized
	refused, over := errors.AsType[*auth.CredentialError](err)
	role, beyond := errors.AsType[*auth.RoleError](err)
	switch {
	case c.Response().Committed || !isNavigation(r):
		return false
	case beyond && role.Namespace != "":
		m.Within, m.To, code = role.Namespace, s.o.Base+pagesPrefix+url.PathEscape(role.Namespace), http.StatusForbidden
	case over && (refused.Cookie != "" || strings.HasPrefix(r.URL.Path, token.LinkPath)):
		m.SignIn = !s.isOpen() && !auth.FromRequest(r).IsKnown()
		c.Response().Header().Set(echo.HeaderWWWAuthenticate, auth.Challenge)
	default:
		return false
	}
	ctx := view.WithBase(locale.With(r.Context(), locale.Requested(r)), s.o.Base)
	locale.SetHeader(c.Response().Header(), locale.Lang(ctx))
	m.Shell = layout.Shell{Namespace: r.Host, Home: s.o.Base + "/", Appearance: layout.AppearanceOf(r), Title: locale.T(ctx, "barred.title")}
	var b bytes.Buffer
	if err := m.Full().Render(ctx, &b); err != nil {
		s.o.Logger.ErrorContext(ctx, "a page for a read-only link failed", "err", fmt.Errorf("render: %w", err))
		return false
	}
	_ = c.HTMLBlob(code, b.Bytes()) //nolint:errcheck // the client may have gone away
	return true
}
