package web

import (
	"bytes"
	"errors"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mayfly/web/access"
	"mayfly/web/identity"
)

// TestEveryFormIsOurs: whatever page or gate takes a form refuses one of another's making,
// also from an admin, and does nothing. The API takes none: it knows nobody by a cookie.
func TestEveryFormIsOurs(t *testing.T) {
	e := guarded(t)
	var forms []string
	for _, row := range slices.Sorted(maps.Keys(e.rows)) {
		method, pattern, _ := strings.Cut(row, " ")
		switch {
		case strings.HasPrefix(pattern, "/api/"), method == http.MethodGet:
		case method == http.MethodPost:
			forms = append(forms, pattern)
		default:
			t.Errorf("%s can be no form", row)
		}
	}
	if len(forms) < 180 {
		t.Fatalf("only %d addresses take forms", len(forms))
	}
	play, err := e.scenes.Begin(t.Context(), "deadline", "test") // of one that is over a form says so, whoever made it
	if err != nil {
		t.Fatal(err)
	}
	own, token := browser(e.forms)
	_, others := browser(e.forms)
	before := access.NewForms()
	old, oldToken := browser(before)
	at := func(pattern string) string {
		return concrete(strings.Replace(pattern, ":play", play.State().Namespace, 1))
	}
	began := e.broker.Events().Last()
	for name, forged := range map[string]struct {
		cookie *http.Cookie
		token  string
	}{
		"neither cookie nor token":     {nil, ""},
		"no token":                     {own, ""},
		"no cookie":                    {nil, token},
		"a token of another session":   {own, others},
		"of before the server's start": {old, oldToken},
	} {
		for _, pattern := range forms {
			w := e.submit(at(pattern), forged.cookie, forged.token)
			if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), access.ErrForm.Error()) {
				t.Errorf("%s, %s: %d %.200s", pattern, name, w.Code, w.Body)
			}
			for _, c := range w.Result().Cookies() {
				if c.Name != own.Name {
					t.Errorf("%s, %s: the cookie %s is set", pattern, name, c.Name)
				}
			}
		}
	}
	if now := e.broker.Events().Last(); now != began {
		t.Errorf("forged forms did something: %d events", now-began)
	}
	if is := play.State(); is.Done != 0 || len(e.scenes.List()) != 1 {
		t.Errorf("forged forms played a scene: %d steps, of %d plays", is.Done, len(e.scenes.List()))
	}
	for _, pattern := range forms { // by a form that is one's own they come to more
		if w := e.submit(at(pattern), own, token); strings.Contains(w.Body.String(), access.ErrForm.Error()) {
			t.Errorf("%s: a form of ours is refused: %d", pattern, w.Code)
		}
	}
	if e.broker.Events().Last() == began {
		t.Error("nothing is done by forms of ours either")
	}
}

// browser is one that has a form: its cookie, and the token in the form.
func browser(f *access.Forms) (*http.Cookie, string) {
	w := httptest.NewRecorder()
	token := f.Token(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	return w.Result().Cookies()[0], token
}

// submit sends a form with nothing but its token, by an admin.
func (p *port) submit(at string, cookie *http.Cookie, token string) *httptest.ResponseRecorder {
	fields, kind := url.Values{access.FormField: {token}}.Encode(), "application/x-www-form-urlencoded"
	if strings.HasSuffix(at, "/import") || at == "/scenes/new" { // they take files
		var b bytes.Buffer
		m := multipart.NewWriter(&b)
		if err := errors.Join(m.WriteField(access.FormField, token), m.Close()); err != nil {
			panic(err) // a buffer takes everything
		}
		fields, kind = b.String(), m.FormDataContentType()
	}
	r := httptest.NewRequest(http.MethodPost, at, strings.NewReader(fields))
	r.Host = "localhost"
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Test-Role", identity.Admin.String())
	if cookie != nil {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}
