package main

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	isLive = `document.querySelector("[data-pill]").dataset.state === "live"`
	rows   = `[...document.querySelectorAll("[data-list=rows] > [data-key]")]`
	slot   = `((name) => document.querySelector('[data-slot="' + name + '"]').textContent.trim())`
)

// recorded has the page write down what becomes of the rows of its list: how
// often each came and went, what its clock said, when it was struck through
// and why, and when the dead letters reached which number.
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

// A record is what was written down of a row. Instants are in milliseconds.
type record struct {
	Came, Went       int
	Texts            []string
	Deadline, Struck int64
	Why              string
}

// record reads what was written down.
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

// newQueue creates a queue in the form, whose messages live for ttl and are
// dead-lettered.
func (v *visit) newQueue(name, ttl string) {
	v.t.Helper()
	v.visit("/n/default/queues/new")
	v.fill("name", name)
	v.fill("DefaultMessageTimeToLive", ttl)
	v.do(chromedp.Click(chromedp.CSS(`[name="DeadLetteringOnMessageExpiration"]`)))
	v.click(`main button.primary`)
	v.equal(`location.pathname`, "/n/default/q/"+name)
}

// lifeInBrowser: messages arrive, count down, expire and are dead letters
// before one's eyes.
func lifeInBrowser(t *testing.T, v *visit) {
	v.newQueue("orders", "3s")
	v.want(isLive)
	v.js(recorded)
	v.calm()
	for n := range 5 {
		v.send("orders", fmt.Sprintf(`{"Label":"order.placed","MessageId":"o-%d"}`, n), fmt.Sprintf(`{"n":%d}`, n))
	}
	v.want(rows + `.length === 5`)
	v.js(rows + `.forEach((row) => row.querySelectorAll("*").forEach((el) => { el.born = row.born = true; }))`)
	v.equal(slot+`("tab-messages")`, "5")
	v.want(rows + `.length === 5 && ` + rows + `.every((row) => row.matches(".leaving"))`)
	v.want(slot + `("count-dead") === "5"`)
	v.equal(rows+`.every((row) => row.born && [...row.querySelectorAll(".what *, .seq")].every((el) => el.born))`, true)
	v.equal(rows+`.every((row) => getComputedStyle(row.querySelector(".what b")).textDecorationLine.includes("line-through"))`, true)
	v.want(rows + `.length === 0`)
	v.want(`!!document.querySelector("[data-slot=empty] h3")`)
	v.stayed()
	seen, dead := v.record()
	if len(seen) != 5 {
		t.Errorf("there were %d rows, want 5", len(seen))
	}
	for key, row := range seen {
		if row.Came != 1 || row.Went != 1 || row.Why != "dead-lettered" && row.Why != "expired" {
			t.Errorf("row %s came %d times and went %d times, %q", key, row.Came, row.Went, row.Why)
		}
		if late := time.Duration(row.Struck-row.Deadline) * time.Millisecond; late < 0 || late > time.Second {
			t.Errorf("row %s was struck through %s after its deadline", key, late)
		}
		if down := slices.DeleteFunc(slices.Clone(row.Texts), func(s string) bool { return len(s) != 2 }); len(down) < 2 || !slices.IsSortedFunc(down, func(a, b string) int { return strings.Compare(b, a) }) {
			t.Errorf("row %s showed %q, which is no countdown", key, row.Texts)
		}
		if late := time.Duration(dead["5"]-row.Deadline) * time.Millisecond; late > time.Second {
			t.Errorf("the fifth dead letter was counted %s after %s expired", late, key)
		}
	}
	v.click(`.tabs a[href$="tab=dead-letter"]`)
	v.want(rows + `.length === 5`)
	v.do(chromedp.Click(chromedp.CSS(`[data-list=rows] .subject`)))
	v.want(`document.querySelector(".drawer")?.innerText.includes("TTLExpiredException")`)
}

// A wire is between the browser and the program, and can be cut.
type wire struct {
	net.Listener
	to  string
	wg  sync.WaitGroup
	mu  sync.Mutex
	all map[net.Conn]struct{}
	cut chan struct{} // closed when the wire is whole; new connections wait for that
}

// lay puts a wire before the program, and has the visit go through it.
func (v *visit) lay() *wire {
	v.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		v.t.Fatal(err)
	}
	w := &wire{Listener: l, to: strings.TrimPrefix(v.server.Dashboard, "http://"), all: map[net.Conn]struct{}{}, cut: make(chan struct{})}
	close(w.cut)
	w.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.wg.Go(func() { w.carry(c) })
		}
	})
	v.t.Cleanup(func() {
		_ = l.Close()
		w.sever()
		w.mend()
		w.wg.Wait()
	})
	v.at = "http://" + l.Addr().String()
	return w
}

func (w *wire) keep(c net.Conn) (whole chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[c] = struct{}{}
	return w.cut
}

