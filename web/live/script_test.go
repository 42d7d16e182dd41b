package live

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// TestScript tests static/live.js in a real browser.
func TestScript(t *testing.T) {
	ctx := browser(t)
	for name, test := range map[string]func(*testing.T, *stage){
		"clocks":        clocks,
		"dates":         dates,
		"spans":         spans,
		"turned":        turned,
		"merge":         merge,
		"hold":          hold,
		"still":         still,
		"leaving":       leaving,
		"stream":        stream,
		"storm":         storm,
		"pieces":        pieces,
		"chosen":        chosen,
		"focus":         focus,
		"pressed":       pressed,
		"steps":         steps,
		"let in":        letIn,
		"slots":         slots,
		"cut":           cut,
		"pause":         pause,
		"hidden":        hidden,
		"silence":       silence,
		"polling":       polling,
		"errors":        errorFrame,
		"preferences":   preferences,
		"keys":          keys,
		"standing":      standing,
		"hands":         hands,
		"announcements": announcements,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, play(t, ctx, bodies[name]))
		})
	}
}

// row returns a row with a countdown that ends d after the time of the stage's clock. The server
// renders clocks as if they were stopped, so the page shows another text than the frame has.
func row(key, subject string, d time.Duration) string {
	return fmt.Sprintf(`<tr data-key=%q><td><input type="checkbox" name="key"></td><td><span data-clock data-tone="plenty">`+
		`<svg class="ring" viewBox="0 0 20 20"><path class="track" d="M0 0"></path><path class="arc" d="M0 0" stroke-dasharray="100 100" stroke-dashoffset="0"></path></svg>`+
		`<time role="timer" datetime=%q data-of="300" data-low="60" data-crit="15">10:00:00</time></span></td><td class="what"><b>%s</b></td><td><button type="button">Delete</button></td></tr>`, key, in(d), subject)
}

// table returns a list as in a whole page: its clocks were read when the page was rendered.
func table(insert string, rows ...string) string {
	reading := strings.NewReplacer(`10:00:00`, `59m 58s`, `100 100`, `97 100`, `offset="0"`, `offset="-3"`,
		`data-tone="plenty"`, `data-tone="low"`, `M0 0`, `M1 1`, ` data-of`, ` aria-label="59 minutes" data-of`)
	out := `<table><tbody data-list="rows"` + insert + `>`
	for _, r := range rows {
		out += reading.Replace(r)
	}
	return out + `</tbody></table><p data-slot="sum">2 messages</p>`
}

const hour = time.Hour

