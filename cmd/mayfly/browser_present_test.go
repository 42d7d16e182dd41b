package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"mayfly/web/talk"
)

const (
	mode = `document.documentElement.dataset.mode`
	says = `document.querySelector(".following [data-say]").innerText`
)

// presentInBrowser shows pages to others: presenter mode, those who follow, and a
// wall.
func presentInBrowser(t *testing.T, ctx context.Context) {
	t.Run("mode", func(t *testing.T) { presenterMode(t, ctx) })
	t.Run("following", func(t *testing.T) { followInBrowser(t, ctx) })
	t.Run("sharing", func(t *testing.T) { shareInBrowser(t, ctx) })
	t.Run("kiosk", func(t *testing.T) { kioskInBrowser(t, ctx) })
}

// presenterMode goes into the mode and out of it by everything that leads there.
func presenterMode(t *testing.T, ctx context.Context) {
	v := open(t, ctx, "memory:")
	v.create("queue", "orders", `{}`)
	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.press("P")
	v.want(mode + ` === "present" && getComputedStyle(document.querySelector(".rail")).display === "none"`)
	v.visit("/n/default/queues") // it stays from page to page
	v.want(mode + ` === "present" && parseFloat(getComputedStyle(document.documentElement).fontSize) > 20 && ` + isLive)
	v.press("\x1b")
	v.want(mode + ` === undefined && getComputedStyle(document.querySelector(".rail")).display !== "none"`)
	v.visit("/n/default/q/orders?tab=messages&present=1")
	v.want(mode + ` === "present" && location.search === "?tab=messages" && ` + isLive)

	// The light goes to what has changed, and to nothing where nothing is to move.
	const light = `document.querySelector(".light[data-on]")?.getBoundingClientRect()`
	v.send("orders", `{"Label":"first"}`, "hello")
	row := `document.querySelector("[data-list=rows] > [data-key]")?.getBoundingClientRect()`
	v.want(`Math.abs(` + light + `.top - ` + row + `.top) < 2 && Math.abs(` + light + `.height - ` + row + `.height) < 2`)
	v.want(`!document.querySelector(".light[data-on]")`)
	// A page that is hidden goes on.
	v.js(`{ Object.defineProperty(document, "hidden", { get: () => true, configurable: true }); document.dispatchEvent(new Event("visibilitychange")) }`)
	v.send("orders", `{"Label":"second"}`, "hello")
	v.want(`document.querySelector("main").innerText.includes("second")`)
	v.js(`document.querySelector("[data-act=present-leave]").click()`)
	v.want(mode + ` === undefined`)
}

