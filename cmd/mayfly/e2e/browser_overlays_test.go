package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// overInBrowser checks that no overlay hides menus or the focused element, and that overlays end
// above the bar at the bottom of the window.
func overInBrowser(t *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	v.create("topic", "prices", `{}`)
	v.send("orders", `{"Label":"first"}`, "hello")
	for n := range 12 {
		v.ask("POST", v.server.Dashboard+"/api/v1/namespaces", "", fmt.Sprintf(`{"name":"shop-%02d"}`, n))
	}
	v.menusOverDrawer()
	v.drawerOnPaper()
	v.notesGiveWay()
	v.longNamePresented(t)
	v.endsAboveStrip()
}

// covered returns the visible entries of a menu that something else covers.
func covered(menu string) string {
	return `(() => { const menu = document.querySelector('` + menu + `'), box = menu.getBoundingClientRect();
		return [...menu.querySelectorAll("a, button")].filter((el) => {
			const r = el.getBoundingClientRect(), y = (r.top + r.bottom) / 2;
			return y < box.bottom && !el.contains(document.elementFromPoint((r.left + r.right) / 2, y));
		}).map((el) => el.innerText.trim()).join(); })()`
}

// menusOverDrawer opens the menus of the bar while a message is open in the drawer.
func (v *visit) menusOverDrawer() {
	v.t.Helper()
	v.do(chromedp.EmulateViewport(1280, 800))
	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.do(chromedp.Click(chromedp.CSS(`.subject`)))
	v.want(drawer)
	v.do(chromedp.Click(chromedp.CSS(`.tongues > summary`)))
	v.want(`document.querySelector(".tongues nav").checkVisibility()`)
	v.equal(`document.querySelector(".tongues nav").getBoundingClientRect().right > document.querySelector(".drawer").getBoundingClientRect().left`, true)
	v.equal(covered(".tongues nav"), "")
	v.press("\x1b")
}

// drawerOnPaper prints a page with an open drawer: the whole message is printed.
func (v *visit) drawerOnPaper() {
	v.t.Helper()
	v.want(drawer)
	v.emulate("print", "prefers-color-scheme", "light")
	v.do(chromedp.EmulateViewport(794, 400))
	v.equal(`[...document.querySelectorAll(".drawer, .drawer > .scroll")].map((el) => getComputedStyle(el).position + (el.scrollHeight - el.clientHeight > 1)).join()`, "staticfalse,staticfalse")
	v.equal(`document.querySelector(".drawer").offsetHeight > 400`, true)
	v.emulate("", "prefers-color-scheme", "light")
	v.do(chromedp.EmulateViewport(1280, 800))
	v.press("\x1b")
	v.want(`!` + drawer)
}

// notesGiveWay checks that notes move aside when they would cover the focused element.
func (v *visit) notesGiveWay() {
	v.t.Helper()
	const notes = `document.querySelectorAll(".toasts, .notice[data-stays]")`
	v.js(`{ document.querySelector("[data-notice]").innerHTML = '<div class="notice" data-stays="1000"><div><strong>Done</strong></div><button class="btn">Undo</button><progress max="10"></progress></div>';
		document.querySelector("[data-toasts]").innerHTML = '<div class="toast" data-told="1">A note</div>';
		document.body.insertAdjacentHTML("beforeend", '<button id="under">Under</button>'); }`)
	for _, size := range []struct {
		width, height int64
		at, aside     string
	}{{1280, 800, "auto 2rem 3rem auto", "start"}, {390, 844, "auto 4rem 7rem 6rem", "top"}} {
		v.do(chromedp.EmulateViewport(size.width, size.height))
		v.js(`{ const under = document.querySelector("#under"); under.blur(); document.documentElement.dataset.aside = ""; under.style = "position: fixed; inset: ` + size.at + `"; under.focus({ focusVisible: true }); }`)
		v.want(`document.documentElement.dataset.aside === "` + size.aside + `"`)
		v.equal(`((r) => [...`+notes+`].every((note) => { const n = note.getBoundingClientRect(); return n.right <= r.left || r.right <= n.left || n.bottom <= r.top || r.bottom <= n.top }))(document.querySelector("#under").getBoundingClientRect())`, true)
		v.equal(`[...`+notes+`].map((note) => note.getBoundingClientRect()).filter((n) => n.left < 0 || n.right > innerWidth || n.top < 0 || n.bottom > innerHeight || n.height > 200).length`, 0)
		v.js(`document.activeElement.blur()`)
		for _, aside := range []string{"", "start", "top"} { // two notes do not overlap
			v.equal(`(() => { document.documentElement.dataset.aside = "`+aside+`"; const [a, b] = [...`+notes+`].map((note) => note.getBoundingClientRect()); return a.bottom <= b.top || b.bottom <= a.top || "`+aside+`"; })()`, true)
		}
	}
	v.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))
}