var bodies = map[string]string{
	"clocks": `<p id="a" data-clock data-tone="plenty"><svg class="ring"><path class="track" d=""></path><path class="arc" d=""></path></svg>
	  <svg class="glass"><path class="sand" d="M0 0"></path></svg><svg class="glass" data-state="held"><path class="sand" d="M0 0"></path></svg>
	  <time role="timer" datetime="` + in(4*time.Minute+40*time.Second+500*time.Millisecond) + `" data-of="300" data-low="60" data-crit="15">?</time></p>
	<p id="b" data-clock><svg class="ring" data-hold><path class="track" d=""></path><path class="arc" d=""></path>
	  <circle class="hold" data-until="` + in(30*time.Second) + `" data-len="60"></circle></svg><time role="timer" datetime="` + in(40*time.Second) + `" data-of="300" data-low="60" data-crit="15">?</time></p>
	<p id="c" data-clock><svg class="ring"><path class="track" d=""></path><path class="arc" d=""></path></svg>
	  <time role="timer" datetime="` + in(12*time.Second) + `" data-of="300" data-low="60" data-crit="15">?</time></p>
	<p id="d" data-clock><time role="timer" class="flaps" datetime="` + in(40*time.Minute+30*time.Second) + `" data-of="3600" data-low="60" data-crit="10"><span class="flap">0</span><span class="flap">0</span><span class="flap colon">:</span><span class="flap">0</span><span class="flap">0</span></time></p>
	<p id="e"><time role="timer" datetime="` + in(2*time.Second) + `" data-of="300" data-as="dead">?</time></p>
	<p id="f"><time datetime="` + in(-90*time.Second) + `" data-ago>?</time> <time datetime="` + in(0) + `" data-at>10:04:12</time> <time datetime="` + in(0) + `" data-at="date">2026-07-14 10:04:12</time></p>
	<p id="g"><time role="timer" datetime="` + in(50*hour) + `" data-of="360000" data-low="3600" data-crit="300">?</time></p>`,
	"turned":      `<p><time role="timer" datetime="` + in(time.Hour) + `" data-of="3600" data-low="720" data-crit="180">?</time> <time datetime="` + in(0) + `" data-ago>?</time></p>`,
	"merge":       table("", row("1", "one", hour), row("2", "two", hour), row("3", "three", hour)),
	"hold":        table(` data-insert="hold"`, row("1", "one", hour), row("2", "two", hour)),
	"still":       `<button type="button" data-hold="rows" aria-pressed="false">Hold</button>` + table("", row("1", "one", hour), row("2", "two", hour)),
	"leaving":     table("", row("1", "one", hour), row("2", "two", hour), row("3", "three", hour)),
	"stream":      table("", row("1", "one", hour), row("2", "two", hour), row("3", "three", hour)),
	"storm":       table(""),
	"pieces":      table(""),
	"chosen":      table("", row("1", "one", hour)),
	"pressed":     `<div data-slot="sum">` + resubmit + `</div>`,
	"focus":       `<table><tbody data-list="rows">` + menu("1", "one", true) + menu("2", "two", true) + `</tbody></table>`,
	"steps":       `<table><tbody data-list="rows">` + menu("1", "one", true) + menu("2", "two", true) + menu("3", "three", true) + menu("4", "four", true) + menu("5", "five", true) + `</tbody></table>`,
	"let in":      `<table><tbody data-list="rows" data-insert="hold">` + menu("1", "one", true) + `</tbody></table>`,
	"slots":       `<div data-slot="sum"><b>2</b> messages, next in <time role="timer" datetime="` + in(hour) + `" data-of="3600" data-low="720" data-crit="180">1h</time> <input id="kept"></div>`,
	"cut":         table("", row("1", "one", hour), row("2", "two", hour)),
	"pause":       table("", row("1", "one", hour)),
	"hidden":      table("", row("1", "one", hour)),
	"silence":     table("", row("1", "one", hour)),
	"polling":     table("", row("1", "one", hour), row("2", "two", hour)),
	"errors":      table("", row("1", "one", hour)),
	"dates":       ``,
	"spans":       ``,
	"preferences": `<time datetime="` + in(0) + `" data-at>10:04:12</time>`,
	"keys":        ``,
	"standing": `<!DOCTYPE html><title>form</title><script src="/live.js"></script><body data-now="` + in(0) + `" data-words='{"span.m":"{n}m","span.s":"{n}s"}'><button data-pill hidden><b>Connecting</b></button>` +
		`<time role="timer" datetime="` + in(5*time.Minute) + `" data-of="300" data-low="60" data-crit="15">?</time>`,
	"hands": `<button data-act="copy" data-text="one">a</button><button data-copy-from="#two">b</button><i id="two"> two </i><button data-copy="three">c</button>
	<button data-dialog="sure">d</button><dialog id="sure"><form method="dialog"><button data-close>Cancel</button><button>Delete 3 messages</button></form></dialog>`,
	"announcements": table("", row("1", "one", hour)),
}

const (
	textOf = `((s) => document.querySelector(s)?.textContent)`
	live   = `document.querySelector("[data-pill] b").textContent === "Live"`
	order  = `[...document.querySelectorAll("[data-key]")].map((r) => r.dataset.key).join()`
)

// mark tags the nodes that must survive.
const mark = `document.querySelectorAll("[data-key], [data-key] *, [data-slot] *").forEach((el) => { el.born = true; })`

// start takes the browser to a live page.
func (s *stage) start(snapshot parts) {
	s.t.Helper()
	s.asked("sub", 5)
	s.equal(`mayfly.state`, "reconnecting") // not Live before the snapshot
	s.js(mark)
	s.send(snapshot)
	s.want(live)
}

func clocks(_ *testing.T, s *stage) {
	s.want(`/^4m (40|[123]\d)s$/.test(` + textOf + `("#a time"))`)
	s.want(`/^4 minutes (40|[123]\d) seconds$/.test(document.querySelector("#a time").ariaLabel)`)
	s.equal(`document.querySelector("#a").dataset.tone`, "plenty")
	s.equal(`document.querySelector("#a .track").getAttribute("d").startsWith("M10 3a7 7")`, true)
	s.want(`/^(9[0-4]|8\d) 100$/.test(document.querySelector("#a .arc").getAttribute("stroke-dasharray"))`)
	s.equal(`/^M(6\.9|7\.[0-3])/.test(document.querySelector("#a .glass .sand").getAttribute("d"))`, true)
	s.equal(`document.querySelector("#a .glass[data-state] .sand").getAttribute("d")`, "M0 0")
	s.equal(`document.querySelector("#b").dataset.tone`, "low")
	s.equal(`document.querySelector("#b .track").getAttribute("d").startsWith("M10 4.5a5.5 5.5")`, true)
	s.want(`/^(50|[1-4]\d) 100$/.test(document.querySelector("#b .hold").getAttribute("stroke-dasharray"))`)
	s.equal(`document.querySelector("#c").dataset.tone`, "critical")
	s.equal(`document.querySelector("#c .track").getAttribute("d")`, "M10 1.5L18.5 10L10 18.5L1.5 10Z")
	s.want(`/^40:(30|2\d)$/.test(` + textOf + `("#d time"))`)
	s.want(textOf + `("#e time") === "expiring…"`)
	s.equal(`document.querySelector("#e time").dataset.tone`, "dead")
	s.want(`/^1m [345]\ds ago$/.test(` + textOf + `("#f [data-ago]"))`)
	s.equal(textOf+`("#f [data-at]")`, "10:04:12")
	s.want(`/^2d (2|1)h$/.test(` + textOf + `("#g time"))`)

	s.js(`document.querySelector("[value=utc]").click()`)
	s.equal(textOf+`("#a time")`, "10:08:52Z")
	s.equal(textOf+`("#d time")`, "10:44")
	s.equal(textOf+`("#f [data-ago]")`, "10:02:42Z")
	s.equal(textOf+`("#f [data-at=date]")`, "2026-07-14 10:04:12Z")
	s.equal(textOf+`("#g time")`, "2026-07-16 12:04:12Z")
	s.js(`document.querySelector("[value=rel]").click()`)
	s.want(`/^4m \d+s$/.test(` + textOf + `("#a time"))`)
	s.equal(`document.querySelectorAll("[style]").length`, 0)
}

