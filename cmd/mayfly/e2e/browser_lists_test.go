package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// listsInBrowser uses the actions of lists of messages.
func listsInBrowser(t *testing.T, v *visit) {
	v.create("queue", "orders", `{}`)
	for n := range 4 {
		v.ask("POST", v.server.Dashboard+"/api/v1/send/orders", "", fmt.Sprintf(`{"messageId":"m-%d","subject":"wrong %d","body":"{\"total\":-%d}"}`, n, n, n))
	}
	var got struct{ Messages []struct{ LockToken string } }
	v.answered("/api/v1/receive/orders", `{"limit":4}`, &got)
	for _, m := range got.Messages {
		v.settled(m.LockToken)
	}
	v.editsFromList()
	v.undoesEdit()
	v.choosesDeferred()
	v.sortsList()
}

// editsFromList edits and resends a dead letter from the menu of its row, and returns to the
// list; with and without scripts.
func (v *visit) editsFromList() {
	const (
		list = "/n/default/q/orders?tab=dead-letter"
		open = `[...document.querySelectorAll("details.acting[open]")].length`
		menu = `[data-list=rows] > :nth-child(3) .acting`
	)
	for _, scripts := range []bool{true, false} {
		v.scripts(scripts)
		v.visit(list)
		if scripts {
			v.want(isLive)
			v.do(chromedp.Click(chromedp.CSS(menu + ` > summary`)))
			v.want(open + ` === 1`)
			v.look("dead-letter-menu")
			v.do(chromedp.KeyEvent(kb.Escape))
			v.want(open + ` === 0`)
		}
		v.do(chromedp.Click(chromedp.CSS(`[data-list=rows] > :nth-child(1) .acting > summary`)))
		v.click(`[data-list=rows] > :nth-child(1) .acting a[href*="/edit"]`)
		v.equal(`location.pathname.endsWith("/edit") && document.querySelector("#f [name=back]").value`, list)
		v.fill("subject", "right")
		v.done(`main .primary`, "Resubmitted as edited")
		v.equal(`location.pathname + location.search`, list)
	}
	v.scripts(true)
	v.counted("orders", 2, 0, 0, 0, 2)
}

// undoesEdit edits and resends a dead letter, and undoes that by keyboard while the undo is
// offered: the dead letter is at its old position in the list, also after a restart of the server.
func (v *visit) undoesEdit() {
	const (
		list  = "/n/default/q/orders?tab=dead-letter"
		named = `[...document.querySelectorAll("[data-list=rows] .subject b")].map((el) => el.innerText).join()`
	)
	v.visit(list)
	v.want(isLive)
	v.equal(named, "wrong 2,wrong 3")
	v.do(chromedp.Click(chromedp.CSS(`[data-list=rows] > :nth-child(1) .acting > summary`)))
	v.click(`[data-list=rows] > :nth-child(1) .acting a[href*="/edit"]`)
	v.fill("subject", "withdrawn")
	v.click(`main .primary`)
	v.want(offered + `?.textContent.includes("Resubmitted as edited")`)
	v.equal(named, "wrong 3")
	v.look("edit-undo")
	v.want(isLive)
	v.do(chromedp.KeyEvent("u"))
	v.want(`document.querySelector("[data-notice]").textContent.includes("Undone for one message")`)
	v.equal(`location.pathname + location.search`, list)
	v.equal(named, "wrong 2,wrong 3")
	v.counted("orders", 2, 0, 0, 0, 2)
	v.restart()
	v.visit(list)
	v.equal(named, "wrong 2,wrong 3")
	v.equal(`document.querySelector("[data-list=rows] .seq").innerText`, "3")
}

