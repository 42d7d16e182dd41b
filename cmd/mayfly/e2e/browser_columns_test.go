package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// columnsInBrowser chooses columns, saves them as a named view that others see, and checks
// that new rows have them.
func columnsInBrowser(t *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	sent := func(region string, id int) {
		v.ask("POST", v.server.Dashboard+"/api/v1/send/orders", "", fmt.Sprintf(
			`{"subject":"order %d","properties":{"region":%q,"price":{"type":"double","value":"%d.5"}},"body":"{\"customer\":{\"id\":%d}}"}`, id, region, id, 9007199254740993+id))
	}
	for i := range 3 {
		sent("<img src=x onerror=alert(1)>", i)
	}
	const heads = `[...document.querySelectorAll("thead th:not(:has(.sr))")].map((el) => el.innerText.trim()).filter(Boolean).join()`
	const columns = `[...document.querySelectorAll(".arranging li")].map((el) => el.innerText.trim()).join()`
	cells := func(label string) string {
		return `[...document.querySelectorAll("tbody [data-label='` + label + `']")].map((el) => el.innerText.trim()).join()`
	}
	press := func(selector string) { t.Helper(); v.do(chromedp.Click(chromedp.CSS(selector))) }
	typed := func(name, text string) {
		t.Helper()
		v.do(chromedp.SendKeys(chromedp.CSS(`.drawer [name=`+name+`]`), text))
	}
	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.equal(heads, "Time left,Number,Message,Size,Tries,Stored")
	press(`.views > summary`)
	press(`.views a[data-drawer]`)
	v.want(`document.querySelector("aside.drawer .arranging") && document.activeElement.id === "d-title"`)
	v.equal(columns, "State,Time left,Number,Message,Size,Tries,Stored")
	press(`.adding input[value="prop.region"]`)
	v.want(columns + `.endsWith("Stored,region")`)
	press(`.adding input[value="json.customer.id"]`)
	v.want(columns + `.endsWith("Stored,region,customer.id")`)
	for i := range 5 { // the button keeps the focus when it moves
		press(`button[data-arrange="up:prop.region"]`)
		v.want(fmt.Sprintf(columns+`.split(",").indexOf("region") === %d && document.activeElement.dataset.arrange === "up:prop.region"`, 6-i))
	}
	v.want(columns + ` === "State,Time left,region,Number,Message,Size,Tries,Stored,customer.id"`)
	for _, gone := range []string{"size", "delivery", "enqueued"} {
		press(`.arranging input[name=show][value=` + gone + `]`)
	}
	typed("other", "prop.price")
	press(`.drawer button[data-arrange=more]`)
	v.want(columns + `.endsWith("customer.id,price") && !document.querySelector(".arranging input[value=size][name=show]").checked`)
	v.equal(`location.pathname + !!document.querySelector("[data-list=rows]")`, "/n/default/views/edittrue") // the list is beside the form
	v.look("views-drawer")
	typed("name", "by region")
	v.click(`.drawer .btn.primary`)
	v.want(`location.search === "?view=by+region" && document.querySelector("[data-notice]").innerText.includes("Saved the view by region")`)
	v.equal(heads, "Time left,region,Number,Message,customer.id,price")
	v.equal(cells("price"), "0.5,1.5,2.5")
	v.equal(cells("customer.id"), "9007199254740993,9007199254740994,9007199254740995") // with the digits that were sent
	v.equal(`document.querySelector("tbody [data-label=region]").innerText`, "<img src=x onerror=alert(1)>")
	v.equal(`getComputedStyle(document.querySelector("tbody [data-label=price]")).textAlign`, "end")

	// New rows have the view's columns, in this browser and in another.
	other := visitTo(t, v.tab, v.server)
	other.visit("/n/default/q/orders?view=by+region")
	for _, one := range []*visit{v, other} {
		one.want(isLive)
		one.equal(heads, "Time left,region,Number,Message,customer.id,price")
	}
	sent("apac", 3)
	for _, one := range []*visit{v, other} {
		one.want(cells("region") + `.endsWith(",apac")`)
		one.want(cells("customer.id") + `.endsWith(",9007199254740996")`)
	}
	v.look("queue-view")
	other.visit("/n/default/search?q=subject:order*&view=by+region") // the view is for lists of messages only
	other.want(`document.querySelector(".notice b, .notice p, .notice")?.innerText.includes("There is no view called by region here")`)

	// Another user adds a column without scripts, after a preview.
	other.scripts(false)
	other.visit("/n/default/q/orders?view=by+region")
	other.do(chromedp.Click(chromedp.CSS(`.views > summary`)))
	other.click(`.views a[data-drawer]`)
	other.equal(columns, "State,Time left,region,Number,Message,customer.id,price")
	other.click(`button[value="up:price"], button[value="up:prop.price"]`)
	other.equal(columns, "State,Time left,region,Number,Message,price,customer.id")
	other.do(chromedp.Click(chromedp.CSS(`.arranging input[value=state][name=show]`)))
	other.fill("name", "prices first")
	other.do(chromedp.Click(chromedp.CSS(`input[name=default]`)))
	other.click(`button[value=add]`)
	other.equal(`location.search`, "?view=prices+first")
	other.equal(heads, "Time left,region,Number,Message,price,customer.id")
	other.visit("/n/default/views")
	other.equal(`[...document.querySelectorAll("td.name a")].map((el) => el.innerText).join()`, "by region,prices first")
	other.scripts(true)

	// The view is the default now; the standard columns are a choice like others.
	v.visit("/n/default/q/orders")
	v.equal(heads, "Time left,region,Number,Message,price,customer.id")
	press(`.views > summary`)
	v.click(`.views li:first-child a`)
	v.want(`location.search === "?view=standard"`)
	v.equal(heads, "Time left,Number,Message,Size,Tries,Stored")

	// A deleted view is no longer shown; no messages are deleted.
	v.visit("/n/default/views")
	v.look("views")
	v.asks(`a[href*="delete?view=prices"]`)
	v.look("views-delete")
	v.click(`form.asking button`)
	v.want(`document.querySelector("[data-notice]").innerText.includes("Deleted the view prices first")`)
	v.visit("/n/default/q/orders")
	v.equal(heads, "Time left,Number,Message,Size,Tries,Stored")
	v.equal(rows+`.length`, 4)
	v.visit("/n/default/activity")
	v.want(`document.body.innerText.includes("deleted the view prices first")`)
}
