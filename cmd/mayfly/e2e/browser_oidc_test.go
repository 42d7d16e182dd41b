package e2e

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"mayfly/cmd/mayfly/server"
	"mayfly/views/locale"
	"mayfly/web/auth"
	"mayfly/web/auth/oidc"
	"mayfly/web/auth/oidc/oidctest"
)

// TestBrowserSignsInWithAProvider checks that the provider's sign-in leads back to the page,
// that signing out leads to the provider, and that a user without a role gets an error in the
// language of the browser.
func TestBrowserSignsInWithAProvider(t *testing.T) {
	browser := chromium(t)
	provider := oidctest.Start(t, "http://127.0.0.1"+oidc.CallbackPath) // at any port
	s := Start(t, server.Config{Store: "memory:", OIDC: &oidc.Config{
		Issuer: provider.Issuer, ClientID: oidctest.Client, Secret: oidctest.Secret, Title: "the company",
		Roles: []oidc.Rule{{Value: "team", Role: auth.Operator}},
	}})
	v := visitTo(t, browser, s)
	provider.Is(oidctest.Trouble{Claims: map[string]any{"roles": []string{"team"}}})
	there := func(user string) {
		t.Helper()
		v.click(`.gate .others a`)
		v.want(`location.origin === "` + provider.Issuer + `"`)
		v.do(chromedp.SendKeys(chromedp.CSS("#user"), user))
		v.click("#go")
	}
	v.visit("/n/default/queues?sort=name")
	v.want(`location.pathname === "/login" && document.querySelector(".gate .others a").innerText === "Sign in with the company" && !document.querySelector("#f-password")`)
	there("ana")
	v.want(`location.pathname + location.search === "/n/default/queues?sort=name" && mayfly.state === "live"`)
	v.want(`document.querySelector(".user summary").innerText.includes("ana")`)

	v.do(chromedp.Click(chromedp.CSS(".user summary")))
	v.click(".user button")
	v.want(`location.origin === "` + provider.Issuer + `" && location.pathname === "/end" && document.querySelector("p").innerText === "id-ana"`)
	v.click("a")
	v.want(`location.origin === "` + s.Dashboard + `" && location.pathname === "/login" && document.querySelector(".gate [role=status]").innerText.includes("signed out")`)
	v.visit("/n/default/queues")
	v.want(`location.pathname === "/login"`)

	provider.Is(oidctest.Trouble{})
	v.js(`document.cookie = "` + locale.Cookie + `=cs; path=/"`)
	v.visit("/login?to=/n/default/topics")
	there("eva")
	v.want(`document.documentElement.lang === "cs" && document.querySelector("[role=alert]").innerText.includes("the company vás zná, ale nemáte tu žádnou roli.")`)
	v.refused(http.StatusForbidden, oidc.CallbackPath)
	v.look("signin-refused")
	provider.Is(oidctest.Trouble{Claims: map[string]any{"roles": []string{"team"}}})
	there("eva")
	v.want(`location.pathname === "/n/default/topics"`)
}
