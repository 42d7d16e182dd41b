package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
	adminpage "mayfly/views/page/admin"
	"mayfly/web/auth"
	"mayfly/web/auth/token"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/pages"
)

func (d *Handler) tokensPage(c echo.Context) error {
	d.prepareContext(c)
	p, err := admin.Tokens(c.Request().Context(), d.pages, d.tokens, auth.FromRequest(c.Request()))
	if err != nil {
		return err
	}
	return d.writeComponent(c, http.StatusOK, p.Full())
}

func (d *Handler) writeTokenForm(c echo.Context, status int, kind token.Kind, t pages.FormState) error {
	d.prepareContext(c)
	return d.writeComponent(c, status, admin.TokenForm(c.Request().Context(), d.pages, kind, auth.FromRequest(c.Request()), d.publicURLs, t).Full())
}

// createToken makes a token or a link, and shows its secret. If the form is sent twice, the
// second request makes nothing and does not show the secret.
func (d *Handler) createToken(c echo.Context, kind token.Kind, typed url.Values) error {
	ctx := c.Request().Context()
	t := pages.FormState{Values: typed, Errors: map[string]component.Text{}}
	w := d.parseToken(c, kind, &t)
	if len(t.Errors) > 0 {
		return d.writeTokenForm(c, http.StatusUnprocessableEntity, kind, t)
	}
	secret := ""
	k, again, err := d.createdTokens.Do(ctx, formIdempotencyKey(pages.Address{Path: engine.Path(kind.String())}, typed), func() (k token.Key, err error) {
		is := d.tokens.CreateToken
		if kind == token.Link {
			is = d.tokens.CreateLink
		}
		k, secret, err = is(ctx, auth.FromRequest(c.Request()), actor(c), w)
		return k, err
	})
	switch {
	case errors.Is(err, engine.ErrArgument) && w.Page != "":
		t.Errors[adminpage.TokenPage] = errorMessage(err)
	case errors.Is(err, engine.ErrArgument):
		t.Errors[adminpage.TokenName] = errorMessage(err)
	case errors.Is(err, engine.ErrQuota), errors.Is(err, engine.ErrNotAllowed), errors.Is(err, engine.ErrBusy):
		t.Refused = withError(component.Notice{Tone: component.Critical}, err)
	case err != nil:
		return err
	case again:
		return d.redirectWithNotice(c, d.pages.TokensURL(""), component.Notice{
			Tone: component.Low, Title: locale.T(ctx, "tokens.twice", locale.Args{"Name": component.ShowInvisible(k.Name)}), Detail: locale.T(ctx, "tokens.twice.detail"),
		})
	}
	if err != nil {
		return d.writeTokenForm(c, statusCode(err), kind, t)
	}
	if kind == token.Link {
		secret = d.parsePublicURL(c, typed) + d.base + secret
	}
	p, err := admin.TokenMade(ctx, d.pages, k, secret)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return d.writeComponent(c, http.StatusOK, p.Full())
}

// parseToken reads the form of a token or a link. Errors go to t.Errors.
func (d *Handler) parseToken(c echo.Context, kind token.Kind, t *pages.FormState) token.Request {
	ctx, typed := c.Request().Context(), t.Values
	w := token.Request{Name: strings.TrimSpace(typed.Get(adminpage.TokenName)), Namespace: strings.ToLower(typed.Get(adminpage.TokenSpace))}
	if w.Name == "" {
		t.Errors[adminpage.TokenName] = component.Text{S: locale.T(ctx, "tokens.name.none")}
	}
	var err error
	if w.Lifetime, err = time.ParseDuration(typed.Get(adminpage.ShareFor)); err != nil || !slices.Contains(admin.TokenLifetimes(kind), w.Lifetime) {
		t.Errors[adminpage.ShareFor] = component.Text{S: locale.T(ctx, "tokens.for.none")}
	}
	if w.Namespace != "" && !d.namespaceExists(w.Namespace) {
		t.Errors[adminpage.TokenSpace] = component.Text{S: locale.T(ctx, "tokens.space.none")}
	}
	if kind == token.Link {
		w.Page = d.cutOrigin(typed.Get(adminpage.TokenPage))
		return w
	}
	if w.Role, err = auth.ParseRole(typed.Get(adminpage.TokenRole)); err != nil {
		t.Errors[adminpage.TokenRole] = component.Text{S: locale.T(ctx, "tokens.role.none")}
	}
	return w
}

// namespaceExists reports whether a namespace exists.
func (d *Handler) namespaceExists(name string) bool {
	if d.namespaces == nil {
		return strings.EqualFold(name, d.b.Name())
	}
	_, ok := d.namespaces.Find(name)
	return ok
}

// cutOrigin returns a page's address without origin and base path: users copy it from the
// browser's address bar.
func (d *Handler) cutOrigin(typed string) string {
	typed = strings.TrimSpace(typed)
	if u, err := url.Parse(typed); err == nil && u.Host != "" {
		typed = u.RequestURI()
	}
	if rest, ok := strings.CutPrefix(typed, d.base); ok && strings.HasPrefix(rest, "/") {
		return rest
	}
	return typed
}

// parsePublicURL returns the address by which others reach the dashboard: the selected one, if it was
// offered.
func (d *Handler) parsePublicURL(c echo.Context, typed url.Values) string {
	all := admin.PublicURLs(c.Request().Context(), d.publicURLs)
	if at := typed.Get(adminpage.ShareAt); slices.Contains(all, at) {
		return at
	}
	return all[0]
}

func (d *Handler) confirmRevokeToken(c echo.Context) error {
	d.prepareContext(c)
	p, err := admin.ConfirmRevokeToken(c.Request().Context(), d.pages, d.tokens, auth.FromRequest(c.Request()), c.Param("id"))
	if err != nil {
		return err
	}
	return d.writePage(c, http.StatusOK, p)
}

func (d *Handler) revokeToken(c echo.Context, _ url.Values) error {
	ctx := c.Request().Context()
	k, err := d.tokens.Revoke(ctx, auth.FromRequest(c.Request()), actor(c), c.Param("id"))
	if err != nil {
		return err
	}
	return d.redirectWithNotice(c, d.pages.TokensURL(""), component.Notice{Title: locale.T(ctx, "tokens.revoked", locale.Args{"Name": component.ShowInvisible(k.Name)}), Detail: locale.T(ctx, "tokens.revoked.detail")})
}