func (w *wire) carry(c net.Conn) {
	defer c.Close()
	<-w.keep(c)
	far, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer far.Close()
	w.keep(far)
	there := make(chan struct{})
	go func() { // waited for below
		defer close(there)
		pipe(far, c)
	}()
	pipe(c, far)
	<-there
}

func pipe(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, werr := to.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			_, _ = to.Close(), from.Close()
			return
		}
	}
}

// sever breaks every connection off, and keeps new ones waiting.
func (w *wire) sever() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = make(chan struct{})
	for c := range w.all {
		_ = c.Close()
		delete(w.all, c)
	}
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.cut)
}

// cutInBrowser: what happens while the connection is away is there when it is
// back, once.
func cutInBrowser(t *testing.T, v *visit) {
	w := v.lay()
	v.create("queue", "steady", `{"DeadLetteringOnMessageExpiration":true,"DefaultMessageTimeToLive":"PT1H"}`)
	send := func(id string, ttl int) {
		v.send("steady", fmt.Sprintf(`{"Label":%q,"TimeToLive":%d}`, id, ttl), "x")
	}
	send("stays-1", 3000)
	send("stays-2", 3000)
	send("goes", 4)
	v.visit("/n/default/q/steady")
	v.want(isLive)
	v.js(recorded)
	v.js(rows + `.forEach((row) => row.querySelectorAll("*").forEach((el) => { el.born = row.born = true; }))`)
	v.calm()
	w.sever()
	v.want(`document.querySelector("[data-pill]").dataset.state === "reconnecting"`)
	send("comes", 3000)
	send("flashes by", 1)
	counted := func(active, dead int64) bool {
		c := entity(t, v.server, "steady").Counts
		return c.Active == active && c.DeadLetter == dead
	}
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for !counted(3, 2) {
		select {
		case <-deadline.C:
			t.Fatalf("never three and two: %+v", entity(t, v.server, "steady").Counts)
		default:
		}
	}
	v.equal(slot+`("count-active")`, "3")
	v.equal(slot+`("count-dead")`, "0")
	w.mend()
	v.want(isLive)
	v.want(slot + `("count-dead") === "2"`)
	names := rows + `.map((row) => row.querySelector("b").textContent).join()`
	v.want(names + ` === "stays-1,stays-2,comes"`)
	send("after", 3000)
	v.want(names + ` === "stays-1,stays-2,comes,after"`)
	v.equal(slot+`("count-active")`, "4")
	v.equal(rows+`.map((row) => !!row.born && [...row.querySelectorAll("*")].every((el) => el.born)).join()`, "true,true,false,false")
	v.equal(`mayfly.reconnects > 0 && mayfly.polls === 0`, true)
	v.stayed()
	seen, _ := v.record()
	if len(seen) != 5 {
		t.Errorf("there were %d rows, want 5", len(seen))
	}
	for key, row := range seen {
		if row.Came != 1 || row.Went > 1 || (row.Went == 1) != (row.Struck > 0) {
			t.Errorf("row %s came %d times and went %d times, struck through at %d", key, row.Came, row.Went, row.Struck)
		}
	}
}

