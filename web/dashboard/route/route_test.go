package route_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/web/auth"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/route"
)

// TestRoutesAreDeclared: every POST, and every form that leads to one, declares its role; every POST
// declares whether it destroys something; and no two routes have the same address.
func TestRoutesAreDeclared(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range route.Routes().Routes() {
		if r.Destroys.Declared() && r.Role == auth.None && r.PostRole == auth.None {
			t.Errorf("POST %s declares no role", r.Path())
		}
		if r.Type == pages.TypeForm && r.Role == auth.None {
			t.Errorf("GET %s declares no role, but asks for confirmation", r.Path())
		}
		if !r.Destroys.Declared() && r.PostRole != auth.None {
			t.Errorf("POST %s declares a role, but not whether it destroys something", r.Path())
		}
		if !r.Has(http.MethodGet) && !r.Has(http.MethodPost) {
			t.Errorf("%s has no method", r.Path())
		}
		if r.Live && r.Type != pages.TypePage || r.Leads && r.Type != pages.TypePage {
			t.Errorf("%s is not a page", r.Path())
		}
		for _, pattern := range r.Patterns() {
			if seen[pattern] {
				t.Errorf("two routes have the address %s", pattern)
			}
			seen[pattern] = true
		}
	}
}

// TestMatch: literal parts take precedence, and an address matches by its method.
func TestMatch(t *testing.T) {
	for row, want := range map[string]string{
		"GET /":                             "/",
		"GET /n":                            "/n",
		"GET /n/default":                    "/n/{ns}",
		"GET /n/default#top":                "/n/{ns}",
		"GET /n/default/alerts/new?x=/y":    "/n/{ns}/alerts/new",
		"GET /n/default/alerts/7":           "/n/{ns}/alerts/{alert}",
		"GET /n/default/q/a%2Fb":            "/n/{ns}/{entity}",
		"GET /n/default/t/s/s/s":            "/n/{ns}/{entity}",
		"POST /n/default/t/p/new":           "/n/{ns}/{entity}/new",
		"POST /n/default/t/p/bulk/delete":   "/n/{ns}/{entity}/bulk/delete",
		"POST /n/default/bulk/delete":       "/n/{ns}/bulk/delete",
		"GET /n/default/t/p/s/eu/session":   "/n/{ns}/{entity}/session",
		"POST /scenes/on/demo/next":         "/scenes/on/{play}/next",
		"GET /scenes/on/demo/next":          "/scenes/on/{play}/{verb}",
		"GET /tokens/new":                   "/tokens/new",
		"POST /tokens/abc/revoke":           "/tokens/{token}/revoke",
		"HEAD /settings":                    "/settings",
		"GET /n/default/t/p/session":        "",
		"GET /n/default/alerts/x":           "",
		"GET /n/default/m/7/complete":       "",
		"POST /n/default":                   "",
		"DELETE /n/default":                 "",
		"GET /n/default/":                   "",
		"GET ":                              "",
		"GET /api/v1/entities":              "",
		"GET https://mayfly.example/queues": "",
	} {
		method, href, _ := strings.Cut(row, " ")
		got := ""
		if r := route.Routes().Match(method, href); r != nil {
			got = r.Path()
		}
		if got != want {
			t.Errorf("%s is %q, want %q", row, got, want)
		}
	}
}

func TestMatchAllocatesNothing(t *testing.T) {
	for _, href := range []string{"/n/default/m/7/extend", "/n/default/t/prices", "/n/default/q/orders/bulk/delete", "/settings"} {
		if n := testing.AllocsPerRun(100, func() { route.Routes().Match(http.MethodPost, href) }); n > 0 {
			t.Errorf("%s takes %v allocations", href, n)
		}
	}
}

var update = flag.Bool("update", false, "write the golden routes anew")

// TestRoutesGolden: testdata/routes.txt lists the kind of every address, so that changes appear in
// reviews.
func TestRoutesGolden(t *testing.T) {
	var b strings.Builder
	for _, r := range route.Routes().Routes() {
		for _, pattern := range r.Patterns() {
			if r.Has(http.MethodGet) {
				fmt.Fprintf(&b, "GET  %s %s %s", pattern, r.RequiredRole(http.MethodGet), r.Type)
				if r.Live {
					b.WriteString(" live")
				}
				if r.Leads {
					b.WriteString(" leads")
				}
				b.WriteByte('\n')
			}
			if r.Has(http.MethodPost) {
				fmt.Fprintf(&b, "POST %s %s destroys: %s\n", pattern, r.RequiredRole(http.MethodPost), r.Destroys)
			}
		}
	}
	const file = "testdata/routes.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", file, d)
	}
}
