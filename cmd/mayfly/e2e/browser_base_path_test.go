package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"

	"mayfly/cmd/mayfly/server"
)

// belowInBrowser uses a dashboard below a base path: pages are live, and links, actions and
// choices stay below it.
func belowInBrowser(t *testing.T, ctx context.Context) {
	v := visitTo(t, ctx, Start(t, server.Config{Store: "memory:", BasePath: basePath}))
	v.create("queue", "orders", `{}`)
	v.visit("/")
	v.want(`location.pathname === "/mayfly/n/default" && ` + isLive)
	v.chord("q")
	v.want(`location.pathname === "/mayfly/n/default/queues" && ` + isLive)
	v.click(`main a[href="/mayfly/n/default/q/orders"]`)
	v.want(`location.pathname === "/mayfly/n/default/q/orders" && ` + isLive)

	v.calm()
	v.send("orders", `{"Label":"first"}`, "x")
	v.want(rows + `.length === 1`)
	v.stayed()
	v.do(chromedp.Click(chromedp.CSS(`[data-list=rows] [data-drawer]`)))
	v.want(`location.pathname.startsWith("/mayfly/n/default/m/") && document.querySelector("aside.drawer, .drawer")?.innerText.includes("first")`)
	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.click(`main [formaction="/mayfly/n/default/q/orders/receive"]`)
	v.want(`location.pathname.startsWith("/mayfly/n/default/") && document.querySelector("[data-notice]").innerText !== ""`)

	v.ctrlK()
	v.want(`document.querySelector("#palette .choices")?.innerText.includes("orders")`)
	v.press("Escape")
	v.visit("/settings")
	v.js(`document.querySelector('.bar [data-act=theme]').click()`)
	v.want(`/mayfly_theme=(dark|light)/.test(document.cookie)`)
	v.visit("/scenes")
	v.want(`document.documentElement.dataset.theme`)
	v.click(`main [formaction="/mayfly/scenes/play/deadline"]`)
	v.want(`location.pathname.startsWith("/mayfly/n/deadline") && ` + isLive)
}
