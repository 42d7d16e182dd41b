package oidc

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"mayfly/web/identity"
)

// begun is a sign-in that has begun, as the browser keeps it, sealed.
type begun struct {
	State, Nonce, Verifier string
	Redirect, Back         string
	Until                  time.Time
}

const (
	beganFor = 10 * time.Minute // how long somebody may take
	mostUsed = 4096             // sign-ins of which it is known that they came to their end
	mostBack = 1 << 10          // bytes of where somebody was to go; a cookie has 4 KiB
)

func newBegun(redirect, back string) begun {
	if len(back) > mostBack {
		back = ""
	}
	return begun{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Redirect: redirect, Back: back, Until: time.Now().Add(beganFor)}
}

// newKey is one for the time being: who is about to sign in when the process ends has to
// begin again, unless the key is [Provider.Share]d.
func newKey() *[32]byte {
	key := new([32]byte)
	_, _ = rand.Read(key[:]) // never fails, by its contract
	return key
}

// Share has sign-ins be sealed with another key from now on, which several servers have:
// what has begun at one comes to its end at any. That a sign-in does so once is known to
// each for itself; the provider has a code be good once.
func (p *Provider) Share(key [32]byte) { p.key.Store(&key) }

func (p *Provider) seal() cipher.AEAD {
	block, err := aes.NewCipher(p.key.Load()[:])
	if err != nil {
		panic(err) // the key has the right size
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // likewise
	}
	return seal
}

// leave keeps b in the browser.
func (p *Provider) leave(w http.ResponseWriter, r *http.Request, b begun) {
	raw, err := json.Marshal(b)
	if err != nil {
		panic(err) // texts and a time
	}
	sealed := p.seal().Seal(nil, nil, raw, nil)
	p.setCookie(w, r, &http.Cookie{Value: base64.RawURLEncoding.EncodeToString(sealed), MaxAge: int(beganFor / time.Second)})
}

// take is what the browser keeps, which it does no longer; not ok if it is not good.
func (p *Provider) take(w http.ResponseWriter, r *http.Request) (b begun, ok bool) {
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
		return begun{}, false
	}
	return b, time.Now().Before(b.Until)
}

// ends tells whether the sign-in has not come to its end before, whoever has kept its
// cookie. Of more than mostUsed within ten minutes the first ones are forgotten.
func (p *Provider) ends(b begun) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, again := p.used[b.State]; again {
		return false
	}
	now, first := time.Now(), ""
	for state, until := range p.used {
		if !now.Before(until) {
			delete(p.used, state)
		} else if first == "" || until.Before(p.used[first]) {
			first = state
		}
	}
	if len(p.used) >= mostUsed {
		delete(p.used, first)
	}
	p.used[b.State] = b.Until
	return true
}

// setCookie sends a cookie that comes back when the provider sends the browser here,
// which is from another site: lax, not strict.
func (p *Provider) setCookie(w http.ResponseWriter, r *http.Request, c *http.Cookie) {
	c.Name, c.Path, c.HttpOnly, c.SameSite = cookieName(r), identity.CookiePath(p.c.Base), true, http.SameSiteLaxMode
	c.Secure = safe(r)
	http.SetCookie(w, c)
}

// safe tells whether a request came with TLS.
func safe(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

func cookieName(r *http.Request) string { return identity.CookieName(r, "mayfly_openid") }
