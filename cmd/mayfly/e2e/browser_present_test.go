package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"mayfly/cmd/mayfly/server"
	"mayfly/web/presentation"
)

const (
	mode = `document.documentElement.dataset.mode`
	says = `document.querySelector(".following [data-say]").innerText`
)

// presentInBrowser presents pages: presenter mode, followers, and the wall.
func presentInBrowser(t *testing.T, ctx context.Context) {
	t.Run("mode", func(t *testing.T) { presenterMode(t, ctx) })
	t.Run("following", func(t *testing.T) { followInBrowser(t, ctx) })
	t.Run("on their own", func(t *testing.T) { strayInBrowser(t, ctx) })
	t.Run("ended elsewhere", func(t *testing.T) { endElsewhere(t, ctx) })
	t.Run("scene", func(t *testing.T) { followScene(t, ctx) })
	t.Run("scene shared", func(t *testing.T) { shareScene(t, ctx) })
	t.Run("own link", func(t *testing.T) { openOwnLink(t, ctx) })
	t.Run("sharing", func(t *testing.T) { shareInBrowser(t, ctx) })
	t.Run("sharing by name", func(t *testing.T) { shareByName(t, ctx) })
	t.Run("axe", func(t *testing.T) { axeOfAudience(t, ctx) })
	t.Run("without colours", func(t *testing.T) { plainInBrowser(t, ctx) })
	t.Run("kiosk", func(t *testing.T) { kioskInBrowser(t, ctx) })
	t.Run("walls", func(t *testing.T) { wallsFit(t, ctx) })
}

// presenterMode enters and leaves presenter mode in every way.
func presenterMode(t *testing.T, ctx context.Context) {
	v := open(t, ctx, "memory:")
	v.create("queue", "orders", `{}`)
	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.press("P")
	v.want(mode + ` === "present" && getComputedStyle(document.querySelector(".rail")).display === "none"`)
	v.visit("/n/default/queues") // the mode persists from page to page
	v.want(mode + ` === "present" && parseFloat(getComputedStyle(document.documentElement).fontSize) > 20 && ` + isLive)
	v.press("\x1b")
	v.want(mode + ` === undefined && getComputedStyle(document.querySelector(".rail")).display !== "none"`)
	v.visit("/n/default/q/orders?tab=messages&present=1")
	v.want(mode + ` === "present" && location.search === "?tab=messages" && ` + isLive)

	// The spotlight moves to the element that has changed, and is off with reduced motion.
	const light = `document.querySelector(".light[data-on]")?.getBoundingClientRect()`
	v.send("orders", `{"Label":"first"}`, "hello")
	row := `document.querySelector("[data-list=rows] > [data-key]")?.getBoundingClientRect()`
	v.want(`Math.abs(` + light + `.top - ` + row + `.top) < 2 && Math.abs(` + light + `.height - ` + row + `.height) < 2`)
	v.want(`!document.querySelector(".light[data-on]")`)
	// A hidden page keeps up to date.
	v.js(`{ Object.defineProperty(document, "hidden", { get: () => true, configurable: true }); document.dispatchEvent(new Event("visibilitychange")) }`)
	v.send("orders", `{"Label":"second"}`, "hello")
	v.want(`document.querySelector("main").innerText.includes("second")`)
	// A row that the bar at the foot covers gets no spotlight.
	v.want(`!document.querySelector(".light[data-on]")`)
	v.js(`{ document.querySelector(".ground").style.blockSize = "90vh"; window.was = performance.now() }`)
	v.send("orders", `{"Label":"hidden"}`, "hello")
	v.want(`document.querySelector("main").innerText.includes("hidden") && performance.now() > was + 1800`)
	v.equal(`!!document.querySelector(".light[data-on]")`, false)
	// There is no spotlight with reduced motion, nor outside the mode.
	v.still(true)
	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.want(`performance.now() > 1600`) // the spotlight pauses for that long
	v.send("orders", `{"Label":"third"}`, "hello")
	v.want(`document.querySelector("main").innerText.includes("third")`)
	v.equal(`!!document.querySelector(".light[data-on]")`, false)
	v.still(false)
	v.js(`document.querySelector("[data-act=present-leave]").click()`)
	v.want(mode + ` === undefined`)
	v.send("orders", `{"Label":"fourth"}`, "hello")
	v.want(`document.querySelector("main").innerText.includes("fourth")`)
	v.equal(`!!document.querySelector(".light[data-on]")`, false)
}