func merge(_ *testing.T, s *stage) {
	rows := map[string]string{"1": row("1", "one", hour), "2": row("2", "two", hour), "3": row("3", "three", hour)}
	s.start(full(6, []string{"1", "2", "3"}, rows))
	s.equal(`mayfly.put`, 0) // a running clock is no change
	s.equal(`document.querySelectorAll(".flash").length`, 0)

	s.js(`document.querySelector("[data-key='2'] input").checked = true`)
	s.js(`new MutationObserver(() => { window.first ??= document.querySelector("[data-key='4'] time")?.textContent; }).observe(document.querySelector("tbody"), { childList: true })`)
	s.js(`new MutationObserver((all) => { for (const m of all) m.target.flashed ||= m.target.classList.contains("flash"); }).observe(document.querySelector("tbody"), { subtree: true, attributes: true, attributeFilter: ["class"] })`) // the flash is over soon
	s.send(delta(7, []string{"4", "2", "3", "1"}, map[string]string{"2": row("2", "TWO", hour), "4": row("4", "four", hour)}, nil))
	s.want(order + ` === "4,2,3,1"`)
	s.equal(textOf+`("[data-key='2'] .what")`, "TWO")
	s.equal(`[...document.querySelectorAll("[data-key='2'] > *")].map((c) => !!c.flashed)`, []bool{false, false, true, false})
	s.equal(`[...document.querySelectorAll("[data-key]")].map((r) => !!r.born)`, []bool{false, true, true, true})
	s.equal(`document.querySelector("[data-key='2'] time").born && document.querySelector("[data-key='2'] input").checked`, true)
	s.equal(`/^(59m|1h)/.test(first)`, true) // never shown before its first update
	s.equal(`document.querySelector("[data-key='4'] .arc").getAttribute("stroke-dasharray")`, "100 100")
	s.want(`!document.querySelector(".flash")`)
	s.equal(`[mayfly.put, mayfly.gone, mayfly.frames, document.body.dataset.n]`, []any{2, 0, 2, "7"})

	// A new deadline is a change of that cell.
	s.send(delta(8, []string{"4", "2", "3", "1"}, map[string]string{"3": row("3", "three", 2*time.Minute)}, nil))
	s.want(`/^(2m 00s|1m \d\ds)$/.test(` + textOf + `("[data-key='3'] time"))`)
	s.equal(`document.querySelector("[data-key='3'] time").born`, true)
	s.equal(`[...document.querySelectorAll("[data-key='3'] > *")].map((c) => !!c.flashed)`, []bool{false, true, false, false})
}

func hold(_ *testing.T, s *stage) {
	rows := map[string]string{"1": row("1", "one", hour), "2": row("2", "two", hour)}
	s.start(full(6, []string{"1", "2"}, rows))
	s.run(chromedp.Click(chromedp.CSS(`[data-key="1"] input`)))
	s.point("")
	s.js(`document.activeElement.blur()`)

	s.send(delta(7, []string{"3", "1", "2"}, map[string]string{"3": row("3", "three", hour)}, nil))
	s.want(textOf + `(".newbar") === "1 new while you are here"`)
	s.send(delta(8, []string{"4", "3", "1", "2"}, map[string]string{"4": row("4", "four", hour), "2": row("2", "TWO", hour)}, nil))
	s.want(textOf + `(".newbar") === "2 new while you are here"`)
	s.equal(order, "1,2")
	s.equal(textOf+`("[data-key='2'] .what")`, "TWO") // rows change in place

	s.send(delta(9, []string{"4", "1", "2"}, nil, map[string]string{"3": "expired"}))
	s.want(textOf + `(".newbar") === "1 new while you are here"`)
	s.run(chromedp.Click(chromedp.CSS(`.newbar`)))
	s.point("") // the rows are under the pointer now, and wait until it moves away
	s.want(order + ` === "4,1,2" && document.querySelector(".newbar").hidden`)
	s.equal(`document.querySelector("[data-key='1'] input").checked`, true)

	// After the selection is cleared, the waiting rows appear.
	s.send(delta(10, []string{"5", "4", "1", "2"}, map[string]string{"5": row("5", "five", hour)}, nil))
	s.want(`!document.querySelector(".newbar").hidden`)
	s.js(`document.querySelector("[data-key='1'] input").checked = false`)
	s.want(order + ` === "5,4,1,2" && document.querySelector(".newbar").hidden`)
}

