package e2e

import (
	"crypto/sha256"
	_ "embed" // axe-core
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// axeScript is axe-core as published, which finds accessibility faults.
//
//go:embed testdata/axe/axe.min.js
var axeScript string

// TestAxeIsAsPublished checks the checksums of third-party files, so that they do not change
// by accident.
func TestAxeIsAsPublished(t *testing.T) {
	for name, want := range map[string]string{
		"axe.min.js":            "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c",
		"LICENSE":               "af175b9d96ee93c21a036152e1b905b0b95304d4ae8c2c921c7609100ba8df7e",
		"LICENSE-3RD-PARTY.txt": "4f8563870d0fca38bbc3e00b6f670cb7fa9f380ba9f26a7f7d1184a6b18b1653",
	} {
		content, err := os.ReadFile("testdata/axe/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != want {
			t.Errorf("%s has the checksum %s, want %s", name, got, want)
		}
	}
}

// Options of axe: all rules of WCAG 2.2 AA and best practices, including target sizes, which
// are off by default. Rules about colours run in each theme.
const (
	axeStructure  = `{ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], rules: { "target-size": { enabled: true }, "color-contrast": { enabled: false }, "link-in-text-block": { enabled: false }, "css-orientation-lock": { enabled: false } }, resultTypes: ["violations"], preload: false }`
	axeColorRules = `{ runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] }, resultTypes: ["violations"], preload: false }`
	axeStyleSheet = `{ runOnly: { type: "rule", values: ["css-orientation-lock"] }, resultTypes: ["violations"] }` // reads the style sheet, which all pages have in common
)

// A finding is a fault that axe has found in an element.
type finding struct{ Rule, Help, Element, Why string }

// axe runs axe-core on the elements of a selector, and reports faults that it has not reported
// yet in this visit.
func (v *visit) axe(what, within, options string) {
	v.t.Helper()
	if v.js(`typeof axe`) == "undefined" {
		v.js(axeScript + `; "in"`)
	}
	found, err := chromedp.Run(v.tab, chromedp.Evaluate[string](`(async () => {
		for (const a of document.getAnimations()) try { a.finish(); } catch { a.cancel(); }
		const r = await axe.run(`+within+`, `+options+`);
		return JSON.stringify(r.violations.flatMap(({ id, help, nodes }) => nodes.map((n) => ({ Rule: id, Help: help, Element: n.html, Why: n.failureSummary }))));
	})()`, chromedp.EvalAwaitPromise))
	if err != nil {
		v.t.Fatalf("%s: axe: %v", what, err)
	}
	var all []finding
	if err := json.Unmarshal([]byte(found), &all); err != nil {
		v.t.Fatal(err)
	}
	for _, f := range all {
		if slices.Contains(v.found, f) {
			continue
		}
		v.found = append(v.found, f)
		v.t.Errorf("%s: %s (%s)\n%s\n%s", what, f.Rule, f.Help, f.Element, f.Why)
	}
}

// newColors sets window.colored to the elements with a text of their own whose colours are new in
// this tab: the rules about colours take most of axe's time, and pages have the same elements in
// common. The key of an element is all that these rules consider of it and of what is behind it; the
// browser keeps the keys from page to page.
const newColors = `((within, theme) => {
	const seen = new Set((sessionStorage.getItem("axe-colors") ?? "").split(" ")), around = new Map([[null, theme]]);
	const looks = (el, ...more) => { const s = getComputedStyle(el); return ["color", "backgroundColor", "backgroundImage", "opacity", ...more].map((name) => s[name]).join(); };
	const hash = (text) => { let a = 5381, b = 52711; for (let i = 0; i < text.length; i++) { const c = text.charCodeAt(i); a = Math.imul(a, 33) ^ c; b = Math.imul(b, 31) ^ c; } return (a >>> 0).toString(36) + (b >>> 0).toString(36); };
	const ground = (s) => s.backgroundColor === "rgba(0, 0, 0, 0)" && s.backgroundImage === "none" && s.opacity === "1" ? "" : [s.backgroundColor, s.backgroundImage, s.opacity].join();
	const outside = (el) => { if (!around.has(el)) { const its = ground(getComputedStyle(el)), up = outside(el.parentElement); around.set(el, its ? hash(up + its) : up); } return around.get(el); };
	const spoken = (el) => el.matches("input:not([type=hidden]), select, textarea, button") || [...el.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
	window.colored = [...within.querySelectorAll("*")].filter((el) => {
		if (!spoken(el) || !el.checkVisibility()) return false;
		const key = hash(outside(el.parentElement) + getComputedStyle(el.parentElement).color + el.tagName + (el.getAttribute("class") ?? "") + looks(el, "fontSize", "fontWeight", "textDecorationLine", "textShadow", "position"));
		return !seen.has(key) && !!seen.add(key);
	});
	sessionStorage.setItem("axe-colors", [...seen].join(" "));
	return colored.length;
})`

// axeColors runs the rules about colours on the elements of a page whose colours are new.
func (v *visit) axeColors(what, within, theme string) {
	v.t.Helper()
	if n, _ := v.js(fmt.Sprintf(newColors+`(%s, %q)`, within, theme)).(float64); n > 0 {
		v.axe(what, `{ include: colored }`, axeColorRules)
	}
}

// themed sets the preferred colour scheme.
func (v *visit) themed(theme string) {
	v.t.Helper()
	if _, err := chromedp.Call(v.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}); err != nil {
		v.t.Fatal(err)
	}
}

