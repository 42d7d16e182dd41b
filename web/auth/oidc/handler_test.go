package oidc_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"mayfly/web/auth"
	"mayfly/web/auth/oidc"
)

// TestBeginsWhereItEnds: a browser that uses another name of the server than the provider does is
// redirected once to the name to which the provider will redirect it back.
func TestBeginsWhereItEnds(t *testing.T) {
	p, err := oidc.New(oidc.Config{Issuer: "http://127.0.0.1:1", ClientID: "x", Roles: []oidc.Rule{{Value: "*", Role: auth.Viewer}}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ at, host, path, want string }{
		"by another name":    {"https://bus.example", "127.0.0.1:8080", "/login/openid?to=%2Fn%2Fshop", "https://bus.example/login/openid?led=&to=%2Fn%2Fshop"},
		"at another port":    {"https://bus.example", "bus.example:8080", "/login/openid", "https://bus.example/login/openid?led=&to=%2F"},
		"to another site":    {"https://bus.example", "127.0.0.1:8080", "/login/openid?to=%2F%2Fevil", "https://bus.example/login/openid?led=&to=%2F"},
		"by its name":        {"https://bus.example", "Bus.example", "/login/openid", ""},
		"by a proxy's":       {"https://bus.example", "10.0.0.7:8080", "/login/openid?led=&to=%2F", ""},
		"as everybody calls": {"", "127.0.0.1:8080", "/login/openid", ""},
	} {
		e, failures := echo.New(), 0
		d := &oidc.Handler{Provider: p, PublicURL: tc.at, Failed: func(_ *http.Request, name, with string, why error) {
			if failures++; name != "" || with != "127.0.0.1:1" || !errors.Is(why, oidc.ErrUnavailable) {
				t.Errorf("%s %s %v", name, with, why)
			}
		}, ShowFailure: func(c echo.Context, status int, _, _, _, _ string) error { return c.NoContent(status) }, ReturnPath: func(to string) string {
			if strings.HasPrefix(to, "/n/") {
				return to
			}
			return "/"
		}}
		d.Mount(e.Group(""))
		r, got := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tc.path, nil), httptest.NewRecorder()
		r.Host = tc.host
		e.ServeHTTP(got, r)
		// The provider is down: a browser that would be sent there sees the error.
		if to := got.Header().Get("Location"); to != tc.want || tc.want == "" && (got.Code != http.StatusServiceUnavailable || failures != 1) {
			t.Errorf("%s: %d to %q, want %q; %d failures reported", name, got.Code, to, tc.want, failures)
		}
	}
}
