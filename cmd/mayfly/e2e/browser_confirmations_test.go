package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	chosenNow = `document.querySelectorAll("[data-list=rows] :checked").length`
	onCancel  = `document.activeElement.textContent.trim()`
	offered   = `document.querySelector(".notice:has([formaction])")`
	guard     = `document.querySelector("dialog.guard[open]")`
	lastStep  = `document.querySelector(".asking .final").textContent.trim()`
)

// asks clicks on an action that needs confirmation, and waits for the confirmation.
func (v *visit) asks(selector string) {
	v.t.Helper()
	v.do(chromedp.Click(chromedp.CSS(selector)))
	v.want(guard)
}

// guardsInBrowser executes an action of each tier (dashboard §4), and checks its confirmation.
func guardsInBrowser(_ *testing.T, v *visit) {
	v.create("queue", "orders", `{"DefaultMessageTimeToLive":"PT1H"}`)
	var many []string
	for n := range 60 {
		many = append(many, fmt.Sprintf(`{"subject":"order-%d"}`, n))
	}
	v.ask("POST", v.server.Dashboard+"/api/v1/send/orders", "", "["+strings.Join(many, ",")+"]")
	v.guardsOfReversible()
	v.guardsOfSmall()
	v.guardsOfLarge()
	v.guardsOfSafeMode()
	v.guardsOfStructure()
}

// guardsOfReversible selects rows by keyboard and executes and undoes an action, with and
// without scripts.
func (v *visit) guardsOfReversible() {
	const left = `document.querySelector("[data-list=rows] time").dateTime`
	v.visit("/n/default/q/orders")
	v.want(isLive)
	before := v.js(left)
	for _, key := range []string{"j", "x", "j", "j", "X"} {
		v.do(chromedp.KeyEvent(key))
	}
	v.equal(chosenNow, 3)
	v.do(chromedp.KeyEvent("k"), chromedp.KeyEvent("x"))
	v.equal(chosenNow, 2)
	v.click(do("bulk/extend"))
	v.want(offered + `?.textContent.includes("2 messages got more time")`)
	v.want(left + ` !== "` + before.(string) + `"`)
	v.want(isLive)
	v.want(offered + `.querySelector("progress").value < 10`)
	v.do(chromedp.KeyEvent("u"))
	v.want(`document.querySelector("[data-notice]").textContent.includes("Undone for 2 messages")`)
	v.want(`document.readyState === "complete"`) // the notice is loaded before the list
	v.equal(left, before)

	v.do(chromedp.Click(chromedp.CSS(`[data-list=rows] [name=key]`)))
	v.click(do("bulk/extend"))
	v.want(offered)
	v.want(`!` + offered) // the offer disappears after ten seconds

	v.scripts(false)
	v.visit("/n/default/q/orders")
	v.do(chromedp.Click(chromedp.CSS(`[data-list=rows] [name=key]`)))
	v.click(do("bulk/extend"))
	v.equal(offered+` !== null`, true)
	v.click(`.notice [formaction]`)
	v.equal(`document.querySelector("[data-notice]").textContent.includes("Undone for one message")`, true)
	v.scripts(true)
}

