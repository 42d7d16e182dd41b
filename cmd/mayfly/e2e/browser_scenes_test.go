package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	caption = `document.querySelector(".stage-caption").textContent`
	// striped is an expression that is true if the bar marks the namespace of a scene.
	striped = `getComputedStyle(document.querySelector(".bar")).backgroundImage.includes("repeating-linear-gradient")`
	// countdown is an expression for the remaining seconds of the first message. It has no value at
	// the very end.
	countdown = `(() => { const [, m, s] = document.querySelector("main time[data-of]").textContent.match(/(?:(\d+)m )?(\d+)s/) ?? []; return (m | 0) * 60 + (s | 0) })()`
)

// scenesInBrowser plays a scene to its end by keyboard and buttons, and changes the clock of
// another.
func scenesInBrowser(t *testing.T, v *visit) {
	v.visit("/n/default")
	v.equal(`!!document.querySelector("[data-stage], .demo, [data-demo]")`, false)
	v.equal(striped, false)
	v.click(`.rail a[href="/scenes"]`)
	v.click(`[formaction="/scenes/play/deadline"]`)
	v.want(`document.querySelector("[data-pill]").innerText.includes("Live")`)
	v.equal(`/^\/n\/deadline-[0-9a-f]{6}\/queues$/.test(location.pathname)`, true)
	v.equal(`document.querySelector(".demo").textContent`, "Demo")
	v.equal(striped, true)
	for _, step := range []struct{ says, at string }{
		{"Two queues", "/queues"}, {"A price that is good", "/expirations"}, {"Half a minute passes", "/expirations"}, {"Another half minute", "/q/orders?tab=dead-letter"},
	} {
		v.press("n")
		v.want(caption + `.startsWith("` + step.says + `") && (location.pathname + location.search).endsWith("` + step.at + `") && !document.querySelector(".stage-playing")`)
		v.want(`(() => { const all = [...document.querySelectorAll(".stage-so li")]; return all.length > 0 && all.every((li) => li.dataset.tone === "yes") })()`)
		v.want(`document.querySelectorAll(".main .spotlit").length > 0`)
		v.equal(`document.querySelectorAll(".main :is(.states, .tabs, .badges, thead) .spotlit").length`, 0) // if the whole page is marked, its parts are not
		if step.at == "/expirations" {
			v.drawerAboveStage()
		}
	}
	v.click(`[data-stage-act=back]`)
	v.want(caption + `.startsWith("Half a minute passes")`)
	v.equal(`document.querySelector(".stage-at span").textContent.trim()`, "step 3 of 5")
	v.want(`document.querySelector("[data-pill]").innerText.includes("Live")`)
	v.press("n")
	v.want(caption + `.startsWith("Another half minute") && !document.querySelector(".stage-playing")`)
	v.press("n")
	v.want(`document.querySelector("[data-stage-act=next]").disabled && document.querySelectorAll(".stage-so [data-tone=yes]").length === 1`)
	v.want(`document.querySelector(".main h1.spotlit")`) // the message is deleted, so its queue is marked
	v.equal(`document.querySelector(".stage-clock b").textContent`, "+1 day")
	v.click(`.stage-then button`) // starts the next scene
	v.want(`/^\/n\/lifetimes-[0-9a-f]{6}\//.test(location.pathname) && !document.querySelector(".stage-then")`)
	v.click(`[data-stage-act=leave]`)
	v.equal(`location.pathname`, "/scenes")
	v.click(`.plays [formaction$="/leave"]`)
	v.want(`location.pathname === "/scenes" && !document.querySelector(".plays li")`)

	v.ask("PUT", v.server.Dashboard+"/api/v1/scenes/lunch", "", LunchScene)
	v.visit("/scenes")
	v.asks(`a[href="/scenes/remove/lunch"]`)
	v.want(onCancel + ` === "Cancel"`)
	v.look("guard-scene")
	v.do(chromedp.KeyEvent(kb.Escape))
	v.want(`!` + guard + ` && document.activeElement.matches("a[href='/scenes/remove/lunch']")`)
	v.asks(`a[href="/scenes/remove/lunch"]`)
	v.done(`.guard .final`, "The scene Lunch was removed.")
	v.equal(`document.querySelector("a[href='/scenes/remove/lunch']")`, nil)

	v.turnsClock()
	v.playsOnPhone()
	v.scenesWithoutScripts()
}

