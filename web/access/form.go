package access

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"sync/atomic"
)

// FormField is the name of the hidden field that carries a form's token.
const FormField = "csrf"

const (
	formCookie   = "mayfly_form"
	noticeCookie = "mayfly_notice"
)

// ErrForm is returned for a form without a good token: forged, or older than
// the server's start.
var ErrForm = errors.New("This form is older than the server, or not of its making. Load the page again and repeat what you did.") //nolint:revive,staticcheck // shown to people as it is

// Forms gives the tokens of forms and the notices between pages. Tokens are
// signed with a key that lives as long as the process, unless servers share one: forms
// from before a restart are refused and have to be loaded again. Make it with NewForms; it
// is safe for concurrent use.
type Forms struct {
	// Base is the path that the dashboard is served under, which is not changed once in
	// use. Empty: the root.
	Base string

	key atomic.Pointer[[32]byte]
}

// NewForms has a new key.
func NewForms() *Forms {
	f := &Forms{}
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails, by its contract
	f.key.Store(&key)
	return f
}

// Share has tokens be signed with another key from now on, which several servers have:
// a form of one is good at all of them. Forms from before have to be loaded again.
func (f *Forms) Share(key [32]byte) { f.key.Store(&key) }

// Token is what a form in the answer to r must carry. It is tied to a random
// cookie, which is set if the browser has none yet: call it before the answer
// begins. Another site can neither read the cookie nor sign one it has planted.
func (f *Forms) Token(w http.ResponseWriter, r *http.Request) string {
	id := cookie(r, formCookie)
	if len(id) != base64.RawURLEncoding.EncodedLen(16) {
		var b [16]byte
		_, _ = rand.Read(b[:]) // never fails, by its contract
		id = base64.RawURLEncoding.EncodeToString(b[:])
		c := &http.Cookie{Name: formCookie, Value: id}
		r.AddCookie(c) // a second form of the same page gets the same token
		f.set(w, c)
	}
	return f.sign("form", id)
}

// Check looks at a form that was posted. Parse it first, with limits. It
// returns nil or ErrForm.
func (f *Forms) Check(r *http.Request) error {
	id := cookie(r, formCookie)
	if id == "" || !hmac.Equal([]byte(r.PostFormValue(FormField)), []byte(f.sign("form", id))) {
		return ErrForm
	}
	return nil
}

// sign makes a signature of text that is good for one purpose only.
func (f *Forms) sign(purpose, text string) string {
	m := hmac.New(sha256.New, f.key.Load()[:])
	m.Write([]byte(purpose + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// set sends a cookie that scripts cannot read and other sites do not cause to
// be sent with a POST. Lax, not strict: a strict one would be missing when
// somebody follows a link to us, and the new one would spoil the forms of
// pages that are open already.
func (f *Forms) set(w http.ResponseWriter, c *http.Cookie) {
	c.Path, c.HttpOnly, c.SameSite = cmp.Or(f.Base, "/"), true, http.SameSiteLaxMode
	http.SetCookie(w, c)
}

func cookie(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}