// still: while the user holds a list, its rows change in place but none is added or removed,
// whether the pointer is over it or not. New rows wait until the user shows them or releases the
// list.
func still(_ *testing.T, s *stage) {
	s.start(full(6, []string{"1", "2"}, map[string]string{"1": row("1", "one", hour), "2": row("2", "two", hour)}))
	const pressed = `document.querySelector("[data-hold]").ariaPressed`
	s.run(chromedp.Click(chromedp.CSS(`[data-hold]`)))
	s.equal(pressed, "true")
	s.send(delta(7, []string{"3", "2"}, map[string]string{"2": row("2", "TWO", hour), "3": row("3", "three", hour)}, map[string]string{"1": "expired"}))
	s.want(textOf + `(".newbar") === "1 new while you are here"`)
	s.equal(order, "1,2")
	s.equal(textOf+`("[data-key='2'] .what")`, "TWO") // rows change in place
	s.js(`window.since = performance.now()`)
	s.send(delta(8, []string{"4", "3", "2"}, map[string]string{"4": row("4", "four", hour)}, nil))
	s.want(textOf + `(".newbar") === "2 new while you are here"`)
	s.want(`performance.now() > since + 3000`) // longer than removed rows are struck through
	s.equal(order, "1,2")
	s.equal(`document.querySelector("[data-key='1']").classList.contains("leaving")`, true)

	s.run(chromedp.Click(chromedp.CSS(`.newbar`))) // shows the waiting rows only
	s.want(`document.querySelector(".newbar").hidden && document.querySelector("[data-key='4']")`)
	s.point("")
	s.send(delta(9, []string{"5", "4", "3", "2"}, map[string]string{"5": row("5", "five", hour)}, nil))
	s.want(textOf + `(".newbar") === "1 new while you are here" && !document.querySelector(".newbar").hidden`)

	s.run(chromedp.Click(chromedp.CSS(`[data-hold]`)))
	s.equal(pressed, "false")
	s.want(order + ` === "5,4,3,2" && document.querySelector(".newbar").hidden`)
}

func leaving(_ *testing.T, s *stage) {
	rows := map[string]string{"1": row("1", "one", hour), "2": row("2", "two", hour), "3": row("3", "three", hour)}
	s.start(full(6, []string{"1", "2", "3"}, rows))
	s.point(`[data-key='3']`)
	s.send(delta(7, []string{"2", "3"}, nil, map[string]string{"1": "expired"}))
	s.want(`document.querySelector("[data-key='1'].leaving")?.dataset.gone === "expired"`)
	s.equal(`document.querySelector("[data-key='1'] button").disabled`, true)
	s.equal(order, "1,2,3")

	// The row waits until the pointer moves away, however long.
	s.js(`{ const now = performance.now.bind(performance); performance.now = () => now() + 5000; }`)
	s.js(`window.beats = 0; new MutationObserver(() => { beats++; }).observe(document.querySelector("[data-key='3'] time"), { childList: true, attributes: true })`)
	s.want(`beats > 0`)
	s.equal(order, "1,2,3")
	s.point("")
	s.want(order + ` === "2,3"`)
	s.equal(`mayfly.gone`, 1)

	// A row that is added again loses the marks of its removal. A selected row is not removed
	// meanwhile.
	s.js(`document.querySelector("[data-key='2'] input").checked = true`)
	s.send(delta(8, []string{"3"}, nil, map[string]string{"2": "deferred"}))
	s.want(`!!document.querySelector("[data-key='2'].leaving")`)
	s.send(delta(9, []string{"2", "3"}, map[string]string{"2": row("2", "two", hour)}, nil))
	s.want(`!document.querySelector(".leaving, [data-gone]")`)
	s.equal(`document.querySelector("[data-key='2'] button").disabled`, false)
	s.equal(`[...document.querySelectorAll("[data-key]")].every((r) => r.born)`, true)

	// A row that only left the window is removed without a mark.
	s.send(delta(10, []string{"2"}, nil, map[string]string{"3": "left"}))
	s.want(order + ` === "2"`)
	s.equal(`[mayfly.gone, mayfly.put]`, []int{2, 0})
}