// drawerAboveStage opens a message in the drawer: the scene's whole strip stays clickable, and
// no note covers it.
func (v *visit) drawerAboveStage() {
	v.t.Helper()
	v.click(`.main a[data-drawer]`)
	v.want(`document.querySelector(".drawer h2")`)
	for _, key := range []string{"P", "P"} { // enters presenter mode and leaves it
		v.press(key)
		v.want(`document.querySelector(".drawer").getBoundingClientRect().bottom <= document.querySelector(".stage").getBoundingClientRect().top + 1`)
		v.equal(`[...document.querySelectorAll(".stage :is(a, button)")].filter((el) => {
			const r = el.getBoundingClientRect();
			return el.checkVisibility() && !el.contains(document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2));
		}).map((el) => el.outerHTML.slice(0, 80)).join()`, "")
	}
	v.equal(`document.querySelector(".toasts").getBoundingClientRect().bottom <= document.querySelector(".stage").getBoundingClientRect().top`, true)
	v.press("\x1b")
	v.want(`!document.querySelector(".drawer")`)
}

// smallTargets selects the visible buttons of a scene's strip that are too small to tap.
const smallTargets = `[...document.querySelectorAll(".stage button")].filter((el) => { const { width, height } = el.getBoundingClientRect(); return el.checkVisibility() && (width < 44 || height < 44); }).map((el) => el.textContent.trim()).join()`

// playsOnPhone plays on a phone: a caption that is too long for the strip can be scrolled by
// keyboard, buttons without text have accessible names, and the clock's controls open over the
// page.
func (v *visit) playsOnPhone() {
	v.t.Helper()
	v.do(chromedp.EmulateViewport(320, 480))
	v.begins("lifetimes")
	v.press("n")
	v.want(caption + `.startsWith("In orders nothing waits") && !document.querySelector(".stage-playing") && ` + isLive)
	v.equal(`document.querySelector(".stage-text").scrollHeight > document.querySelector(".stage-text").clientHeight`, true)
	v.want(`document.querySelector(".stage-text").tabIndex === 0`)
	v.js(`document.querySelector(".stage-at a").focus()`)
	v.press("\t", kb.End)
	v.want(`(() => { const box = document.querySelector(".stage-text"); return box.scrollTop > 0 && document.querySelector(".stage-so li:last-child").getBoundingClientRect().bottom <= box.getBoundingClientRect().bottom })()`)

	v.equal(`[...document.querySelectorAll(".stage-steps button")].map((el) => el.textContent.trim()).join()`, "Back,Next,Reset,Time machine,Leave")
	v.equal(`new Set([...document.querySelectorAll(".stage-steps button")].map((el) => el.getBoundingClientRect().top)).size`, 1)
	v.equal(smallTargets, "")
	v.axeOnce("a scene on a phone", `document`)

	const machine, open = `.stage-machine`, `document.querySelector(".stage-time").matches(":popover-open")`
	v.js(`document.querySelector("[data-act=present]").click()`)
	v.do(chromedp.Click(chromedp.CSS(machine)))
	v.equal(open, true)
	v.equal(smallTargets, "")
	v.equal(covered(".stage-time"), "")
	v.equal(`document.querySelector(".stage-time").getBoundingClientRect().bottom <= document.querySelector(".stage").getBoundingClientRect().top`, true)
	v.axeOnce("the time machine on a phone", `document`)
	v.do(chromedp.Click(chromedp.CSS(`[data-stage-act=clock][value="10"]`)))
	v.want(`document.querySelector(".stage-machine").textContent.trim().endsWith("10×")`)
	v.equal(open, true)
	v.do(chromedp.Click(chromedp.CSS(`[data-stage-act=clock][value="0"]`)))
	v.want(`document.querySelector(".stage-machine").textContent.trim() === "Time machine"`)
	v.press("\x1b") // closes the controls, and does nothing else
	v.equal(open, false)
	v.equal(mode, "present")
	v.press("\x1b")
	v.equal(mode, nil)

	v.do(chromedp.EmulateViewport(320, 320))
	v.js(`document.querySelector(".stage-text").scrollTop = 99`)
	v.press("n") // the next caption starts at its top
	v.want(caption + `.startsWith("Twenty seconds pass") && document.querySelector(".stage-text").scrollTop === 0`)
	v.want(`!document.querySelector(".stage-playing") && ` + isLive)

	v.do(chromedp.EmulateViewport(844, 390)) // the phone in landscape
	v.equal(`document.querySelector(".stage").getBoundingClientRect().height < innerHeight / 3`, true)
	v.equal(smallTargets, "")
	v.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))
	v.equal(`[...document.querySelectorAll(".stage-rates button, .stage-leaps button, .stage-wall")].every((el) => el.checkVisibility())`, true)
	v.click(`[data-stage-act=leave]`)
}

