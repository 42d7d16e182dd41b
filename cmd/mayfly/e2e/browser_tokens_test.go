package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"mayfly/cmd/mayfly/server"
)

// TestBrowserTokens checks that an admin can create a token and a link from the menu, which work
// until they are revoked; a viewer can create neither links nor tokens above the role viewer.
func TestBrowserTokens(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	s := Start(t, server.Config{Store: "memory:", Auth: UsersFile(t)})
	ana, vera, guest := visitTo(t, browser, s), visitTo(t, browser, s), visitTo(t, browser, s)
	ana.visit("/n/default/queues")
	ana.signIn("ana")
	ana.want(`location.pathname === "/n/default/queues" && mayfly.state === "live"`)
	ana.do(chromedp.Click(chromedp.CSS(".user summary")))
	ana.click(`.user a[href="/tokens"]`)
	ana.want(`document.querySelector("h1").innerText === "Tokens and links" && document.querySelector(".empty")`)
	ana.look("tokens-empty")
	ana.click(`a[href="/tokens/new"]`)
	ana.fill("name", "ci")
	ana.do(chromedp.Click(chromedp.CSS(`input[name=role][value=operator]`)))
	ana.click(`main form button[type=submit]`)
	ana.want(`document.querySelector("h1").innerText === "The token ci is made"`)
	ana.look("tokens-made")
	secret, _ := ana.js(`document.querySelector("[data-secret=token] button").dataset.text`).(string)
	asked := func(want int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.API+"/entities", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if w.Body.Close(); w.StatusCode != want {
			t.Errorf("with the token %s: %s", secret, w.Status)
		}
	}
	asked(http.StatusOK)
	ana.click(`main footer a`)
	ana.want(`document.querySelectorAll(".passes tbody tr").length === 1 && !document.documentElement.outerHTML.includes("` + secret[15:] + `")`)

	ana.click(`a[href="/tokens/link"]`)
	ana.fill("name", "demo")
	ana.fill("page", s.Dashboard+"/n/default/queues?sort=name")
	ana.click(`main form button[type=submit]`)
	ana.want(`!document.querySelector(".made svg.qr") && document.querySelector(".made .notice + .snippet")`)
	ana.look("tokens-link-made")
	link, _ := ana.js(`document.querySelector(".made [data-act=copy]").dataset.text`).(string)
	guest.visit(strings.TrimPrefix(link, s.Dashboard))
	guest.want(`location.pathname + location.search === "/n/default/queues?sort=name" && mayfly.state === "live"`)

	ana.visit("/tokens")
	ana.look("tokens-two")
	revoke := func(name string) {
		t.Helper()
		ana.asks(`.passes a[aria-label="Revoke ` + name + `"]`)
		ana.want(`document.querySelector("h1#h-ask").innerText.endsWith(" ` + name + `?") && document.activeElement.innerText === "Cancel"`)
		ana.click(`form.asking button[type=submit]`)
		ana.want(`document.querySelector("[data-notice]").innerText.includes("` + name + ` is revoked")`)
	}
	revoke("ci")
	asked(http.StatusUnauthorized)
	guest.linkEnds("/n/default/queues")
	revoke("demo")
	guest.want(`mayfly.state !== "live"`)
	guest.visit("/n/default/queues")
	guest.want(`document.querySelector("h1").innerText === "This link has ended"`)
	guest.refused(http.StatusUnauthorized, "/n/default/queues")

	vera.visit("/tokens")
	vera.signIn("vera")
	vera.want(`location.pathname === "/tokens" && !document.querySelector('a[href="/tokens/link"]')`)
	vera.click(`a[href="/tokens/new"]`)
	vera.want(`document.querySelectorAll("input[name=role]").length === 1`)
	vera.visit("/tokens/link")
	vera.want(`document.body.innerText.includes("This takes the role operator; yours is viewer.")`)
	vera.refused(http.StatusForbidden, "/tokens/link")
}