// still sets or clears the preference for reduced motion.
func (v *visit) still(reduce bool) {
	v.t.Helper()
	value := map[bool]string{true: "reduce", false: "no-preference"}[reduce]
	if _, err := chromedp.Call(v.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: value}}}); err != nil {
		v.t.Fatal(err)
	}
}

// followInBrowser makes one tab follow another.
func followInBrowser(t *testing.T, ctx context.Context) {
	ana := open(t, ctx, "memory:")
	wire := NewFaultyProxy(t, strings.TrimPrefix(ana.server.Dashboard, "http://"))
	ana.at = "http://" + wire.Addr().String()
	ana.create("queue", "orders", `{"DeadLetteringOnMessageExpiration":true}`)
	ana.send("orders", `{"Label":"first"}`, "hello")
	ana.visit("/n/default/q/orders?present=1")
	key := presentation.NewKey()
	id, err := presentation.ID(key)
	if err != nil {
		t.Fatal(err)
	}
	bob := visitTo(t, ctx, ana.server)
	bob.at = ana.at
	bob.visit("/follow/" + id)
	bob.want(says + ` === "The presentation is over, or has not begun." && location.pathname === "/n/default"`)
	ana.js(`mayflyTab.kept.set("talk", {key: "` + key + `", name: "Ana & <b>co</b>"})`)
	at := func(v *visit, path string) {
		t.Helper()
		v.want(fmt.Sprintf(`location.pathname + location.search === %q && document.readyState === "complete"`, path))
	}
	at(bob, "/n/default/q/orders")
	bob.want(says + ` === "Following Ana & <b>co</b>" && ` + isLive)
	bob.equal(mode, "audience")

	// The follower's tab follows to live pages, to static pages, into the drawer and out of it. It
	// does not follow to forms.
	ana.visit("/n/default/q/orders?tab=dead-letter")
	at(bob, "/n/default/q/orders?tab=dead-letter")
	ana.visit("/n/default/search?q=first")
	at(bob, "/n/default/search?q=first")
	ana.visit("/n/default/q/orders")
	at(bob, "/n/default/q/orders")
	bob.want(isLive)
	ana.want(isLive)
	ana.js(`document.querySelector("[data-list=rows] a[data-drawer]").click()`)
	bob.want(`document.querySelector(".drawer h2")`)
	ana.press("\x1b")
	bob.want(`!document.querySelector(".drawer")`)
	ana.visit("/n/default/q/orders/send")
	bob.want(says + ` === "The presenter is on a page that this link does not show." && location.pathname === "/n/default/q/orders"`)
	ana.visit("/n/default/queues")
	at(bob, "/n/default/queues")

	// An address that is too long for a frame is not sent.
	ana.visit("/n/default/search?q=" + strings.Repeat("long-", 800))
	ana.want(`document.readyState === "complete"`)
	ana.js(`{ window.leads = window.told = 0; const { places, send } = mayfly;
		mayfly.places = () => { leads++; return places().map((url) => url && url + "er") };
		mayfly.send = (command) => { told += command.op === "present"; return send(command) }; }`)
	ana.want(`leads > 1`)
	ana.equal(`told`, 0)
	ana.visit("/n/default/topics")
	at(bob, "/n/default/topics")
	ana.visit("/n/default/queues")
	at(bob, "/n/default/queues")

	// No actions are visible, and a follower cannot present.
	bob.press("P")
	bob.equal(mode, "audience")
	bob.equal(`[...document.querySelectorAll("[form=act], [type=submit]")].filter((el) => el.checkVisibility() && el.closest(".main")).length`, 0)

	// A follower who joins late gets to the presenter's page at once.
	eve := visitTo(t, ctx, ana.server)
	eve.at = ana.at
	eve.visit("/follow/" + id)
	at(eve, "/n/default/queues")

	// Links within the page, and links that open another tab, do not end following.
	bob.want(isLive)
	bob.js(`{ addEventListener("click", (e) => e.preventDefault(), { once: true, capture: true });
		document.querySelector("[data-list=rows] a").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey: true }));
		document.querySelector(".skip").click(); }`)
	bob.want(`location.hash === "#main"`)
	bob.equal(says+`.startsWith("Following Ana")`, true)
	bob.js(`history.back()`)
	bob.want(says + ` === "You look around on your own." && location.hash === ""`)
	bob.js(`{ window.was = performance.now(); document.querySelector("[data-act=follow]").click() }`)
	bob.want(says + `.startsWith("Following Ana") && performance.now() > was + 300`) // a page that is open already is not reloaded
	ana.want(`document.querySelector("[data-followers]").textContent === "2"`)
	ana.visit("/n/default/temporary")
	at(bob, "/n/default/temporary")
	bob.js(`history.back()`)
	at(bob, "/n/default/queues")
	bob.want(says + ` === "You look around on your own."`)
	bob.js(`document.querySelector("[data-act=follow]").click()`)
	at(bob, "/n/default/temporary")
	ana.visit("/n/default/queues")
	at(bob, "/n/default/queues")

	// A follower who looks around stays on the opened page until following again.
	bob.click(`[data-list=rows] a`)
	at(bob, "/n/default/q/orders")
	bob.want(says + ` === "You look around on your own."`)
	ana.visit("/n/default/expirations")
	at(eve, "/n/default/expirations")
	at(bob, "/n/default/q/orders")
	bob.js(`document.querySelector("[data-act=follow]").click()`)
	at(bob, "/n/default/expirations")
	bob.want(says + `.startsWith("Following Ana")`)
	// With the keyboard, the focus stays on the bar when one button replaces the other.
	bob.js(`document.querySelector("[data-act=unfollow]").focus()`)
	bob.do(chromedp.KeyEvent(kb.Enter))
	bob.want(says + ` === "You look around on your own."`)
	bob.equal(`document.activeElement.dataset.act`, "follow")

	// A follower recovers from a lost connection.
	eve.want(isLive)
	wire.Cut()
	eve.want(`document.querySelector("[data-pill]").dataset.state === "reconnecting"`)
	wire.Repair()
	eve.want(`mayfly.reconnects > 0 && ` + isLive)
	ana.want(`mayfly.reconnects > 0 && ` + isLive)
	bob.want(`mayfly.reconnects > 0 && ` + isLive)
	const followers = `document.querySelector("[data-followers]").textContent`
	eve.js(`document.querySelector("[data-act=unfollow]").click()`)
	ana.want(followers + ` === "0"`) // Ana presents again, and Bob does not follow yet
	eve.js(`document.querySelector("[data-act=follow]").click()`)
	ana.want(followers + ` === "1"`)
	ana.visit("/n/default/temporary")
	at(eve, "/n/default/temporary")
	bob.equal(`location.pathname`, "/n/default/expirations")

	// When the presenter leaves, followers see a note and stay on the page.
	ana.press("\x1b")
	eve.want(says + `.endsWith("has left. You stay on this page.")`)
	at(eve, "/n/default/temporary")
	ana.press("P")
	eve.want(says + `.startsWith("Following Ana")`)
	ana.want(followers + ` === "1"`)
	eve.js(`document.querySelector("[data-act=follow-leave]").focus()`)
	eve.do(chromedp.KeyEvent(kb.Enter))
	eve.want(mode + ` === undefined && !document.querySelector(".following").checkVisibility()`)
	eve.equal(`document.activeElement.id`, "main")
	ana.want(followers + ` === "0"`)
}

