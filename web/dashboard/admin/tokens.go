package admin

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/admin"
	"mayfly/web/auth"
	"mayfly/web/auth/token"
	"mayfly/web/dashboard/pages"
)

// TokenLifetimes returns the lifetimes offered for a new token or link, the default first. A token
// with lifetime zero is valid until it is revoked.
func TokenLifetimes(kind token.Kind) []time.Duration {
	const day = 24 * time.Hour
	if kind == token.Link {
		return []time.Duration{token.DefaultLinkLifetime, time.Hour, day, 7 * day, token.MaxLinkLifetime}
	}
	return []time.Duration{90 * day, day, 7 * day, 30 * day, 365 * day, 0}
}

// Tokens returns the page of the tokens and links that the caller may see.
func Tokens(ctx context.Context, p *pages.Pages, ring *token.Registry, who auth.Caller) (admin.Tokens, error) {
	m := admin.Tokens{
		Shell: tokensShell(ctx, p, locale.T(ctx, "tokens.title")), Open: who.Method == auth.Open, All: who.Role.Includes(auth.Admin),
		New: p.TokensURL("/new"), NewLink: p.TokensURL("/link"),
	}
	all, err := ring.List(who)
	if err != nil {
		return m, err
	}
	now, called := time.Now(), map[string]string{}
	for _, k := range all {
		called[k.ID] = k.Name
	}
	for _, k := range all {
		m.Rows = append(m.Rows, tokenRow(p, k, ring.RoleOf(k), called[k.Parent], now))
	}
	return m, nil
}

func tokenRow(p *pages.Pages, k token.Key, gives auth.Role, with string, now time.Time) admin.TokenRow {
	r := admin.TokenRow{
		ID: k.ID, Link: k.Kind == token.Link, Name: k.Name, Role: k.Role.String(), Namespace: k.Namespace, Page: k.Page, By: k.MadeBy, With: with,
		Made: k.Made, Until: k.Expires, Used: k.LastUsed, Now: now, Revoke: p.TokensURL("/" + k.ID + "/revoke"),
	}
	switch {
	case k.HasExpired(now):
		r.State = admin.TokenExpired
	case gives == auth.None:
		r.State = admin.TokenCreatorLostAccess
	}
	return r
}

// tokensShell returns the shell of the pages of tokens.
func tokensShell(ctx context.Context, p *pages.Pages, title string) layout.Shell {
	sh := p.ServerShell(ctx, title)
	sh.Back = p.TokensURL("")
	return sh
}

// TokenForm returns the form with which the caller `who` creates a token or a link. `listens` are
// the addresses at which other machines reach the dashboard, as URLs.
func TokenForm(ctx context.Context, p *pages.Pages, kind token.Kind, who auth.Caller, listens []string, t pages.FormState) admin.TokenForm {
	m := admin.TokenForm{
		Link: kind == token.Link, To: p.TokensURL("/new"), All: p.TokensURL(""), FormToken: rand.Text(), Typed: t.FirstValues(), Errors: t.Errors, Refused: t.Refused,
		Spaces: []string{strings.ToLower(p.Broker.Name())},
	}
	if m.Link {
		m.To, m.Addresses = p.TokensURL("/link"), PublicURLs(ctx, listens)
		m.Local = isLocal(m.Addresses)
	}
	m.Shell = tokensShell(ctx, p, m.Title(ctx))
	m.Shell.Back = m.To
	if once := m.Typed[page.FieldFormToken]; once != "" {
		m.FormToken = once
	}
	if t.Values == nil {
		m.Typed[admin.TokenRole] = auth.Viewer.String()
	}
	for _, r := range auth.Roles() {
		if who.Role.Includes(r) {
			m.Roles = append(m.Roles, r.String())
		}
	}
	if f := p.Options.Namespaces.Namespaces; f != nil {
		m.Spaces = nil
		for _, n := range f.List() {
			m.Spaces = append(m.Spaces, strings.ToLower(n.Name))
		}
	}
	for _, d := range TokenLifetimes(kind) {
		s := admin.TokenLifetime{Value: d.String()}
		if s.Hours = int(d.Hours()); s.Hours%24 == 0 {
			s.Hours, s.Days = 0, s.Hours/24
		}
		m.Spans = append(m.Spans, s)
	}
	return m
}

// TokenMade returns the page that shows the secret of a new token, or the address of a new
// link. It can be shown only once.
func TokenMade(ctx context.Context, p *pages.Pages, k token.Key, secret string) (admin.TokenCreated, error) {
	m := admin.TokenCreated{All: p.TokensURL(""), Row: tokenRow(p, k, k.Role, "", time.Now())}
	m.Shell = tokensShell(ctx, p, m.Title(ctx))
	if k.Kind == token.Link {
		var err error
		m.URL = secret
		m.QR, m.Local, err = linkQR(secret)
		return m, err
	}
	visitor, _ := ctx.Value(pages.VisitorKey{}).(pages.Visitor)
	below := "/api/v1/entities"
	if k.Namespace != "" {
		below = "/api/v1/n/" + k.Namespace + "/entities"
	}
	m.Secret, m.Curl = secret, fmt.Sprintf("curl -H 'Authorization: Bearer %s' %s%s", secret, visitor.Origin+p.Options.Base, below)
	return m, nil
}

// ConfirmRevokeToken asks to confirm the revocation of a token or a link.
func ConfirmRevokeToken(ctx context.Context, p *pages.Pages, ring *token.Registry, who auth.Caller, id string) (admin.ConfirmRevokeToken, error) {
	k, err := ring.Find(who, id)
	if err != nil {
		return admin.ConfirmRevokeToken{}, err
	}
	m := admin.ConfirmRevokeToken{Row: tokenRow(p, k, ring.RoleOf(k), "", time.Now()), To: p.TokensURL("/" + k.ID + "/revoke"), All: p.TokensURL("")}
	m.Shell = tokensShell(ctx, p, m.Title(ctx))
	for _, of := range ring.Descendants(id) {
		m.Made = append(m.Made, of.Name)
	}
	return m, nil
}
