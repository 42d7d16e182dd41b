package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// keysInBrowser presses every key of dashboard §6, and then checks that none of them works
// once they are switched off.
func keysInBrowser(_ *testing.T, v *visit) {
	v.create("queue", "orders", `{"DeadLetteringOnMessageExpiration":true}`)
	v.send("orders", `{"Label":"late","TimeToLive":1}`, "x")
	for n := range 4 {
		v.send("orders", fmt.Sprintf(`{"Label":"order-%d"}`, n), "x")
	}
	const orders = "/n/default/q/orders"
	v.wantMeanwhile(`document.querySelectorAll("[data-list=rows] details.acting").length === 1`, func() { v.visit(orders + "?tab=dead-letter") })
	for key, to := range map[string]string{
		"o": "/n/default", "e": "/n/default/expirations", "q": "/n/default/queues", "t": "/n/default/topics", "d": "/n/default/deferred",
		"s": "/scenes", "a": "/n/default/activity", "l": "/n/default/lab",
	} {
		v.visit("/settings") // the keys work on any page
		v.want(`window.mayfly?.say`)
		v.chord(key)
		v.want(`location.pathname === "` + to + `" && document.readyState === "complete"`)
	}

	v.visit(orders)
	v.want(isLive)
	v.keysOfRows()
	v.keysOfPage()
	v.visit(orders)
	v.want(isLive)
	v.press("s")
	v.want(`location.pathname.endsWith("/orders/send") && document.readyState === "complete"`)
	v.keysOff(orders)
}

// chord presses g and then a key. It stops the page's clock meanwhile, because a busy machine may
// need longer than a chord allows between its keys.
func (v *visit) chord(key string) {
	v.t.Helper()
	v.js(`{ const now = performance.now(); performance.now = () => now; }`)
	v.press("g", key)
}

// keysOfRows moves, opens, closes, selects and acts by keyboard.
func (v *visit) keysOfRows() {
	const row = `document.activeElement.closest("[data-key] , main")?.querySelector(".subject")?.innerText.split("\n")[0]`
	v.press("j")
	v.equal(row, "order-0")
	v.press("j", "j")
	v.press("k")
	v.equal(row, "order-1")
	v.press("x")
	v.press("j")
	v.press("j")
	v.press("X")
	v.equal(chosenNow, 3)
	v.press("k")
	v.do(chromedp.KeyEvent(kb.Enter))
	v.want(`document.activeElement.matches(".drawer h2")`)
	v.do(chromedp.KeyEvent(kb.Escape))
	v.want(`!document.querySelector(".drawer")`)
	v.equal(row, "order-2")
	v.press(".")
	v.equal(`document.activeElement.closest("[data-key] .menu") !== null`, true)

	v.visit("/n/default/q/orders?tab=dead-letter")
	v.want(isLive)
	v.press("j", ".")
	v.equal(`document.activeElement.closest("details.acting[open]") !== null && !document.activeElement.matches("summary")`, true)
	v.do(chromedp.KeyEvent(kb.Escape))
	v.equal(`document.activeElement.matches("details.acting:not([open]) summary")`, true)
}

// keysOfPage presses the keys that act on the page.
func (v *visit) keysOfPage() {
	v.press("p")
	v.want(`mayfly.state === "paused"`)
	v.press("p")
	v.want(isLive)
	v.press("r")
	v.want(`document.querySelector("[data-status]").textContent === "Refreshed"`)
	theme := v.js(`document.documentElement.dataset.theme ?? ""`)
	v.press("t")
	v.equal(`document.documentElement.dataset.theme !== "`+fmt.Sprint(theme)+`"`, true)
	v.press("?")
	v.want(`document.querySelector("dialog[data-keys][open]")?.contains(document.activeElement)`)
	for range 6 { // the dialog keeps the focus, and returns it
		v.do(chromedp.KeyEvent(kb.Tab))
		v.equal(`document.activeElement === document.body || document.querySelector("dialog[data-keys]").contains(document.activeElement)`, true)
	}
	v.do(chromedp.KeyEvent(kb.Escape))
	v.want(`!document.querySelector("dialog[open]")`)
	v.visit("/n/default/search?q=order")
	v.press("/")
	v.want(`document.activeElement.matches("[data-find]")`)
	v.press("t")
	v.equal(`document.activeElement.value.includes("t")`, true) // the key is typed
}

// keysOff switches single keys off in the settings (WCAG 2.1.4).
func (v *visit) keysOff(at string) {
	v.visit("/settings")
	v.want(`document.querySelector(".settings [name=keys]").checked`)
	v.js(`document.querySelector(".settings [name=keys]").focus()`)
	v.do(chromedp.KeyEvent(" "))
	v.equal(`document.querySelector(".settings [name=keys]").checked`, false)
	v.visit(at)
	v.want(isLive)
	before := v.js(`document.documentElement.outerHTML.match(/data-theme="\w*"/)?.[0] + mayfly.state + location.href`)
	for _, key := range []string{"j", "x", "p", "t", "r", "s", ".", "/", "?", "g", "o"} {
		v.do(chromedp.KeyEvent(key))
	}
	v.equal(`document.documentElement.outerHTML.match(/data-theme="\w*"/)?.[0] + mayfly.state + location.href`, before)
	v.equal(`document.activeElement === document.body && !document.querySelector("dialog[open], :checked[name=key]")`, true)
}
