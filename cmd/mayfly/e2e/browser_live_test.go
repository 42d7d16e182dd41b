package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

const (
	isLive = `document.querySelector("[data-pill]").dataset.state === "live"`
	rows   = `[...document.querySelectorAll("[data-list=rows] > [data-key]")]`
	slot   = `((name) => document.querySelector('[data-slot="' + name + '"]').textContent.trim())`
)

// recorded makes the page record its list: how often each row appeared and disappeared, its
// countdown texts, when and why it was struck through, and when the count of dead letters
// reached each number.
const recorded = `{
	const list = document.querySelector("[data-list=rows]"), log = window.seen = { rows: {}, dead: {} };
	const of = (row) => log.rows[row.dataset.key] ??= { came: 0, went: 0, texts: [], deadline: Date.parse(row.querySelector("time").dateTime), struck: 0, why: "" };
	const look = () => {
		for (const row of list.children) {
			const is = of(row), text = row.querySelector("time")?.textContent;
			if (text && is.texts.at(-1) !== text) is.texts.push(text);
			if (row.matches(".leaving") && !is.struck) Object.assign(is, { struck: Date.now(), why: row.dataset.gone });
		}
		const dead = document.querySelector("[data-slot=count-dead]").textContent.trim();
		log.dead[dead] ??= Date.now();
	};
	for (const row of list.children) of(row).came++;
	new MutationObserver((changes) => {
		for (const { addedNodes, removedNodes, target } of changes) {
			if (target !== list) continue;
			for (const row of addedNodes) if (row.dataset) of(row).came++;
			for (const row of removedNodes) if (row.dataset) of(row).went++;
		}
		look();
	}).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ["class"] });
	look();
}`

// A record has the recorded changes of a row. Times are in milliseconds.
type record struct {
	Came, Went       int
	Texts            []string
	Deadline, Struck int64
	Why              string
}

// record returns the recorded changes.
func (v *visit) record() (rows map[string]record, dead map[string]int64) {
	v.t.Helper()
	var log struct {
		Rows map[string]record
		Dead map[string]int64
	}
	if err := json.Unmarshal([]byte(v.js(`JSON.stringify(seen)`).(string)), &log); err != nil {
		v.t.Fatal(err)
	}
	return log.Rows, log.Dead
}

// newQueue creates a queue by its form, whose messages expire after ttl and are dead-lettered.
func (v *visit) newQueue(name, ttl string) {
	v.t.Helper()
	v.visit("/n/default/queues/new")
	v.fill("name", name)
	v.fill("DefaultMessageTimeToLive", ttl)
	v.do(chromedp.Click(chromedp.CSS(`[name="DeadLetteringOnMessageExpiration"]`)))
	v.click(`main button.primary`)
	v.equal(`location.pathname`, "/n/default/q/"+name)
}

// lifeInBrowser checks that messages appear, count down, expire and become dead letters on an open
// page.
func lifeInBrowser(t *testing.T, v *visit) {
	v.newQueue("orders", "10s")
	v.want(isLive)
	v.js(recorded)
	v.calm()
	// The box above the list exists before the first row, and keeps its place and the focus.
	const box = `document.querySelector("main .finder [name=q]")`
	v.js(box + `.focus(), ` + box + `.value = "ab"`)
	at := v.js(box + `.getBoundingClientRect().top`)
	for n := range 5 {
		v.send("orders", fmt.Sprintf(`{"Label":"order.placed","MessageId":"o-%d"}`, n), fmt.Sprintf(`{"n":%d}`, n))
	}
	v.want(rows + `.length === 5`)
	v.equal(box+`.getBoundingClientRect().top`, at)
	v.js(rows + `.forEach((row) => row.querySelectorAll("*").forEach((el) => { el.born = row.born = true; }))`)
	v.equal(slot+`("tab-messages")`, "5")
	v.js(rows + `.forEach((row) => { row.querySelector("input.check").checked = true; })`) // selected rows stay in the list
	v.want(rows + `.length === 5 && ` + rows + `.every((row) => row.matches(".leaving"))`)
	v.want(slot + `("count-dead") === "5"`)
	v.equal(rows+`.every((row) => row.born && [...row.querySelectorAll(".what *, .seq")].every((el) => el.born))`, true)
	v.equal(rows+`.every((row) => getComputedStyle(row.querySelector(".what b")).textDecorationLine.includes("line-through"))`, true)
	v.js(rows + `.forEach((row) => { row.querySelector("input.check").checked = false; })`)
	v.want(rows + `.length === 0`)
	v.want(`!!document.querySelector("[data-slot=empty] h3")`)
	v.equal(box+` === document.activeElement && `+box+`.value`, "ab")
	v.equal(box+`.getBoundingClientRect().top`, at)
	v.stayed()
	seen, dead := v.record()
	if len(seen) != 5 {
		t.Errorf("there were %d rows, want 5", len(seen))
	}
	for key, row := range seen {
		if row.Came != 1 || row.Went != 1 || row.Why != "dead-lettered" && row.Why != "expired" {
			t.Errorf("row %s appeared %d times and disappeared %d times, %q", key, row.Came, row.Went, row.Why)
		}
		if late := time.Duration(row.Struck-row.Deadline) * time.Millisecond; late < 0 {
			t.Errorf("row %s was struck through %s before its deadline", key, -late)
		}
		if late := time.Duration(row.Struck-dead["5"]) * time.Millisecond; row.Struck == 0 || late > 0 {
			t.Errorf("row %s was struck through %s after all dead letters were counted", key, late)
		}
		if down := slices.DeleteFunc(slices.Clone(row.Texts), func(s string) bool { return len(s) != 2 }); len(down) < 2 || !slices.IsSortedFunc(down, func(a, b string) int { return strings.Compare(b, a) }) {
			t.Errorf("row %s showed %q, which is not a countdown", key, row.Texts)
		}
		if late := time.Duration(dead["5"]-row.Deadline) * time.Millisecond; late < 0 {
			t.Errorf("the fifth dead letter was counted %s before %s expired", -late, key)
		}
	}
	v.click(`.tabs a[href$="tab=dead-letter"]`)
	v.want(rows + `.length === 5`)
	v.do(chromedp.Click(chromedp.CSS(`[data-list=rows] .subject`)))
	v.want(`document.querySelector(".drawer")?.innerText.includes("TTLExpiredException")`)
}

