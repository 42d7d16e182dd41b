package access

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
)

// A Notice is what a page says once about what the last one did. It is plain
// text: whoever shows it escapes it.
type Notice struct {
	Tone string `json:"k,omitempty"` // a word of the caller's, such as "good" or "bad"
	Text string `json:"t,omitempty"`
	Said string `json:"s,omitempty"` // what goes with it in the server's own words
	Undo string `json:"u,omitempty"` // the address of a form that takes back what was done
}

// noticeBytes bounds a notice's text: browsers drop cookies beyond 4096 bytes.
const noticeBytes = 1024

// Leave gives n to the next page that takes it, within a minute. A text that is
// too long is cut.
func (f *Forms) Leave(w http.ResponseWriter, n Notice) {
	for _, text := range []*string{&n.Text, &n.Said} {
		if len(*text) > noticeBytes {
			*text = strings.ToValidUTF8((*text)[:noticeBytes], "") + "…"
		}
	}
	raw, err := json.Marshal(n)
	if err != nil {
		panic(err) // strings: there is nothing that could fail
	}
	text := base64.RawURLEncoding.EncodeToString(raw)
	f.set(w, &http.Cookie{Name: noticeCookie, Value: text + "." + f.sign("notice", text), MaxAge: 60})
}

// Take returns the notice left for this page, if there is one, and sees that it
// is not shown again: call it before the answer begins. One that we did not
// sign is as good as none.
func (f *Forms) Take(w http.ResponseWriter, r *http.Request) (n Notice, ok bool) {
	text, signature, _ := strings.Cut(cookie(r, noticeCookie), ".")
	if text == "" || !hmac.Equal([]byte(signature), []byte(f.sign("notice", text))) {
		return Notice{}, false
	}
	f.set(w, &http.Cookie{Name: noticeCookie, MaxAge: -1})
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, &n) != nil {
		return Notice{}, false
	}
	return n, true
}