// stands waits until the tab shows a live page at path, and its strip a caption.
func (v *visit) stands(path, says string) {
	v.t.Helper()
	v.want(fmt.Sprintf(`location.pathname + location.search === %q && %s && %s.startsWith(%q) && !document.querySelector(".stage-playing")`, path, isLive, caption, says))
}

// sharing starts a presentation on a tab's page, and returns its link.
func (v *visit) sharing() string {
	v.t.Helper()
	v.js(`document.querySelector(".presenting a").click()`)
	v.want(`document.querySelector(".guard[open] #h-ask")`)
	v.fill("name", "Ana")
	v.js(`document.querySelector(".guard [type=submit]").click()`)
	v.want(`document.querySelector(".guard .snippet code") && mayflyTab.kept.get("talk")`)
	link, _ := v.js(`document.querySelector(".guard .snippet code").innerText`).(string)
	v.press("\x1b")
	v.want(`!document.querySelector(".guard")`)
	return strings.TrimPrefix(link, v.server.Dashboard)
}

// begins plays a scene, and returns the path of its namespace.
func (v *visit) begins(scene string) string {
	v.t.Helper()
	v.visit("/scenes")
	v.js(fmt.Sprintf(`document.querySelector('[formaction="/scenes/play/%s"]').click()`, scene))
	v.want(`document.querySelector("[data-stage]") && ` + isLive)
	stage, _ := v.js(`location.pathname.match(/^.*?\/n\/[^/]+/)[0]`).(string)
	return stage
}

