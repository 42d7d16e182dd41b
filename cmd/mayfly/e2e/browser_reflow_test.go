package e2e

import (
	"fmt"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// spaced applies the text spacing of WCAG 1.4.12.
const spaced = `{ const s = new CSSStyleSheet(); s.replaceSync("* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important; } p { margin-block-end: 2em !important; }"); document.adoptedStyleSheets = [s]; }`

// cutOff selects texts that do not fit their elements and are not shown in full by hovering or
// opening.
const cutOff = `[...document.querySelectorAll("main :is(button, .btn, h1, h2, h3, legend, label, th, .badge, summary)")].filter((el) => el.checkVisibility({ visibilityProperty: true }) && !el.closest(".sr, .clip, thead") && !el.matches(".sr") && (el.scrollWidth > el.clientWidth + 2 && el.clientWidth > 0 && getComputedStyle(el).overflowX !== "visible" && getComputedStyle(el).display !== "inline")).slice(0, 4).map((el) => el.outerHTML.slice(0, 140))`

// titled checks that pages with different headings have different titles, and the language.
func (v *visit) titled(what string, titles map[string]string) {
	v.t.Helper()
	title, heading := fmt.Sprint(v.js(`document.title`)), fmt.Sprint(v.js(`document.querySelector("h1")?.innerText`))
	if other, ok := titles[title]; ok && other != heading {
		v.t.Errorf("%s has the title %q, like the page with the heading %q, but its heading is %q", what, title, other, heading)
	}
	titles[title] = heading
	if got := v.js(`document.documentElement.lang + (document.documentElement.dir || "ltr")`); got != "enltr" {
		v.t.Errorf("%s is in the language %v", what, got)
	}
}

// reflows checks that at 200 % and 400 % nothing is wider than the screen, and that wide spacing
// cuts off no texts (WCAG 1.4.4, 1.4.10, 1.4.12). The page keeps the spacing.
func (v *visit) reflows(what string) {
	v.t.Helper()
	for _, zoom := range []struct {
		name          string
		width, height int64
	}{{"twice the size", 720, 450}, {"four times the size", 320, 256}} {
		v.do(chromedp.EmulateViewport(zoom.width, zoom.height))
		v.fits(what + " at " + zoom.name)
	}
	v.js(spaced)
	v.fits(what + " at four times the size, spaced")
	v.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))
	v.fits(what + ", spaced")
}

// fits checks that nothing is wider than the screen, and that no text is cut off.
func (v *visit) fits(what string) {
	v.t.Helper()
	if wide, _ := v.js(`Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth`).(float64); wide > 1 { // sums of fractions may exceed the width by one pixel
		v.t.Errorf("%s is %v px too wide, by %v", what, wide, v.js(`[...document.querySelectorAll("body *")].filter((el) => el.getBoundingClientRect().right > innerWidth + 1).slice(-3).map((el) => el.outerHTML.slice(0, 120))`))
	}
	if cut := v.js(cutOff); fmt.Sprint(cut) != "[]" {
		v.t.Errorf("%s: cut off: %v", what, cut)
	}
}

// forced checks with forced colours that selections and countdowns are visible.
func (v *visit) forced() {
	v.t.Helper()
	v.visit("/n/default/q/orders")
	v.want(isLive)
	if _, err := chromedp.Call(v.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}}}); err != nil {
		v.t.Fatal(err)
	}
	v.equal(`getComputedStyle(document.querySelector(".rail [aria-current]")).outlineStyle`, "solid")
	v.equal(`getComputedStyle(document.querySelector(".bar .seg label:has(:checked)")).outlineStyle`, "solid")
	v.equal(`(() => { const s = getComputedStyle(document.querySelector("[data-list=rows] .ring .arc")); return s.stroke !== "none" && s.stroke !== getComputedStyle(document.body).backgroundColor; })()`, true)
	v.press("j")
	v.equal(focused, "")
}
