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

	"mayfly/web/auth"
	"mayfly/web/auth/origin"
)

// TestEveryFormIsOurs: every page or AuthRoutes that takes a form refuses one without a valid
// token, also from an admin, and does nothing. The API takes no forms: it identifies no caller
// by a cookie.
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
			t.Errorf("%s has an unexpected method", row)
		}
	}
	if len(forms) < 180 {
		t.Fatalf("only %d addresses take forms", len(forms))
	}
	play, err := e.scenes.Begin(t.Context(), "deadline", "test") // the form of an ended playback reports that it has ended, whether its token is valid or not
	if err != nil {
		t.Fatal(err)
	}
	own, token := browser(e.forms)
	_, others := browser(e.forms)
	before := origin.NewForms()
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
			if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), origin.ErrForm.Error()) {
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
		t.Errorf("forged forms had an effect: %d events", now-began)
	}
	if is := play.State(); is.Done != 0 || len(e.scenes.List()) != 1 {
		t.Errorf("forged forms played a scene: %d steps, of %d playbacks", is.Done, len(e.scenes.List()))
	}
	for _, pattern := range forms { // a form with a valid token gets further
		if w := e.submit(at(pattern), own, token); strings.Contains(w.Body.String(), origin.ErrForm.Error()) {
			t.Errorf("%s: a form with a valid token was refused: %d", pattern, w.Code)
		}
	}
	if e.broker.Events().Last() == began {
		t.Error("forms with a valid token have no effect either")
	}
}

// browser returns the cookie of a browser that has loaded a form, and the token in the form.
func browser(f *origin.Forms) (*http.Cookie, string) {
	w := httptest.NewRecorder()
	token := f.Token(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	return w.Result().Cookies()[0], token
}

// submit sends a form with only its token, as an admin.
func (p *port) submit(at string, cookie *http.Cookie, token string) *httptest.ResponseRecorder {
	fields, kind := url.Values{origin.FormField: {token}}.Encode(), "application/x-www-form-urlencoded"
	if strings.HasSuffix(at, "/import") || at == "/scenes/new" { // these forms have files
		var b bytes.Buffer
		m := multipart.NewWriter(&b)
		if err := errors.Join(m.WriteField(origin.FormField, token), m.Close()); err != nil {
			panic(err) // a buffer cannot fail
		}
		fields, kind = b.String(), m.FormDataContentType()
	}
	r := httptest.NewRequest(http.MethodPost, at, strings.NewReader(fields))
	r.Host = "localhost"
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Test-Role", auth.Admin.String())
	if cookie != nil {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}