// followInBrowser has one tab follow another.
func followInBrowser(t *testing.T, ctx context.Context) {
	ana := open(t, ctx, "memory:")
	wire := lay(t, strings.TrimPrefix(ana.server.Dashboard, "http://"))
	ana.at = "http://" + wire.Addr().String()
	ana.create("queue", "orders", `{"DeadLetteringOnMessageExpiration":true}`)
	ana.send("orders", `{"Label":"first"}`, "hello")
	ana.visit("/n/default/q/orders?present=1")
	key := talk.NewKey()
	id, err := talk.ID(key)
	if err != nil {
		t.Fatal(err)
	}
	bob := visitTo(t, ctx, ana.server)
	bob.at = ana.at
	bob.visit("/follow/" + id)
	bob.want(says + ` === "The presentation is over, or has not begun." && location.pathname === "/n/default"`)
	ana.js(`mayflyTab.kept.set("talk", {key: "` + key + `", name: "Ana & <b>co</b>"})`)
	at := func(v *visit, path string) {
		t.Helper()
		v.want(fmt.Sprintf(`location.pathname + location.search === %q && document.readyState === "complete"`, path))
	}
	at(bob, "/n/default/q/orders")
	bob.want(says + ` === "Following Ana & <b>co</b>" && ` + isLive)
	bob.equal(mode, "audience")

	// To pages that are kept up to date, to those that are not, to what is open beside
	// one, and away from that. A form is nobody's to look at.
	ana.visit("/n/default/q/orders?tab=dead-letter")
	at(bob, "/n/default/q/orders?tab=dead-letter")
	ana.visit("/n/default/search?q=first")
	at(bob, "/n/default/search?q=first")
	ana.visit("/n/default/q/orders")
	at(bob, "/n/default/q/orders")
	bob.want(isLive)
	ana.want(isLive)
	ana.js(`document.querySelector("[data-list=rows] a[data-drawer]").click()`)
	bob.want(`document.querySelector(".drawer h2")`)
	ana.press("\x1b")
	bob.want(`!document.querySelector(".drawer")`)
	ana.visit("/n/default/q/orders/send")
	ana.visit("/n/default/queues")
	at(bob, "/n/default/queues")

	// Nothing that acts is there.
	bob.equal(`[...document.querySelectorAll("[form=act], [type=submit]")].filter((el) => el.checkVisibility() && el.closest(".main")).length`, 0)

	// Who comes late is there at once.
	eve := visitTo(t, ctx, ana.server)
	eve.at = ana.at
	eve.visit("/follow/" + id)
	at(eve, "/n/default/queues")

	// Who looks around is not led away, until they follow again.
	bob.click(`[data-list=rows] a`)
	at(bob, "/n/default/q/orders")
	bob.want(says + ` === "You look around on your own."`)
	ana.visit("/n/default/expirations")
	at(eve, "/n/default/expirations")
	at(bob, "/n/default/q/orders")
	bob.js(`document.querySelector("[data-act=follow]").click()`)
	at(bob, "/n/default/expirations")
	bob.want(says + `.startsWith("Following Ana")`)
	bob.js(`document.querySelector("[data-act=unfollow]").click()`)
	bob.want(says + ` === "You look around on your own."`)

	// A cut is over as soon as there is a connection again.
	eve.want(isLive)
	wire.sever()
	eve.want(`document.querySelector("[data-pill]").dataset.state === "reconnecting"`)
	wire.mend()
	eve.want(`mayfly.reconnects > 0 && ` + isLive)
	ana.want(`mayfly.reconnects > 0 && ` + isLive)
	ana.visit("/n/default/temporary")
	at(eve, "/n/default/temporary")

	// The presenter leaves: those who follow are told, and stay.
	ana.press("\x1b")
	eve.want(says + `.endsWith("has left. You stay on this page.")`)
	at(eve, "/n/default/temporary")
	ana.press("P")
	eve.want(says + `.startsWith("Following Ana")`)
	eve.js(`document.querySelector("[data-act=follow-leave]").click()`)
	eve.want(mode + ` === undefined && !document.querySelector(".following").checkVisibility()`)
}

