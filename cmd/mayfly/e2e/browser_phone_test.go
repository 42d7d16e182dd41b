package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// inBar selects the visible entries of the bar at the foot of a phone's screen.
const inBar = `[...document.querySelectorAll(".rail a, .rail summary")].filter((el) => el.checkVisibility())`

// phoneInBrowser checks that the bar of a phone fits its width, that other entries are in the
// menu More, and that the open page is marked.
func phoneInBrowser(_ *testing.T, v *visit) {
	for _, width := range []int64{320, 390} {
		v.do(chromedp.EmulateViewport(width, 844))
		for at, marked := range map[string]string{"": "Overview", "/topics": "Topics", "/access": "More", "/connections": "More"} {
			v.visit("/n/default" + at)
			v.equal(inBar+`.map((el) => el.innerText.trim()).join()`, "Overview,Expirations,Queues,Topics,More")
			v.equal(inBar+`.filter((el) => el.getAttribute("aria-current")).map((el) => el.innerText.trim()).join()`, marked)
			v.equal(fmt.Sprintf(inBar+`.every((el) => { const r = el.getBoundingClientRect(); return r.left >= 0 && r.right <= %d && el.scrollWidth <= el.clientWidth && r.height >= 44; })`, width), true)
		}
	}

	const more, sheet = `.rail summary`, `document.querySelector(".rail .more").open`
	open := func() {
		v.do(chromedp.Click(chromedp.CSS(more)))
		v.equal(sheet, true)
		v.equal(`[...document.querySelectorAll(".more a")].map((el) => el.innerText.trim()).join()`, "Deferred,Search,Temporary,Scenes,Connections,Activity,Access,Docs")
		v.equal(`document.querySelector(".more a[aria-current=page]").innerText.trim()`, "Connections")
	}
	v.visit("/n/default/connections")
	open()
	v.do(chromedp.KeyEvent(kb.Escape))
	v.equal(sheet+` || !document.activeElement.matches(".rail summary")`, false)
	open()
	v.do(chromedp.Click(chromedp.CSS(`h1`)))
	v.equal(sheet, false)
	open()
	v.click(`.more a[href$="/activity"]`)
	v.equal(`document.querySelector("h1").innerText`, "Activity")

	v.scripts(false)
	v.visit("/n/default/connections")
	open()
	v.click(`.more a[href$="/deferred"]`)
	v.equal(`document.querySelector("h1").innerText`, "Deferred")
}