// guardsOfSmall deletes two messages: a dialog over the list asks for confirmation, with the
// focus on Cancel, and cancelling leaves the list as it is. Without scripts it is a page.
func (v *visit) guardsOfSmall() {
	v.visit("/n/default/q/orders")
	v.want(isLive)
	choose := func() {
		v.t.Helper()
		for i := range 2 {
			v.do(chromedp.Click(chromedp.JSPath(fmt.Sprintf(`document.querySelectorAll("[data-list=rows] [name=key]")[%d]`, 40+i))))
		}
	}
	choose()
	v.js(`window.same = true`)
	at := v.js(`scrollY`)
	v.equal(`scrollY > 400`, true)
	for _, leave := range []func(){
		func() { v.do(chromedp.KeyEvent(kb.Escape)) },
		func() { v.do(chromedp.Click(chromedp.CSS(`.guard [autofocus]`))) },
		func() { v.do(chromedp.KeyEvent(kb.Enter)) }, // the focus is on Cancel
	} {
		v.asks(do("bulk/delete"))
		v.equal(onCancel, "Cancel")
		v.equal(lastStep, "Delete 2 messages")
		v.equal(`document.querySelector(".guard [name=confirm]")`, nil)
		leave()
		v.want(`!` + guard)
		v.want(`document.activeElement.matches("[formaction$='/bulk/delete']")`)
		v.equal(chosenNow, 2)
		v.equal(`scrollY`, at)
	}
	v.equal(`window.same`, true)
	v.counted("orders", 60, 0, 0, 0, 0)

	// The menu More stays, so the focus can return to it.
	v.do(chromedp.Click(chromedp.CSS(`.bulk .more summary`)))
	v.asks(do("bulk/extend") + `:not([name])`)
	v.fill("by", "soon")
	v.js(`document.querySelector(".guard [type=submit]").click()`)
	v.want(`document.querySelector(".guard [aria-invalid]") === document.activeElement`)
	v.look("guard-extend")
	v.equal(`document.activeElement.value`, "soon")
	v.refused(http.StatusUnprocessableEntity, "/n/default/q/orders/bulk/extend")
	v.do(chromedp.KeyEvent(kb.Escape))
	v.want(`!` + guard)
	v.want(`document.activeElement.matches("[formaction$='/bulk/extend']:not([name])")`)

	// The server does not respond, and a user clicks twice.
	v.asks(do("bulk/delete"))
	v.js(`{ const real = fetch; window.fetch = () => { window.fetch = real; return Promise.reject(new Error("away")) } }`)
	v.do(chromedp.Click(chromedp.CSS(`.guard .final`)))
	v.want(`document.querySelector(".guard .failed[role=alert]")?.textContent.includes("No answer came")`)
	v.equal(onCancel, "Close")
	v.do(chromedp.KeyEvent(kb.Escape))
	v.want(`!` + guard)
	v.equal(chosenNow, 2)
	v.counted("orders", 60, 0, 0, 0, 0)
	v.asks(do("bulk/delete"))
	v.calm()
	v.js(`for (const last of Array(3).fill(document.querySelector(".guard .final"))) last.click()`)
	v.want(`document.querySelector("[data-notice]").textContent.includes("2 messages deleted")`)
	v.mu.Lock()
	if posts := strings.Count(strings.Join(v.asked, " "), "POST "); posts != 1 {
		v.t.Errorf("the form was sent %d times: %q", posts, v.asked)
	}
	v.mu.Unlock()
	v.equal(`location.pathname`, "/n/default/q/orders")
	v.equal(offered, nil)
	v.counted("orders", 58, 0, 0, 0, 0)

	v.scripts(false)
	v.visit("/n/default/q/orders")
	v.do(chromedp.Click(chromedp.CSS(`[data-list=rows] [name=key]`)))
	v.click(do("bulk/delete"))
	v.equal(`document.querySelector("main .final").textContent.trim()`, "Delete 1 message")
	v.click(`main form footer .btn:not(.quiet, .final)`)
	v.counted("orders", 58, 0, 0, 0, 0)
	v.scripts(true)
}

// guardsOfLarge deletes all matches, and purges: the user has to type a name, and the dialog
// shows errors.
func (v *visit) guardsOfLarge() {
	v.visit("/n/default/search?q=order-1*")
	v.want(`document.querySelectorAll("[data-search] [data-key]").length === 11 && document.querySelector("[data-search] a[rel=next]") === null`)
	v.do(chromedp.Click(chromedp.CSS(`[data-all]`)))
	v.do(chromedp.Click(chromedp.CSS(`[data-every]`)))
	v.equal(`getComputedStyle(document.querySelector(".chosen .picked"), "::before").content`, `"all"`)
	v.do(chromedp.Click(chromedp.CSS(`[data-search] tbody [name=key]`)))
	v.equal(`document.querySelector("[data-every]").checked`, false)

	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.do(chromedp.Click(chromedp.CSS(`[data-list=rows] [name=key]`)))
	v.do(chromedp.Click(chromedp.CSS(`[data-every]`)))
	v.equal(chosenNow, 50)
	v.click(do("bulk/dead-letter"))
	v.equal(`location.pathname`, "/n/default/jobs/new")
	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.do(chromedp.Click(chromedp.CSS(`[data-list=rows] [name=key]`)))
	v.do(chromedp.Click(chromedp.CSS(`[data-every]`)))
	v.click(do("bulk/delete"))
	v.equal(`document.querySelector("main .final").textContent.trim()`, "Delete 58 messages")
	v.want(onCancel + ` === "Cancel"`)
	v.equal(`document.querySelector("main a[download]").pathname`, "/api/v1/n/default/export/orders")
	v.counted("orders", 58, 0, 0, 0, 0)

	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.asks(to("purge"))
	v.equal(onCancel, "Cancel")
	v.equal(`document.querySelector(".guard .final .asis").textContent`, "Purge 58 messages")
	v.look("guard-purge")
	v.fill("confirm", "order")
	v.do(chromedp.Click(chromedp.CSS(`.guard .final`)))
	v.want(`document.querySelector(".guard [name=confirm][aria-invalid]") === document.activeElement`)
	v.refused(http.StatusUnprocessableEntity, "/n/default/q/orders/purge")
	v.counted("orders", 58, 0, 0, 0, 0)

	// The user confirms fewer messages than there are now.
	v.fill("confirm", "orders")
	for n := range 7 {
		v.send("orders", fmt.Sprintf(`{"Label":"late-%d"}`, n), "x")
	}
	v.do(chromedp.Click(chromedp.CSS(`.guard .final`)))
	v.want(`document.querySelector(".guard .notice[role=alert]")?.textContent.includes("65")`)
	v.equal(onCancel, "Cancel")
	v.equal(`document.querySelector(".guard .final .asis").textContent`, "Purge 65 messages")
	v.refused(http.StatusConflict, "/n/default/q/orders/purge")
	v.counted("orders", 65, 0, 0, 0, 0)
	v.fill("confirm", "orders")
	v.done(`.guard .final`, "Purged 65 messages")
	v.counted("orders", 0, 0, 0, 0, 0)
}