// reloadsInBrowser: the same as the life above, by loading the page again.
func reloadsInBrowser(t *testing.T, v *visit) {
	v.scripts(false)
	v.newQueue("orders", "3s")
	v.equal(`getComputedStyle(document.querySelector("[data-pill]")).display`, "none")
	v.equal(`getComputedStyle(document.querySelector(".live.unscripted")).display !== "none"`, true)
	for n := range 5 {
		v.send("orders", fmt.Sprintf(`{"Label":"order.placed","MessageId":"o-%d"}`, n), "x")
	}
	again := func() { v.visit("/n/default/q/orders") }
	v.wantMeanwhile(rows+`.length === 5 && `+rows+`.every((row) => /^[123]s$/.test(row.querySelector("time").textContent))`, again)
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

// temporaryInBrowser: a queue that nobody uses goes, and leaves a tombstone.
func temporaryInBrowser(_ *testing.T, v *visit) {
	v.visit("/n/default/temporary")
	v.want(isLive)
	v.calm()
	const sitters, graves = `document.querySelectorAll("[data-list=sitters] > [data-key]")`, `document.querySelectorAll("[data-list=graves] > [data-key]")`
	v.create("queue", "reply-7f3a", `{"AutoDeleteOnIdle":"PT4S"}`)
	v.want(sitters + `.length === 1`)
	v.want(`document.querySelector(".toast")?.innerText.match(/reply-7f3a deletes itself in \ds/)`)
	v.want(`document.querySelector(".sitter.leaving")?.innerText.includes("reply-7f3a")`)
	v.want(`[...` + graves + `].map((g) => g.innerText).join().includes("reply-7f3a")`)
	v.want(sitters + `.length === 0 && !document.querySelector(".toast")`)
	v.stayed()

	v.create("queue", "reply-c40d", `{"AutoDeleteOnIdle":"PT6S"}`)
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

// drawerInBrowser: a message beside the list it was opened from.
func drawerInBrowser(_ *testing.T, v *visit) {
	v.create("queue", "orders", `{"DeadLetteringOnMessageExpiration":true}`)
	for n := range 40 {
		v.send("orders", fmt.Sprintf(`{"Label":"order-%d"}`, n), fmt.Sprintf(`{"n":%d}`, n))
	}
	v.do(chromedp.EmulateViewport(1000, 700))
	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.js(`document.querySelectorAll(".subject")[20].scrollIntoView()`)
	v.js(`window.scroll = scrollY`)
	v.calm()
	open := func(n int) {
		v.t.Helper()
		v.do(chromedp.Click(chromedp.JSPath(fmt.Sprintf(`document.querySelectorAll(".subject")[%d]`, n))))
		v.want(fmt.Sprintf(`document.querySelector(".drawer h2")?.textContent === "order-%d"`, n))
	}
	open(22)
	v.equal(`document.activeElement === document.querySelector(".drawer h2")`, true)
	v.equal(`/^\/n\/default\/m\/\d+$/.test(location.pathname)`, true)
	v.equal(`scrollY === scroll && scroll > 0`, true)
	v.equal(`document.querySelector("main").offsetWidth > 400 && document.querySelector("main").getBoundingClientRect().right <= document.querySelector(".drawer").getBoundingClientRect().left`, true)
	v.equal(rows+`[22].getAttribute("aria-current")`, "true")
	v.do(chromedp.Click(chromedp.CSS(`.drawer .seg a:nth-of-type(2)`)))
	v.want(`document.querySelector(".drawer pre.raw")?.textContent.includes('{"n":22}')`)
	open(23)
	v.equal(`document.querySelectorAll(".drawer").length`, 1)

	// It is live: by its own topic, beside the page's.
	v.js(`document.querySelector(".drawer h2").born = true`)
	v.ask("POST", v.server.Dashboard+"/api/v1/receive/orders", "", `{"mode":"peek-lock","max":30}`)
	v.want(`document.querySelector(".drawer footer").innerText.includes("lock")`)
	v.want(slot + `("count-locked") === "30"`)
	v.equal(`document.querySelector(".drawer h2").born`, true)
	v.equal(`document.querySelectorAll("main [data-slot=state], main [data-slot=life]").length`, 0)

	v.do(chromedp.KeyEvent(kb.Escape))
	v.want(`!document.querySelector(".drawer") && location.pathname === "/n/default/q/orders"`)
	v.equal(`document.activeElement.textContent.includes("order-23")`, true)
	v.equal(`document.querySelector("[aria-current].leaving, tr[aria-current]")`, nil)
	open(24)
	v.do(chromedp.Click(chromedp.CSS(`.drawer [data-act=close]`)))
	v.want(`!document.querySelector(".drawer") && location.pathname === "/n/default/q/orders"`)
	open(25)
	v.js(`history.back()`)
	v.want(`!document.querySelector(".drawer") && location.pathname === "/n/default/q/orders"`)
	v.js(`history.forward()`)
	v.want(`document.querySelector(".drawer h2")?.textContent === "order-25"`)

	// Its address is the message's page, and the way back from there the list.
	v.do(chromedp.Reload())
	v.want(isLive)
	v.equal(`document.querySelector(".drawer") === null && document.querySelector("h1").textContent.trim()`, "order-25")
	v.js(`history.back()`)
	v.want(rows + `.length === 40`)
	v.do(chromedp.EmulateViewport(800, 700))
	v.click(`.subject`)
	v.equal(`document.querySelector("h1").textContent.trim()`, "order-0")
}

// choosingInBrowser: all rows at once, and what comes meanwhile waits.
func choosingInBrowser(_ *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	for n := range 3 {
		v.send("orders", fmt.Sprintf(`{"Label":"order-%d"}`, n), "x")
	}
	v.visit("/n/default/q/orders")
	v.want(isLive)
	const chosen = `document.querySelectorAll("[data-list=rows] :checked").length`
	v.do(chromedp.Click(chromedp.CSS(`[data-all]`)))
	v.equal(chosen, 3)
	v.equal(`getComputedStyle(document.querySelector(".bulk")).display !== "none"`, true)
	v.send("orders", `{"Label":"later"}`, "x")
	v.want(`document.querySelector(".newbar:not([hidden])")?.textContent.startsWith("1 new")`)
	v.equal(rows+`.length`, 3)
	v.do(chromedp.Click(chromedp.CSS(`.newbar`)))
	v.want(rows + `.length === 4`)
	v.equal(chosen, 3)
	v.want(`document.querySelector("[data-all]").indeterminate`)
	v.do(chromedp.Click(chromedp.CSS(`[data-all]`)))
	v.equal(chosen, 4)
	v.click(`.bulk [formaction$="/bulk/delete"]`)
	v.click(`main form .final, main form .danger`)
	v.want(slot + `("count-total") === "0"`)
}
