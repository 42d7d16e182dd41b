package keys

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

	"mayfly/web/identity"
)

// Tokens is the source of those who send a token: Authorization: Bearer mft_….
func (r *Ring) Tokens() identity.Source { return tokens{r} }

// Links is the source of those who have opened a link.
func (r *Ring) Links() identity.Source { return links{r} }

type tokens struct{ r *Ring }

// Identify is who sends a token. A bearer token that is none of ours is refused, also
// on an open server: who sends one does not mean to be anybody.
func (t tokens) Identify(r *http.Request) (identity.Who, error) {
	secret, ok := bearer(r)
	if !ok {
		return identity.Who{}, identity.ErrNone
	}
	return t.r.admitOrLook(r.Context(), Token, secret, nil)
}

// bearer is the bearer token of a request; not ok if it has none.
func bearer(r *http.Request) (string, bool) {
	kind, secret, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(secret), ok && strings.EqualFold(kind, "Bearer")
}

type links struct{ r *Ring }

// Identify is who has opened a link in this browser. One that is over is refused,
// and not somebody else who is known otherwise.
func (l links) Identify(r *http.Request) (identity.Who, error) {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return identity.Who{}, identity.ErrNone
	}
	id, sign, _ := strings.Cut(c.Value, ".")
	who, err := l.r.admitOrLook(r.Context(), Link, linkMark+id+"_", func(h hash) bool { return hmac.Equal([]byte(sign), []byte(signed(h))) })
	if e, ok := errors.AsType[*identity.Refused](err); ok {
		return who, &identity.Refused{Text: e.Text, Cookie: c.Name}
	}
	return who, err
}

// What is told of keys that are not good. It is no secret that a key is over to whoever
// has it.
func unknown(k Kind) error {
	if k == Link {
		return &identity.Refused{Text: "This read-only link is not good any more: it has expired, or was revoked."}
	}
	return &identity.Refused{Text: "The token is not known here, or was revoked."}
}

// admitOrLook is admit, which looks at the board, if there is one, for what it does not
// know.
func (r *Ring) admitOrLook(ctx context.Context, kind Kind, secret string, good func(hash) bool) (identity.Who, error) {
	who, err := r.admit(kind, secret, good)
	if err != nil && r.lookAgain(ctx, kind, secret) {
		return r.admit(kind, secret, good)
	}
	return who, err
}

// admit is who has a secret, or what good tells by its hash to be made from it.
func (r *Ring) admit(kind Kind, secret string, good func(hash) bool) (identity.Who, error) {
	id, ok := kind.idOf(secret)
	if !ok {
		return identity.Who{}, unknown(kind)
	}
	now := time.Now()
	h := hashOf(secret)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away() {
		return identity.Who{}, errAway
	}
	e := r.byID[id]
	if e == nil || e.Kind != kind {
		return identity.Who{}, unknown(kind)
	}
	if good == nil {
		good = func(kept hash) bool { return subtle.ConstantTimeCompare(kept[:], h[:]) == 1 }
	}
	if !good(e.hash) {
		return identity.Who{}, unknown(kind)
	}
	role := r.standing(e.Key)
	switch {
	case e.Ended(now) && kind == Link:
		return identity.Who{}, unknown(kind)
	case e.Ended(now):
		return identity.Who{}, &identity.Refused{Text: "The token has expired, at " + e.Until.Format(time.RFC3339) + "."}
	case role == identity.None && r.former(e.Key):
		return identity.Who{}, &identity.Refused{Text: "This was made for another namespace '" + e.Namespace + "', which was removed."}
	case role == identity.None && e.Way == identity.Open:
		return identity.Who{}, &identity.Refused{Text: "This was made while the server was open to everybody, which it is no longer: make another."}
	case role == identity.None:
		return identity.Who{}, &identity.Refused{Text: "Who made this may do nothing here any more."}
	}
	if at := now.UTC().Truncate(usedStep); at.After(e.Used) {
		e.Used = at
	}
	return e.who(role), nil
}

// who is somebody who has the key.
func (e *entry) who(role identity.Role) identity.Who {
	w := identity.Who{Role: role, Way: identity.Token, ID: e.ID, Over: e.over, Until: e.Until, Within: e.Namespace}
	w.Name = "token " + e.Name
	if e.Kind == Link {
		w.Way, w.Name, w.Talk = identity.Link, "link "+e.Name, e.talk()
	}
	if e.By != "" {
		w.Name += " of " + e.By
	}
	return w
}

// signed is what a browser has instead of a link's secret: made from what is kept of
// that, and from which neither can be made.
func signed(h hash) string {
	m := hmac.New(sha256.New, h[:])
	m.Write([]byte("mayfly: the cookie of a link"))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// Open exchanges a link for a cookie, and says which page it leads to. The error is an
// *identity.Refused, or says that links are kept elsewhere now.
func (r *Ring) Open(w http.ResponseWriter, req *http.Request, secret string) (Key, error) {
	who, err := r.admitOrLook(req.Context(), Link, secret, nil)
	if err != nil {
		return Key{}, err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	e := r.byID[who.ID]
	if e == nil {
		return Key{}, unknown(Link)
	}
	r.setCookie(w, req, &http.Cookie{Value: e.ID + "." + signed(e.hash), Expires: e.Until})
	return e.Key, nil
}

func (r *Ring) setCookie(w http.ResponseWriter, req *http.Request, c *http.Cookie) {
	c.Name, c.Path, c.HttpOnly, c.SameSite = cookieName(req), identity.CookiePath(r.o.Base), true, http.SameSiteLaxMode
	c.Secure = req.TLS != nil || strings.EqualFold(req.Header.Get("X-Forwarded-Proto"), "https")
	http.SetCookie(w, c)
}

func cookieName(r *http.Request) string { return identity.CookieName(r, "mayfly_link") }