// guardsOfSafeMode enables Safe mode: refused actions look disabled, also after the page has
// changed.
func (v *visit) guardsOfSafeMode() {
	const refused = `document.querySelectorAll("[aria-disabled=true][title^='Safe mode']").length`
	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.equal(refused, 0)
	v.click(`.bar [formaction$="/safe"]`)
	v.want(`document.querySelector(".bar .shield")?.textContent.includes("Safe mode")`)
	v.equal(`location.pathname`, "/n/default/q/orders")
	v.want(isLive)
	v.equal(refused, 3)
	v.send("orders", `{"Label":"later"}`, "x")
	v.want(rows + `.length === 1`)
	v.equal(refused, 3)
	v.visit("/n/default/q/orders/delete")
	v.equal(`document.querySelector("main .final").disabled`, true)
	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.js(`document.querySelector(".bar .shield").focus()`)
	v.enter(`.bar .shield`)
	v.want(`document.querySelector(".shield") === null`)
	v.equal(refused, 0)
}

// guardsOfStructure deletes the queue: the dialog shows what is deleted and asks for the name.
// After changes of the list behind the dialog, closing it still returns the focus, and going back
// to the page does not open it again.
func (v *visit) guardsOfStructure() {
	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.asks(to("delete"))
	v.equal(onCancel, "Cancel")
	v.equal(lastStep, "Delete orders and 1 message")
	v.look("guard-delete")
	v.equal(`document.activeElement.closest("dialog").getAttribute("aria-labelledby")`, "h-ask")
	// Replaces the link, as live updates do when a slot gets new content.
	v.js(`{ const a = document.querySelector('main a[data-ask][href$="/delete"]'); a.replaceWith(a.cloneNode(true)) }`)
	v.do(chromedp.KeyEvent(kb.Escape))
	v.want(`!` + guard)
	v.want(`document.activeElement.matches("a[href$='/q/orders/delete']")`)

	v.asks(to("delete"))
	v.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab))
	v.equal(`document.querySelector(".guard form :invalid")?.name`, "confirm")
	v.js(`history.pushState(null, "", "#")`)
	v.js(`history.back()`)
	v.want(`!` + guard)

	// The message of a row is deleted meanwhile: the dialog shows the refusal.
	v.do(chromedp.Click(chromedp.CSS(`[data-list=rows] a[data-drawer]`)))
	v.want(`document.querySelector(".drawer a[data-ask][href$='/delete']")`)
	message, _ := v.js(`document.querySelector(".drawer a[data-ask][href$='/delete']").pathname`).(string)
	v.asks(`.drawer a[data-ask][href$="/delete"]`)
	v.equal(lastStep, "Delete 1 message")
	v.ask("POST", v.server.Dashboard+"/api/v1/purge/orders", "", `{"states":["active"]}`)
	v.do(chromedp.Click(chromedp.CSS(`.guard .final`)))
	v.want(`document.querySelector(".guard .failed[role=alert]")`)
	v.refused(http.StatusNotFound, message)
	v.equal(onCancel, "Close")
	v.look("guard-refused")
	v.do(chromedp.KeyEvent(kb.Enter))
	v.want(`!` + guard + ` && !!document.activeElement.closest(".drawer, main")`)

	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.asks(to("delete"))
	v.fill("confirm", "orders")
	v.done(`.guard .final`, "Deleted")
}
