package e2e

import (
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// filterInBrowser filters the tables of queues and topics. The address, the sort order and
// live updates keep the filter.
func filterInBrowser(_ *testing.T, v *visit) {
	for _, name := range []string{"orders", "orders-eu", "payments"} {
		v.create("queue", name, `{}`)
	}
	v.create("queue", "replies", `{"AutoDeleteOnIdle":"PT1H"}`)
	send := func(name string) { v.ask("POST", v.server.Dashboard+"/api/v1/send/"+name, "", `[{"body":"x"}]`) }
	send("orders")
	send("payments")
	const names = `[...document.querySelectorAll("[data-list=rows] strong")].map((el) => el.innerText).join()`
	v.visit("/n/default/queues?sort=name&dir=down")
	v.equal(names, "replies,payments,orders-eu,orders")
	v.fill("q", "has:active")
	v.do(chromedp.KeyEvent(kb.Enter))
	v.want(names + ` === "payments,orders" && document.querySelector("[aria-sort=descending]")`)
	v.equal(`[...document.querySelectorAll(".chip span")].map((el) => el.innerText).join()`, "has:active")

	// An entity that begins to match appears in the table.
	send("orders-eu")
	v.want(names + ` === "payments,orders-eu,orders"`)

	v.click(`th.num a`) // another sort order keeps the filter
	v.want(names + ` !== "" && new URLSearchParams(location.search).get("q") === "has:active" && document.querySelector("th.num[aria-sort]")`)
	v.fill("q", "has:active order stat:x")
	v.do(chromedp.KeyEvent(kb.Enter))
	v.want(`document.querySelector("#f-q[aria-invalid]") && document.querySelector("#w-q").innerText.includes("See character 18")`)
	v.equal(names+`.split(",").sort().join()`, "orders,orders-eu")
	v.equal(`document.querySelector("#f-q").value`, "has:active order stat:x")
	v.click(`.chip:first-child a`)
	v.want(`new URLSearchParams(location.search).get("q") === "order" && !document.querySelector("#w-q")`)

	v.scripts(false)
	v.visit("/n/default/queues?q=temp:")
	v.equal(names, "replies")
	v.do(chromedp.Click(chromedp.CSS(`.finder summary`)))
	v.click(`.finder details a[href*="dlq"]`)
	v.equal(names, "")
	v.equal(`document.querySelector(".empty h3").innerText`, "No queue is found by “temp: has:dlq”")
	v.scripts(true)
}

// suggestionsInBrowser checks that the search box suggests keys, entities and values of
// messages while the user types, and that suggestions work by keyboard alone.
func suggestionsInBrowser(_ *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	v.create("queue", "disorder", `{}`)
	v.ask("POST", v.server.Dashboard+"/api/v1/send/orders", "", `[{"body":"{\"customer\":{\"id\":42}}","properties":{"<img src=x onerror=alert(1)>":"<b>x</b>","region":"eu, west"}}]`)
	const (
		box     = `document.querySelector("#f-q")`
		listed  = `[...document.querySelectorAll(".suggestion .mono")].map((el) => el.textContent).join("|")`
		chosen  = `document.querySelector(".suggestion[aria-selected=true] .mono")?.textContent`
		pointed = `document.getElementById(` + box + `.getAttribute("aria-activedescendant"))?.querySelector(".mono").textContent`
		shown   = box + `.getAttribute("aria-expanded") === "true" && document.getElementById(` + box + `.getAttribute("aria-controls")).checkVisibility()`
	)
	keys := v.press
	value := func(want string) {
		v.t.Helper()
		v.want(box + `.value === ` + strconv.Quote(want))
	}

	v.visit("/n/default/search")
	v.equal(box+`.getAttribute("role") + " " + `+box+`.getAttribute("aria-autocomplete") + " " + `+box+`.getAttribute("aria-expanded")`, "combobox list false")
	v.equal(`document.querySelector(".suggestions").getAttribute("role")`, "listbox")
	v.fill("q", "-stat")
	v.want(listed + ` === "state:" && ` + shown)
	v.equal(box+`.hasAttribute("aria-activedescendant")`, false) // no suggestion is chosen automatically
	v.want(`document.querySelector("[data-status]").textContent === "Suggestions: 1"`)
	keys(kb.ArrowDown)
	v.equal(chosen, "state:")
	v.equal(pointed, "state:")
	keys(kb.Enter) // accepts the suggestion without submitting the form
	value("-state:")
	v.want(listed + ` === "active|locked|deferred|scheduled|dead"`)
	keys(kb.ArrowUp)
	v.equal(chosen, "dead")
	keys(kb.ArrowUp, kb.ArrowUp)
	v.equal(chosen, "deferred")
	keys(kb.Tab)
	value("-state:deferred ")
	v.equal(`document.activeElement.id + " " + document.querySelector(".suggestions").hidden`, "f-q true")
	keys("prop.reg")
	v.want(listed + ` === "prop.region:"`)
	keys(kb.ArrowDown, kb.Enter)
	v.want(listed + ` === '"eu, west"'`)
	keys(kb.Escape)
	v.equal(shown, false)
	value("-state:deferred prop.region:") // the typed text stays
	keys(kb.ArrowDown)                    // shows the list again
	v.want(listed + ` === '"eu, west"'`)
	v.do(chromedp.Click(chromedp.CSS(".suggestion")))
	value(`-state:deferred prop.region:"eu, west" `)
	v.equal(`document.activeElement.id`, "f-q")
	keys(kb.Enter)
	v.want(`new URLSearchParams(location.search).get("q") && document.querySelectorAll("[data-search] tbody tr").length === 1`)

	// In the middle of a text, only the part at the cursor changes.
	v.fill("q", "é in:ord json.customer.id:4")
	v.js(box + `.setSelectionRange(8, 8)`)
	keys(kb.ArrowDown)
	v.want(listed + ` === "orders|disorder"`)
	keys(kb.ArrowDown, kb.Enter)
	value("é in:orders json.customer.id:4")
	v.equal(box+`.selectionStart`, 11)

	// Values of messages are shown as text.
	v.fill("q", "prop.")
	v.want(listed + `.includes('prop."<img src=x onerror=alert(1)>":')`)
	v.equal(`document.querySelector(".suggestions img, .suggestions b")`, nil)
	keys(kb.ArrowUp)
	v.js(box + `.value = 'prop."<img src=x onerror=alert(1)>":'`)
	keys(kb.End, " ", kb.Backspace)
	v.want(listed + ` === "<b>x</b>" || ` + listed + ` === '"<b>x</b>"'`)
	v.do(chromedp.Click(chromedp.CSS("h1"))) // outside of the box
	v.want(`document.querySelector(".suggestions").hidden`)

	// On a phone, the filter of entities works as well.
	v.do(chromedp.EmulateViewport(390, 844))
	v.visit("/n/default/queues")
	v.fill("q", "has:d")
	v.want(listed + ` === "deferred|dlq"`)
	v.equal(`[...document.querySelectorAll(".suggestion")].every((el) => { const r = el.getBoundingClientRect(); return r.left >= 0 && r.right <= 390 && r.height >= 44; })`, true)
	v.equal(`document.documentElement.scrollWidth <= 390`, true)
	keys(kb.ArrowDown, kb.ArrowDown, kb.Enter, "ord")
	v.want(listed + ` === "orders|disorder"`)
	keys(kb.Enter) // without a chosen suggestion, Enter submits the form
	v.want(`new URLSearchParams(location.search).get("q") === "has:dlq ord"`)

	v.scripts(false)
	v.visit("/n/default/search")
	v.equal(box+`.type + document.querySelectorAll(".suggestions").length`, "search0")
	v.equal(`document.querySelector(".finder details[open] a[href*='customer.id']") !== null`, true)
	v.scripts(true)
}

// press presses keys one after another. Enter is one event, as on a keyboard, so a page can
// prevent the submission.
func (v *visit) press(keys ...string) {
	v.t.Helper()
	for _, k := range keys {
		if k != kb.Enter {
			v.do(chromedp.KeyEvent(k))
			continue
		}
		for _, e := range []input.DispatchKeyEventParams{{Type: input.DispatchKeyEventTypeKeyDown, Text: "\r"}, {Type: input.DispatchKeyEventTypeKeyUp}} {
			e.Key, e.Code, e.WindowsVirtualKeyCode = "Enter", "Enter", 13
			if _, err := chromedp.Call(v.tab, input.DispatchKeyEvent, e); err != nil {
				v.t.Fatal(err)
			}
		}
	}
}

// paletteInBrowser checks that the palette leads anywhere by keyboard alone, and that its
// actions apply to the open page. Without scripts its button opens a page.
func paletteInBrowser(_ *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	v.create("queue", "payments", `{}`)
	v.create("topic", "prices", `{}`)
	v.ask("POST", v.server.Dashboard+"/api/v1/send/orders", "", `[{"messageId":"o-17","subject":"<img src=x onerror=alert(1)>","body":"x"}]`)
	const (
		open    = `document.querySelector("#palette").open`
		field   = `document.activeElement.id === "f-go"`
		lines   = `[...document.querySelectorAll(".choice-line > span")].map((el) => el.innerText)`
		chosen  = `document.querySelector(".choice-line[aria-selected=true] > span")?.innerText`
		pointed = `document.getElementById(document.querySelector("#f-go").getAttribute("aria-activedescendant"))?.querySelector("span").innerText`
		heads   = `[...document.querySelectorAll(".choice-head")].map((el) => el.innerText).join()`
	)
	v.visit("/n/default/q/orders")
	v.want(`document.querySelector("[data-pill] b").innerText === "Live"`)
	v.do(chromedp.Focus(chromedp.CSS(`.tabs a`)))
	v.ctrlK()
	v.want(open + ` && ` + field + ` && ` + chosen + ` === "Send to orders"`)
	v.equal(heads, "On this page,Pages,Do,Queues, topics, subscriptions")
	v.equal(`document.querySelector("#palette").getAttribute("aria-modal") + document.querySelector("#f-go").getAttribute("role") + document.querySelector("#f-go").getAttribute("aria-expanded") + document.querySelector("#palette [role=listbox]").getAttribute("aria-label")`, "truecomboboxtrueWhere to go, what to do")
	v.equal(pointed, "Send to orders")

	// The focus stays inside, and returns to where it was.
	for range 5 {
		v.press(kb.Tab)
		v.equal(`document.querySelector("#palette").contains(document.activeElement) || document.activeElement === document.body`, true)
	}
	v.press(kb.Escape)
	v.want(`!` + open + ` && document.activeElement.matches(".tabs a")`)
	v.ctrlK()
	v.want(open + ` && ` + field)
	v.ctrlK() // pressed again, it closes
	v.want(`!` + open)

	// Entities are found by name, and chosen with the arrow keys and Enter.
	v.ctrlK()
	v.want(chosen)
	v.press("pay")
	v.want(lines + `.join("|").startsWith("payments|Send to payments|")`)
	v.equal(chosen, "payments")
	v.press(kb.ArrowDown, kb.ArrowDown, kb.ArrowUp)
	v.equal(chosen, "Send to payments")
	v.equal(pointed, "Send to payments")
	v.press(kb.ArrowUp, kb.ArrowUp) // wraps around to the last
	v.equal(chosen, "Search messages for “pay”")
	v.press(kb.ArrowDown)
	v.equal(chosen, "payments")
	v.press(kb.Enter)
	v.want(`location.pathname === "/n/default/q/payments" && document.readyState === "complete"`)

	// A verb before a name opens the confirmation, and does not execute the action.
	v.ctrlK()
	v.want(chosen)
	v.equal(heads+`.split(",")[0] + `+chosen, "Recentpayments") // the latest choice comes first
	v.press("purge ord")
	v.want(chosen + ` === "Purge orders…"`)
	v.press(kb.Enter)
	v.want(`location.pathname === "/n/default/q/orders/purge" && document.readyState === "complete"`)

	// A message is found by its number, and its subject is shown as text.
	v.ctrlK()
	v.want(chosen)
	v.equal(lines+`.slice(0, 2).join("|")`, "Purge orders…|payments")
	v.press("#1")
	v.want(chosen + ` === "#1 in orders"`)
	v.equal(`document.querySelector(".choice-line[aria-selected=true] small").innerText`, "<img src=x onerror=alert(1)>")
	v.equal(`document.querySelector("#palette img")`, nil)
	v.press(kb.Enter)
	v.want(`location.pathname.startsWith("/n/default/m/") && document.readyState === "complete"`)
	v.ctrlK()
	v.want(chosen)
	v.press("zzz")
	v.want(lines + `.join("|") === "Search messages for “zzz”"`)
	v.do(chromedp.Click(chromedp.CSS(`.choice-line`))) // a choice can also be clicked
	v.want(`location.pathname + location.search === "/n/default/search?q=zzz" && document.readyState === "complete"`)

	// The palette has actions of the page: theme, pause and keys.
	v.visit("/n/default/queues")
	v.want(`document.querySelector("[data-pill] b").innerText === "Live"`)
	act := func(typed, line string) {
		v.t.Helper()
		v.ctrlK()
		v.want(open + ` && ` + chosen)
		v.press(typed)
		v.want(chosen + ` === "` + line + `"`)
		v.press(kb.Enter)
		v.want(`!` + open)
	}
	act("pause", "Pause or resume this page")
	v.want(`document.querySelector("[data-pill] b").innerText.startsWith("Paused")`)
	v.equal(`document.documentElement.dataset.theme ?? ""`, "")
	act("dark", "Switch between light and dark")
	v.want(`document.documentElement.dataset.theme`)
	act("utc", "Show times as UTC")
	v.equal(`document.querySelector("input[name=time][value=utc]").checked`, true)
	act("shortcuts", "Keys on the keyboard")
	v.want(`document.querySelector("dialog[data-keys]").open && document.querySelector("dialog[data-keys]").innerText.includes("Ctrl K")`)
	v.press(kb.Escape)
	v.want(`!document.querySelector("dialog[open]")`)
	v.press("?")
	v.want(`document.querySelector("dialog[data-keys]").open`)
	v.do(chromedp.Click(chromedp.CSS(`dialog[data-keys] [data-close]`)))
	v.want(`!document.querySelector("dialog[open]")`)

	// The palette ignores entries in the browser's storage that lead elsewhere.
	v.js(`localStorage.setItem("mayfly.recent", JSON.stringify([{label: "evil", href: "javascript:alert(1)"}, {label: "far", href: "https://example.com/"}, {label: 1}, {label: "odd", act: "toString"}]))`)
	v.ctrlK()
	v.want(chosen + ` === "Overview"`)
	v.equal(heads+`.split(",")[0]`, "Pages")
	v.press(kb.Escape)

	// A phone shows the button, and the list fits.
	v.do(chromedp.EmulateViewport(390, 844))
	v.visit("/n/default")
	v.want(isLive) // wait until the bar has its final layout
	v.do(chromedp.Click(chromedp.CSS(`.bar [data-palette]`)))
	v.want(open + ` && ` + chosen)
	v.equal(`(() => { const r = document.querySelector("#palette").getBoundingClientRect(); return r.left >= 0 && r.right <= 390 && r.bottom <= 844 && [...document.querySelectorAll(".choice-line")].every((el) => el.getBoundingClientRect().height >= 44); })()`, true)
	v.equal(`document.documentElement.scrollWidth <= 390`, true)
	v.press(kb.Escape)
	v.do(chromedp.EmulateViewport(1440, 900))

	v.scripts(false)
	v.visit("/n/default/t/prices")
	v.click(`.bar [data-palette]`)
	v.equal(`document.querySelector("h1").innerText + document.querySelector("[data-going] h2").innerText`, "Go toOn this page")
	v.equal(`[...document.querySelectorAll("[data-going] [data-go], .keys")].some((el) => el.checkVisibility())`, false) // controls that need a script are hidden
	v.fill("q", "orders")
	v.enter(`main input[name=q]`)
	v.click(`[data-going] a[href$="/q/orders"]`)
	v.equal(`document.querySelector("h1").innerText`, "orders")
	v.scripts(true)
}

// ctrlK presses Ctrl+K.
func (v *visit) ctrlK() {
	v.t.Helper()
	for _, of := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		if _, err := chromedp.Call(v.tab, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: of, Key: "k", Code: "KeyK", WindowsVirtualKeyCode: 75, Modifiers: 2}); err != nil {
			v.t.Fatal(err)
		}
	}
}
