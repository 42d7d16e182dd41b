package e2e

import (
	"strings"
	"testing"
)

// namespacesInBrowser creates a namespace, sends messages to it, checks that they appear live, and
// deletes it, with a mouse.
func namespacesInBrowser(t *testing.T, v *visit) {
	v.visit("/n/default")
	v.js(`document.querySelector("details.spaces").open = true`)
	v.click(`details.spaces .all`)
	v.fill("name", "Shop")
	v.done(`#new .primary`, "Created the namespace shop")
	v.equal(`location.pathname`, "/n/shop")
	v.want(`document.querySelector("[data-pill]").innerText.includes("Live")`)
	v.ask("POST", v.server.API+"/n/shop/send/orders?create=queue", "", `{"body":"hello"}`)
	v.visit("/n/shop/q/orders")
	v.want(`document.querySelectorAll("[data-list=rows] > *").length === 1`)
	v.wantMeanwhile(`document.querySelector("main").innerText.includes("and again")`, func() {
		v.ask("POST", v.server.API+"/n/shop/send/orders", "", `{"subject":"and again"}`)
	})
	v.visit("/n/default/queues")
	if text, _ := v.js(`document.querySelector("main").innerText`).(string); strings.Contains(text, "orders") {
		t.Errorf("the server's own namespace has shop's queue:\n%s", text)
	}
	v.visit("/namespaces")
	v.equal(`document.querySelector('tr[data-key="shop"] [data-act="copy"]').dataset.text.split(":")[1]`, "//shop.localhost")
	v.asks(`a[href="/namespaces/shop/remove"]`)
	v.fill("confirm", "shop")
	v.done(`.guard .final`, "Removed the namespace shop")
	v.equal(`document.querySelectorAll("table.namespaces tbody tr").length`, 1.0)
}
