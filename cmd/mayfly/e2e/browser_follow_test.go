package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

const (
	alone    = says + ` === "You look around on your own."`
	together = says + ` === "Following Ana"`
	drawer   = `document.querySelector(".drawer h2")`
	led      = `((f) => f.at === "/n/default/q/orders" && !f.led)(mayflyTab.kept.get("follow")) && ` + together + ` && ` + isLive // the tab is where the presenter led it
)

// strayInBrowser stops following a presenter and follows again, in every way that the dashboard
// offers.
func strayInBrowser(t *testing.T, ctx context.Context) {
	ana := presenter(t, ctx)
	ana.send("orders", `{"Label":"first"}`, "hello")
	link := ana.sharing()
	bob := visitTo(t, ctx, ana.server)
	bob.visit(link)
	at := func(path string) {
		t.Helper()
		bob.want(fmt.Sprintf(`location.pathname === %q && document.readyState === "complete"`, path))
	}
	followAgain := func() { bob.js(`document.querySelector("[data-act=follow]").click()`) }
	bob.want(together + ` && ` + isLive)
	at("/n/default/q/orders")

	// The drawer is open again after a reload, and after a follower who had closed it follows
	// again.
	ana.js(`document.querySelector("[data-list=rows] a[data-drawer]").click()`)
	bob.want(drawer)
	bob.do(chromedp.Reload())
	bob.want(together + ` && ` + drawer)
	bob.js(`document.querySelector("[data-act=unfollow]").click()`)
	bob.press("\x1b")
	bob.want(alone + ` && !` + drawer)
	followAgain()
	bob.want(together + ` && ` + drawer)
	ana.press("\x1b")
	bob.want(`!` + drawer)

	// On a narrow screen, the message's page is shown instead of the drawer.
	bob.do(chromedp.EmulateViewport(390, 844))
	ana.js(`document.querySelector("[data-list=rows] a[data-drawer]").click()`)
	bob.want(`location.pathname.startsWith("/n/default/m/") && ` + together + ` && ` + isLive)
	ana.press("\x1b")
	at("/n/default/q/orders")
	bob.want(together + ` && ` + isLive)
	bob.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))

	// If the presenter opens the drawer's message as a page, so do followers, once.
	ana.js(`document.querySelector("[data-list=rows] a[data-drawer]").click()`)
	bob.want(drawer)
	message, _ := ana.js(`location.pathname`).(string)
	ana.visit(message)
	at(message)
	bob.want(`performance.now() > 3000 && ` + together + ` && ` + isLive)
	ana.visit("/n/default/q/orders")
	at("/n/default/q/orders")
	bob.want(together + ` && ` + isLive)

	// A reload or another language keeps the tab following, because the page stays the same.
	bob.js(`document.querySelector("[data-reload]").hidden = false`)
	bob.click(`[data-reload] a`)
	bob.want(together + ` && ` + isLive)
	bob.do(chromedp.Click(chromedp.CSS(`.tongues summary`)))
	bob.click(`.tongues [value="cs"]`)
	bob.want(says + ` === "Sledujete: Ana" && ` + isLive)
	bob.do(chromedp.Click(chromedp.CSS(`.tongues summary`)))
	bob.click(`.tongues [value="auto"]`)
	bob.want(together + ` && ` + isLive)

	// Shortcuts and typed addresses lead away from the presenter, as links do.
	bob.chord("q")
	at("/n/default/queues")
	bob.want(alone)
	ana.want(`document.querySelector("[data-followers]").textContent === "0"`)
	followAgain()
	at("/n/default/q/orders")
	bob.want(together + ` && ` + isLive)
	bob.visit("/n/default/topics")
	bob.want(alone + ` && ` + isLive)

	// A late message from the server does not navigate a tab that no longer follows.
	bob.js(`mayfly.heard({ t: "talk", talk: { ...mayflyTab.kept.get("follow"), begun: true, here: true, page: mayflyTab.kept.get("follow").at, beside: "/n/default/queues" } })`)
	bob.equal(`mayflyTab.kept.get("follow").beside`, "")

	// A follower who stops a navigation, or goes back to a cached page, does not follow any more.
	const leads = `mayfly.heard({ t: "talk", talk: { id: mayflyTab.kept.get("follow").id, name: "Ana", begun: true, here: true, page: "/n/default/queues" } })`
	followAgain()
	bob.want(led)
	bob.js(`{ ` + leads + `; window.stop(); document.querySelector("[data-act=unfollow]").click() }`)
	bob.equal(`mayflyTab.kept.get("follow").off`, true)
	bob.visit("/n/default/q/orders")
	bob.want(alone + ` && ` + isLive)
	followAgain()
	bob.want(led)
	bob.js(`{ ` + leads + `; window.stop(); dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })) }`)
	bob.want(alone)
	bob.visit("/n/default/q/orders")
	bob.want(isLive)
	leaveMeanwhile(bob, leads)

	// When the link ends, it also ends for followers who look around.
	ana.visit("/n/default/share")
	bob.linkEnds("/n/default/q/orders")
	ana.js(`document.querySelector(".sharing .danger").click()`)
	bob.want(says + `.startsWith("The link has ended") && !document.querySelector("[data-act=follow]").checkVisibility()`)
}

