package e2e

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// rulesInBrowser tries a rule while it is typed, and checks that a message that no
// subscription receives appears live in the tray.
func rulesInBrowser(_ *testing.T, v *visit) {
	v.create("topic", "prices", `{}`)
	v.create("subscription", "prices/subscriptions/eu", `{}`)
	const (
		verdict = `document.querySelector("[data-verdict]")?.textContent`
		faults  = `document.querySelectorAll(".fault").length`
		notice  = `document.querySelector("[data-tried=refused]").textContent`
		tray    = `[...document.querySelectorAll("[data-list=tray] > [data-key]")].map((r) => r.querySelector("b").textContent).join()`
	)

	// The editor with scripts tries the rule at each pause in typing.
	v.visit("/n/default/t/prices/s/eu?tab=rules")
	v.click(to("rules/new"))
	v.fill("rule-name", "large")
	v.do(chromedp.Click(chromedp.CSS(`[name=rule-kind][value=sql]`)))
	v.fill("property-0-name", "amount")
	v.js(`document.querySelector("[name=property-0-type]").value = "int"`)
	v.fill("property-0-value", "1200")
	v.js(`document.querySelector("[name=rule-sql]").born = true`)
	v.fill("rule-sql", "amount > 1000")
	v.want(verdict + ` === "Selected"`)
	v.fill("rule-sql", "amount >> 1000")
	v.want(faults + ` === 1 && !` + verdict + ` && document.querySelector(".fault").textContent.includes("at character 9")`)
	v.equal(`document.querySelector("[name=rule-sql]").getAttribute("aria-invalid")`, "true")
	v.fill("rule-sql", "amount < 1000")
	v.want(verdict + ` === "Not selected: it is false" && ` + faults + ` === 0`)
	v.equal(`document.querySelector("[name=rule-sql]").getAttribute("aria-invalid")`, nil)
	v.fill("property-0-value", "many")
	v.want(notice + `.includes("amount: ")`)
	v.fill("property-0-value", "900")
	v.want(verdict + ` === "Selected" && ` + notice + `.trim() === ""`)
	v.equal(`document.activeElement === document.querySelector("[name=property-0-value]") && document.querySelector("[name=rule-sql]").born`, true)
	v.done(`main button.primary`, "got the rule large")
	v.done(`main [formaction*="rule=%24Default"]`, "lost the rule")

	// Without scripts there is a button, and it keeps the input.
	v.scripts(false)
	v.visit("/n/default/t/prices/s/eu?tab=rules")
	v.click(to("rules/edit"))
	v.fill("property-0-name", "amount")
	v.fill("property-0-value", "900")
	v.click(`main [formaction*="/rules/try"]`)
	v.equal(verdict, "Not selected: it is unknown, neither true nor false") // a text is not a number
	v.equal(`document.querySelector("[name=rule-sql]").value`, "amount < 1000")
	v.fill("rule-sql", "amount = '900'")
	v.done(`main button.primary`, "Saved the rule large")
	v.scripts(true)

	// The tray is live, and its new subscription receives the next message.
	v.visit("/n/default/lab")
	v.want(isLive)
	v.js(`document.querySelector("[name=subject]").value = "half described"`)
	v.calm()
	v.send("prices", `{"Label":"price.changed","MessageId":"p-1","To":"shop"}`, "one")
	v.want(tray + ` === "price.changed"`)
	v.send("prices", `{"Label":"price.changed","MessageId":"p-2","To":"shop"}`, "two")
	v.want(tray + ` === "price.changed,price.changed"`)
	v.stayed()
	v.equal(`document.querySelector("[name=subject]").value`, "half described")
	v.fill("subject", "price.changed")
	v.want(verdict + `?.startsWith("No subscription takes it.")`)
	v.do(chromedp.Click(chromedp.CSS(`[data-all]`)))
	v.click(`.bulk .primary`)
	v.equal(`document.querySelector("[name=condition-0-value]").value + " " + document.querySelector("[name=rule-kind]:checked").value`, "price.changed correlation")
	v.fill("name", "shop")
	v.done(`main button.primary`, "Created the subscription prices/shop")
	v.send("prices", `{"Label":"price.changed","MessageId":"p-3","To":"shop"}`, "three")
	v.opened("/n/default/t/prices/s/shop", "price.changed")
	v.visit("/n/default/lab")
	v.click(`[data-list=tray] .deed a`)
	v.want(verdict + `?.startsWith("1 of 2 subscriptions takes it.")`)
}