// presenter presents a queue, on a server with another namespace.
func presenter(t *testing.T, ctx context.Context) *visit {
	t.Helper()
	v := open(t, ctx, "memory:")
	v.create("queue", "orders", `{}`)
	v.ask("POST", v.server.Dashboard+"/api/v1/namespaces", "", `{"name":"shop"}`)
	v.visit("/n/default/q/orders?present=1")
	v.want(isLive)
	return v
}

// stacked is an expression: whether a scene's strip is directly above the bar of a follower.
const stacked = `Math.abs(document.querySelector(".stage").getBoundingClientRect().bottom - document.querySelector(".following").getBoundingClientRect().top) < 1`

// followScene makes a visitor with a link and a user follow a presenter into a scene, step by
// step, back, to its beginning, and out of it when it ends.
func followScene(t *testing.T, ctx context.Context) {
	ana := presenter(t, ctx)
	link := ana.sharing()
	bob, eve := visitTo(t, ctx, ana.server), visitTo(t, ctx, ana.server)
	bob.visit(link)
	bob.want(`location.pathname === "/n/default/q/orders" && ` + says + ` === "Following Ana" && ` + isLive)
	id, _ := bob.js(`mayflyTab.kept.get("follow").id`).(string)
	eve.visit("/follow/" + id) // a user who may see everything
	eve.want(`location.pathname === "/n/default/q/orders" && ` + isLive)

	stage := ana.begins("deadline")
	both := func(path, caption string) {
		t.Helper()
		for _, v := range []*visit{bob, eve} {
			v.stands(stage+path, caption)
		}
	}
	both("/queues", "")
	for _, v := range []*visit{ana, bob, eve} {
		v.sceneRestarts(stage)
	}
	for _, step := range []struct{ says, at string }{
		{"Two queues", "/queues"}, {"A price that is good", "/expirations"}, {"Half a minute passes", "/expirations"}, {"Another half minute", "/q/orders?tab=dead-letter"},
	} {
		ana.press("n")
		ana.stands(stage+step.at, step.says)
		both(step.at, step.says)
		for _, v := range []*visit{bob, eve} { // the subject of the step is marked, and there are no buttons
			v.want(`document.querySelectorAll(".main .spotlit").length > 0`)
			v.do(chromedp.EmulateViewport(390, 844))
			v.want(stacked)
			v.do(chromedp.EmulateViewport(844, 390))
			v.want(stacked)
			v.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))
			v.want(stacked)
			v.equal(`[...document.querySelectorAll(".stage button")].filter((el) => el.checkVisibility()).length`, 0)
		}
	}
	ana.do(chromedp.EmulateViewport(390, 844)) // on the presenter's phone, columns are stacked and the strip is at the foot
	ana.want(`Math.abs(document.querySelector(".stage").getBoundingClientRect().bottom - innerHeight) < 1`)
	ana.equal(`(() => {
		const all = [...document.querySelectorAll(".bar > *, .bar .ns > *, .presenting > *")].filter((el) => el.checkVisibility() && getComputedStyle(el).display !== "contents" && el.matches(":not(.spaces, .showing)") && getComputedStyle(el).position !== "absolute");
		const boxes = all.map((el) => el.getBoundingClientRect());
		return all.filter((el, i) => boxes[i].right > innerWidth || boxes.some((b, j) => j > i && !el.contains(all[j]) && b.left < boxes[i].right - 1 && boxes[i].left < b.right - 1)).map((el) => el.outerHTML.slice(0, 80)).join();
	})()`, "")
	ana.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))
	ana.js(`document.querySelector("[data-stage-act=back]").click()`)
	ana.stands(stage+"/expirations", "Half a minute passes")
	both("/expirations", "Half a minute passes")
	ana.js(`document.querySelector("[data-stage-act=reset]").click()`)
	ana.want(`document.querySelector(".stage-at span").textContent.trim() === "5 steps" && ` + isLive)
	both("/queues", "")
	bob.want(`document.querySelector(".stage-at span").textContent.trim() === "5 steps"`)

	// When the scene ends, the user follows the presenter, and the visitor gets to the link's
	// namespace.
	for _, v := range []*visit{ana, bob, eve} {
		v.sceneEnds(stage)
	}
	ana.js(`document.querySelector("[data-stage-act=leave]").click()`)
	ana.want(`location.pathname === "/scenes"`)
	eve.want(`location.pathname === "/scenes" && ` + says + ` === "Following Ana"`)
	bob.want(`location.pathname === "/n/default" && ` + says + ` === "The scene is over. You go on when the presenter does." && ` + isLive)
	next := ana.begins("poison")
	eve.stands(next+"/q/invoices", "")
	bob.stands(next+"/q/invoices", "")
	ana.visit("/n/default/queues")
	for _, v := range []*visit{bob, eve} {
		v.want(`location.pathname === "/n/default/queues" && ` + says + ` === "Following Ana" && ` + isLive)
	}
	bob.js(`{ fetch("/namespaces").then((a) => { window.all = a.status }); fetch("/n/shop").then((a) => { window.other = a.status }) }`)
	bob.want(`window.all === 403 && window.other === 403`)
	bob.refused(http.StatusForbidden, "/namespaces")
	bob.refused(http.StatusForbidden, "/n/shop")
}