// shareInBrowser gives a link to others, and takes it back.
func shareInBrowser(t *testing.T, ctx context.Context) {
	ana := open(t, ctx, "memory:")
	ana.create("queue", "orders", `{}`)
	ana.ask("POST", ana.server.Dashboard+"/api/v1/namespaces", "", `{"name":"shop"}`)
	ana.visit("/n/default/q/orders?present=1")
	ana.want(isLive)
	ana.js(`document.querySelector(".presenting a").click()`)
	ana.want(`document.querySelector(".guard[open] #h-ask").innerText === "Show it to others"`)
	ana.want(`document.querySelector(".guard .notice").innerText.includes("Only this machine")`)
	ana.fill("name", "Ana")
	ana.js(`document.querySelector(".guard [type=submit]").click()`)
	ana.want(`document.querySelector(".guard .qr[role=img]").getAttribute("aria-label").includes("/l/mfl_")`)
	link, ok := ana.js(`document.querySelector(".guard .snippet code").innerText`).(string)
	if !ok || !strings.HasPrefix(link, ana.server.Dashboard+"/l/") {
		t.Fatalf("the link is %q", link)
	}
	ana.equal(`location.pathname`, "/n/default/q/orders") // still there
	bob := visitTo(t, ctx, ana.server)
	bob.visit(strings.TrimPrefix(link, ana.server.Dashboard))
	bob.want(`location.pathname === "/n/default/q/orders" && ` + says + ` === "Following Ana"`)
	ana.want(`document.querySelector(".guard [data-followers]").innerText === "1"`)
	ana.press("\x1b") // the dialog, and not the mode
	ana.want(`!document.querySelector(".guard") && ` + mode + ` === "present" && document.querySelector(".audience").innerText.includes("1")`)
	ana.visit("/n/default/queues")
	bob.want(`location.pathname === "/n/default/queues"`)

	// The server refuses what the page does not offer, whoever asks.
	bob.want(isLive)
	bob.js(`{ window.refused = 0; const body = new URLSearchParams({csrf: document.querySelector("#act [name=csrf]").value});
		fetch("/n/default/q/orders/receive", {method: "POST", body}).then((a) => { window.refused = a.status }) }`)
	bob.want(`window.refused === 403`)
	bob.forgive("403")
	// A page of another namespace is none of theirs.
	ana.visit("/n/shop/queues")
	bob.want(says + ` === "The presenter is on a page that this link does not show."`)
	bob.equal(`location.pathname`, "/n/default/queues")
	ana.visit("/n/default/expirations")
	bob.want(`location.pathname === "/n/default/expirations" && ` + isLive)

	// The link is taken back: whoever had opened it sees no more.
	ana.visit("/n/default/share")
	ana.equal(`document.querySelector(".sharing .snippet code").innerText`, link)
	ana.js(`document.querySelector(".sharing .danger").click()`)
	ana.want(`document.querySelector("[data-share-over]") && ` + says + ` !== null && !sessionStorage.getItem("mayfly.talk")`)
	bob.want(says + ` === "The presentation is over, or has not begun."`)
	bob.want(`document.querySelector("[data-pill]").dataset.state !== "live"`)
	bob.forgive("401", "WebSocket", "ERR_")
	bob.leave()
	bob.forgive("401", "WebSocket", "ERR_")

	// Without scripts there is a link all the same, and pages that are simply pages.
	ana.scripts(false)
	ana.visit("/n/default/share")
	ana.click(`main [type=submit]`)
	if _, err := chromedp.Run(ana.tab, chromedp.Text(chromedp.CSS(".sharing .snippet code"))); err != nil {
		t.Error(err)
	}
}

// forgive takes back complaints that are part of the play.
func (v *visit) forgive(parts ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wrong = slices.DeleteFunc(v.wrong, func(w string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(w, p) })
	})
}

// kioskInBrowser stands on a wall.
func kioskInBrowser(t *testing.T, ctx context.Context) {
	v := open(t, ctx, "memory:")
	v.create("queue", "orders", `{}`)
	v.visit("/n/default?kiosk=1")
	v.want(mode + ` === "kiosk" && mayfly.state === "live" && !document.querySelector("[data-pill]").checkVisibility()`)
	v.equal(`getComputedStyle(document.querySelector("main")).cursor`, "none")
	v.equal(`[...document.querySelectorAll("button, input, summary:not(.ns)")].filter((el) => el.checkVisibility()).map((el) => el.outerHTML.slice(0, 80)).join()`, "")
	v.js(`{ Object.defineProperty(document, "hidden", { get: () => true, configurable: true }); document.dispatchEvent(new Event("visibilitychange")) }`)
	v.create("queue", "more", `{"AutoDeleteOnIdle":"PT5M"}`)
	v.want(`document.querySelector("main").innerText.includes("more")`)
	v.visit("/n/default?kiosk=1&every=5s&pages=overview,queues")
	v.want(`location.pathname === "/n/default/queues" && ` + mode + ` === "kiosk"`)
	v.want(`location.pathname === "/n/default" && mayfly.state === "live"`)
	v.press("\x1b")
	v.want(mode + ` === undefined && location.search === "" && document.querySelector(".rail").checkVisibility()`)
}
