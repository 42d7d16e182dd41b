package oidc

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"

	"golang.org/x/oauth2"

	"mayfly/web/auth"
)

// pendingLogin is a sign-in under way, which the browser keeps, sealed.
type pendingLogin struct {
	State, Nonce, Verifier string
	Redirect, ReturnTo     string
	Expires                time.Time
}

const (
	loginTimeout  = 10 * time.Minute // how long a sign-in may take
	maxUsedStates = 4096             // finished sign-ins that are remembered
	maxReturnTo   = 1 << 10          // bytes of the page to return to; a cookie has 4 KiB
)

func newPendingLogin(redirect, back string) pendingLogin {
	if len(back) > maxReturnTo {
		back = ""
	}
	return pendingLogin{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Redirect: redirect, ReturnTo: back, Expires: time.Now().Add(loginTimeout)}
}

// newKey returns a random key. Sign-ins under way when the process ends must be begun again, unless
// servers share the key: see [Provider.ShareKey].
func newKey() *[32]byte {
	key := new([32]byte)
	_, _ = rand.Read(key[:]) // never fails, by its contract
	return key
}

// ShareKey replaces the key that seals sign-ins with one that several servers have: a sign-in
// that began at one can finish at any. Each server only checks for itself that a sign-in
// finishes once; the provider accepts each code once.
func (p *Provider) ShareKey(key [32]byte) { p.key.Store(&key) }

func (p *Provider) seal() cipher.AEAD {
	block, err := aes.NewCipher(p.key.Load()[:])
	if err != nil {
		panic(err) // the key has the right size
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // the cipher fits
	}
	return seal
}

// saveLogin stores b in a cookie of the browser.
func (p *Provider) saveLogin(w http.ResponseWriter, r *http.Request, b pendingLogin) {
	raw, err := json.Marshal(b)
	if err != nil {
		panic(err) // only texts and a time
	}
	sealed := p.seal().Seal(nil, nil, raw, nil)
	p.setCookie(w, r, &http.Cookie{Value: base64.RawURLEncoding.EncodeToString(sealed), MaxAge: int(loginTimeout / time.Second)})
}

// takeLogin returns the sign-in from the browser's cookie, and deletes the cookie. ok is false if
// it is missing, forged or expired.
func (p *Provider) takeLogin(w http.ResponseWriter, r *http.Request) (b pendingLogin, ok bool) {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return b, false
	}
	p.setCookie(w, r, &http.Cookie{MaxAge: -1})
	sealed, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return b, false
	}
	raw, err := p.seal().Open(nil, nil, sealed, nil)
	if err != nil || json.Unmarshal(raw, &b) != nil {
		return pendingLogin{}, false
	}
	return b, time.Now().Before(b.Expires)
}

// finishOnce reports whether the sign-in finishes for the first time, so that a copied cookie is
// useless. It remembers at most maxUsedStates sign-ins, and forgets those that expire first.
func (p *Provider) finishOnce(b pendingLogin) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, again := p.usedStates[b.State]; again {
		return false
	}
	now, first := time.Now(), ""
	for state, until := range p.usedStates {
		if !now.Before(until) {
			delete(p.usedStates, state)
		} else if first == "" || until.Before(p.usedStates[first]) {
			first = state
		}
	}
	if len(p.usedStates) >= maxUsedStates {
		delete(p.usedStates, first)
	}
	p.usedStates[b.State] = b.Expires
	return true
}

// setCookie sets a cookie that the browser sends when the provider redirects it here, which is
// from another site: lax, not strict.
func (p *Provider) setCookie(w http.ResponseWriter, r *http.Request, c *http.Cookie) {
	c.Name, c.Path, c.HttpOnly, c.SameSite = cookieName(r), auth.CookiePath(p.c.Base), true, http.SameSiteLaxMode
	auth.SetCookie(w, r, c)
}

func cookieName(r *http.Request) string { return auth.CookieName(r, "mayfly_openid") }