// shareScene shares only scenes: other pages are not shown, and the next scene is.
func shareScene(t *testing.T, ctx context.Context) {
	ana := open(t, ctx, "memory:")
	ana.visit("/scenes?present=1")
	stage := ana.begins("deadline")
	link := ana.sharing()
	bob := visitTo(t, ctx, ana.server)
	bob.visit(link)
	bob.stands(stage+"/queues", "")
	ana.press("n")
	bob.stands(stage+"/queues", "Two queues")
	// For followers, a reset scene is the same scene.
	for _, v := range []*visit{ana, bob} {
		v.sceneRestarts(stage)
	}
	for _, verb := range []string{"back", "reset"} {
		ana.click(`[data-stage-act=` + verb + `]`)
		for _, v := range []*visit{ana, bob} {
			v.want(isLive + ` && !` + caption + `.startsWith("Two queues")`)
		}
		ana.press("n")
		bob.stands(stage+"/queues", "Two queues")
	}
	for _, v := range []*visit{ana, bob} {
		v.sceneEnds(stage)
	}
	bob.js(`window.stays = true`)
	ana.js(`document.querySelector("[data-stage-act=leave]").click()`)
	bob.want(says + ` === "The scene is over. You go on when the presenter does." && document.querySelector("[data-pill]").hidden`)
	ana.visit("/n/default")
	ana.want(isLive)
	next := ana.begins("poison")
	bob.stands(next+"/q/invoices", "")
	bob.visit("/n/default/queues")
	bob.equal(`document.querySelector("h1").innerText`, "Not part of this link")
	bob.refused(http.StatusForbidden, "/n/default/queues")
}

