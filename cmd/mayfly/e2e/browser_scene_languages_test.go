package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// tonguesInBrowser checks that each tab shows a scene in its own language, live, and that the
// longest texts fit into the strip on a phone.
func tonguesInBrowser(t *testing.T, ctx context.Context) {
	ana := open(t, ctx, "memory:")
	choose := func(tag string) {
		t.Helper()
		ana.do(chromedp.Click(chromedp.CSS(`.tongues summary`)))
		ana.click(`.tongues [value="` + tag + `"]`)
	}
	ana.visit("/scenes")
	choose("cs")
	ana.equal(`document.querySelector(".scene h2").textContent`, "Zámek")
	ana.equal(`document.querySelectorAll(".scene [lang]").length`, float64(0))
	ana.look("cs-scenes")
	ana.click(`[formaction="/scenes/play/deadline"]`)
	ana.want(isLive)
	ana.equal(caption+`.startsWith("Zpráva může mít dobu života.")`, true)
	at, _ := ana.js(`location.pathname`).(string)
	bob := visitTo(t, ctx, ana.server)
	bob.visit(at)
	bob.want(isLive)
	bob.equal(caption+`.startsWith("A message can have a time to live.")`, true)
	played := func(v *visit, says string) {
		t.Helper()
		v.want(caption + `.startsWith("` + says + `") && !document.querySelector(".stage-playing") && document.querySelectorAll(".stage-so li").length > 0`)
	}
	ana.press("n")
	played(ana, "Dvě fronty.")
	played(bob, "Two queues.")
	bob.equal(`document.querySelector(".stage-caption code").textContent + document.querySelector(".stage-so li").innerText.trim()`, "tickerBoth are empty.")
	bob.press("n")
	played(bob, "A price that is good")
	played(ana, "Cena, která platí")
	ana.equal(`document.querySelector(".stage-so li").innerText.trim()`, "Cena čeká.")

	// Nothing is cut off in languages with long texts: buttons can be clicked, captions be read,
	// and part of the page stays visible.
	at = strings.TrimSuffix(at, "/queues")
	for _, tag := range []string{"en", "pt-PT", "pt-BR", "cs", "zh-CN"} {
		ana.visit("/scenes")
		choose(tag)
		ana.visit(at + "/expirations")
		ana.want(isLive)
		ana.equal(`document.documentElement.lang`, tag)
		ana.look(tag + "-scene")
		ana.equal(`[...document.querySelectorAll(".board .what-cell")].filter((el) => el.querySelector("small").getBoundingClientRect().right > el.getBoundingClientRect().right + 1 || el.querySelector("b").scrollWidth > el.querySelector("b").clientWidth).map((el) => el.innerText).join()`, "")
		for _, width := range []int64{390, 320} {
			ana.do(chromedp.EmulateViewport(width, 844))
			ana.equal(`[...document.querySelectorAll(".stage-steps .btn")].filter((el) => { const r = el.getBoundingClientRect(); return r.left < 0 || r.right > innerWidth || r.bottom > innerHeight || el.scrollWidth > el.clientWidth + 2 }).map((el) => el.innerText).join()`, "")
			ana.equal(`document.querySelector(".stage").getBoundingClientRect().height < innerHeight * .25`, true)
		}
		ana.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))
	}
}
