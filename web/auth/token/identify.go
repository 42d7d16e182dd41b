package token

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"mayfly/web/auth"
)

// Tokens returns the source of callers that send a token: Authorization: Bearer mft_….
func (r *Registry) Tokens() auth.Source { return tokens{r} }

// Links returns the source of callers that have opened a link.
func (r *Registry) Links() auth.Source { return links{r} }

type tokens struct{ r *Registry }

// Identify returns the caller of a token. An unknown bearer token is refused, also on an open
// server: a caller that sends one does not mean to be anonymous.
func (t tokens) Identify(r *http.Request) (auth.Caller, error) {
	secret, ok := bearer(r)
	if !ok {
		return auth.Caller{}, auth.ErrNoCredential
	}
	return t.r.admitOrReread(r.Context(), Token, secret, nil)
}

// bearer returns the bearer token of a request; ok is false if it has none.
func bearer(r *http.Request) (string, bool) {
	kind, secret, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(secret), ok && strings.EqualFold(kind, "Bearer")
}

type links struct{ r *Registry }

// Identify returns the visitor who has opened a link in this browser. A link that has ended is
// refused, rather than left to another source.
func (l links) Identify(r *http.Request) (auth.Caller, error) {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return auth.Caller{}, auth.ErrNoCredential
	}
	id, sign, _ := strings.Cut(c.Value, ".")
	caller, err := l.r.admitOrReread(r.Context(), Link, linkPrefix+id+"_", func(h hash) bool { return hmac.Equal([]byte(sign), []byte(cookieValue(h))) })
	if e, ok := errors.AsType[*auth.CredentialError](err); ok {
		return caller, &auth.CredentialError{Text: e.Text, Cookie: c.Name}
	}
	return caller, err
}

// errInvalidKey returns the error for invalid keys. It may reveal that a key has ended, because the
// caller has it.
func errInvalidKey(k Kind) error {
	if k == Link {
		return &auth.CredentialError{Text: "This read-only link has expired or was revoked."}
	}
	return &auth.CredentialError{Text: "The token does not exist or was revoked."}
}

// admitOrReread is admit, but reads the note store again, if there is one, for a key that is not
// known here.
func (r *Registry) admitOrReread(ctx context.Context, kind Kind, secret string, good func(hash) bool) (auth.Caller, error) {
	caller, err := r.admit(kind, secret, good)
	if err != nil && r.reread(ctx, kind, secret) {
		return r.admit(kind, secret, good)
	}
	return caller, err
}

// admit returns the caller who sent a secret. `good` reports whether the secret was derived from the
// key's hash; if it is nil, admit compares the secret's hash with the key's.
func (r *Registry) admit(kind Kind, secret string, good func(hash) bool) (auth.Caller, error) {
	id, ok := kind.idOf(secret)
	if !ok {
		return auth.Caller{}, errInvalidKey(kind)
	}
	now := time.Now()
	h := hashOf(secret)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isUnavailable() {
		return auth.Caller{}, errUnavailable
	}
	e := r.byID[id]
	if e == nil || e.Kind != kind {
		return auth.Caller{}, errInvalidKey(kind)
	}
	if good == nil {
		good = func(kept hash) bool { return subtle.ConstantTimeCompare(kept[:], h[:]) == 1 }
	}
	if !good(e.hash) {
		return auth.Caller{}, errInvalidKey(kind)
	}
	role := r.currentRole(e.Key)
	switch {
	case e.HasExpired(now) && kind == Link:
		return auth.Caller{}, errInvalidKey(kind)
	case e.HasExpired(now):
		return auth.Caller{}, &auth.CredentialError{Text: "The token expired at " + e.Expires.Format(time.RFC3339) + "."}
	case role == auth.None && r.isForFormerNamespace(e.Key):
		return auth.Caller{}, &auth.CredentialError{Text: "This token or link is for a former namespace '" + e.Namespace + "', which was removed."}
	case role == auth.None && e.Method == auth.Open:
		return auth.Caller{}, &auth.CredentialError{Text: "This token or link was created while the server required no authentication, and is no longer valid. Create a new one."}
	case role == auth.None:
		return auth.Caller{}, &auth.CredentialError{Text: "The user who created this token or link no longer has a role."}
	}
	if at := now.UTC().Truncate(usedResolution); at.After(e.LastUsed) {
		e.LastUsed = at
	}
	return e.caller(role), nil
}

// caller returns the caller that has the key.
func (e *entry) caller(role auth.Role) auth.Caller {
	w := auth.Caller{Role: role, Method: auth.Token, ID: e.ID, Done: e.done, Expires: e.Expires, Namespace: e.Namespace}
	w.Name = "token " + e.Name
	if e.Kind == Link {
		w.Method, w.Name, w.Presentation = auth.Link, "link "+e.Name, e.presentation()
	}
	if e.MadeBy != "" {
		w.Name += " of " + e.MadeBy
	}
	return w
}

// cookieValue returns what a browser keeps instead of a link's secret. It is made from the secret's
// hash, and neither can be derived from it.
func cookieValue(h hash) string {
	m := hmac.New(sha256.New, h[:])
	m.Write([]byte("mayfly: the cookie of a link"))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// OpenLink exchanges a link for a cookie, and returns its key, which has the page it leads to. The
// error is an *auth.CredentialError, or states that links are stored elsewhere now.
func (r *Registry) OpenLink(w http.ResponseWriter, req *http.Request, secret string) (Key, error) {
	caller, err := r.admitOrReread(req.Context(), Link, secret, nil)
	if err != nil {
		return Key{}, err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	e := r.byID[caller.ID]
	if e == nil {
		return Key{}, errInvalidKey(Link)
	}
	r.setCookie(w, req, &http.Cookie{Value: e.ID + "." + cookieValue(e.hash), Expires: e.Expires})
	return e.Key, nil
}

func (r *Registry) setCookie(w http.ResponseWriter, req *http.Request, c *http.Cookie) {
	c.Name, c.Path, c.HttpOnly, c.SameSite = cookieName(req), auth.CookiePath(r.o.Base), true, http.SameSiteLaxMode
	auth.SetCookie(w, req, c)
}

func cookieName(r *http.Request) string { return auth.CookieName(r, "mayfly_link") }
