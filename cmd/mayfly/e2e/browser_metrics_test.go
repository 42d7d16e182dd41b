package e2e

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// metricsInBrowser checks that the charts show what the API returns, in both themes and at
// every width, and that the table beside them has the same numbers.
func metricsInBrowser(t *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	v.send("orders", "", "hello")
	const charts = `[...document.querySelectorAll("[data-plot] canvas")]`
	const drawn = `document.querySelector("[data-plots]")?.dataset.drawn`
	const ink = `new Set(new Uint32Array(` + charts + `[1].getContext("2d").getImageData(0, 0, ` + charts + `[1].width, ` + charts + `[1].height).data.buffer)).size > 3`
	v.visit("/n/default")
	v.click(`main a[href="/n/default/metrics"]`)
	v.want(drawn + ` === "360" && ` + charts + `.length === 2 && ` + ink)
	v.want(`document.querySelectorAll(".numbers tbody tr").length > 0`)
	v.do(chromedp.EmulateViewport(390, 844)) // each number is below its name on a phone too
	v.equal(`[...document.querySelectorAll(".numbers thead th")].every((th, i) => Math.abs(th.getBoundingClientRect().right - document.querySelector(".numbers tbody tr").cells[i].getBoundingClientRect().right) < 1)`, true)
	v.do(chromedp.EmulateViewport(1440, 900))
	v.click(`.seg a[href*="within=day"]`)
	v.want(drawn + ` === "288"`)
	v.equal(`document.querySelector(".seg [aria-current]").innerText`, "Day")

	v.visit("/n/default/q/orders?tab=metrics")
	v.want(drawn + ` === "360" && ` + ink)
	v.want(`[...document.querySelectorAll(".numbers tbody tr")].some((tr) => tr.cells[1].innerText === "1" && tr.cells[6].innerText === "1")`)
	v.js(`document.documentElement.dataset.theme = "dark"`)
	v.want(charts + `.length === 2 && ` + ink)
	chartTimes(t, v)
	v.visit("/n/default/topics")
	v.equal(`document.querySelectorAll('script[src*="uPlot"], script[src*="metrics"]').length`, float64(0))
}

// chartTimes checks the times at the foot of a chart and at its cursor: they follow the page's
// switch, have 24 hours even in American English, and are round in the local time zone.
func chartTimes(t *testing.T, v *visit) {
	t.Helper()
	if _, err := chromedp.Call(v.tab, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: "en_US"}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(v.tab, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kathmandu"}); err != nil { // 5:45 ahead
		t.Fatal(err)
	}
	v.visit("/n/default/metrics?within=day")
	v.want(`document.querySelector("[data-plots]")?.dataset.drawn === "288"`)
	v.js(`{ window.written = []; const draw = CanvasRenderingContext2D.prototype.fillText; CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { window.written.push(String(text)); draw.call(this, text, ...at); }; }`)
	times := func(mode string) {
		t.Helper()
		v.js(`{ window.written.length = 0; document.querySelector("input[name=time][value=` + mode + `]").click(); }`)
	}
	const feet = `window.written.filter((text) => /:|−|now|M$/.test(text))`
	const cursor = `(() => { const over = document.querySelector(".u-over"), box = over.getBoundingClientRect(); over.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: box.left + 2, clientY: box.top + 20 })); return document.querySelector(".u-legend .u-series:first-child .u-value").innerText; })()`
	times("rel")
	times("local")
	v.want(feet + `.length >= 4 && ` + feet + `.every((text) => /^([01]\d|2[0-3]):00$/.test(text))`)
	v.want(`/^\w{3} ([01]\d|2[0-3]):\d\d$/.test(` + cursor + `)`)
	local, _ := v.js(cursor).(string)
	times("utc")
	v.want(feet + `.length >= 4 && ` + feet + `.every((text) => /^([01]\d|2[0-3]):00$/.test(text))`)
	v.want(`/^\w{3} ([01]\d|2[0-3]):\d\d UTC$/.test(` + cursor + `)`)
	utc, _ := v.js(cursor).(string)
	const clock = "Mon 15:04"
	a, errLocal := time.Parse(clock, local)
	b, errUTC := time.Parse(clock+" UTC", utc)
	if ahead := (a.Sub(b) + 24*time.Hour) % (24 * time.Hour); errLocal != nil || errUTC != nil || ahead != 5*time.Hour+45*time.Minute {
		t.Errorf("the cursor is at %q and %q: %v", local, utc, ahead)
	}
	times("rel")
	v.want(feet + `.includes("now") && ` + feet + `.includes("−12h")`)
	v.want(`/^2[34]h( \d\dm)? ago$/.test(` + cursor + `)`)
}