// longNamePresented presents a namespace with a long name on a phone: the bar has the name,
// except in scenes.
func (v *visit) longNamePresented(t *testing.T) {
	t.Helper()
	const name = "a-namespace-whose-name-is-as-long-as-the-names-of-others-may-be"
	v.ask("POST", v.server.Dashboard+"/api/v1/namespaces", "", fmt.Sprintf(`{"name":%q}`, name))
	v.do(chromedp.EmulateViewport(360, 640))
	v.visit("/n/" + name + "/queues?present=1")
	v.want(isLive)
	v.equal(`document.querySelector(".bar .ns > b, .bar .spaces b").getBoundingClientRect().width > 16`, true)
	v.fits("a long name, presented")
	v.press("\x1b")
	v.visit("/n/default")
}

// endsAboveStrip checks that in a scene, elements as high as the window end above the strip,
// and menus open above it.
func (v *visit) endsAboveStrip() {
	v.t.Helper()
	v.do(chromedp.EmulateViewport(1280, 660))
	stage := v.begins("fan-out")
	for at, box := range map[string]string{"/lab": ".split.even > form", "/api": ".reference .contents"} {
		v.visit(stage + at)
		v.js(`{ document.body.style.paddingBlockEnd = "100vh"; window.box = document.querySelector("` + box + `"); scrollBy(0, box.getBoundingClientRect().top - parseFloat(getComputedStyle(box).insetBlockStart)) }`)
		v.equal(`[getComputedStyle(box).position, box.scrollHeight > box.clientHeight, box.getBoundingClientRect().bottom <= document.querySelector(".stage").getBoundingClientRect().top].join()`, "sticky,true,true")
	}

	v.do(chromedp.EmulateViewport(360, 640))
	v.visit(stage + "/queues")
	v.want(isLive)
	v.do(chromedp.Click(chromedp.CSS(`.bar .spaces:not(.tongues) > summary`)))
	v.want(`document.querySelector(".bar .spaces:not(.tongues) nav").checkVisibility()`)
	v.equal(`document.querySelector(".bar .spaces:not(.tongues) nav").getBoundingClientRect().bottom > document.querySelector(".stage").getBoundingClientRect().top`, true)
	v.equal(covered(".bar .spaces:not(.tongues) nav"), "")
	v.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))
	v.click(`[data-stage-act=leave]`)

	// The subject of a step is scrolled into view, between the bar and the strip.
	v.do(chromedp.EmulateViewport(1280, 660))
	stage = v.begins("deadline")
	for _, step := range []struct{ says, at string }{{"Two queues", "/queues"}, {"A price that is good", "/expirations"}} {
		v.press("n")
		v.stands(stage+step.at, step.says)
		v.want(`[...document.querySelectorAll(".main .spotlit")].some((el) => { const r = el.getBoundingClientRect(); return r.top >= document.querySelector(".bar").offsetHeight && r.bottom <= document.querySelector(".stage").getBoundingClientRect().top; })`)
	}
	v.equal(`scrollY > 0`, true)
	v.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))
	v.click(`[data-stage-act=leave]`)
}
