package auth_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mayfly/web/auth"
	"mayfly/web/proxy"
)

// fixed is a Source that trusts the value of a header.
type fixed string

func (s fixed) Identify(r *http.Request) (auth.Caller, error) {
	switch r.Header.Get(string(s)) {
	case "":
		return auth.Caller{}, auth.ErrNoCredential
	case "bad":
		return auth.Caller{}, &auth.CredentialError{Text: "bad"}
	default:
		return auth.Caller{Name: r.Header.Get(string(s)), Role: auth.Viewer}, nil
	}
}

func TestSourcesAreTriedInOrder(t *testing.T) {
	both := auth.Sources{fixed("First"), fixed("Second")}
	for name, tc := range map[string]struct {
		first, second, want string
		none, refused       bool
	}{
		"neither":                 {"", "", "", true, false},
		"the first":               {"ana", "ben", "ana", false, false},
		"the second":              {"", "ben", "ben", false, false},
		"a bad one ends the line": {"bad", "ben", "", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("First", tc.first)
			r.Header.Set("Second", tc.second)
			caller, err := both.Identify(r)
			_, refused := errors.AsType[*auth.CredentialError](err)
			if caller.Name != tc.want || errors.Is(err, auth.ErrNoCredential) != tc.none || refused != tc.refused {
				t.Errorf("got %q, %v", caller.Name, err)
			}
		})
	}
}

func TestAnOpenServerNeedsNoSignIn(t *testing.T) {
	caller, err := auth.Sources{}.Identify(httptest.NewRequest(http.MethodGet, "/", nil))
	if err != nil || caller.Role != auth.Admin || caller.Name != "" {
		t.Errorf("got %+v, %v", caller, err)
	}
	if got := auth.FromContext(t.Context()); got.IsKnown() {
		t.Errorf("a context without a caller has %+v", got)
	}
	if got := auth.FromContext(auth.WithCaller(t.Context(), caller)); got != caller {
		t.Errorf("got %+v", got)
	}
}

func TestRoles(t *testing.T) {
	for has := range auth.Roles() {
		for needs := range auth.Roles() {
			has, needs := auth.Roles()[has], auth.Roles()[needs]
			err := auth.Authorize(auth.Caller{Role: has}, needs)
			if (err == nil) != (has >= needs) {
				t.Errorf("%s for %s: %v", has, needs, err)
			}
			if _, roleError := errors.AsType[*auth.RoleError](err); err != nil && !roleError {
				t.Errorf("%s for %s: %v", has, needs, err)
			}
		}
		r := auth.Roles()[has]
		if err := auth.Authorize(auth.Caller{}, r); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("an unknown caller for %s: %v", r, err)
		}
		if again, err := auth.ParseRole(r.String()); again != r || err != nil {
			t.Errorf("%s is read as %s, %v", r, again, err)
		}
	}
	for _, no := range []string{"", "none", "Admin", "root"} {
		if r, err := auth.ParseRole(no); err == nil || r != auth.None {
			t.Errorf("%q is read as %s", no, r)
		}
	}
}

// TestSecureCookies: a cookie is Secure if the client speaks TLS, with this server or with a
// trusted proxy.
func TestSecureCookies(t *testing.T) {
	trusted, err := proxy.Parse([]string{"192.0.2.1"}) // httptest's client
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		at, proto string
		trusted   proxy.Trusted
		want      bool
	}{
		"in the clear":             {"http://x/", "", trusted, false},
		"with TLS":                 {"https://x/", "", nil, true},
		"a proxy's TLS":            {"http://x/", "https", trusted, true},
		"a proxy's, in capitals":   {"http://x/", "HTTPS", trusted, true},
		"a proxy without":          {"http://x/", "http", trusted, false},
		"a list, the last without": {"http://x/", "https, http", trusted, false},
		"a proxy without trust":    {"http://x/", "https", nil, false},
	} {
		rec, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, tc.at, nil)
		r.Header.Set("X-Forwarded-Proto", tc.proto)
		auth.SetCookie(rec, tc.trusted.Request(r), &http.Cookie{Name: "a", Value: "b"})
		if c := rec.Result().Cookies()[0]; c.Secure != tc.want {
			t.Errorf("%s: %v", name, c)
		}
	}
}

// TestCookiesAreSetInOnePlace: only SetCookie sets cookies, so that all are Secure alike.
func TestCookiesAreSetInOnePlace(t *testing.T) {
	setting := regexp.MustCompile(`\b(\w+)\.SetCookie\(|"Set-Cookie"|HeaderSetCookie`)
	found := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range setting.FindAllSubmatch(text, -1) {
			found++
			here := filepath.Base(path) == "cookie.go" && filepath.Base(filepath.Dir(path)) == "auth"
			if by := string(m[1]); by != "auth" && !(here && by == "http") {
				t.Errorf("%s sets a cookie with %s", path, m[0])
			}
		}
		return err
	})
	if err != nil || found < 8 {
		t.Errorf("found %d calls of SetCookie: %v", found, err)
	}
}

func TestCookieName(t *testing.T) {
	for host, want := range map[string]string{
		"localhost:8080": "mayfly_x_8080", "localhost:8081": "mayfly_x_8081", "[::1]:8080": "mayfly_x_8080", "localhost": "mayfly_x", "[::1]": "mayfly_x", "": "mayfly_x",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		if got := auth.CookieName(r, "mayfly_x"); got != want {
			t.Errorf("at %q the cookie has the name %q, want %q", host, got, want)
		}
	}
}

// TestKey: different callers have different keys even if they have the same name. A user's key is
// the same in each session, whatever the role.
func TestKey(t *testing.T) {
	seen := map[string]auth.Caller{}
	for _, caller := range []auth.Caller{
		{}, {Name: "ana", Method: auth.Password}, {Name: "ana", Method: auth.OIDC, Subject: "https://a 1"}, {Name: "ana", Method: auth.OIDC, Subject: "https://a 2"},
		{Name: "token ci of ana", Method: auth.Token, ID: "x"}, {Name: "token ci of ana", Method: auth.Token, ID: "y"}, {Name: "token ci of ana", Method: auth.Password}, {Name: "x", Method: auth.Link, ID: "x"},
	} {
		if other, there := seen[caller.Key()]; there {
			t.Errorf("%+v is %+v", caller, other)
		}
		seen[caller.Key()] = caller
	}
	first, again := auth.Caller{Name: "ana", Method: auth.Password, ID: "1"}, auth.Caller{Name: "ana", Method: auth.Password, ID: "2", Role: auth.Viewer}
	if first.Key() != again.Key() {
		t.Error("a second sign-in has another key")
	}
	if renamed := (auth.Caller{Name: "eva", Method: auth.OIDC, Subject: "https://a 1"}); seen[renamed.Key()].Name != "ana" {
		t.Error("another name at the provider changes the key")
	}
}