func slots(_ *testing.T, s *stage) {
	s.start(parts{T: "parts", Topic: "/page", N: 6, Full: true, Slots: map[string]string{
		"sum": `<b>2</b> messages, next in <time role="timer" datetime="` + in(hour) + `" data-of="3600" data-low="720" data-crit="180">10:00:00</time> <input id="kept">`,
	}})
	s.js(`document.querySelector("#kept").value = "typed"`)
	s.send(parts{T: "parts", Topic: "/page", N: 7, Slots: map[string]string{
		"sum": `<b>31</b> messages, next in <time role="timer" datetime="` + in(2*time.Minute) + `" data-of="3600" data-low="720" data-crit="180">10:00:00</time> <input id="kept"><i>!</i>`,
	}})
	s.want(`document.querySelector("[data-slot] b").textContent === "31" && !!document.querySelector("[data-slot] i")`)
	s.equal(`[...document.querySelectorAll("[data-slot] *")].map((el) => !!el.born)`, []bool{true, true, true, false})
	s.equal(`document.querySelector("#kept").value`, "typed")
	s.want(`/^(2m 00s|1m \d\ds)$/.test(` + textOf + `("[data-slot] time"))`)
	s.equal(`document.querySelectorAll(".flash").length`, 0)
}

func cut(_ *testing.T, s *stage) {
	rows := map[string]string{"1": row("1", "one", hour), "2": row("2", "two", hour)}
	s.start(full(6, []string{"1", "2"}, rows))
	s.js(`document.querySelector("[data-key='1'] input").checked = true`) // a selected row is not removed
	s.js(`window.states = new Set(); new MutationObserver(() => states.add(document.querySelector("[data-pill] b").textContent)).observe(document.querySelector("[data-pill]"), { childList: true, subtree: true, characterData: true })`)
	s.mu.Lock()
	_ = s.conn.NetConn().Close() // it is closed either way
	s.mu.Unlock()
	s.asked("sub", 6)
	f := full(9, []string{"2", "3"}, map[string]string{"2": row("2", "two", hour), "3": row("3", "three", hour)})
	f.Lists["rows"] = listPart{Order: f.Lists["rows"].Order, Put: f.Lists["rows"].Put, Gone: map[string]string{"1": "dead-lettered"}}
	s.send(f)
	s.want(live)
	s.want(order + ` === "1,2,3"`)
	s.equal(`document.querySelector("[data-key='1']").dataset.gone`, "dead-lettered")
	s.equal(`[...document.querySelectorAll("[data-key]")].map((r) => !!r.born)`, []bool{true, true, false})
	s.equal(`[mayfly.reconnects, mayfly.put, mayfly.gone, states.has("Reconnecting 1s")]`, []any{1, 1, 1, true})
	s.js(`document.querySelector("[data-key='1'] input").checked = false`)
	s.want(order + ` === "2,3"`)
}

func pause(_ *testing.T, s *stage) {
	s.start(full(6, []string{"1"}, map[string]string{"1": row("1", "one", hour)}))
	s.js(`document.querySelector("[data-key='1'] input").checked = true`) // a selected row is not removed
	s.run(chromedp.KeyEvent("p"))
	s.want(textOf + `("[data-pill] b") === "Paused" && document.querySelector("[data-pill]").ariaPressed === "true"`)
	s.js(`window.figure = ` + textOf + `("[data-key='1'] time"); window.moves = 0; new MutationObserver(() => { moves++; }).observe(document.querySelector("table"), { childList: true, subtree: true, attributes: true, characterData: true })`)
	s.send(delta(7, []string{"2", "1"}, map[string]string{"2": row("2", "two", hour)}, nil))
	s.want(textOf + `("[data-pill] b") === "Paused (1 new)"`)
	s.send(delta(8, []string{"3", "2"}, map[string]string{"3": row("3", "three", hour)}, map[string]string{"1": "expired"}))
	s.want(textOf + `("[data-pill] b") === "Paused (2 new)"`)
	s.js(`{ window.before = performance.now(); }`)
	s.want(`performance.now() - before > 1500`) // more than a beat
	s.equal(`[moves, `+textOf+`("[data-key='1'] time") === figure, mayfly.put]`, []any{0, true, 0})
	s.run(chromedp.Click(chromedp.CSS(`[data-pill]`)))
	s.asked("sub", 6) // the event number at which the page was paused
	f := full(8, []string{"3", "2"}, map[string]string{"3": row("3", "three", hour), "2": row("2", "two", hour)})
	f.Lists["rows"] = listPart{Order: f.Lists["rows"].Order, Put: f.Lists["rows"].Put, Gone: map[string]string{"1": "expired"}}
	s.send(f)
	s.point("")
	s.want(live)
	s.want(`document.querySelector("[data-key='1']").dataset.gone === "expired"`)
	s.js(`document.querySelector("[data-key='1'] input").checked = false`)
	s.want(order + ` === "3,2"`)
}

