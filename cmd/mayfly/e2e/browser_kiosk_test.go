package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// kioskInBrowser checks kiosk mode, for a screen on a wall.
func kioskInBrowser(t *testing.T, ctx context.Context) {
	v := open(t, ctx, "memory:")
	v.create("queue", "orders", `{}`)
	v.visit("/n/default?kiosk=1")
	v.want(mode + ` === "kiosk" && mayfly.state === "live" && !document.querySelector("[data-pill]").checkVisibility()`)
	v.equal(`getComputedStyle(document.querySelector("main")).cursor`, "none")
	v.equal(`[...document.querySelectorAll("button, input, summary:not(.ns)")].filter((el) => el.checkVisibility()).map((el) => el.outerHTML.slice(0, 80)).join()`, "")
	v.js(`{ Object.defineProperty(document, "hidden", { get: () => true, configurable: true }); document.dispatchEvent(new Event("visibilitychange")) }`)
	v.create("queue", "more", `{"AutoDeleteOnIdle":"PT5M"}`)
	v.want(`document.querySelector("main").innerText.includes("more")`)
	v.visit("/n/default?kiosk=1&every=5s&pages=overview,queues")
	v.want(`location.pathname === "/n/default/queues" && ` + mode + ` === "kiosk"`)
	v.want(`location.pathname === "/n/default" && mayfly.state === "live"`)
	v.press("\x1b")
	v.want(mode + ` === undefined && location.search === "" && document.querySelector(".rail").checkVisibility()`)
	wallInBrowser(t, v)
	wallGoesRound(t, v)
}

