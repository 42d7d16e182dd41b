package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// stops selects the elements of a page that the Tab key has to reach: of a group of radio buttons
// the chosen one, and of folded parts the summary. A scrollable element gets the focus as well, but
// nothing depends on that.
const stops = `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")].filter((el) =>
	el.checkVisibility({ visibilityProperty: true }) && !el.disabled && el.tabIndex >= 0 && !el.closest("[inert]") &&
	!(el.type === "radio" && el !== [...document.querySelectorAll('input[name="' + CSS.escape(el.name) + '"]')].filter((of) => of.form === el.form).toSorted((a, b) => b.checked - a.checked)[0]))`

// focused returns what is wrong with the display of the focus: it has to be an outline of the
// element or of its visible part, within the window and not covered.
const focused = `(() => {
	const el = document.activeElement, seen = (e) => e && getComputedStyle(e).outlineStyle !== "none" && parseFloat(getComputedStyle(e).outlineWidth) >= 1;
	if (el === document.body) return "";
	const r = el.getBoundingClientRect(), name = el.outerHTML.slice(0, 160);
	if (![el, el.closest("label"), el.closest(".filter")].some(seen)) return "no outline: " + name;
	if (r.bottom < 1 || r.top > innerHeight - 1 || r.right < 1 || r.left > innerWidth - 1) return "out of sight: " + name;
	const x = r.left + Math.min(r.width, 24) / 2, y = Math.min(Math.max(r.top, 0) + Math.min(r.height, 24) / 2, innerHeight - 1), top = document.elementFromPoint(x, y);
	return top && (el.contains(top) || top.contains(el) || top.closest("label")?.contains(el)) ? "" : "covered by " + top?.outerHTML.slice(0, 80) + ": " + name;
})()`

// begun scrolls to the top and moves the focus to the first stop within an element, so that the Tab
// key starts there and not where the focus was before.
const begun = `((within) => {
	window.tabs = { came: new Set(), last: null, all: () => ` + stops + `.filter((el) => el.closest(within)) };
	window.scrollTo(0, 0);
	tabs.all()[0]?.focus();
})`

// tabbedOn returns what is wrong with the focused element: null if it had the focus earlier in the
// round or is no element, empty if nothing is wrong. An element may keep the focus for several Tab
// keys, as a date field with its parts does.
const tabbedOn = `(() => {
	const el = document.activeElement;
	if (el === document.body || tabs.came.has(el) && el !== tabs.last) return null;
	if (el === tabs.last) return "";
	tabs.came.add(tabs.last = el);
	return ` + focused + `;
})()`

// tabbed moves through an element with the Tab key, and checks that it reaches every stop and
// that the focus is always visible.
func (v *visit) tabbed(what, within string) {
	v.t.Helper()
	down := *kb.Encode([]rune(kb.Tab)[0])[0] // do not wait for the event to be handled
	press := func() {
		if _, err := chromedp.Call(v.tab, input.DispatchKeyEvent, down); err != nil {
			v.t.Fatal(err)
		}
	}
	press() // the focus shows from the first key on
	v.js(fmt.Sprintf(begun+`(%q)`, within))
	all := int(v.js(`tabs.all().length`).(float64))
	for range all + 60 {
		wrong, on := v.js(tabbedOn).(string)
		if !on {
			break
		}
		if wrong != "" { // a note that covers it disappears in a moment
			again, err := chromedp.Run(v.tab, chromedp.Evaluate[string](`new Promise((done) => setTimeout(() => done(`+focused+`), 100))`, chromedp.EvalAwaitPromise))
			if err != nil {
				v.t.Fatal(err)
			}
			if again != "" {
				v.t.Errorf("%s: %s", what, again)
			}
		}
		press()
	}
	if missed, _ := v.js(`tabs.all().filter((el) => !tabs.came.has(el)).map((el) => el.outerHTML.slice(0, 160)).join("\n")`).(string); missed != "" || all == 0 {
		v.t.Errorf("%s: of %d elements, the keyboard does not reach\n%s", what, all, missed)
	}
}

// deaf selects elements that respond to clicks, or look as if they did, and that a keyboard cannot
// reach. It leaves out the entries of suggestion lists, which arrow keys choose, and a form's
// hidden first button, which is for Enter only.
const deaf = `(() => {
	const native = "a[href], a[role=link][aria-disabled=true][tabindex='0'], button, input, select, textarea, summary";
	const acts = "[data-act], [data-stage-act], [data-ask], [data-drawer], [data-dialog], [data-close], [data-copy], [data-copy-from], [data-newbar], [data-pill], [data-palette], [data-arrange], [data-leaves], [data-go], [formaction], [type=submit], [type=button], [role=button], [role=link], [role=tab], [role=switch], [role=checkbox], [role=menuitem], [onclick]";
	const all = [document, ...[...document.querySelectorAll("template")].map((t) => t.content)].flatMap((from) => [...from.querySelectorAll(native + ", " + acts)]).filter((el) => !el.matches("form"));
	const found = all.filter((el) => !el.matches(native) || el.tabIndex < 0 && !el.matches("button.sr[aria-hidden=true]"));
	for (const el of document.querySelectorAll("body *"))
		if (!el.closest(native + ", label, svg") && getComputedStyle(el).cursor === "pointer" && getComputedStyle(el).pointerEvents !== "none") found.push(el);
	return found.filter((el) => !el.closest("[role=listbox]")).slice(0, 4).map((el) => el.outerHTML.slice(0, 160)).join("\n");
})()`

