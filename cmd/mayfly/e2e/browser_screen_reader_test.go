package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"mayfly/cmd/mayfly/client"
)

// aloudInBrowser simulates a busy minute and checks the live regions: one status per page
// speaks, at most every five seconds and with useful text; countdowns are silent, and there
// are no alerts (WCAG 4.1.3, dashboard §6).
func aloudInBrowser(_ *testing.T, v *visit) {
	v.create("queue", "orders", `{"DeadLetteringOnMessageExpiration":true,"DefaultMessageTimeToLive":"PT1H"}`)
	v.send("orders", `{"Label":"first"}`, "x")
	if _, err := chromedp.Call(v.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		window.ahead = 0; // the test sets how many seconds have passed
		const real = performance.now.bind(performance);
		performance.now = () => real() + window.ahead;
		window.heard = [];
		addEventListener("DOMContentLoaded", () => new MutationObserver((all) => {
			for (const { target } of all) {
				const el = target.nodeType === 1 ? target : target.parentElement, live = el?.closest("[role=status], [role=alert], [aria-live]:not([aria-live=off])");
				if (live) heard.push({ at: performance.now(), role: live.getAttribute("role"), text: live.textContent });
			}
		}).observe(document.body, { subtree: true, childList: true, characterData: true }));`}); err != nil {
		v.t.Fatal(err)
	}
	v.visit("/n/default/q/orders")
	v.want(isLive)
	const said = `heard.filter(({ text }) => text).length`
	for n := range 12 {
		for i := range 3 {
			v.send("orders", fmt.Sprintf(`{"Label":"order-%d-%d"}`, n, i), "x")
		}
		v.ask("POST", v.server.Dashboard+client.APIPath("receive", "orders"), "", `{"mode":"receive-and-delete"}`)
		before := int(v.js(said).(float64))
		v.js(`ahead += 5000`)
		v.want(fmt.Sprintf(said+` > %d`, before))
	}
	v.equal(`heard.filter(({ role }) => role !== "status").length`, 0)
	v.equal(`heard.filter(({ text }) => text).slice(1).some(({ at }, i) => at - heard.filter(({ text }) => text)[i].at < 5000)`, false)
	v.equal(`heard.some(({ text }) => /\d+ new/.test(text)) && heard.some(({ text }) => /\d+ completed/.test(text))`, true)
	for _, at := range []string{"/n/default/q/orders", "/n/default", "/n/default/expirations", "/n/default/temporary", "/n/default/search", "/n/default/api", "/settings"} {
		v.visit(at)
		v.want(`!document.body.dataset.live || ` + isLive)
		v.listened(at)
	}
}

// listened checks the accessibility tree of a page.
func (v *visit) listened(at string) {
	v.t.Helper()
	tree, err := chromedp.Call(v.tab, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		v.t.Fatal(err)
	}
	roles := map[string]int{}
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		role := strings.Trim(string(n.Role.Value), `"`)
		roles[role]++
		for _, p := range n.Properties {
			if p.Name != accessibility.PropertyNameLive {
				continue
			}
			if live := strings.Trim(string(p.Value.Value), `"`); live != "off" && role == "timer" {
				v.t.Errorf("%s: a countdown is announced (%s)", at, live)
			}
		}
	}
	if roles["status"] != 1 || roles["alert"] > 1 {
		v.t.Errorf("%s has %d status regions and %d alerts, want one and a place for one", at, roles["status"], roles["alert"])
	}
	v.equal(`[...document.querySelectorAll("[role=alert]")].every((el) => !el.textContent)`, true)
}