func hidden(_ *testing.T, s *stage) {
	s.start(full(6, []string{"1"}, map[string]string{"1": row("1", "one", hour)}))
	hide := `{ Object.defineProperty(document, "hidden", { value: %v, configurable: true }); document.dispatchEvent(new Event("visibilitychange")); }`
	s.js(fmt.Sprintf(hide, true))
	s.asked("pause", 0)
	s.js(fmt.Sprintf(hide, false))
	s.asked("resume", 0)
}

func silence(_ *testing.T, s *stage) {
	s.start(full(6, []string{"1"}, map[string]string{"1": row("1", "one", hour)}))
	s.js(`{ const now = performance.now.bind(performance); performance.now = () => now() + 46000; }`)
	s.asked("sub", 6)
	s.equal(`mayfly.reconnects`, 1)
}

func polling(_ *testing.T, s *stage) {
	s.start(full(6, []string{"1", "2"}, map[string]string{"1": row("1", "one", hour), "2": row("2", "two", hour)}))
	s.mu.Lock()
	s.closed = true
	s.page = table("", row("2", "two", hour), row("3", "three", hour))
	_ = s.conn.NetConn().Close() // it is closed either way
	s.mu.Unlock()
	s.want(`mayfly.polls > 0 && ` + textOf + `("[data-pill] b") === "Polling 5s"`)
	s.want(order + ` === "2,3"`)
	s.equal(`document.querySelector("[data-key='2']").born`, true)
	s.equal(`document.querySelector("[role=alert]").textContent`, "The connection was lost. Polling 5s")

	s.mu.Lock()
	s.broken = true
	s.mu.Unlock()
	s.want(`/^Stale since \d\d:\d\d:\d\d$/.test(` + textOf + `("[data-pill] b"))`)

	s.mu.Lock()
	s.closed, s.broken = false, false
	s.mu.Unlock()
	s.js(`dispatchEvent(new Event("online"))`)
	s.asked("sub", 5) // the event number of the polled page
	s.send(full(9, []string{"2", "3"}, map[string]string{"2": row("2", "two", hour), "3": row("3", "three", hour)}))
	s.want(live)
	s.equal(`document.querySelector("[role=alert]").textContent`, "")
}

func errorFrame(_ *testing.T, s *stage) {
	s.start(full(6, []string{"1"}, map[string]string{"1": row("1", "one", hour)}))
	s.send(control{T: "error", Topic: "/page", Text: "The queue is gone."})
	s.want(`/^Stale since 10:04:\d\d$/.test(` + textOf + `("[data-pill] b"))`)
	s.want(`document.querySelector("[role=status]")?.innerHTML === '<span lang="en">The queue is gone.</span>'`)
	s.asked("sub", 6) // it retries by itself
	s.send(control{T: "reset"})
	s.asked("sub", 6)
	s.send(full(7, []string{"1"}, map[string]string{"1": row("1", "one", hour)}))
	s.want(live)
	s.send(control{T: "hello", Proto: 1, Build: "b2", Epoch: 1, N: 7, Now: in(0), Rate: new(1)})
	s.want(`!document.querySelector("[data-reload]").hidden`)
}

// turned checks remaining times under a clock that is stopped, runs fast, stops by itself and jumps.
func turned(_ *testing.T, s *stage) {
	left := textOf + `("time[data-of]")`
	tell := func(d time.Duration, rate int, until string) {
		s.send(control{T: "clock", N: 5, Now: in(d), Rate: &rate, Until: until})
	}
	s.asked("sub", 5)
	tell(10*time.Minute, 0, "")
	s.want(left + ` === "50m 00s"`)
	s.js(`window.was = performance.now()`)
	s.want(`performance.now() > was + 1500`)
	s.equal(left, "50m 00s")
	s.js(`window.heard = Infinity; mayfly.heard = () => { window.heard = performance.now(); }`)
	tell(10*time.Minute, 60, "")
	s.want(`performance.now() > heard + 2000`)
	s.want(`Math.abs(50 - (performance.now() - heard) / 1000 - parseInt(` + left + `)) < 1.5`)
	tell(15*time.Minute, 600, in(20*time.Minute))
	s.want(left + ` === "40m 00s"`)
	s.equal(textOf+`("[data-ago]")`, "20m 00s ago")
	s.js(`window.was = performance.now()`)
	s.want(`performance.now() > was + 1200`)
	s.equal(left, "40m 00s")
	s.send(control{T: "ping", N: 5, Now: in(30 * time.Minute), Rate: new(1)})
	s.want(`/^29m 5\ds$/.test(` + left + `)`)
}