// hears checks that a keyboard can reach everything in the page that acts.
func (v *visit) hears(what string) {
	v.t.Helper()
	if found, _ := v.js(deaf).(string); found != "" {
		v.t.Errorf("%s: a keyboard cannot reach these active elements:\n%s", what, found)
	}
}

// unfolded opens folded parts of the page, except those that open over it; of many similar
// parts only a few.
const unfolded = `{ [...document.querySelectorAll("main details:not(.more, .views, .spaces, .acting)")].slice(0, 8).forEach((d) => { d.open = true; }); }`

// tabbedPage moves through a paused page with the Tab key.
func (v *visit) tabbedPage(what string) {
	v.t.Helper()
	v.js(unfolded)
	const pause = `if (document.body.dataset.live) document.querySelector("[data-pill]").click()`
	v.js(pause)
	v.want(`!document.body.dataset.live || mayfly.state === "paused"`)
	v.tabbed(what, "body")
	v.js(pause)
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
		v.tabbed(at, "body")
	}
	v.keysInDrawer()
	v.keysInEditor()
	v.keysInLab()
	v.keysInScene()
}

// keysInDrawer opens a session beside its list and returns to its row, which moves meanwhile.
func (v *visit) keysInDrawer() {
	v.visit("/n/default/q/chats?tab=sessions")
	v.want(isLive)
	v.js(`document.querySelector('[data-key="dora"] a').focus()`)
	v.do(chromedp.KeyEvent(kb.Enter))
	v.want(`document.querySelector(".drawer h2")?.textContent === "dora" && document.activeElement.matches(".drawer h2")`)
	v.tabbedPage("a session's drawer")
	v.want(isLive)
	v.do(chromedp.KeyEvent(kb.Escape))
	v.want(`!document.querySelector(".drawer")`)
	v.equal(`document.activeElement.textContent`, "dora")
	hold := v.accept("chats", "dora")
	v.want(`document.querySelector('[data-key="dora"] .held time')`)
	v.received("chats", fmt.Sprintf(`{"sessionLockToken":%q}`, hold))
	v.want(`document.querySelector('[data-key="dora"] [data-label="Locked"]').innerText === "1"`)
	v.equal(`document.activeElement.textContent`, "dora")
	v.equal(focused, "")
}

// keysInEditor writes, tries and saves a rule.
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
	v.do(chromedp.KeyEvent(kb.Enter)) // saves the rule, instead of only trying it
	v.want(`document.querySelector("[data-notice]")?.innerText.includes("got the rule typed")`)
}

// keysInLab folds a part and runs a trial: the part stays folded, and keeps the focus.
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

// keysInScene uses a scene's strip and its clock controls.
func (v *visit) keysInScene() {
	v.visit("/scenes")
	v.js(`document.querySelector('[formaction="/scenes/play/sandbox"]').focus()`)
	v.enter(`[formaction="/scenes/play/sandbox"]`)
	v.want(`document.querySelector("[data-stage]") && ` + isLive)
	v.js(`document.querySelector("[data-stage-act=next]").focus()`)
	v.press(kb.Enter)
	v.want(caption + `.startsWith("A few messages") && !document.querySelector(".stage-playing")`)
	v.want(isLive)
	v.tabbedPage("a scene")
	v.want(isLive)
	for _, rate := range []string{"10", "0"} {
		clock := fmt.Sprintf(`document.querySelector("[data-stage-act=clock][value='%s']")`, rate)
		v.js(clock + `.focus()`)
		v.press(" ")
		v.want(clock + `.ariaPressed === "true"`)
	}
	const at = `document.querySelector("[data-clocked=scene]").textContent`
	v.js(`{ window.was = ` + at + `; document.querySelector("[data-stage-act=leap][value=expiry]").focus(); }`)
	v.press(kb.Enter)
	v.want(at + ` !== was && !document.querySelector(".stage-playing")`)
	v.js(`document.querySelector("[data-stage-act=leave]").focus()`)
	v.enter(`[data-stage-act=leave]`)
	v.want(`location.pathname === "/scenes"`)
}
