package oidc

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mayfly/web/identity"
)

// Who signs out here is led to where that is done at the provider, from whichever of
// several servers: all that takes is the provider's document, which is asked for if it is
// not known yet. The hint, an ID token, saves them the provider's question whether they
// mean it, and some providers want it. It is in a cookie of their browser, which is shown
// to nothing but Door.SignOut, and not with the session on a board that servers share: all of
// them read all of that every second, where ten thousand tokens of some kilobytes are too
// much, and what is in a database and its backups is for others to read, who need not know
// the names, addresses and groups that a provider tells. Where the cookie is gone, or the
// token is too large for one, the provider asks.

const (
	hintCookie  = "mayfly_openid_hint" // at any port: whom it is about is in it
	mostHint    = 2 << 10              // bytes: many a proxy passes no answer on whose head, with all that is in it beside, has more than 4 KiB
	endPatience = 3 * time.Second      // for the provider's document, of who signs out
)

// keepHint has the browser keep a hint as long as the session may last that has begun.
func (d *Door) keepHint(w http.ResponseWriter, r *http.Request, hint string) {
	if len(hint) > mostHint {
		d.setHint(w, r, "", -1) // nor that of who was here before
		return
	}
	d.setHint(w, r, hint, int(d.Lasts/time.Second))
}

func (d *Door) setHint(w http.ResponseWriter, r *http.Request, hint string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: hintCookie, Value: hint, Path: d.SignOut, MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: safe(r),
	})
}

// End is where who has just signed out here, with a request to SignOut, signs out at the
// provider, too; see [Provider.End]. Their browser keeps the hint no longer.
func (d *Door) End(w http.ResponseWriter, r *http.Request, who identity.Who) (string, error) {
	hint := ""
	if c, err := r.Cookie(hintCookie); err == nil {
		hint = c.Value
		d.setHint(w, r, "", -1)
	}
	return d.Provider.End(r.Context(), who, hint, d.at(r))
}

// End is where somebody who has signed out here signs out at the provider, which sends
// the browser to redirect then, with the state signed-out (OpenID Connect RP-Initiated
// Logout 1.0). Empty: that cannot be done there, or they have not signed in there. A hint
// that is not about them is of no use. The error is ErrDown.
func (p *Provider) End(ctx context.Context, who identity.Who, hint, redirect string) (string, error) {
	if who.Way != identity.OIDC || !strings.HasPrefix(who.Subject, p.subject("")) {
		return "", nil
	}
	f, err := p.find(ctx, endPatience)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(f.end)
	if err != nil || f.end == "" {
		return "", nil //nolint:nilerr // it was usable
	}
	q := u.Query()
	if t, err := f.hints.Verify(ctx, hint); err == nil && p.subject(t.Subject) == who.Subject {
		q.Set("id_token_hint", hint)
	}
	q.Set("client_id", p.c.ClientID)
	q.Set("post_logout_redirect_uri", redirect)
	q.Set("state", signedOut)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// subject is how somebody is known whom the provider calls sub.
func (p *Provider) subject(sub string) string { return p.c.Issuer + " " + sub }

// signedOut is the state of who comes back from signing out.
const signedOut = "signed-out"
