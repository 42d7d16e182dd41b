package origin

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"sync/atomic"

	"mayfly/web/auth"
)

// FormField is the name of the hidden field that carries a form's token.
const FormField = "csrf"

const (
	formCookie   = "mayfly_form"
	noticeCookie = "mayfly_notice"
)

// ErrForm is returned for a form without a valid token: forged, or older than the server's
// start.
var ErrForm = errors.New("This form is older than the server, or does not come from it. Reload the page and try again.") //nolint:revive,staticcheck // shown to people as it is

// Forms creates the tokens of forms and the notices between pages. Tokens are signed with a
// key that lives as long as the process, unless servers share one: forms from before a restart
// are refused and have to be loaded again. Make it with NewForms; it is safe for concurrent
// use.
type Forms struct {
	// Base is the path that the dashboard is served under, which is not changed once in
	// use. Empty means the root.
	Base string

	key atomic.Pointer[[32]byte]
}

// NewForms returns a Forms with a new key.
func NewForms() *Forms {
	f := &Forms{}
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails, by its contract
	f.key.Store(&key)
	return f
}

// ShareKey replaces the key that signs tokens with one that several servers have, so that a form of
// one server is valid at all of them. Older forms have to be loaded again.
func (f *Forms) ShareKey(key [32]byte) { f.key.Store(&key) }

// Token returns the token that a form in the answer to r must carry. It is tied to a random
// cookie, which is set if the browser has none yet: call it before the answer begins. Another
// site can neither read the cookie nor sign one it has planted.
func (f *Forms) Token(w http.ResponseWriter, r *http.Request) string {
	id := cookie(r, formCookie)
	if len(id) != base64.RawURLEncoding.EncodedLen(16) {
		var b [16]byte
		_, _ = rand.Read(b[:]) // never fails, by its contract
		id = base64.RawURLEncoding.EncodeToString(b[:])
		c := &http.Cookie{Name: auth.CookieName(r, formCookie), Value: id}
		r.AddCookie(c) // a second form of the same page gets the same token
		f.setCookie(w, r, c)
	}
	return f.sign("form", id)
}

// Check checks the token of a posted form. Parse the form first, with limits. It returns nil
// or ErrForm.
func (f *Forms) Check(r *http.Request) error {
	id := cookie(r, formCookie)
	if id == "" || !hmac.Equal([]byte(r.PostFormValue(FormField)), []byte(f.sign("form", id))) {
		return ErrForm
	}
	return nil
}

// sign returns a signature of text that is valid for one purpose only.
func (f *Forms) sign(purpose, text string) string {
	m := hmac.New(sha256.New, f.key.Load()[:])
	m.Write([]byte(purpose + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// Key returns a key for one purpose. It is valid as long as tokens are.
func (f *Forms) Key(purpose string) []byte { return []byte(f.sign("key", purpose)) }

// setCookie sets a cookie that scripts cannot read and that browsers do not send with a POST from
// another site. It is Lax, not Strict: a Strict one would be missing when a user follows a
// link to the server, and the new one would invalidate the forms of open pages.
func (f *Forms) setCookie(w http.ResponseWriter, r *http.Request, c *http.Cookie) {
	c.Path, c.HttpOnly, c.SameSite = auth.CookiePath(f.Base), true, http.SameSiteLaxMode
	auth.SetCookie(w, r, c)
}

// cookie returns the value of the cookie of that name. Each port of a host has its own
// cookie. If they shared one, a port without TLS could neither read nor replace the Secure
// cookie of a port with TLS, and its forms would fail.
func cookie(r *http.Request, name string) string {
	c, err := r.Cookie(auth.CookieName(r, name))
	if err != nil {
		return ""
	}
	return c.Value
}
