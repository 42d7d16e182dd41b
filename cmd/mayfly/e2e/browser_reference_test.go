package e2e

import "testing"

// referenceInBrowser checks that the API reference filters while the user types, opens the
// target of its address, and shows the response of a trial request as text.
func referenceInBrowser(_ *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	v.ask("POST", v.server.Dashboard+"/api/v1/send/orders", "", `{"body":"<img src=x onerror=alert(1)>","properties":{"n":{"type":"long","value":"9007199254740993"}}}`)
	const shown = `[...document.querySelectorAll("details[data-op]")].filter((el) => el.checkVisibility()).map((el) => el.dataset.op).join()`
	v.visit("/n/default")
	v.click(`main a[href="/n/default/api"]`)
	v.equal(`document.querySelector("h1").innerText`, "API reference")
	v.want(`document.querySelector("[data-sift]")`)
	v.fill("filter", "PEEK messages")
	v.want(shown + ` === "peekMessages" && location.search === "?filter=PEEK+messages"`)
	v.equal(`document.querySelector("[data-sifted]").innerText.startsWith("1 of ")`, true)
	v.fill("filter", "nothingatall")
	v.want(shown + ` === "" && document.querySelector("[data-none]").checkVisibility()`)
	v.js(`{ const el = document.querySelector("[data-sift]"); el.value = ""; el.dispatchEvent(new Event("input")); }`)
	v.want(shown + `.split(",").length > 40 && location.search === ""`)

	// An address opens an operation, whose links lead to its types.
	v.js(`{ location.hash = "#peekMessages"; }`)
	v.want(`document.querySelector("[data-op=peekMessages][open]")`)
	v.equal(`document.querySelectorAll("details.op[open]").length`, 1)
	v.js(`document.querySelector("#peekMessages a[href='#type-Message']").click()`)
	v.want(`document.querySelector("#type-Message").checkVisibility() && document.querySelector("#type-Message").getBoundingClientRect().top < innerHeight`)

	// A trial request.
	const try = `document.querySelector("[data-ask='/peek/{path}']")`
	const line = try + `.querySelector("[data-status-line]").innerText`
	const output = try + `.querySelector("pre").innerText`
	v.js(`{ ` + try + `.elements.path.value = "orders"; ` + try + `.elements.limit.value = "5"; ` + try + `.requestSubmit(); }`)
	v.want(line + `.startsWith("200 OK · application/json · ")`)
	v.want(output + `.includes('"body": "<img src=x onerror=alert(1)>"') && ` + output + `.includes('"value": "9007199254740993"') && !` + try + `.querySelector("img")`)
	v.equal(output+`.split("\n")[1]`, `  "messages": [`)
	v.js(`{ window.asked = fetch; window.fetch = async () => new Response("x".repeat(200000), { headers: { "Content-Type": "text/plain" } }); ` + try + `.requestSubmit(); }`)
	v.want(line + `.endsWith("the first 64 KB of it") && ` + output + `.length === 65536`)
	v.js(`{ window.fetch = (_, o) => new Promise((_, bad) => o.signal.addEventListener("abort", () => bad(o.signal.reason))); ` + try + `.requestSubmit(); }`)
	v.want(try + `.querySelector("[data-halt]").checkVisibility()`)
	v.js(`{ ` + try + `.querySelector("[data-halt]").click(); }`)
	v.want(line + ` === "Stopped." && !` + try + `.querySelector("[data-halt]").checkVisibility()`)
	v.equal(`document.querySelectorAll("form[data-ask]").length < document.querySelectorAll("details[data-op]").length`, true)
	v.equal(`[...document.querySelectorAll("form[data-ask]")].every((el) => el.closest("[data-op]").querySelector(".method").innerText === "GET")`, true)

	// Without scripts, the server filters.
	v.scripts(false)
	v.visit("/docs/api")
	v.equal(`location.pathname`, "/n/default/api")
	v.fill("filter", "renewLock")
	v.enter(`[data-sift]`)
	v.equal(`[...document.querySelectorAll("details[data-op]:not([hidden])")].map((el) => el.dataset.op + el.open).join()`, "renewLocktrue")
	v.equal(`document.querySelector(".snippet code").innerText`, v.at+"/api/v1")
	v.scripts(true)
}
