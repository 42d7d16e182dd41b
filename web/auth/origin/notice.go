package origin

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"mayfly/web/auth"
)

// A Notice is shown once by the page that follows an action. It is plain text, which the page
// escapes.
type Notice struct {
	Tone    string `json:"k,omitempty"` // a word of the caller's, such as "good" or "bad"
	Text    string `json:"t,omitempty"`
	Details string `json:"s,omitempty"` // details in the server's own words
	Undo    string `json:"u,omitempty"` // the address of a form that undoes the action
}

// maxNotice bounds a notice's text: browsers drop cookies beyond 4096 bytes.
const maxNotice = 1024

// SetNotice sets a cookie in the answer to r that shows n on the next page that takes it, within
// a minute. It cuts a long text.
func (f *Forms) SetNotice(w http.ResponseWriter, r *http.Request, n Notice) {
	for _, text := range []*string{&n.Text, &n.Details} {
		if len(*text) > maxNotice {
			*text = strings.ToValidUTF8((*text)[:maxNotice], "") + "…"
		}
	}
	raw, err := json.Marshal(n)
	if err != nil {
		panic(err) // strings cannot fail
	}
	text := base64.RawURLEncoding.EncodeToString(raw)
	f.setCookie(w, r, &http.Cookie{Name: auth.CookieName(r, noticeCookie), Value: text + "." + f.sign("notice", text), MaxAge: 60})
}

// TakeNotice returns the notice left for this page, if there is one, and deletes it from the
// browser: call it before the answer begins. A notice with an invalid signature is ignored.
func (f *Forms) TakeNotice(w http.ResponseWriter, r *http.Request) (n Notice, ok bool) {
	text, signature, _ := strings.Cut(cookie(r, noticeCookie), ".")
	if text == "" || !hmac.Equal([]byte(signature), []byte(f.sign("notice", text))) {
		return Notice{}, false
	}
	f.setCookie(w, r, &http.Cookie{Name: auth.CookieName(r, noticeCookie), MaxAge: -1})
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, &n) != nil {
		return Notice{}, false
	}
	return n, true
}
