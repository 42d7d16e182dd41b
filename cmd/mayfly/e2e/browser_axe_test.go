package e2e

import (
	"crypto/sha256"
	_ "embed" // axe-core
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
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
	axeAll    = `{ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], rules: { "target-size": { enabled: true } }, resultTypes: ["violations"] }`
	axeColors = `{ runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] }, resultTypes: ["violations"] }`
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

// themed sets the preferred colour scheme.
func (v *visit) themed(theme string) {
	v.t.Helper()
	if _, err := chromedp.Call(v.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}); err != nil {
		v.t.Fatal(err)
	}
}

// inThemes runs axe on a part of the page in both themes.
func (v *visit) inThemes(what, within string) {
	v.t.Helper()
	v.themed("light")
	v.axe(what, within, axeAll)
	v.themed("dark")
	v.axe(what+" in the dark", within, axeColors)
	v.themed("light")
}

// folding selects the menus of a page, one of each kind: those of rows are alike.
const folding = `[...new Map([...document.querySelectorAll(":is(.more, .views, .spaces, .acting):not([open])")].filter((el) => el.checkVisibility()).map((el) => [el.className + el.closest("[data-list]")?.dataset.list, el])).values()]`

// axeOpened runs axe on everything that opens over a page: menus, dialogs and the drawer; once
// for each different content.
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
			v.inThemes(what+", drawer", `".drawer"`)
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

// axeInBrowser runs axe-core on every page and on what opens over it, on a screen in both
// themes and on a phone, and moves through one page of each kind with the Tab key.
func axeInBrowser(t *testing.T, v *visit) {
	furnish(v)
	all, patterns := v.places(), routed(t)
	placed(t, all)
	seen, tabbed := map[string]bool{}, map[string]bool{}
	for _, p := range all {
		v.visit(p.path)
		v.want(`!document.body.dataset.live || ` + isLive)
		v.inThemes(p.name, `document`)
		v.hears(p.name)
		v.axeOpened(p.name)
		if path, _, _ := strings.Cut(p.path, "?"); !seen[path] {
			seen[path] = true
			v.do(chromedp.EmulateViewport(390, 844))
			v.axe(p.name+" on a phone", `document`, axeAll)
			v.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))
		}
		if k := kind(patterns, p.path); !tabbed[k] {
			tabbed[k] = true
			v.tabbedPage(p.name)
		}
	}
	v.axeDialogs()
	v.axeAnswers()
}

// axeDialogs checks dialogs that no page of the walk opens.
func (v *visit) axeDialogs() {
	v.visit("/n/default/q/orders")
	v.want(isLive)
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
	v.visit("/scenes")
	v.click(`[formaction="/scenes/play/deadline"]`)
	v.want(isLive)
	v.press("n")
	v.want(caption + `.startsWith("Two queues") && !document.querySelector(".stage-playing")`)
	v.inThemes("scene", `document`)
}