// openOwnLink makes a presenter open the link in the same browser, and stop following.
func openOwnLink(t *testing.T, ctx context.Context) {
	ana := presenter(t, ctx)
	link := ana.sharing()
	const may = `!!document.querySelector('main a[href$="/q/orders/send"]')`
	ana.visit(link)
	ana.want(`location.pathname.startsWith("/n/default") && document.querySelector(".bylink [data-leaves]").checkVisibility()`)
	ana.want(`document.querySelector(".bylink").innerText.replace(/\s+/g, " ").trim() === "Read-only link Leave link"`)
	ana.want(isLive + ` && document.querySelectorAll('.bar details.spaces:not(.tongues), .rail a[href$="/scenes"], .bar a[href$="/settings"]').length === 0`)
	ana.visit("/n/default/q/orders")
	ana.want(isLive)
	ana.equal(may, false)
	ana.click(`.bylink [data-leaves]`)
	ana.want(`location.pathname === "/n/default/q/orders" && ` + mode + ` === undefined && !document.querySelector(".bylink") && ` + isLive)
	ana.equal(may, true)
	ana.equal(`mayflyTab.kept.get("follow")`, nil)
	ana.equal(`!!document.querySelector('.rail a[href$="/scenes"]')`, true)
	// The link still works for others.
	bob := visitTo(t, ctx, ana.server)
	bob.visit(link)
	bob.want(`document.querySelector(".bylink")`)
	// Leaving works without scripts, too.
	bob.scripts(false)
	bob.visit("/n/default/queues")
	bob.click(`.bylink [data-leaves]`)
	if n, err := chromedp.Run(bob.tab, chromedp.Evaluate[float64](`document.querySelectorAll(".bylink").length`)); err != nil || n != 0 {
		t.Error("the browser still has access by the link", n, err)
	}
}

// axeOfAudience runs axe on pages outside the walk: sign-in, sharing in all its states, the
// pages of followers, and walls.
func axeOfAudience(t *testing.T, ctx context.Context) {
	ana := visitTo(t, ctx, Start(t, server.Config{Store: "memory:", Auth: UsersFile(t)}))
	ana.visit("/n/default")
	ana.inThemes("signing in", `document`)
	ana.hears("signing in")
	ana.tabbedPage("signing in")
	ana.js(`{ document.querySelector("#f-user").value = "ana"; document.querySelector("#f-password").value = "wrong" }`)
	ana.click("form button[type=submit]")
	ana.want(`document.querySelector(".gate [role=alert]")`)
	ana.inThemes("signing in, refused", `document`)
	ana.refused(http.StatusUnprocessableEntity, "/login")
	ana.signIn("ana")
	ana.want(isLive)
	ana.visit("/sessions")
	ana.inThemes("who is signed in", `document`)
	ana.hears("who is signed in")
	ana.tabbedPage("who is signed in")

	ana.visit("/n/default/share")
	ana.inThemes("share", `document`)
	ana.visit("/n/default?present=1")
	ana.want(isLive)
	link := ana.sharing()
	ana.inThemes("presenting", `document`)
	ana.hears("presenting")
	ana.tabbedPage("presenting")
	ana.js(`document.querySelector(".presenting a").click()`)
	ana.want(`document.querySelector(".guard .sharing")`)
	ana.inThemes("share, over a page", `document`)
	ana.tabbed("share, over a page", ".guard")
	ana.press("\x1b")
	ana.want(`!document.querySelector(".guard")`)
	ana.visit("/n/default/share")
	ana.inThemes("shared", `document`)
	ana.tabbedPage("shared")
	ana.visit("/n/default/queues")
	ana.want(isLive)

	bob := visitTo(t, ctx, ana.server)
	bob.visit(link)
	bob.want(says + ` === "Following Ana" && ` + isLive)
	for _, size := range [][2]int64{{1440, 900}, {390, 844}, {844, 390}} {
		bob.do(chromedp.EmulateViewport(size[0], size[1]))
		bob.inThemes(fmt.Sprintf("following at %d", size[0]), `document`)
		bob.fits(fmt.Sprintf("following at %d", size[0]))
	}
	bob.hears("following")
	bob.tabbedPage("following")
	bob.js(`document.querySelector("[data-act=unfollow]").click()`)
	bob.inThemes("looking around", `document`)
	bob.visit("/namespaces")
	bob.want(`document.querySelector("h1").innerText === "Not part of this link"`)
	bob.inThemes("what a link does not show", `document`)
	bob.visit("/n/default")
	bob.want(isLive)
	ana.visit("/n/default/share")
	bob.linkEnds("/n/default")
	ana.js(`document.querySelector(".sharing .danger").click()`)
	ana.want(`document.querySelector("[data-share-over]")`)
	ana.inThemes("share, over", `document`)
	bob.want(says + `.startsWith("The link has ended")`)
	bob.inThemes("a link taken back", `document`)
	bob.visit("/n/default")
	bob.want(`document.querySelector("h1").innerText === "This link has ended"`)
	bob.inThemes("a link that has ended", `document`)
	bob.refused(http.StatusForbidden, "/namespaces")
	bob.refused(http.StatusUnauthorized, "/n/default")

	wall := open(t, ctx, "memory:")
	furnish(wall)
	for _, p := range []string{"", "/expirations", "/queues", "/topics", "/temporary", "/q/orders"} {
		wall.visit("/n/default" + p + "?kiosk=1")
		wall.want(`mayfly.state === "live"`)
		wall.inThemes("on a wall: "+p, `document`)
	}
}