// dates: the script formats dates as the server does, in every language.
func dates(t *testing.T, s *stage) {
	for _, l := range locale.Languages() {
		ctx := locale.With(t.Context(), l.Tag)
		raw, err := json.Marshal(map[string]string{"date": locale.DateLayout(ctx)})
		if err != nil {
			t.Fatal(err)
		}
		body, want := "", []string{}
		for _, at := range []time.Time{t0, time.Date(2026, 2, 1, 3, 4, 5, 0, time.UTC), time.Date(2012, 11, 25, 23, 59, 59, 0, time.UTC)} {
			var b strings.Builder
			if err := component.Date(at).Render(ctx, &b); err != nil {
				t.Fatal(err)
			}
			text := locale.DateTime(ctx, at)
			if !strings.Contains(b.String(), ">"+text+"<") {
				t.Errorf("%s: %s has no %s", l.Tag, b.String(), text)
			}
			body, want = body+strings.Replace(b.String(), ">"+text+"<", ">?<", 1), append(want, text)
		}
		s.mu.Lock()
		s.page = `<!DOCTYPE html><html lang="` + l.Tag + `"><title>dates</title><link rel="icon" href="data:,"><script src="/live.js" defer></script><body data-now="` + in(0) + `" data-words='` + string(raw) + `'>` +
			`<fieldset><input type="radio" name="time" value="rel" checked><input type="radio" name="time" value="utc"></fieldset>` + body
		s.mu.Unlock()
		s.run(chromedp.Reload())
		s.want(`!document.body.textContent.includes("?")`)
		s.equal(`[...document.querySelectorAll("time")].map((el) => el.textContent)`, want)
	}
}

// spans: the server and the script format times and their urgency alike, in every language, for
// running and stopped clocks.
func spans(t *testing.T, s *stage) {
	for _, l := range locale.Languages() {
		ctx := locale.With(t.Context(), l.Tag)
		words := map[string]string{"ago": locale.T(ctx, "time.ago", locale.Args{"Span": "{n}"})}
		for unit, text := range component.SpanWords(ctx) {
			words["span."+unit] = text
		}
		raw, err := json.Marshal(words)
		if err != nil {
			t.Fatal(err)
		}
		var body strings.Builder
		var running, spoken, tones, standing []string
		var seconds []int
		for _, d := range []time.Duration{
			0, 9 * time.Second, 10 * time.Second, 45 * time.Second, 59 * time.Second, time.Minute, 244 * time.Second, time.Hour - time.Second, time.Hour, 90 * time.Minute,
			2*hour + 5*time.Minute + 9*time.Second, 24*hour - time.Second, 24 * hour, 25*hour + time.Minute, 36500 * 24 * hour,
		} {
			for _, c := range []templ.Component{component.Ago(t0.Add(-d), t0), component.Timer(component.Clock{At: t0.Add(d + time.Second), Of: hour, Now: t0})} {
				if err := c.Render(view.WithFrozenClocks(ctx), &body); err != nil {
					t.Fatal(err)
				}
			}
			running = append(running, locale.T(ctx, "time.ago", locale.Args{"Span": component.Span(ctx, d)}), component.Span(ctx, d+time.Second))
			tones = append(tones, string(component.Urgency(d+time.Second, hour)))
			spoken = append(spoken, strings.Join(regexp.MustCompile(`\d+`).FindAllString(component.LongSpan(ctx, d+time.Second), -1), " ")) // the browser has its own words
			standing, seconds = append(standing, component.Length(ctx, d)), append(seconds, int(d/time.Second))
		}
		standing, seconds = standing[1:], seconds[1:] // the script formats no zero length
		s.mu.Lock()
		s.page = `<!DOCTYPE html><html lang="` + l.Tag + `"><meta charset="utf-8"><title>spans</title><link rel="icon" href="data:,"><script src="/live.js" defer></script><script src="/metrics.js" defer></script>` +
			`<body data-now="` + in(0) + `" data-until="` + in(0) + `" data-words='` + string(raw) + `'>` + body.String()
		s.mu.Unlock()
		s.run(chromedp.Reload())
		s.want(`document.title === "spans" && document.documentElement.lang === "` + l.Tag + `" && document.querySelector("time")?.textContent === ` + strconv.Quote(running[0]))
		s.equal(`[...document.querySelectorAll("time")].map((el) => el.textContent)`, running)
		s.equal(`[...document.querySelectorAll("time[data-of]")].map((el) => el.ariaLabel.match(/\d+/g).join(" "))`, spoken)
		s.equal(`[...document.querySelectorAll("time[data-of]")].map((el) => el.dataset.tone)`, tones)
		all, err := json.Marshal(seconds)
		if err != nil {
			t.Fatal(err)
		}
		s.equal(string(all)+`.map(mayfly.length)`, standing)
	}
}

