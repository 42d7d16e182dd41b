package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// passportInBrowser shows a message as it was sent, byte by byte, and as programs that send it
// again.
func passportInBrowser(_ *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	v.send("orders", `{"Label":"long"}`, strings.Repeat("0123456789abcdef", 600))
	v.visit("/n/default/q/orders")
	v.click(`[data-list=rows] a.subject`)
	v.want(`document.querySelector("aside.drawer h2")?.innerText === "long"`)
	v.click(`aside.drawer header a.btn`)
	v.want(`document.querySelector("h1")?.innerText === "long"`)
	v.want(isLive)

	const body = `document.querySelector("#body")`
	v.click(`#body .seg a[href*="view=sent"]`)
	v.want(body + `.innerText.includes("message-id") && ` + body + `.innerText.includes("9600")`)
	v.click(`#body .seg a[href*="view=hex"]`)
	v.want(body + `.innerText.includes("Bytes 0 to 4,095 of 9,600")`)
	v.click(`.hexes a[rel=next]`)
	v.want(body + `.querySelector("pre").innerText.trim().startsWith("00001000") && ` + body + `.querySelector("pre").innerText.includes("|0123456789abcdef|")`)

	const shown = `[...document.querySelectorAll(".again .sample")].filter((el) => el.checkVisibility())`
	v.equal(shown+`.length`, 0)
	v.do(chromedp.Click(chromedp.CSS(`.again summary`)))
	v.want(shown + `.length === 1 && ` + shown + `[0].innerText.includes("azservicebus")`)
	v.do(chromedp.Click(chromedp.CSS(`.again .seg label:nth-of-type(2)`)))
	v.want(shown + `.length === 1 && ` + shown + `[0].innerText.includes("from azure.servicebus")`)
	v.equal(`document.querySelector(".again").innerText.includes("message-") && document.querySelector(".again a[download]") !== null`, true)
}
