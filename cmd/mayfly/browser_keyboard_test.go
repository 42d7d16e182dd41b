package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// stops are what a keyboard has to reach in a page: of several radio buttons the
// chosen one, of what is folded the fold. A place that scrolls takes the focus,
// too, but nothing depends on it.
const stops = `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")].filter((el) =>
	el.checkVisibility({ visibilityProperty: true }) && !el.disabled && el.tabIndex >= 0 &&
	!(el.type === "radio" && !el.checked && document.querySelector('input[name="' + el.name + '"]:checked')))`

// focused says what is wrong with how the focus shows: it is an outline, on the
// element or what is drawn for it, within the window and not covered.
const focused = `(() => {
	const el = document.activeElement, seen = (e) => e && getComputedStyle(e).outlineStyle !== "none" && parseFloat(getComputedStyle(e).outlineWidth) >= 1;
	if (el === document.body) return "";
	const r = el.getBoundingClientRect(), name = el.outerHTML.slice(0, 160);
	if (![el, el.closest("label"), el.closest(".filter")].some(seen)) return "no outline: " + name;
	if (r.bottom < 1 || r.top > innerHeight - 1 || r.right < 1 || r.left > innerWidth - 1) return "out of sight: " + name;
	const x = r.left + Math.min(r.width, 24) / 2, y = Math.min(Math.max(r.top, 0) + Math.min(r.height, 24) / 2, innerHeight - 1), top = document.elementFromPoint(x, y);
	return top && (el.contains(top) || top.contains(el) || top.closest("label")?.contains(el)) ? "" : "covered by " + top?.outerHTML.slice(0, 80) + ": " + name;
})()`

// tabbed goes through the page by the tabulator and checks that it comes by
// everything, and that one always sees where.
func (v *visit) tabbed(what string) {
	v.t.Helper()
	v.js(`{ document.activeElement.blur(); window.scrollTo(0, 0); document.querySelectorAll("*").forEach((el) => { delete el.reached; }); }`)
	all := int(v.js(stops + `.length`).(float64))
	for range all + 40 {
		v.do(chromedp.KeyEvent(kb.Tab))
		if wrong, _ := v.js(focused).(string); wrong != "" {
			v.t.Errorf("%s: %s", what, wrong)
		}
		if v.js(`(() => { const again = document.activeElement.reached; document.activeElement.reached = true; return !!again || document.activeElement === document.body; })()`) == true {
			break
		}
	}
	if missed, _ := v.js(stops + `.filter((el) => !el.reached).map((el) => el.outerHTML.slice(0, 100)).join("\n")`).(string); missed != "" {
		v.t.Errorf("%s: the keyboard does not come to\n%s", what, missed)
	}
}

// keyboardInBrowser uses the pages of sessions and rules without a pointer.
func keyboardInBrowser(_ *testing.T, v *visit) {
	furnishSessions(v)
	furnishRules(v)
	for _, at := range []string{
		"/q/chats?tab=sessions", "/q/chats/session?id=anna", "/q/chats/session?id=bert", "/t/prices/s/dear?tab=rules",
		"/t/prices/s/dear/rules/edit?rule=dear", "/t/prices/s/dear/rules/edit?rule=by-hand", "/lab?topic=alarms&from=" + v.stray(),
		"/t/prices?tab=settings", "/q/chats/session?id=carla",
	} {
		v.visit("/n/default" + at)
		v.want(`!document.body.dataset.live || ` + isLive)
		v.js(`document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
		v.tabbed(at)
	}
	v.keysInDrawer()
	v.keysInEditor()
	v.keysInLab()
}

// keysInDrawer opens a session beside its list and comes back to where it was,
// while its row moves.
func (v *visit) keysInDrawer() {
	v.visit("/n/default/q/chats?tab=sessions")
	v.want(isLive)
	v.js(`document.querySelector('[data-key="dora"] a').focus()`)
	v.do(chromedp.KeyEvent(kb.Enter))
	v.want(`document.querySelector(".drawer h2")?.textContent === "dora" && document.activeElement.matches(".drawer h2")`)
	v.do(chromedp.KeyEvent(kb.Escape))
	v.want(`!document.querySelector(".drawer")`)
	v.equal(`document.activeElement.textContent`, "dora")
	hold := v.accept("chats", "dora")
	v.want(`document.querySelector('[data-key="dora"] .held time')`)
	v.received("chats", fmt.Sprintf(`{"hold":%q}`, hold))
	v.want(`document.querySelector('[data-key="dora"] [data-label="Locked"]').innerText === "1"`)
	v.equal(`document.activeElement.textContent`, "dora")
	v.equal(focused, "")
}

// keysInEditor writes a rule, tries it and saves it.
func (v *visit) keysInEditor() {
	v.visit("/n/default/t/prices/s/everything/rules/new")
	v.want(`document.activeElement.name === "rule-name"`)
	v.do(chromedp.KeyEvent("typed"), chromedp.KeyEvent(kb.Tab))
	v.equal(`document.activeElement.name + document.activeElement.value`, "rule-kindtrue")
	v.do(chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.Tab))
	v.equal(`document.activeElement.name`, "rule-sql")
	v.do(chromedp.KeyEvent("price > 2"))
	v.js(`document.querySelector("[name=take]").focus()`)
	v.do(chromedp.KeyEvent(kb.Enter))
	v.want(`document.querySelector("[data-verdict]")?.textContent.includes("Selected")`)
	v.js(`document.querySelector("[name=rule-sql]").focus()`)
	v.do(chromedp.KeyEvent(kb.End), chromedp.KeyEvent("00"))
	v.want(`document.querySelector("[data-verdict]")?.textContent.includes("Not selected")`)
	v.equal(`document.activeElement.name`, "rule-sql")
	v.js(`document.querySelector("[name=rule-name]").focus()`)
	v.do(chromedp.KeyEvent(kb.Enter)) // saves, and is not a try
	v.want(`document.querySelector("[data-notice]")?.innerText.includes("got the rule typed")`)
}

// keysInLab folds and tries: what was folded stays so, and keeps the focus.
func (v *visit) keysInLab() {
	v.visit("/n/default/lab?topic=prices")
	v.js(`document.querySelector("[name=subject]").focus()`)
	v.do(chromedp.KeyEvent("price.changed"))
	v.want(`document.querySelector("[data-verdict]")`)
	fold := `document.querySelector('[data-fold="everything"]')`
	v.equal(fold+`.open`, true)
	v.js(fold + `.querySelector("summary").focus()`)
	v.do(chromedp.KeyEvent(kb.Enter))
	v.want(`!` + fold + `.open`)
	v.js(`{ ` + fold + `.old = true; document.querySelector("[name=to]").value = "x"; document.querySelector("[name=to]").dispatchEvent(new Event("input", { bubbles: true })); }`)
	v.want(`!` + fold + `.old`)
	v.equal(fold+`.open`, false)
	v.equal(`document.activeElement === `+fold+`.querySelector("summary")`, true)
	if wrong := strings.TrimSpace(fmt.Sprint(v.js(focused))); wrong != "" {
		v.t.Error(wrong)
	}
}
