package identity_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"mayfly/web/identity"
)

// said is a Source that knows what a header says.
type said string

func (s said) Identify(r *http.Request) (identity.Who, error) {
	switch r.Header.Get(string(s)) {
	case "":
		return identity.Who{}, identity.ErrNone
	case "bad":
		return identity.Who{}, &identity.Refused{Text: "bad"}
	default:
		return identity.Who{Name: r.Header.Get(string(s)), Role: identity.Viewer}, nil
	}
}

func TestSourcesAreTriedInOrder(t *testing.T) {
	both := identity.Sources{said("First"), said("Second")}
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
			who, err := both.Identify(r)
			_, refused := errors.AsType[*identity.Refused](err)
			if who.Name != tc.want || errors.Is(err, identity.ErrNone) != tc.none || refused != tc.refused {
				t.Errorf("got %q, %v", who.Name, err)
			}
		})
	}
}

func TestAnOpenServerAsksNobody(t *testing.T) {
	who, err := identity.Sources{}.Identify(httptest.NewRequest(http.MethodGet, "/", nil))
	if err != nil || who.Role != identity.Admin || who.Name != "" {
		t.Errorf("got %+v, %v", who, err)
	}
	if got := identity.Of(t.Context()); got.Known() {
		t.Errorf("a context that nobody has told is of %+v", got)
	}
	if got := identity.Of(identity.With(t.Context(), who)); got != who {
		t.Errorf("got %+v", got)
	}
}

func TestRoles(t *testing.T) {
	for has := range identity.Roles() {
		for needs := range identity.Roles() {
			has, needs := identity.Roles()[has], identity.Roles()[needs]
			err := identity.Judge(identity.Who{Role: has}, needs)
			if (err == nil) != (has >= needs) {
				t.Errorf("%s for %s: %v", has, needs, err)
			}
			if _, told := errors.AsType[*identity.RoleError](err); err != nil && !told {
				t.Errorf("%s for %s: %v", has, needs, err)
			}
		}
		r := identity.Roles()[has]
		if err := identity.Judge(identity.Who{}, r); !errors.Is(err, identity.ErrNobody) {
			t.Errorf("nobody for %s: %v", r, err)
		}
		if again, err := identity.ParseRole(r.String()); again != r || err != nil {
			t.Errorf("%s is read as %s, %v", r, again, err)
		}
	}
	for _, no := range []string{"", "none", "Admin", "root"} {
		if r, err := identity.ParseRole(no); err == nil || r != identity.None {
			t.Errorf("%q is read as %s", no, r)
		}
	}
}

func TestCookieName(t *testing.T) {
	for host, want := range map[string]string{
		"localhost:8080": "mayfly_x_8080", "localhost:8081": "mayfly_x_8081", "[::1]:8080": "mayfly_x_8080", "localhost": "mayfly_x", "[::1]": "mayfly_x", "": "mayfly_x",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		if got := identity.CookieName(r, "mayfly_x"); got != want {
			t.Errorf("at %q it is called %q, want %q", host, got, want)
		}
	}
}

// TestKey: nobody is taken for somebody else by what they are called.
func TestKey(t *testing.T) {
	seen := map[string]identity.Who{}
	for _, who := range []identity.Who{
		{}, {Name: "ana", Way: identity.Password}, {Name: "ana", Way: identity.OIDC, Subject: "https://a 1"}, {Name: "ana", Way: identity.OIDC, Subject: "https://a 2"},
		{Name: "token ci of ana", Way: identity.Token, ID: "x"}, {Name: "token ci of ana", Way: identity.Token, ID: "y"}, {Name: "token ci of ana", Way: identity.Password}, {Name: "x", Way: identity.Link, ID: "x"},
	} {
		if other, there := seen[who.Key()]; there {
			t.Errorf("%+v is %+v", who, other)
		}
		seen[who.Key()] = who
	}
	first, again := identity.Who{Name: "ana", Way: identity.Password, ID: "1"}, identity.Who{Name: "ana", Way: identity.Password, ID: "2", Role: identity.Viewer}
	if first.Key() != again.Key() {
		t.Error("who signs in again is somebody else")
	}
	if renamed := (identity.Who{Name: "eva", Way: identity.OIDC, Subject: "https://a 1"}); seen[renamed.Key()].Name != "ana" {
		t.Error("who is called otherwise at the provider is somebody else")
	}
}