// wallGoesRound checks that a wall shows its pages in turn. It replaces the wall's timers and fires
// them itself.
func wallGoesRound(t *testing.T, v *visit) {
	v.at = v.server.Dashboard
	if _, err := chromedp.Call(v.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		window.every = new Map();
		const set = setInterval;
		setInterval = (handler, ms, ...rest) => ms < 5000 ? set(handler, ms, ...rest) : void every.set(ms, handler);
	`}); err != nil {
		t.Fatal(err)
	}
	wall := func(query string) {
		t.Helper()
		v.visit("/n/default?kiosk=1" + query)
		v.want(mode + ` === "kiosk" && mayfly.state === "live"`)
	}
	turn := func(ms int, path string) {
		t.Helper()
		v.js(fmt.Sprintf(`{ window.old = true; every.get(%d)() }`, ms))
		v.want(fmt.Sprintf(`!window.old && location.pathname === %q && mayfly.state === "live"`, path))
	}
	for every, ms := range map[string]int{"90": 90_000, "90s": 90_000, "1.5m": 90_000, "1h": 3_600_000, "3h": 3_600_000, "7s": 7_000, "1s": 5_000} {
		wall("&every=" + every)
		v.equal(fmt.Sprintf(`every.has(%d)`, ms), true)
	}
	wall("")
	plain := v.js(`[...every.keys()].join()`)
	for _, every := range []string{"never", "-5m", "5x"} {
		wall("&every=" + every)
		v.equal(`[...every.keys()].join()`, plain)
	}
	wall("&every=1m")
	for _, next := range []string{"/expirations", "/queues", "/topics", "/temporary", ""} {
		turn(60_000, "/n/default"+next)
		v.equal(`location.search`, "?kiosk=1&every=1m")
	}
	// Missing pages are left out, and other addresses are ignored.
	wall("&every=1m&pages=overview,nowhere,../../settings,%20queues")
	turn(60_000, "/n/default/queues")
	v.refused(http.StatusNotFound, "/n/default/nowhere")
	turn(60_000, "/n/default")

	// A wall has no actions.
	v.press("P")
	v.equal(mode, "kiosk")

	// A wall reloads only if the server has a new build.
	v.calm()
	v.js(`{ every.get(10000)().then(() => { window.looked = true }) }`)
	v.want(`window.looked`)
	v.mu.Lock()
	if len(v.asked) > 0 {
		t.Errorf("a wall without errors requested %q", v.asked)
	}
	v.mu.Unlock()
	v.js(`document.querySelector("[data-reload]").hidden = false`)
	turn(10_000, "/n/default")

	// Failed navigations leave the page as it is.
	left := func(ms int) any {
		t.Helper()
		v.js(fmt.Sprintf(`{ navigation.addEventListener("navigate", () => { window.left = true }); every.get(%d)().then(() => { window.looked = true }) }`, ms))
		v.want(`window.looked`)
		return v.js(`!!window.left`)
	}
	wall("&every=1m&pages=overview")
	if left(60_000) != false {
		t.Error("a round of one page loaded it again")
	}

	// A page with an error reloads only once it can be loaded.
	v.visit("/n/default/q/late?kiosk=1")
	v.want(mode + ` === "kiosk" && !document.body.dataset.live && every.has(10000)`)
	if left(10_000) != false {
		t.Error("a page that still has an error was loaded again")
	}
	v.refused(http.StatusNotFound, "/n/default/q/late") // the visit
	v.refused(http.StatusNotFound, "/n/default/q/late") // the round
	v.create("queue", "late", `{}`)
	turn(10_000, "/n/default/q/late")

	// Without a response from the server, the page stays.
	wire := NewFaultyProxy(t, strings.TrimPrefix(v.server.Dashboard, "http://"))
	v.at = "http://" + wire.Addr().String()
	wall("&every=1m")
	wire.Cut()
	v.want(`mayfly.state === "reconnecting"`)
	v.js(`{ window.old = true; every.get(60000)().then(() => { window.turned = true }) }`)
	v.want(`window.turned && window.old && location.pathname === "/n/default"`)
	wire.Repair()
	v.want(`mayfly.state === "live"`)
	turn(60_000, "/n/default/expirations")
	v.leave()
}

// wallInBrowser checks that a wall fills screens of each size with large figures, and that after
// the server was unreachable and restarted it reconnects by itself.
func wallInBrowser(t *testing.T, v *visit) {
	v.at = v.server.Dashboard
	for _, size := range [][2]int64{{1920, 1080}, {3840, 2160}} {
		v.do(chromedp.EmulateViewport(size[0], size[1]))
		v.visit("/n/default?kiosk=1")
		v.want(mode + ` === "kiosk" && mayfly.state === "live"`)
		v.fits(fmt.Sprintf("a wall of %d", size[0]))
		v.equal(`getComputedStyle(document.documentElement).scrollbarWidth`, "none")
		if share, _ := v.js(`document.querySelector(".page").getBoundingClientRect().width / innerWidth`).(float64); share < .9 {
			t.Errorf("on a screen of %d the wall uses %.2f", size[0], share)
		}
		// Figures are at least four hundredths as high as the wall.
		if share, _ := v.js(`Math.min(...[...document.querySelectorAll(".tile .n")].map((el) => parseFloat(getComputedStyle(el).fontSize))) / innerHeight`).(float64); share < .04 {
			t.Errorf("of a screen of %d a figure is %.3f", size[1], share)
		}
	}
	v.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))
	wire := NewFaultyProxy(t, strings.TrimPrefix(v.server.Dashboard, "http://"))
	v.at = "http://" + wire.Addr().String()
	v.visit("/n/default?kiosk=1")
	v.want(mode + ` === "kiosk" && mayfly.state === "live"`)
	wire.Cut()
	v.want(`mayfly.state === "reconnecting" && document.querySelector("[data-pill]").checkVisibility()`)
	if err := v.server.Stop(); err != nil {
		t.Fatal(err)
	}
	v.server = Start(t, v.config)
	v.create("queue", "after-the-restart", `{"AutoDeleteOnIdle":"PT5M"}`)
	wire.to = strings.TrimPrefix(v.server.Dashboard, "http://")
	wire.Repair()
	v.want(mode + ` === "kiosk" && mayfly.state === "live" && document.querySelector("main").innerText.includes("after-the-restart")`)
	v.leave()
}

// wallsFit checks that every page of the round, with much content, is as high as the wall, and
// shows only whole rows, as many as fit.
func wallsFit(t *testing.T, ctx context.Context) {
	v := open(t, ctx, "memory:")
	for _, scene := range []bool{false, true} { // empty panels only show their texts in scenes
		home := "/n/default"
		if scene {
			home = v.begins("sandbox")
		}
		for _, size := range [][2]int64{{1280, 800}, {1920, 1080}} {
			v.do(chromedp.EmulateViewport(size[0], size[1]))
			v.visit(home + "?kiosk=1")
			v.want(`mayfly.state === "live"`)
			v.equal(`[...document.querySelectorAll(".split :is(h3, p)")].filter((el) => {
				const text = el.getBoundingClientRect(), panel = el.closest(".panel").getBoundingClientRect();
				return el.checkVisibility() && text.left < panel.right && text.bottom > panel.bottom;
			}).map((el) => el.textContent).join()`, "")
			v.equal(`document.querySelector(".tiles").getBoundingClientRect().bottom < document.querySelector(".split").getBoundingClientRect().top`, true)
			v.visit(home + "/temporary?kiosk=1")
			v.want(`mayfly.state === "live"`)
			v.equal(`document.querySelector(".wall").getBoundingClientRect().height > 0`, scene) // only in scenes, the panel that just fits is shown
		}
	}
	v.press("\x1b")
	v.want(mode + ` === undefined`)
	v.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))
	furnish(v)
	for i := range 40 {
		v.create("queue", fmt.Sprintf("reply-%04x", 4096+i), `{"AutoDeleteOnIdle":"PT9M"}`)
		v.create("topic", fmt.Sprintf("topic-%04x", i), `{}`)
	}
	for i := range 40 {
		v.send("orders", fmt.Sprintf(`{"Label":"order.placed","MessageId":"more-%d","TimeToLive":%d}`, i, 600+i), "x")
		v.send("payments", `{"Label":"price.gone","TimeToLive":1}`, "x")
	}
	v.wantMeanwhile(`document.querySelectorAll("[data-list=gone] > li").length > 12`, func() { v.visit("/n/default/expirations") })
	const lists = `[...document.querySelectorAll("main [data-list]")].filter((list) => (list.closest(".wall, .picking") ?? list).checkVisibility() && !list.closest(".horizon")).map((list) => {
		const box = (list.closest(".wall, .picking") ?? list).getBoundingClientRect(), rows = [...list.children].map((row) => row.getBoundingClientRect());
		const out = (r) => r.left >= box.right - 1 || r.top >= box.bottom - 1;
		return {name: list.dataset.list, below: box.bottom > innerHeight, cut: rows.filter((r) => !out(r) && (r.bottom > box.bottom + 1 || r.right > box.right + 1)).length,
			whole: rows.filter((r) => !out(r)).length, all: rows.length, room: box.bottom - Math.max(...rows.filter((r) => !out(r)).map((r) => r.bottom)) > rows[0]?.height + 20 };
	})`
	for p, most := range map[string]string{"": "next temporary", "/expirations": "board gone", "/queues": "rows", "/topics": "rows", "/temporary": "sitters", "/q/orders": "rows"} {
		for _, size := range [][2]int64{{1920, 1080}, {1366, 768}, {1080, 1920}} {
			v.do(chromedp.EmulateViewport(size[0], size[1]))
			v.visit("/n/default" + p + "?kiosk=1")
			v.want(`mayfly.state === "live"`)
			for _, when := range []string{"at first", "live"} {
				wall := fmt.Sprintf("%s at %d, %s", p, size[0], when)
				if high, _ := v.js(`document.documentElement.scrollHeight - innerHeight`).(float64); high > 0 {
					t.Errorf("%s is %v px too high", wall, high)
				}
				v.fits(wall)
				v.equal(lists+`.filter((list) => list.cut || list.below || list.room && list.whole < list.all).map((list) => JSON.stringify(list)).join()`, "")
				v.equal(`[...document.querySelectorAll("main :is(button, input, select, textarea, summary, .btn)")].filter((el) => el.checkVisibility()).map((el) => el.outerHTML.slice(0, 80)).join()`, "")                                            // no interactive elements
				v.equal(`[...document.querySelectorAll(".board .what small")].filter((el) => el.checkVisibility() && el.clientWidth < Math.min(el.scrollWidth, 4 * parseFloat(getComputedStyle(el).fontSize))).map((el) => el.textContent).join()`, "") // more than a letter of each id
				v.equal(`[...document.querySelectorAll(".board tbody tr")].filter((row) => {
					const cells = [...row.children].filter((cell) => cell.checkVisibility()).map((cell) => cell.getBoundingClientRect());
					return cells.some((a, i) => cells.slice(i + 1).some((b) => a.left < b.right - 1 && b.left < a.right - 1));
				}).length`, 0) // columns do not overlap
				for name := range strings.FieldsSeq(most) {
					if n, _ := v.js(lists + `.find((list) => list.name === "` + name + `")?.whole`).(float64); n < 3 {
						t.Errorf("%s shows %v rows of %s", wall, n, name)
					}
				}
				if strings.HasPrefix(most, "next") || strings.HasPrefix(most, "board") { // a new row appears at the top
					late := strings.ReplaceAll(fmt.Sprintf("late-%d-%s", size[0], when), " ", "-")
					v.send("empty", `{"Label":"`+late+`","TimeToLive":9}`, "x")
					v.want(`document.querySelector("main").innerText.includes("` + late + `")`)
				}
			}
		}
	}
}