// choosesDeferred selects deferred messages, all at once or a range, as cards and in a table,
// and executes an action on the selection.
func (v *visit) choosesDeferred() {
	const chosen = `document.querySelectorAll("[data-key] :checked").length`
	api := v.server.Dashboard + "/api/v1"
	v.create("queue", "parked", `{}`)
	for n := range 5 {
		v.ask("POST", api+"/send/parked", "", fmt.Sprintf(`{"subject":"part %d","properties":{"region":"eu-%d"}}`, n, n))
	}
	defers := func() {
		var got struct{ Messages []struct{ LockToken string } }
		v.answered("/api/v1/receive/parked", `{"limit":5}`, &got)
		for _, m := range got.Messages {
			v.ask("POST", api+"/settle", "", fmt.Sprintf(`{"lockToken":%q,"outcome":"defer"}`, m.LockToken))
		}
	}
	defers()
	bay := func(n int) chromedp.JSPath {
		return chromedp.JSPath(fmt.Sprintf(`document.querySelectorAll("[data-key] .check")[%d]`, n))
	}
	for _, columns := range []string{"", "?column=state&column=seq&column=message&column=prop.region&column=entity"} {
		v.visit("/n/default/deferred" + columns)
		v.want(isLive)
		v.do(chromedp.Click(chromedp.CSS(`[data-all]`)))
		v.equal(chosen, 5)
		v.do(chromedp.Click(bay(2)))
		v.equal(chosen, 4)
		v.want(`document.querySelector("[data-all]").indeterminate`)
		v.do(chromedp.Click(chromedp.CSS(`[data-all]`)))
		v.do(chromedp.Click(chromedp.CSS(`[data-all]`)))
		v.equal(chosen, 0)
		v.do(chromedp.Click(bay(1)))
		v.js(`{ document.querySelectorAll("[data-key] .check")[3].dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true, shiftKey: true})) }`)
		v.equal(chosen, 3)
		v.look("deferred" + map[bool]string{true: "-columns"}[columns != ""])
		v.click(do("bulk/return"))
		v.want(`document.querySelector("[data-notice]").innerText.includes("3 messages")`)
		v.equal(`location.pathname + location.search`, "/n/default/deferred"+columns)
		v.equal(`document.querySelectorAll("[data-list] > [data-key]").length`, 2)
		defers()
		v.want(`document.querySelectorAll("[data-list] > [data-key]:not(.leaving)").length === 5`)
	}
	v.equal(`[...document.querySelectorAll("[data-label=region]")].map((el) => el.innerText).join()`, "eu-0,eu-1,eu-2,eu-3,eu-4") // new rows have the column as well
}

// sortsList sorts the list by a column and filters it. The address keeps both while messages
// arrive, and the counts are updated.
func (v *visit) sortsList() {
	const names = `[...document.querySelectorAll("tbody .subject b")].map((el) => el.innerText).join()`
	api := v.server.Dashboard + "/api/v1"
	v.create("queue", "sorted", `{}`)
	send := func(subject, region string) {
		v.ask("POST", api+"/send/sorted", "", fmt.Sprintf(`{"subject":%q,"properties":{"region":%q}}`, subject, region))
	}
	for i, region := range []string{"eu", "us", "apac"} {
		send(fmt.Sprint("part ", i), region)
	}
	v.visit("/n/default/q/sorted?column=seq&column=message&column=prop.region")
	v.want(isLive)
	v.equal(names, "part 0,part 1,part 2")
	v.click(`th:nth-child(4) a`)
	v.equal(names, "part 2,part 0,part 1")
	v.equal(`document.querySelector("th[aria-sort]").innerText + document.querySelector("th[aria-sort]").ariaSort`, "regionascending")
	v.want(isLive)
	send("part 3", "aaa")
	v.want(slot + `("count-total") === "4"`)
	v.equal(names, "part 2,part 0,part 1")
	v.look("list-sorted")
	v.do(chromedp.KeyEvent("j"), chromedp.KeyEvent("x"))
	v.equal(`document.querySelectorAll("tbody :checked").length`, 1)
	v.click(`.note.row a`)
	v.equal(names, "part 3,part 2,part 0,part 1")
	v.click(`th:nth-child(4) a`)
	v.equal(names, "part 1,part 0,part 2,part 3")
	v.scripts(false)
	v.visit("/n/default/q/sorted?column=message&dir=desc")
	v.do(chromedp.SendKeys(chromedp.CSS(`main [name=q]`), "prop.region:eu,us"))
	v.enter(`main [name=q]`)
	v.equal(names, "part 1,part 0")
	v.equal(`location.search`, "?q=prop.region%3Aeu%2Cus&column=message&dir=desc")
	v.scripts(true)
	v.visit("/n/default/q/sorted?q=prop.region:eu,us")
	v.do(chromedp.Click(chromedp.CSS(`[data-all]`)))
	v.do(chromedp.Click(chromedp.CSS(`[data-every]`)))
	v.click(do("bulk/move"))
	v.equal(`location.pathname + document.querySelector("[name=q]").value`, "/n/default/jobs/newprop.region:eu,us")
}
