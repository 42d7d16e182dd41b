package ui

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
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/identity"
	"mayfly/web/keys"
	"mayfly/web/show"
)

// mountTokens adds the pages of tokens and links, which are of the server.
func (d *Door) mountTokens(g *echo.Group) {
	if d.keys == nil {
		return
	}
	g.GET(layout.TokensAt, d.tokens)
	for at, kind := range map[string]keys.Kind{"/new": keys.Token, "/link": keys.Link} {
		g.GET(layout.TokensAt+at, func(c echo.Context) error { return d.askToken(c, http.StatusOK, kind, show.Typed{}) })
		g.POST(layout.TokensAt+at, d.sent(func(c echo.Context, typed url.Values) error { return d.makeToken(c, kind, typed) }))
	}
	g.GET(layout.TokensAt+"/:id/revoke", d.askRevoke)
	g.POST(layout.TokensAt+"/:id/revoke", d.sent(d.revoke))
}

func (d *Door) tokens(c echo.Context) error {
	d.visit(c)
	p, err := d.pages.Tokens(c.Request().Context(), d.keys, identity.Asking(c.Request()))
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.write(c, http.StatusOK, p.Full())
}

func (d *Door) askToken(c echo.Context, status int, kind keys.Kind, t show.Typed) error {
	d.visit(c)
	return d.write(c, status, d.pages.TokenForm(c.Request().Context(), kind, identity.Asking(c.Request()), d.abroad, t).Full())
}

// makeToken makes a token or a link, and tells its secret: once, also where the form is
// sent twice.
func (d *Door) makeToken(c echo.Context, kind keys.Kind, typed url.Values) error {
	ctx := c.Request().Context()
	t := show.Typed{Values: typed, Errors: map[string]component.Text{}}
	w := d.readToken(c, kind, &t)
	if len(t.Errors) > 0 {
		return d.askToken(c, http.StatusUnprocessableEntity, kind, t)
	}
	secret := ""
	k, again, err := d.made.Do(ctx, sameForm(show.Place{Path: engine.Path(kind.String())}, typed), func() (k keys.Key, err error) {
		is := d.keys.MakeToken
		if kind == keys.Link {
			is = d.keys.MakeLink
		}
		k, secret, err = is(ctx, identity.Asking(c.Request()), actor(c), w)
		return k, err //nolint:wrapcheck // it says what it is about
	})
	switch {
	case errors.Is(err, engine.ErrArgument) && w.Page != "":
		t.Errors[page.TokenPage] = why(err)
	case errors.Is(err, engine.ErrArgument):
		t.Errors[page.TokenName] = why(err)
	case errors.Is(err, engine.ErrQuota), errors.Is(err, engine.ErrNotAllowed), errors.Is(err, engine.ErrBusy):
		t.Refused = because(component.Notice{Tone: component.Critical}, err)
	case err != nil:
		return err
	case again:
		return d.goTo(c, d.pages.TokensURL(""), component.Notice{
			Tone: component.Low, Title: locale.T(ctx, "tokens.twice", locale.Args{"Name": component.Visible(k.Name)}), Detail: locale.T(ctx, "tokens.twice.detail"),
		})
	}
	if err != nil {
		return d.askToken(c, status(err), kind, t)
	}
	if kind == keys.Link {
		secret = d.reached(c, typed) + d.base + secret
	}
	p, err := d.pages.TokenMade(ctx, k, secret)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return d.write(c, http.StatusOK, p.Full())
}

// readToken is what is asked for; what is wrong with it goes to t.Errors.
func (d *Door) readToken(c echo.Context, kind keys.Kind, t *show.Typed) keys.Wish {
	ctx, typed := c.Request().Context(), t.Values
	w := keys.Wish{Name: strings.TrimSpace(typed.Get(page.TokenName)), Namespace: strings.ToLower(typed.Get(page.TokenSpace))}
	if w.Name == "" {
		t.Errors[page.TokenName] = component.Text{S: locale.T(ctx, "tokens.name.none")}
	}
	var err error
	if w.For, err = time.ParseDuration(typed.Get(page.ShareFor)); err != nil || !slices.Contains(show.TokenSpans(kind), w.For) {
		t.Errors[page.ShareFor] = component.Text{S: locale.T(ctx, "tokens.for.none")}
	}
	if w.Namespace != "" && !d.has(w.Namespace) {
		t.Errors[page.TokenSpace] = component.Text{S: locale.T(ctx, "tokens.space.none")}
	}
	if kind == keys.Link {
		w.Page = d.within(typed.Get(page.TokenPage))
		return w
	}
	if w.Role, err = identity.ParseRole(typed.Get(page.TokenRole)); err != nil {
		t.Errors[page.TokenRole] = component.Text{S: locale.T(ctx, "tokens.role.none")}
	}
	return w
}

// has tells whether there is a namespace.
func (d *Door) has(name string) bool {
	if d.fleet == nil {
		return strings.EqualFold(name, d.b.Name())
	}
	_, ok := d.fleet.Find(name)
	return ok
}

// within is a page's address without what is before the base path: people copy it from
// where the browser shows it.
func (d *Door) within(typed string) string {
	typed = strings.TrimSpace(typed)
	if u, err := url.Parse(typed); err == nil && u.Host != "" {
		typed = u.RequestURI()
	}
	if rest, ok := strings.CutPrefix(typed, d.base); ok && strings.HasPrefix(rest, "/") {
		return rest
	}
	return typed
}

// reached is how others reach the dashboard: as was chosen, if it was offered.
func (d *Door) reached(c echo.Context, typed url.Values) string {
	all := d.pages.Abroad(c.Request().Context(), d.abroad)
	if at := typed.Get(page.ShareAt); slices.Contains(all, at) {
		return at
	}
	return all[0]
}

func (d *Door) askRevoke(c echo.Context) error {
	d.visit(c)
	p, err := d.pages.TokenAsk(c.Request().Context(), d.keys, identity.Asking(c.Request()), c.Param("id"))
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.show(c, http.StatusOK, p)
}

func (d *Door) revoke(c echo.Context, _ url.Values) error {
	ctx := c.Request().Context()
	k, err := d.keys.Revoke(ctx, identity.Asking(c.Request()), actor(c), c.Param("id"))
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return d.goTo(c, d.pages.TokensURL(""), component.Notice{Title: locale.T(ctx, "tokens.revoked", locale.Args{"Name": component.Visible(k.Name)}), Detail: locale.T(ctx, "tokens.revoked.detail")})
}
