package show

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/identity"
	"mayfly/web/keys"
)

// TokensURL is the address of the page of tokens and links, or of one below it; base
// path included.
func (p *Pages) TokensURL(below string) string { return p.o.Base + layout.TokensAt + below }

// TokenSpans are how long a token, or a link, can be good that is made on a page: the
// one that is proposed first. Zero is until it is revoked.
func TokenSpans(kind keys.Kind) []time.Duration {
	const day = 24 * time.Hour
	if kind == keys.Link {
		return []time.Duration{keys.LinkFor, time.Hour, day, 7 * day, keys.MostLinkFor}
	}
	return []time.Duration{90 * day, day, 7 * day, 30 * day, 365 * day, 0}
}

// Tokens is the page of all tokens and links that who may know of.
func (p *Pages) Tokens(ctx context.Context, ring *keys.Ring, who identity.Who) (page.Tokens, error) {
	m := page.Tokens{
		Shell: p.ofTokens(ctx, locale.T(ctx, "tokens.title")), Open: who.Way == identity.Open, All: who.Role.May(identity.Admin),
		New: p.TokensURL("/new"), NewLink: p.TokensURL("/link"),
	}
	all, err := ring.List(who)
	if err != nil {
		return m, err //nolint:wrapcheck // it says what it is about
	}
	now, called := time.Now(), map[string]string{}
	for _, k := range all {
		called[k.ID] = k.Name
	}
	for _, k := range all {
		m.Rows = append(m.Rows, p.tokenRow(k, ring.Gives(k), called[k.Parent], now))
	}
	return m, nil
}

func (p *Pages) tokenRow(k keys.Key, gives identity.Role, with string, now time.Time) page.TokenRow {
	r := page.TokenRow{
		ID: k.ID, Link: k.Kind == keys.Link, Name: k.Name, Role: k.Role.String(), Namespace: k.Namespace, Page: k.Page, By: k.By, With: with,
		Made: k.Made, Until: k.Until, Used: k.Used, Now: now, Revoke: p.TokensURL("/" + k.ID + "/revoke"),
	}
	switch {
	case k.Ended(now):
		r.State = page.TokenExpired
	case gives == identity.None:
		r.State = page.TokenVoid
	}
	return r
}

// ofTokens is the shell of the pages of tokens.
func (p *Pages) ofTokens(ctx context.Context, title string) layout.Shell {
	sh := p.beside(ctx, title)
	sh.Back = p.TokensURL("")
	return sh
}

// TokenForm asks for a token or a link on behalf of who; listens are where the dashboard
// listens for other machines, as URLs.
func (p *Pages) TokenForm(ctx context.Context, kind keys.Kind, who identity.Who, listens []string, t Typed) page.TokenForm {
	m := page.TokenForm{
		Link: kind == keys.Link, To: p.TokensURL("/new"), All: p.TokensURL(""), Once: rand.Text(), Typed: t.first(), Errors: t.Errors, Refused: t.Refused,
		Spaces: []string{strings.ToLower(p.b.Name())},
	}
	if m.Link {
		m.To, m.Addresses = p.TokensURL("/link"), p.Abroad(ctx, listens)
		m.Local = local(m.Addresses)
	}
	m.Shell = p.ofTokens(ctx, m.Title(ctx))
	m.Shell.Back = m.To
	if once := m.Typed[page.Once]; once != "" {
		m.Once = once
	}
	if t.Values == nil {
		m.Typed[page.TokenRole] = identity.Viewer.String()
	}
	for _, r := range identity.Roles() {
		if who.Role.May(r) {
			m.Roles = append(m.Roles, r.String())
		}
	}
	if f := p.o.Spaces.Fleet; f != nil {
		m.Spaces = nil
		for _, n := range f.List() {
			m.Spaces = append(m.Spaces, strings.ToLower(n.Name))
		}
	}
	for _, d := range TokenSpans(kind) {
		s := page.TokenSpan{Value: d.String()}
		if s.Hours = int(d.Hours()); s.Hours%24 == 0 {
			s.Hours, s.Days = 0, s.Hours/24
		}
		m.Spans = append(m.Spans, s)
	}
	return m
}

// TokenMade tells the secret of what was made, or the address that opens it, this once.
func (p *Pages) TokenMade(ctx context.Context, k keys.Key, secret string) (page.TokenMade, error) {
	m := page.TokenMade{All: p.TokensURL(""), Row: p.tokenRow(k, k.Role, "", time.Now())}
	m.Shell = p.ofTokens(ctx, m.Title(ctx))
	if k.Kind == keys.Link {
		var err error
		m.URL = secret
		m.QR, m.Local, err = drawn(secret)
		return m, err
	}
	visitor, _ := ctx.Value(visitorKey{}).(Visitor)
	below := "/api/v1/entities"
	if k.Namespace != "" {
		below = "/api/v1/n/" + k.Namespace + "/entities"
	}
	m.Secret, m.Curl = secret, fmt.Sprintf("curl -H 'Authorization: Bearer %s' %s%s", secret, visitor.Origin+p.o.Base, below)
	return m, nil
}

// TokenAsk asks before a token or a link is revoked.
func (p *Pages) TokenAsk(ctx context.Context, ring *keys.Ring, who identity.Who, id string) (page.TokenAsk, error) {
	k, err := ring.Find(who, id)
	if err != nil {
		return page.TokenAsk{}, err //nolint:wrapcheck // it says what it is about
	}
	m := page.TokenAsk{Row: p.tokenRow(k, ring.Gives(k), "", time.Now()), To: p.TokensURL("/" + k.ID + "/revoke"), All: p.TokensURL("")}
	m.Shell = p.ofTokens(ctx, m.Title(ctx))
	for _, of := range ring.MadeWith(id) {
		m.Made = append(m.Made, of.Name)
	}
	return m, nil
}
