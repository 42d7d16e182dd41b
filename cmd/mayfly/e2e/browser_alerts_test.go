package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// alertsInBrowser creates a rule in its form, which previews its effect. An alert on another
// page extends a message; a dismissed alert stays dismissed; the page asks for permission of
// browser notifications on a click, and shows each once.
func alertsInBrowser(t *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	v.send("orders", `{"TimeToLive":45,"Label":"order.placed"}`, "x")

	v.visit("/n/default/expirations")
	v.click(`main a[href$="/alerts"]`)
	v.want(`location.pathname === "/n/default/alerts" && document.querySelector("[data-slot=empty]").innerText.includes("No rules yet")`)
	v.click(`main .row a[href$="/alerts/new"]`)
	v.fill("name", "late orders")
	v.fill("in", "ord*")
	v.want(`document.querySelector("[data-verdict]").innerText === "It would fire for 1 message now."`)
	v.want(`document.querySelector("[data-tried=foreseen]").innerText.includes("order.placed")`)
	v.equal(`getComputedStyle(document.querySelector("#f-extendBy")).display !== "none" && document.querySelector("#f-extendBy").getClientRects().length`, 0)
	v.look("alerts-new")
	v.click(`button[type=submit][form=f]`)
	v.want(`/\/alerts\/1$/.test(location.pathname) && document.querySelector("[data-notice]").innerText.includes("Rule added")`)
	v.want(`document.querySelector("[data-slot=facts]").innerText.includes("Fired\n1")`)

	v.visit("/n/default")
	v.want(`document.querySelector("[data-told] b")?.innerText === "order.placed is about to expire"`)
	v.want(`document.querySelector("[data-status]").innerText.includes("about to expire")`)
	v.look("alerts-toast")
	v.click(`[data-told] form button`)
	v.want(`document.querySelector("[data-notice]").innerText.includes("10m") || document.querySelector("[data-stays]")`)
	var e struct{ Messages []struct{ ExpiresAt string } }
	RequestJSON(t, v.server.Ready, "GET", "/peek/orders", "", &e)
	if len(e.Messages) != 1 {
		t.Fatalf("got %d messages", len(e.Messages))
	}

	v.want(isLive)
	v.want(`document.querySelectorAll("[data-told]").length === 1`) // the alert is at most a minute old
	v.js(`document.querySelector("[data-told] [data-act=dismiss]").focus()`)
	v.do(chromedp.KeyEvent(kb.Enter))
	v.want(`!document.querySelector("[data-told]")`)
	v.equal(`document.activeElement.id`, "main")
	v.visit("/n/default/queues")
	v.want(isLive)
	v.equal(`document.querySelectorAll("[data-told]").length`, 0)

	// A headless browser shows no notifications. This one permits them when the page asks.
	_, err := chromedp.Call(v.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		window.Notification = class {
			static get permission() { return localStorage.getItem("test.permission") ?? "default" }
			static async requestPermission() { localStorage.setItem("test.permission", "granted"); return "granted" }
			constructor(title) { localStorage.setItem("test.shown", (localStorage.getItem("test.shown") ?? "") + title + ";") }
		}`})
	if err != nil {
		t.Fatal(err)
	}
	v.visit("/n/default/alerts")
	v.want(isLive)
	v.want(rows + `.length === 1`)
	v.equal(`localStorage.getItem("mayfly.notices")`, nil)
	v.equal(`Notification.permission`, "default")
	v.do(chromedp.Click(chromedp.CSS(`[data-notices] input`)))
	v.want(`localStorage.getItem("mayfly.notices") === "on"`)
	v.look("alerts")
	v.click(`[data-list=rows] a`)
	v.want(isLive)
	v.click(`[data-slot=deeds] [formaction$="/test"]`)
	// The alert can arrive before the browser leaves the page with the form: one of the two pages shows
	// the notification.
	v.want(`document.querySelector("[data-told] b")?.innerText === "This is a test" && localStorage.getItem("test.shown")?.split(";").length === 2`)
	v.look("alerts-one")

	// The oldest alerts give way: a line below the others counts them, and a phone shows only one
	// alert.
	for n := range 4 { // alerts at the same time are shown as one
		v.ask("POST", v.server.Dashboard+"/api/v1/alert-rules/1/test", "", "")
		v.want(fmt.Sprintf(`document.querySelectorAll("[data-slot=told] li").length === %d`, n+3))
	}
	const shown = `[...document.querySelectorAll("[data-toasts] > :not(.more)")].filter((el) => el.getClientRects().length).length`
	v.want(`document.querySelector("[data-toasts]").lastElementChild.dataset.told === "more" && ` + shown + ` >= 3`)
	v.js(`{ const more = document.querySelector("[data-told=more]"); more.was = true; more.querySelector("a").focus() }`)
	v.ask("POST", v.server.Dashboard+"/api/v1/alert-rules/1/test", "", "")
	v.want(`document.querySelector("[data-told=more]") && !document.querySelector("[data-told=more]").was`)
	v.equal(`document.activeElement.closest("[data-told]")?.dataset.told`, "more") // the line counts one more, and keeps the focus
	v.do(chromedp.EmulateViewport(390, 844))
	v.want(shown + ` === 1`)
	v.do(chromedp.EmulateViewport(1440, 900))
	v.want(`document.querySelector("[data-slot=told]").innerText.includes("This is a test")`)
	v.click(`[data-slot=deeds] [formaction$="/off"]`)
	v.want(`document.querySelector("[data-slot=facts]").innerText.includes("Off")`)
	v.click(`[data-slot=deeds] a[href$="/edit"]`)
	v.want(`document.querySelector("#f-name").value === "late orders"`)
	v.scripts(false)
	v.do(chromedp.Reload())
	v.fill("within", "2m")
	v.click(`button[type=submit][form=f]`)
	v.want(`document.querySelector(".lede").innerText.includes("less than 2m")`)
	v.click(`[data-slot=deeds] a[href$="/remove"]`)
	v.click(`form.asking button[type=submit]`)
	v.want(`location.pathname === "/n/default/alerts" && document.querySelector("[data-slot=empty]").innerText.includes("No rules yet")`)
}
