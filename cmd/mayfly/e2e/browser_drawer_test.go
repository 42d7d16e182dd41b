package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// drawerInBrowser opens a message in the drawer beside its list.
func drawerInBrowser(_ *testing.T, v *visit) {
	v.create("queue", "orders", `{"DeadLetteringOnMessageExpiration":true}`)
	for n := range 40 {
		v.send("orders", fmt.Sprintf(`{"Label":"order-%d"}`, n), fmt.Sprintf(`{"n":%d}`, n))
	}
	v.do(chromedp.EmulateViewport(1000, 700))
	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.js(`document.querySelectorAll(".subject")[20].scrollIntoView()`)
	v.js(`window.scroll = scrollY`)
	v.calm()
	open := func(n int) {
		v.t.Helper()
		v.do(chromedp.Click(chromedp.JSPath(fmt.Sprintf(`document.querySelectorAll(".subject")[%d]`, n))))
		v.want(fmt.Sprintf(`document.querySelector(".drawer h2")?.textContent === "order-%d"`, n))
	}
	open(22)
	v.equal(`document.activeElement === document.querySelector(".drawer h2")`, true)
	v.equal(`/^\/n\/default\/m\/\d+$/.test(location.pathname)`, true)
	v.equal(`scrollY === scroll && scroll > 0`, true)
	v.equal(`document.querySelector("main").offsetWidth > 400 && document.querySelector("main").getBoundingClientRect().right <= document.querySelector(".drawer").getBoundingClientRect().left`, true)
	v.equal(rows+`[22].getAttribute("aria-current")`, "true")
	v.do(chromedp.Click(chromedp.CSS(`.drawer .seg a:nth-of-type(2)`)))
	v.want(`document.querySelector(".drawer pre.raw")?.textContent.includes('{"n":22}')`)
	open(23)
	v.equal(`document.querySelectorAll(".drawer").length`, 1)

	// The drawer has a live topic of its own, in addition to the page's.
	v.js(`document.querySelector(".drawer h2").born = true`)
	v.ask("POST", v.server.Dashboard+"/api/v1/receive/orders", "", `{"mode":"peek-lock","limit":30}`)
	v.want(`document.querySelector(".drawer footer").innerText.includes("lock")`)
	v.want(slot + `("count-locked") === "30"`)
	v.equal(`document.querySelector(".drawer h2").born`, true)
	v.equal(`document.querySelectorAll("main [data-slot=state], main [data-slot=life]").length`, 0)

	v.do(chromedp.KeyEvent(kb.Escape))
	v.want(`!document.querySelector(".drawer") && location.pathname === "/n/default/q/orders"`)
	v.equal(`document.activeElement.textContent.includes("order-23")`, true)
	v.equal(`document.querySelector("[aria-current].leaving, tr[aria-current]")`, nil)
	open(24)
	v.do(chromedp.Click(chromedp.CSS(`.drawer [data-act=close]`)))
	v.want(`!document.querySelector(".drawer") && location.pathname === "/n/default/q/orders"`)
	open(25)
	v.js(`history.back()`)
	v.want(`!document.querySelector(".drawer") && location.pathname === "/n/default/q/orders"`)
	v.js(`history.forward()`)
	v.want(`document.querySelector(".drawer h2")?.textContent === "order-25"`)

	// The drawer's address is the message's page, and Back leads to the list.
	v.do(chromedp.Reload())
	v.want(isLive)
	v.equal(`document.querySelector(".drawer") === null && document.querySelector("h1").textContent.trim()`, "order-25")
	v.js(`history.back()`)
	v.want(rows + `.length === 40`)
	v.do(chromedp.EmulateViewport(800, 700))
	v.click(`.subject`)
	v.equal(`document.querySelector("h1").textContent.trim()`, "order-0")
}

// choosingInBrowser selects all rows at once. New rows are not shown while rows are selected, until
// the user shows them.
func choosingInBrowser(_ *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	for n := range 3 {
		v.send("orders", fmt.Sprintf(`{"Label":"order-%d"}`, n), "x")
	}
	v.visit("/n/default/q/orders")
	v.want(isLive)
	const chosen = `document.querySelectorAll("[data-list=rows] :checked").length`
	v.do(chromedp.Click(chromedp.CSS(`[data-all]`)))
	v.equal(chosen, 3)
	v.equal(`getComputedStyle(document.querySelector(".bulk")).display !== "none"`, true)
	v.send("orders", `{"Label":"later"}`, "x")
	v.want(`document.querySelector(".newbar:not([hidden])")?.textContent.startsWith("1 new")`)
	v.equal(rows+`.length`, 3)
	v.do(chromedp.Click(chromedp.CSS(`.newbar`)))
	v.want(rows + `.length === 4`)
	v.equal(chosen, 3)
	v.want(`document.querySelector("[data-all]").indeterminate`)
	v.do(chromedp.Click(chromedp.CSS(`[data-all]`)))
	v.equal(chosen, 4)
	v.asks(`.bulk [formaction$="/bulk/delete"]`)
	v.click(`.guard .final`)
	v.want(slot + `("count-total") === "0"`)
}
