package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// searchInBrowser searches by keyboard. Hits lead to messages, and the script loads the next
// page of results at the end of each.
func searchInBrowser(t *testing.T, v *visit) {
	for _, name := range []string{"orders", "payments"} {
		v.create("queue", name, `{}`)
		var all []string
		for i := range 70 {
			all = append(all, fmt.Sprintf(`{"messageId":"%s-%d","body":"{\"customer\":{\"id\":%d}}"}`, name, i, i))
		}
		v.ask("POST", v.server.Dashboard+"/api/v1/send/"+name, "", "["+strings.Join(all, ",")+"]")
	}
	const hits = `document.querySelectorAll("[data-search] tbody tr").length`
	const said = `document.querySelector("[data-said]").innerText`
	v.visit("/n/default/queues")
	v.do(chromedp.KeyEvent("/"))
	v.want(`location.pathname === "/n/default/search" && document.querySelector("#f-q")`)
	v.equal(`document.querySelector(".rail [aria-current]").innerText.trim()`, "Search")
	v.fill("q", "json.customer.id:<3 -in:payments")
	v.do(chromedp.KeyEvent(kb.Enter))
	v.want(hits + ` === 3`)
	v.equal(said, "scanned 70 of 70 · 3 hits")
	v.equal(`[...document.querySelectorAll(".chip span")].map((el) => el.innerText).join()`, "json.customer.id:<3,-in:payments")
	v.click(`.chip:last-child a`)
	v.want(hits + ` === 6`)

	// If a search has more hits than a page, the script loads all of them.
	v.visit("/n/default/search?q=state%3Aactive")
	v.want(hits + ` === 140 && ` + said + ` === "scanned 140 of 140 · 140 hits"`)
	v.want(`document.querySelector("[data-status]").innerText === "scanned 140 of 140 · 140 hits"`)
	v.equal(`[...document.querySelectorAll("[data-stop], [data-search] [rel=next]")].every((el) => el.hidden)`, true)
	v.do(chromedp.KeyEvent("/"))
	v.equal(`document.activeElement.id`, "f-q")
	v.fill("q", "color:red")
	v.do(chromedp.KeyEvent(kb.Enter))
	v.want(`document.querySelector("#f-q[aria-invalid]")`)
	v.equal(`document.querySelector("#f-q").value`, "color:red")

	seekInBrowser(t, v)
	stopInBrowser(t, v)
	v.scripts(false)
	v.visit("/n/default/search?q=state%3Aactive")
	v.equal(hits, 50)
	v.click(`[data-search] [rel=next]`)
	v.equal(said, "scanned 100 of 140 · 100 hits")
	v.visit(v.js(`location.pathname + location.search`).(string)) // the address has the position in the results
	v.equal(said, "scanned 100 of 140 · 100 hits")
	v.click(`[data-search] [rel=next]`)
	v.equal(hits, 40)
	v.equal(`document.querySelector("[data-search] [rel=next]")`, nil)
	v.click(`[data-search] tbody .subject`)
	v.equal(`location.pathname.startsWith("/n/default/m/")`, true)
	v.scripts(true)
}

// stopInBrowser stops a running search: its hits stay, there are no further requests, and a
// link continues the search.
func stopInBrowser(t *testing.T, v *visit) {
	t.Helper()
	slow, err := chromedp.Call(v.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		window.sought = 0;
		window.fetch = (_, o) => new Promise((_, no) => { window.sought++; o.signal.addEventListener("abort", () => no(o.signal.reason)); });
	`})
	if err != nil {
		t.Fatal(err)
	}
	v.visit("/n/default/search?q=state%3Aactive")
	const stop, on, hits = `document.querySelector("[data-stop]")`, `document.querySelector("[data-search] [rel=next]")`, `document.querySelectorAll("[data-search] tbody tr").length`
	v.want(stop + `.checkVisibility() && !` + on + `.checkVisibility() && sought === 1`)
	v.do(chromedp.Click(chromedp.CSS(`[data-stop]`)))
	v.want(`!` + stop + `.checkVisibility() && ` + on + `.checkVisibility()`)
	v.equal(hits, 50)
	v.equal(`sought`, 1)
	v.equal(`document.activeElement === `+on, true)
	if _, err := chromedp.Call(v.tab, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams(slow)); err != nil {
		t.Fatal(err)
	}
	v.click(`[data-search] [rel=next]`)
	v.want(hits + ` === 90 && document.querySelector("[data-said]").innerText === "scanned 140 of 140 · 140 hits"`)
	v.click(`[data-again]`)
	v.want(hits + ` === 140`)
}

// seekInBrowser checks that a search only continues while its page is visible, announces the
// result once, and keeps the focus on an existing element.
func seekInBrowser(t *testing.T, v *visit) {
	t.Helper()
	slow, err := chromedp.Call(v.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		window.sought = 0;
		window.fetch = () => new Promise((done) => { sought++; window.answer = (rows) => done(new Response("<section data-search><table><tbody>" +
			"<tr data-key='1'><td><input class=check type=checkbox></td></tr>".repeat(rows) + "</tbody></table><b data-said>" + rows + " more</b><a rel=next href='?on'></a></section>")); });
		window.heard = [];
		addEventListener("DOMContentLoaded", () => new MutationObserver(() => heard.push(document.querySelector("[data-status]").textContent)).observe(document.querySelector("[data-status]"), { childList: true, characterData: true, subtree: true }));
	`})
	if err != nil {
		t.Fatal(err)
	}
	const stop, on, hits = `document.querySelector("[data-stop]")`, `document.querySelector("[data-search] [rel=next]")`, `document.querySelectorAll("[data-search] tbody tr").length`
	v.visit("/n/default/search?q=state%3Aactive")
	v.want(stop + `.checkVisibility() && sought === 1`)
	v.js(stop + `.focus()`)
	v.js(`document.querySelector("[data-every]").click()`)
	v.js(`{ Object.defineProperty(document, "hidden", { value: true, configurable: true }); answer(10) }`)
	v.want(hits + ` === 60`)
	v.equal(`sought`, 1)
	v.equal(`[...document.querySelectorAll("[data-search] tbody .check")].every((el) => el.checked)`, true)
	v.js(`{ Object.defineProperty(document, "hidden", { value: false }); document.dispatchEvent(new Event("visibilitychange")) }`)
	v.want(`sought === 2`)
	v.js(`answer(150)`)
	v.want(`!` + stop + `.checkVisibility() && ` + on + `.checkVisibility()`)
	v.equal(hits, 210)
	v.equal(`document.activeElement === `+on, true)
	v.want(`heard.join() === "150 more"`)
	// A notice that was not announced yet is announced together with the result.
	quick, err := chromedp.Call(v.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		window.fetch = async () => new Response("<section data-search><table><tbody></tbody></table><b data-said>no more</b></section>");
		new MutationObserver(() => {
			const place = document.querySelector("[data-notice]:empty");
			if (place) place.innerHTML = "<p class=notice><strong>3 messages deleted</strong></p>";
		}).observe(document, { childList: true, subtree: true });
	`})
	if err != nil {
		t.Fatal(err)
	}
	v.visit("/n/default/search?q=state%3Aactive")
	v.want(`heard.length > 0`)
	v.equal(`heard.join()`, "3 messages deleted, no more")
	for _, script := range []page.AddScriptToEvaluateOnNewDocumentResult{slow, quick} {
		if _, err := chromedp.Call(v.tab, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams(script)); err != nil {
			t.Fatal(err)
		}
	}
}