// axeOnce runs axe on a part of the page in the present size, in light colours.
func (v *visit) axeOnce(what, within string) {
	v.t.Helper()
	v.axe(what, within, axeStructure)
	v.axeColors(what, within, "light")
}

// inThemes runs axe on a part of the page in both themes.
func (v *visit) inThemes(what, within string) {
	v.t.Helper()
	v.themed("light")
	v.axeOnce(what, within)
	v.themed("dark")
	v.axeColors(what+" in the dark", within, "dark")
	v.themed("light")
}

// folding selects the menus of a page, one of each kind: those of rows are alike.
const folding = `[...new Map([...document.querySelectorAll(":is(.more, .views, .spaces, .acting):not([open])")].filter((el) => el.checkVisibility()).map((el) => [el.className + el.closest("[data-list]")?.dataset.list, el])).values()]`

// axeOpened runs axe on everything that opens over a page: menus, dialogs and the drawer. Menus and
// the drawer are checked once for each structure, see news.
func (v *visit) axeOpened(what string) {
	v.t.Helper()
	for i := range int(v.js(folding + `.length`).(float64)) {
		v.js(fmt.Sprintf(`{ window.menu = %s[%d]; menu.open = true; }`, folding, i))
		if v.news(`menu`) {
			v.inThemes(fmt.Sprintf("%s, %v open", what, v.js(`menu.className`)), `menu`)
		}
		v.js(`menu.open = false`)
	}
	for i := range int(v.js(`document.querySelectorAll("main [data-dialog]").length`).(float64)) {
		v.js(fmt.Sprintf(`{ window.box = document.getElementById(document.querySelectorAll("main [data-dialog]")[%d].dataset.dialog); box.showModal(); }`, i))
		v.inThemes(fmt.Sprintf("%s, dialog %v", what, v.js(`box.id`)), `box`)
		v.js(`box.close()`)
	}
	if v.js(`!!document.body.dataset.live && !!document.querySelector("main a[data-drawer]")`) == true {
		v.js(`document.querySelector("main a[data-drawer]").click()`)
		v.want(`document.querySelector(".drawer h2")`)
		if v.news(`document.querySelector(".drawer")`) {
			v.inThemes(what+", drawer", `document.querySelector(".drawer")`)
		}
		v.do(chromedp.KeyEvent(kb.Escape))
		v.want(`!document.querySelector(".drawer")`)
	}
}

// news reports whether the structure below an element differs from all that axe has checked in
// this visit.
func (v *visit) news(element string) bool {
	v.t.Helper()
	shape, _ := v.js(`[...` + element + `.querySelectorAll("*")].map((el) => el.tagName + el.className + (el.getAttribute("role") ?? "") + (el.dataset?.tone ?? "")).join()`).(string)
	f := finding{Element: shape}
	if slices.Contains(v.found, f) {
		return false
	}
	v.found = append(v.found, f)
	return true
}

// axeDialogs checks dialogs that no page of the walk opens.
func (v *visit) axeDialogs() {
	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.axe("the style sheet", `document`, axeStyleSheet)
	v.press("?")
	v.want(`document.querySelector("dialog[data-keys][open]")`)
	v.inThemes("keys", `document`)
	v.do(chromedp.KeyEvent(kb.Escape))
	v.want(`!document.querySelector("dialog[open]")`)
	v.js(`document.querySelector("a[data-palette]").click()`)
	v.want(`document.querySelector("#palette[open] .choice-line")`)
	v.inThemes("palette open", `document`)
	v.do(chromedp.KeyEvent(kb.Escape))
	v.want(`!document.querySelector("dialog[open]")`)
	v.js(`document.querySelector("[data-list=rows] [name=key]").click()`)
	v.js(fmt.Sprintf(`document.querySelector(%q).click()`, do("bulk/delete"))) // a note may cover the button
	v.want(guard)
	v.inThemes("guard", `document`)
	v.tabbed("guard", ".guard")
	v.do(chromedp.KeyEvent(kb.Escape))
	v.want(`!` + guard)
	v.js(`document.querySelector("[data-list=rows] a[data-drawer]").click()`)
	v.want(`document.querySelector(".drawer h2")`)
	v.tabbedPage("drawer")
}