// reloadsInBrowser is lifeInBrowser without scripts, by reloading.
func reloadsInBrowser(t *testing.T, v *visit) {
	v.scripts(false)
	v.newQueue("orders", "10s")
	v.equal(`getComputedStyle(document.querySelector("[data-pill]")).display`, "none")
	v.equal(`getComputedStyle(document.querySelector(".live.unscripted")).display !== "none"`, true)
	for n := range 5 {
		v.send("orders", fmt.Sprintf(`{"Label":"order.placed","MessageId":"o-%d"}`, n), "x")
	}
	again := func() { v.visit("/n/default/q/orders") }
	v.wantMeanwhile(rows+`.length === 5 && `+rows+`.every((row) => /^\d+s$/.test(row.querySelector("time").textContent))`, again)
	v.wantMeanwhile(rows+`.length === 0 && `+slot+`("count-dead") === "5"`, again)
	v.click(`.tabs a[href$="tab=dead-letter"]`)
	v.equal(rows+`.length`, 5)
	v.equal(rows+`.every((row) => row.innerText.includes("TTLExpiredException"))`, true)
	v.click(`[data-list=rows] .subject`)
	v.equal(`/^\/n\/default\/m\/\d+$/.test(location.pathname)`, true)
	v.equal(`document.querySelector("main").innerText.includes("TTLExpiredException")`, true)
	v.equal(`typeof mayfly`, "undefined")
	if t.Failed() {
		t.Log(v.js(`document.body.innerText`))
	}
}

// point moves the pointer over the element of an expression, or to a corner of the page.
func (v *visit) point(element string) {
	v.t.Helper()
	x, y := 1.0, 1.0
	if element != "" {
		at := v.js(`(() => { const r = ` + element + `.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`).([]any)
		x, y = at[0].(float64), at[1].(float64)
	}
	v.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
}

// temporaryInBrowser checks that an unused temporary queue disappears, and leaves a tombstone.
func temporaryInBrowser(_ *testing.T, v *visit) {
	v.visit("/n/default/temporary")
	v.want(isLive)
	v.calm()
	const sitters, graves = `document.querySelectorAll("[data-list=sitters] > [data-key]")`, `document.querySelectorAll("[data-list=graves] > [data-key]")`
	v.create("queue", "reply-7f3a", `{"AutoDeleteOnIdle":"PT9S"}`)
	v.want(sitters + `.length === 1`)
	v.point(`document.querySelector(".sitter")`) // the element stays while the pointer is on it
	v.want(`document.querySelector(".toast")?.innerText.match(/reply-7f3a deletes itself in \ds/)`)
	v.js(`document.querySelector(".toast [form]").focus()`) // the toast disappears with its queue even if it has the focus
	v.want(`document.querySelector(".sitter.leaving")?.innerText.includes("reply-7f3a")`)
	v.want(`[...` + graves + `].map((g) => g.innerText).join().includes("reply-7f3a")`)
	v.point("")
	v.want(sitters + `.length === 0 && !document.querySelector(".toast") && document.activeElement.matches("main")`)
	v.stayed()

	v.create("queue", "reply-c40d", `{"AutoDeleteOnIdle":"PT8S"}`)
	v.visit("/n/default/q/reply-c40d")
	v.want(isLive)
	v.calm()
	v.want(`document.querySelector("[data-slot=gone]").innerText.includes("reply-c40d")`)
	v.equal(`[...document.querySelectorAll(".living")].every((el) => getComputedStyle(el).display === "none")`, true)
	v.stayed()
	v.click(`[data-slot=gone] button`)
	v.equal(`location.pathname`, "/n/default/q/reply-c40d")
	v.want(`document.querySelector(".toast")`)
	v.click(`.toast [form]`)
	v.want(isLive)
	v.want(`document.querySelector("[data-slot=facts]").innerText.includes("pinned")`)
	v.equal(`document.querySelector(".toast")`, nil)
}
