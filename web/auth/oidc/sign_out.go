package oidc

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mayfly/web/auth"
)

// A user who signs out here, at any of several servers, is redirected to the provider's sign-out.
// That requires only the provider's document, which is requested if it is not known yet. The hint,
// an ID token, saves the user a confirmation at the provider, and some providers require it. It is
// in a cookie that the browser sends only to Handler.SignOutPath, and not with the session in a
// note store that servers share. All servers read the whole note store every second, where ten
// thousand tokens of some kilobytes are too much, and people who can read the database and its
// backups need not see the names, addresses and groups that a provider reveals. If the cookie is
// gone, or the token is too large for one, the provider asks the user.

const (
	hintCookie     = "mayfly_openid_hint" // at any port: it names its user itself
	maxHint        = 2 << 10              // bytes: many proxies reject answers whose headers exceed 4 KiB in all
	signOutTimeout = 3 * time.Second      // for the provider's document at a sign-out
)

// keepHint stores a hint in the browser for as long as the new session may last.
func (d *Handler) keepHint(w http.ResponseWriter, r *http.Request, hint string) {
	if len(hint) > maxHint {
		d.setHint(w, r, "", -1) // removes the hint of the previous user, too
		return
	}
	d.setHint(w, r, hint, int(d.SessionLifetime/time.Second))
}

func (d *Handler) setHint(w http.ResponseWriter, r *http.Request, hint string, age int) {
	auth.SetCookie(w, r, &http.Cookie{
		Name: hintCookie, Value: hint, Path: d.SignOutPath, MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// SignOutURL returns where a user who has just signed out here, with a request to SignOutPath, also signs
// out of the provider; see [Provider.SignOutURL]. It deletes the hint in the browser.
func (d *Handler) SignOutURL(w http.ResponseWriter, r *http.Request, caller auth.Caller) (string, error) {
	hint := ""
	if c, err := r.Cookie(hintCookie); err == nil {
		hint = c.Value
		d.setHint(w, r, "", -1)
	}
	return d.Provider.SignOutURL(r.Context(), caller, hint, d.redirectURI(r))
}

// SignOutURL returns the address at which a user who has signed out here signs out of the provider
// too. The provider then redirects the browser to `redirect`, with the state signed-out (OpenID
// Connect RP-Initiated Logout 1.0). SignOutURL returns "" if the provider has no such address, or if
// the user has not signed in there. It ignores a hint about another user. The error is
// ErrUnavailable.
func (p *Provider) SignOutURL(ctx context.Context, caller auth.Caller, hint, redirect string) (string, error) {
	if caller.Method != auth.OIDC || !strings.HasPrefix(caller.Subject, p.subject("")) {
		return "", nil
	}
	f, err := p.discover(ctx, signOutTimeout)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(f.signOutURL)
	if err != nil || f.signOutURL == "" {
		return "", nil //nolint:nilerr // without a usable address there is no sign-out
	}
	q := u.Query()
	if t, err := f.hintVerifier.Verify(ctx, hint); err == nil && p.subject(t.Subject) == caller.Subject {
		q.Set("id_token_hint", hint)
	}
	q.Set("client_id", p.c.ClientID)
	q.Set("post_logout_redirect_uri", redirect)
	q.Set("state", signedOutState)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// subject returns Mayfly's identifier of the provider's user sub.
func (p *Provider) subject(sub string) string { return p.c.Issuer + " " + sub }

// signedOutState is the state of a browser that comes back from signing out.
const signedOutState = "signed-out"
