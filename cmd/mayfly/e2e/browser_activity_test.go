package e2e

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// activityInBrowser checks that new activity appears at the top, and that this keeps the text
// in the filter form.
func activityInBrowser(t *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	v.visit("/n/default/activity")
	v.want(isLive)
	v.equal(`document.querySelector(".rail [aria-current]").innerText.trim()`, "Activity")
	said := rows + `.map((row) => row.querySelector(".where").innerText + " " + row.querySelector(".did").innerText)`
	v.equal(said+`.join()`, "orders created,the server the server started · epoch 1")
	v.js(rows + `.forEach((row) => { row.born = true; })`)
	v.js(`document.querySelector("main details").open = true`)
	v.fill("actor", "dash")
	v.do(chromedp.Click(chromedp.CSS(`h1`)))
	v.calm()
	v.create("queue", "payments", `{}`)
	v.send("orders", `{"Label":"first"}`, "x")
	v.ask("POST", v.server.Dashboard+"/api/v1/purge/orders", "", `{"states":["active"]}`)
	v.want(said + `.join() === "orders one message purged,payments created,orders created,the server the server started · epoch 1"`)
	v.equal(rows+`.filter((row) => row.born).length`, 2)
	v.equal(`document.querySelector("[name=actor]").value + document.querySelector("main details").open`, "dashtrue")
	v.stayed()

	// With the scope "all", the list shows all message events, live.
	v.click(`.seg a[href*="scope=all"]`)
	v.want(isLive)
	v.equal(rows+`.length`, 5)
	v.calm()
	for range 3 {
		v.send("orders", `{"Label":"second"}`, "x")
	}
	v.want(rows + `.length === 8`)
	v.want(rows + `[0].innerText.includes("second arrived")`)
	v.stayed()

	// Without scripts, the filter form works, and a page of older events does not change.
	v.scripts(false)
	v.visit("/n/default/activity?scope=all")
	v.fill("q", "rest 127")
	v.click(`.sieve button`)
	v.equal(rows+`.length`, 4)
	v.equal(rows+`.every((row) => row.querySelector(".by").innerText.startsWith("REST"))`, true)
	v.equal(`new URLSearchParams(location.search).get("scope")`, "all")
	v.click(`.sieve .quiet`)
	v.equal(rows+`.length`, 8)
	v.equal(`document.querySelector("noscript meta")`, nil) // a reload would discard typed text
	for range 60 {
		v.ask("POST", v.server.Dashboard+"/api/v1/send/orders", "", `{}`)
	}
	v.visit("/n/default/activity?scope=all")
	v.click(`[rel=next]`)
	v.equal(rows+`.length`, 18)
	v.equal(`document.querySelector("[data-pill]") || document.body.dataset.live || null`, nil)
	v.equal(`[...document.querySelectorAll("a")].some((a) => a.innerText === "Newest")`, true)

	// The export has the same rows as the page.
	lines, err := csv.NewReader(strings.NewReader(Get(t, v.at+v.js(`document.querySelector("a[download]").getAttribute("href")`).(string)))).ReadAll()
	if err != nil || len(lines) != 1+68 {
		t.Errorf("%d lines were exported: %v", len(lines), err)
	}
}

// restartInBrowser checks that a restart of the server keeps the history.
func restartInBrowser(t *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	v.create("queue", "reply", `{"AutoDeleteOnIdle":"PT1S"}`)
	v.create("queue", "held", `{"AutoDeleteOnIdle":"PT1H"}`)
	v.send("held", `{}`, "x")
	v.send("orders", `{"Label":"first","MessageId":"o-1"}`, "x")
	v.send("orders", `{"Label":"brief","TimeToLive":1}`, "x")
	v.visit("/n/default/q/orders")
	m := v.js(`document.querySelector("[data-list=rows] a.subject").getAttribute("href")`).(string)
	v.click(`main [formaction$="/receive"]`)
	v.click(`main [formaction$="/complete"]`)
	v.wantMeanwhile(`document.querySelector("[data-list=graves] > [data-key]")`, func() { v.visit("/n/default/temporary") })
	v.wantMeanwhile(`document.querySelector("[data-list=gone] > [data-key]")`, func() { v.visit("/n/default/expirations") })
	v.visit(m)
	v.want(isLive)
	story := `document.querySelector("[data-slot=ended]").innerText + document.querySelector("[data-slot=life]").innerText`
	before := v.js(story)

	v.visit("/n/default/temporary")
	v.want(isLive)
	v.restart()
	v.visit(m)
	v.want(isLive)
	v.equal(story, before)
	v.equal(`["first", "o-1", "Completed", "Locked", "Stored"].every((s) => document.querySelector("main").innerText.includes(s))`, true)
	v.visit("/n/default/expirations")
	v.equal(`document.querySelector("[data-list=gone]").innerText.includes("brief")`, true)
	v.visit("/n/default/activity")
	v.equal(rows+`.slice(0, 4).map((row) => row.querySelector(".did").innerText).join()`, "the server started · epoch 2,the server was stopped,deleted itself, empty,created")
	v.visit("/n/default/temporary")
	v.equal(`document.querySelector(".ledger").nextElementSibling.textContent.includes("send · REST 127.0.0.1")`, true)
	v.done(do("restore"), "Restored reply")
}