// turnsClock changes a clock, and compares the page with the server.
func (v *visit) turnsClock() {
	v.visit("/scenes")
	v.click(`[formaction="/scenes/play/sandbox"]`)
	v.want(`document.querySelector("[data-pill]").innerText.includes("Live")`)
	v.press("n")
	v.want(caption + `.startsWith("A few messages") && !document.querySelector(".stage-playing")`)
	v.do(chromedp.EmulateViewport(390, 844)) // all clock controls have to fit on a phone
	v.equal(`[...document.querySelectorAll(".stage-do, .stage-do *")].filter((el) => el.checkVisibility() && el.clientWidth !== 1 && (el.scrollWidth > el.clientWidth + 1 && getComputedStyle(el).overflowX !== "visible" || el.getBoundingClientRect().right > innerWidth)).map((el) => el.outerHTML.slice(0, 80)).join()`, "")
	v.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))
	home, _ := v.js(`location.pathname`).(string)
	v.visit(home + "/expirations")
	v.visit(home + "/q/orders")
	v.want(`document.querySelector("[data-pill]").innerText.includes("Live")`)
	v.equal(`document.body.dataset.rate`, "0")
	was := v.js(`(window.was = performance.now(), ` + countdown + `)`)
	v.want(`performance.now() > was + 2500`)
	v.equal(countdown, was) // the clock is stopped

	// At any rate, the clock and the countdown equal those of the server.
	for _, run := range []struct {
		rate int
		wait string // long enough for another rate to show
	}{{60, "2400"}, {10, "3000"}, {60, "2400"}} {
		turned := fmt.Sprintf(`document.querySelector("[data-stage-act=clock][value='%d']")`, run.rate)
		v.js(turned + `.click()`)
		v.want(turned + `.ariaPressed === "true"`)
		v.js(`window.was = performance.now()`)
		v.want(`performance.now() > was + ` + run.wait)
		v.js(`{ window.off = 1e9; window.measuring = null; }`)
		measure := `window.measuring ??= fetch(location.href).then((a) => a.text()).then((text) => {
			const { body } = new DOMParser().parseFromString(text, "text/html"), el = document.querySelector("main time[data-of]");
			const clock = document.querySelector("[data-clocked=scene]").textContent.match(/(\d+):(\d+):(\d+)/).slice(1).map(Number);
			const now = new Date(body.dataset.now), there = now.getUTCHours() * 3600 + now.getUTCMinutes() * 60 + now.getUTCSeconds();
			const here = clock[0] * 3600 + clock[1] * 60 + clock[2], left = Math.max(0, Math.ceil((Date.parse(el.dateTime) - now) / 1000));
			window.off = body.dataset.rate === "` + strconv.Itoa(run.rate) + `" ? Math.max(Math.abs((there - here + 129600) % 86400 - 43200), Math.abs(left - ` + countdown + `)) : 1e9;
		}).finally(() => { window.measuring = null; })`
		// A second of real time may pass between reading the server's clock and the page's, and
		// more on a busy machine. With a wrong rate the clocks always differ by more.
		v.wantMeanwhile(fmt.Sprintf(`window.off <= %d`, run.rate+1), func() { v.js(`{ ` + measure + ` }`) })
		v.want(`!window.measuring`)
		v.js(`document.querySelector("[data-stage-act=clock][value='0']").click()`)
		v.want(`document.querySelector("[data-stage-act=clock][value='0']").ariaPressed === "true"`)
		// Both clocks are stopped now, at the same time.
		v.js(`{ window.off = null; fetch(location.href).then((a) => a.text()).then((text) => {
			const { body } = new DOMParser().parseFromString(text, "text/html"), el = document.querySelector("main time[data-of]");
			const left = Math.max(0, Math.ceil((Date.parse(el.dateTime) - Date.parse(body.dataset.now)) / 1000));
			window.off = body.dataset.rate === "0" ? left - ` + countdown + ` : 1e9;
		}) }`)
		v.want(`window.off === 0`)
	}
	v.js(`document.querySelector("[data-stage-act=leap][value='expiry']").click()`)
	v.want(`document.querySelector("main").innerText.includes("Dead-letter") && !!document.querySelector('main a[href*="tab=dead-letter"] small') && document.querySelector('main a[href*="tab=dead-letter"] small').textContent !== "0"`)
}

// scenesWithoutScripts plays by forms alone.
func (v *visit) scenesWithoutScripts() {
	v.scripts(false)
	defer v.scripts(true)
	v.visit("/scenes")
	v.click(`[formaction="/scenes/play/poison"]`)
	for n, says := range []string{"An invoice that crashes", "The first receiver", "The second crashes", "Thirty seconds later"} {
		v.click(`[data-stage-act=next]`)
		text, err := chromedp.Run(v.tab, chromedp.Text(chromedp.CSS(".stage-caption")))
		if err != nil || !strings.HasPrefix(text, says) {
			v.t.Fatalf("step %d has the text %q, %v", n+1, text, err)
		}
	}
	v.click(`[data-stage-act=clock][value="10"]`)
	v.click(`[data-stage-act=reset]`)
	v.click(`[data-stage-act=leave]`)
}