// leaveMeanwhile stops following while the tab waits for a response about the presenter's next
// page. The tab stays on its page, whatever the response is.
func leaveMeanwhile(v *visit, leads string) {
	v.t.Helper()
	const lost = `mayfly.lost(); mayfly.lost()`
	id, _ := v.js(`mayflyTab.kept.get("follow").id`).(string)
	for _, act := range []string{"unfollow", "follow-leave"} {
		for _, asks := range []struct{ asked, answers string }{{leads, "200"}, {lost, "404"}, {lost, "404 200"}} {
			v.visit("/n/default/q/orders?follow=" + id)
			v.want(led)
			v.js(`{ window.asked = []; window.fetch = () => new Promise((done) => asked.push((status) => done({ status })));
				mayflyTab.kept.set("follow", { ...mayflyTab.kept.get("follow"), gone: "/n/default/queues" });
				` + asks.asked + ` }`)
			for i, status := range strings.Fields(asks.answers) {
				if last := i == len(strings.Fields(asks.answers))-1; last {
					v.js(`document.querySelector("[data-act=` + act + `]").click()`)
				}
				v.want(`asked.length > 0`)
				v.js(`for (const answer of asked.splice(0)) answer(` + status + `)`)
			}
			v.js(`{ window.was = performance.now() }`)
			v.want(`performance.now() > was + 300`)
			v.equal(`location.pathname + asked.length`, "/n/default/q/orders0")
			v.equal(`mayflyTab.kept.get("follow")?.off`, map[bool]any{true: true, false: nil}[act == "unfollow"])
			v.equal(mode, map[bool]any{true: "audience", false: nil}[act == "unfollow"])
		}
	}
	v.visit("/n/default/q/orders?follow=" + id)
	v.want(led)
	v.js(`document.querySelector("[data-act=unfollow]").click()`)
	v.want(alone)
}

// endElsewhere ends a presentation from another tab of the presenter's browser.
func endElsewhere(t *testing.T, ctx context.Context) {
	ana := presenter(t, ctx)
	link := ana.sharing()
	bob := visitTo(t, ctx, ana.server)
	bob.visit(link)
	bob.want(together)
	ana.want(`document.querySelector(".audience").checkVisibility()`)
	bob.linkEnds("/n/default/q/orders")
	ana.js(`fetch("/n/default/share/stop", { method: "POST", body: new URLSearchParams({ csrf: document.querySelector("#act [name=csrf]").value }) })`)
	ana.want(`!mayflyTab.kept.get("talk") && !document.querySelector(".audience").checkVisibility()`)
	ana.equal(mode, "present")
	ana.equal(`"tied" in document.documentElement.dataset`, false)
	bob.want(says + `.startsWith("The link has ended")`)
	// Ana's navigation does not start the presentation again.
	ana.visit("/n/default/queues")
	ana.want(isLive)
	eve := visitTo(t, ctx, ana.server)
	eve.visit("/follow/" + bob.js(`mayflyTab.kept.get("follow").id`).(string))
	eve.want(says + ` === "The presentation is over, or has not begun."`)
}