// plainInBrowser checks pages with forced colours, and in print.
func plainInBrowser(t *testing.T, ctx context.Context) {
	v := open(t, ctx, "memory:")
	furnish(v)
	v.visit("/n/default/q/orders")
	v.want(isLive)
	message, _ := v.js(`document.querySelector("[data-list=rows] a[data-drawer]").getAttribute("href")`).(string)
	for name, path := range map[string]string{"overview": "/n/default", "expirations": "/n/default/expirations", "queue": "/n/default/q/orders", "message": message} {
		v.visit(path)
		v.want(isLive)
		v.emulate("", "forced-colors", "active")
		// Shapes of one colour differ from the colour of their background.
		v.equal(`[...document.querySelectorAll(".main svg :is(path, circle, rect, use), .main .i")].filter((el) => el.checkVisibility() && getComputedStyle(el).color === getComputedStyle(document.body).backgroundColor).length`, 0)
		v.emulate("print", "prefers-color-scheme", "dark")
		v.do(chromedp.EmulateViewport(794, 1123)) // A4
		v.equal(`[...document.querySelectorAll(".rail, .bar .btn, .bar .seg, .live, .toasts, .following, .main .bulk, .main [type=submit], .main .check, .main .filter, .main .seg a:not([aria-current])")].filter((el) => el.checkVisibility()).map((el) => el.outerHTML.slice(0, 80)).join()`, "")
		v.equal(`getComputedStyle(document.body).backgroundColor`, "rgb(255, 255, 255)")
		v.equal(`document.querySelector(".bar").innerText.replace(/\d/g, "0").split(/\s+/).filter(Boolean).slice(-2).join(" ")`, "default 00:00:00")
		v.fits(name + " on paper")
		v.do(chromedp.EmulateViewport(looks[0].width, looks[0].height))
	}
}

// emulate sets the CSS medium and one feature.
func (v *visit) emulate(medium, feature, value string) {
	v.t.Helper()
	if _, err := chromedp.Call(v.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: medium, Features: []*emulation.MediaFeature{{Name: feature, Value: value}, {Name: "prefers-reduced-motion", Value: "reduce"}}}); err != nil {
		v.t.Fatal(err)
	}
}