func preferences(_ *testing.T, s *stage) {
	s.js(`document.querySelector("[value=utc]").click()`)
	s.js(`document.querySelector("[data-act=theme]").click()`)
	s.equal(textOf+`("[data-at]")`, "10:04:12Z")
	s.equal(`[document.documentElement.dataset.theme, document.cookie]`, []string{"dark", "mayfly_theme=dark"})
	s.run(chromedp.Reload())
	s.equal(`["js" in document.documentElement.dataset, document.cookie, document.querySelector("[value=utc]").checked]`, []any{true, "mayfly_theme=dark", true}) // the server renders the page with it
	s.equal(textOf+`("[data-at]")`, "10:04:12Z")
	s.equal(`Object.keys(window.mayfly).sort().join()`, "cease,drift,frames,gone,hurry,lay,places,polls,put,reconnects,say,send,state,word")
}

func keys(_ *testing.T, s *stage) {
	s.run(chromedp.KeyEvent("t"))
	s.equal(`document.documentElement.dataset.theme`, "dark")
	s.run(chromedp.SendKeys(chromedp.CSS(`#typing`), "tp"))
	s.equal(`[document.documentElement.dataset.theme, document.querySelector("#typing").value, mayfly.state]`, []any{"dark", "tp", "reconnecting"})
	s.js(`document.activeElement.blur(); localStorage.setItem("mayfly.keys", "off")`)
	s.run(chromedp.KeyEvent("t"))
	s.equal(`document.documentElement.dataset.theme`, "dark")
	s.js(`localStorage.removeItem("mayfly.keys"); history.replaceState(null, "", "/base/n/a%2Fb/q/orders")`)
	s.run(chromedp.KeyEvent("e"), chromedp.KeyEvent("g"), chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("q")) // no chord
	s.equal(`location.pathname`, "/base/n/a%2Fb/q/orders")
	s.js(`history.replaceState(null, "", "/n/a%2Fb/q/orders")`)
	s.js(`{ const now = performance.now(); performance.now = () => now; }`) // however long a busy machine takes between the keys
	s.run(chromedp.KeyEvent("g"), chromedp.KeyEvent("e"), chromedp.WaitReady(chromedp.CSS("title")))
	s.want(`location.pathname === "/n/a%2Fb/expirations"`)
}

// standing: on a page without live parts the clocks run, but the page shows no connection state and
// sends nothing to the server.
func standing(_ *testing.T, s *stage) {
	s.want(`/^4m \d\ds$/.test(` + textOf + `("time"))`)
	s.equal(`[mayfly.state, document.querySelector("[data-pill]").hidden]`, []any{"", true})
	select {
	case c := <-s.did:
		s.t.Errorf("a page without live parts sent %+v", c)
	default:
	}
}

func hands(_ *testing.T, s *stage) {
	s.js(`Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { window.copied = text; } }, configurable: true })`)
	s.run(chromedp.Click(chromedp.CSS(`[data-act=copy]`)))
	s.want(`copied === "one" && document.querySelector("[data-act=copy]").classList.contains("copied")`)
	s.want(`document.querySelector("[role=status]")?.textContent === "Copied"`)
	s.run(chromedp.Click(chromedp.CSS(`[data-copy-from]`)))
	s.want(`copied === "two"`)
	s.js(`Object.defineProperty(navigator, "clipboard", { value: undefined }); document.addEventListener("copy", () => { copied = getSelection().toString(); })`)
	s.run(chromedp.Click(chromedp.CSS(`[data-copy=three]`)))
	s.want(`copied === "three" && !document.querySelector("textarea")`)

	s.run(chromedp.Click(chromedp.CSS(`[data-dialog]`)))
	s.equal(`[document.querySelector("#sure").open, document.activeElement.textContent]`, []any{true, "Cancel"})
	s.run(chromedp.KeyEvent("t")) // keys do nothing while a dialog is open
	s.equal(`document.documentElement.dataset.theme ?? ""`, "")
	s.run(chromedp.Click(chromedp.CSS(`[data-close]`)))
	s.equal(`document.querySelector("#sure").open`, false)
}

func announcements(_ *testing.T, s *stage) {
	s.start(full(6, []string{"1"}, map[string]string{"1": row("1", "one", hour)}))
	s.js(`window.said = {}; new MutationObserver(() => { said[document.querySelector("[role=status]")?.textContent] ??= performance.now(); }).observe(document.body, { subtree: true, childList: true, characterData: true })`)
	s.send(delta(7, []string{"2", "3"}, map[string]string{"2": row("2", "two", hour), "3": row("3", "three", hour)}, map[string]string{"1": "expired"}))
	s.want(`document.querySelector("[role=status]")?.textContent === "2 new, 1 gone"`)
	s.send(delta(8, []string{"2", "3", "4"}, map[string]string{"4": row("4", "four", hour)}, nil))
	s.want(`document.querySelector("[role=status]").textContent === "1 new"`)
	s.equal(`said["1 new"] - said["2 new, 1 gone"] > 4500`, true)
}
