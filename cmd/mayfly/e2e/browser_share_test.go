package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"mayfly/cmd/mayfly/server"
)

// shareByName checks the QR code for phones of a dashboard that other machines can reach. On
// each screen the dialog opens at its heading, with its close button visible.
func shareByName(t *testing.T, ctx context.Context) {
	ana := visitTo(t, ctx, Start(t, server.Config{Store: "memory:", AllowHosts: []string{otherName}}))
	ana.at = strings.Replace(ana.server.Dashboard, "127.0.0.1", otherName, 1)
	ana.forgive("/n/default", "The Cross-Origin-Opener-Policy header has been ignored") // without TLS, a browser only supports it on loopback
	ana.visit("/n/default?present=1")
	ana.want(isLive)
	drawn := `document.querySelector(".guard .qr[role=img]").getAttribute("aria-label").includes(" ` + ana.at + `/l/mfl_")`
	for i, size := range [][2]int64{{900, 700}, {1440, 900}, {390, 844}, {360, 640}} {
		ana.do(chromedp.EmulateViewport(size[0], size[1]))
		ana.js(`document.querySelector(".presenting a").click()`)
		if i == 0 {
			ana.want(`document.querySelector(".guard [type=submit]")`)
			ana.js(`document.querySelector(".guard [type=submit]").click()`)
		}
		ana.want(drawn)
		ana.equal(`!!document.querySelector(".guard .notice")`, false)
		ana.equal(`["#h-ask", ":focus"].filter((part) => {
			const el = document.querySelector(".guard " + part), r = el.getBoundingClientRect(), box = document.querySelector(".guard").getBoundingClientRect();
			return r.top < box.top || r.bottom > box.bottom || !el.contains(document.elementFromPoint((r.left + r.right) / 2, (r.top + r.bottom) / 2));
		}).join()`, "")
		ana.inThemes(fmt.Sprintf("share, by name, at %d", size[0]), `document`)
		ana.press("\x1b")
		ana.want(`!document.querySelector(".guard")`)
	}
}

// shareInBrowser shares a link, and revokes it.
func shareInBrowser(t *testing.T, ctx context.Context) {
	ana := presenter(t, ctx)
	ana.js(`document.querySelector(".presenting a").click()`)
	ana.want(`document.querySelector(".guard[open] #h-ask").innerText === "Show it to others"`)
	ana.want(`document.querySelector(".guard .notice").innerText.includes("Only this machine")`)
	ana.fill("name", "Ana")
	ana.js(`document.querySelector(".guard [type=submit]").click()`)
	ana.want(`document.querySelector(".guard .sharing .notice").innerText.includes("Only this machine") && !document.querySelector(".guard .qr")`)
	link, ok := ana.js(`document.querySelector(".guard .snippet code").innerText`).(string)
	if !ok || !strings.HasPrefix(link, ana.server.Dashboard+"/l/") {
		t.Fatalf("the link is %q", link)
	}
	ana.equal(`location.pathname`, "/n/default/q/orders") // still on the same page
	bob := visitTo(t, ctx, ana.server)
	bob.visit(strings.TrimPrefix(link, ana.server.Dashboard))
	bob.want(`location.pathname === "/n/default/q/orders" && ` + says + ` === "Following Ana"`)
	ana.want(`document.querySelector(".guard [data-followers]").innerText === "1"`)
	ana.press("\x1b") // closes the dialog, and not presenter mode
	ana.want(`!document.querySelector(".guard") && ` + mode + ` === "present" && document.querySelector(".audience").innerText.includes("1")`)
	ana.visit("/n/default/queues")
	bob.want(`location.pathname === "/n/default/queues"`)

	// The server rejects requests that the page does not offer.
	bob.want(isLive)
	bob.js(`{ window.refused = 0; const body = new URLSearchParams({csrf: document.querySelector("#act [name=csrf]").value});
		fetch("/n/default/q/orders/receive", {method: "POST", body}).then((a) => { window.refused = a.status }) }`)
	bob.want(`window.refused === 403`)
	bob.refused(http.StatusForbidden, "/n/default/q/orders/receive")
	// A page of another namespace is not shown to visitors with the link.
	ana.visit("/n/shop/queues")
	bob.want(says + ` === "The presenter is on a page that this link does not show."`)
	bob.equal(`location.pathname`, "/n/default/queues")
	ana.visit("/n/default/expirations")
	bob.want(`location.pathname === "/n/default/expirations" && ` + isLive)

	// The presenting tab is closed: another tab that opens the dialog takes over.
	ana.js(`sessionStorage.clear()`)
	ana.visit("/n/default/topics?present=1")
	bob.want(says + `.endsWith("has left. You stay on this page.")`)
	ana.js(`document.querySelector(".presenting a").click()`)
	ana.want(`document.querySelector(".guard .snippet code")?.innerText === "` + link + `" && mayflyTab.kept.get("talk")?.name === "Ana"`)
	ana.press("\x1b")
	bob.want(`location.pathname === "/n/default/topics" && ` + says + ` === "Following Ana" && ` + isLive)

	// The link is revoked: its visitors lose access.
	ana.visit("/n/default/share")
	ana.equal(`document.querySelector(".sharing .snippet code").innerText`, link)
	bob.linkEnds("/n/default/topics")
	ana.js(`document.querySelector(".sharing .danger").click()`)
	ana.want(`document.querySelector("[data-share-over]") && ` + says + ` !== null && !sessionStorage.getItem("mayfly.talk")`)
	ana.want(`!document.querySelector(".audience").checkVisibility()`)
	bob.want(says + ` === "The link has ended: the presenter took it back, or its time is up."`)
	bob.want(`document.querySelector("[data-pill]").hidden && !document.querySelector(".following button:not([data-act=follow-leave])").checkVisibility()`)
	bob.visit("/n/default/queues")
	bob.equal(`document.querySelector("h1").innerText`, "This link has ended")
	bob.refused(http.StatusUnauthorized, "/n/default/queues")

	// Without scripts there is a link as well, to static pages.
	ana.scripts(false)
	ana.visit("/n/default/share")
	ana.click(`main [type=submit]`)
	if _, err := chromedp.Run(ana.tab, chromedp.Text(chromedp.CSS(".sharing .snippet code"))); err != nil {
		t.Error(err)
	}
}
