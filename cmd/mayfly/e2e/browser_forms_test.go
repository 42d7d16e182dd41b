package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// done clicks on an element, and checks that the notice on the next page contains `says`.
func (v *visit) done(selector, says string) {
	v.t.Helper()
	v.click(selector)
	if got, _ := v.js(`document.querySelector("[data-notice]")?.innerText ?? ""`).(string); !strings.Contains(got, says) {
		v.t.Fatalf("after a click on %s the page %v has %q, want %q:\n%s", selector, v.js(`location.href`), got, says, v.js(`document.querySelector("main").innerText`))
	}
}

// opened opens the page of the message whose subject is in the list at path.
func (v *visit) opened(path, subject string) {
	v.t.Helper()
	v.visit(path)
	at, ok := v.js(`[...document.querySelectorAll("[data-list] a")].find((a) => a.textContent.includes(` + fmt.Sprintf("%q", subject) + `))?.getAttribute("href") ?? null`).(string)
	if !ok {
		v.t.Fatalf("%s has no message %q:\n%s", path, subject, v.js(`document.querySelector("main").innerText`))
	}
	v.visit(at)
}

// counted checks with the API how many messages are in each state.
func (v *visit) counted(name string, active, locked, deferred, scheduled, dead int64) {
	v.t.Helper()
	c := Entity(v.t, v.server, name).Counts
	if c.Active != active || c.Locked != locked || c.Deferred != deferred || c.Scheduled != scheduled || c.DeadLetter != dead {
		v.t.Errorf("%s has %+v, want %d active, %d locked, %d deferred, %d scheduled, %d dead", name, c, active, locked, deferred, scheduled, dead)
	}
}

// formsInBrowser executes every action once by its form, without scripts.
func formsInBrowser(t *testing.T, v *visit) {
	v.scripts(false)
	for _, act := range []func(*visit){
		formsOfFirstStart, formsOfQueue, formsOfSending, formsOfInspection, formsOfOneMessage, formsOfDeadLetters,
		formsOfScheduled, formsOfMany, formsOfTemporary, formsOfTopic,
		formsOfSessions, formsOfStatus, formsOfLab,
	} {
		act(v)
	}
	v.equal(`typeof mayfly`, "undefined")
}

const (
	work    = "/n/default/q/work"
	dead    = work + "?tab=dead-letter"
	submits = `main form .final, main form .primary, main form .danger, main form .btn[type=submit]`
)

func do(action string) string { return `main [formaction$="/` + action + `"]` }
func to(action string) string { return `main [href*="/` + action + `"]` }

func formsOfFirstStart(v *visit) {
	v.visit("/n/default")
	v.done(do("starter"), "Sent 20 messages to starter")
	v.equal(`document.querySelectorAll("[data-list=rows] > tr").length >= 17`, true)
	v.visit("/n/default/q/starter/delete")
	v.fill("confirm", "starter")
	v.done(submits, "Deleted starter")
}

func formsOfQueue(v *visit) {
	v.visit("/n/default")
	v.click(`[data-slot=welcome] [href$="/queues/new"]`)
	v.fill("name", "work")
	v.fill("DefaultMessageTimeToLive", "2h")
	v.do(chromedp.Click(chromedp.CSS(`[name="DeadLetteringOnMessageExpiration"]`)))
	v.done(`main button.primary`, "Created the queue work")
	v.click(to("edit"))
	v.fill("MaxDeliveryCount", "5")
	v.fill("LockDuration", "2m")
	v.done(`main button.primary`, "Saved work")
	if e := Entity(v.t, v.server, "work"); fmt.Sprint(e.Properties["MaxDeliveryCount"]) != "5" {
		v.t.Errorf("the queue is %+v", e)
	}
	v.equal(`document.querySelector("main").innerText.includes("MaxDeliveryCount")`, true)
}

func formsOfSending(v *visit) {
	v.visit(work)
	v.click(to("send"))
	v.click(`[name="add-property"]`)
	v.fill("body", `{"order":17,"total":129.900000000000000001}`)
	v.fill("subject", "first")
	v.fill("ttl", "30m")
	v.do(chromedp.Click(chromedp.CSS(`#f details:has([name=content-type]) > summary`)))
	v.fill("content-type", "application/json")
	for i, p := range [][3]string{{"region", "string", "eu"}, {"attempt", "int", "2"}, {"precise", "decimal128", "0.10"}, {"vip", "boolean", "true"}, {"at", "timestamp", "2026-07-14T10:00:00Z"}} {
		row := fmt.Sprintf("property-%d-", i)
		v.fill(row+"name", p[0])
		v.do(chromedp.SetValue(chromedp.CSS(`[name="`+row+`type"]`), p[1]))
		v.fill(row+"value", p[2])
	}
	v.done(`main .primary`, "Sent one message to work")
	v.opened(work, "first")
	for _, want := range []string{"region", "eu", "decimal128", "0.10", "129.900000000000000001", "total"} {
		v.equal(fmt.Sprintf(`document.querySelector("main").innerText.includes(%q)`, want), true)
	}
	v.click(`[href*="view=hex"]`)
	v.equal(`document.querySelector("pre").textContent.startsWith("\n00000000") || document.querySelector("pre").textContent.startsWith("00000000")`, true)

	v.visit(work + "/send")
	v.fill("body", "number {{n}}")
	v.fill("subject", "many-{{n}}")
	v.fill("repeat", "8")
	v.done(`main .primary`, "Sent 8 messages to work")
	v.visit(work + "/send")
	v.fill("subject", "later-{{n}}")
	v.do(chromedp.Click(chromedp.CSS(`[name=schedule][value=in]`)))
	v.fill("in", "1h")
	v.fill("repeat", "4")
	v.done(`main .primary`, "Sent 4 messages to work")
	v.counted("work", 9, 0, 0, 4, 0)
}

// formsOfInspection receives messages one after another, and settles each differently.
func formsOfInspection(v *visit) {
	receive := func() {
		v.visit(work)
		v.done(do("receive"), "You hold the lock")
	}
	receive() // the message first
	v.done(do("renew"), "The lock starts anew")
	v.done(do("complete"), "Completed")
	receive() // the message many-1
	v.done(do("abandon"), "Given back")
	receive()
	v.done(do("defer"), "Deferred")
	receive() // the message many-2
	v.click(to("dead-letter"))
	v.fill("reason", "Looked odd")
	v.fill("description", "It was inspected.")
	v.done(submits, "Dead-lettered")
	v.equal(`document.querySelector("main").innerText.includes("Looked odd")`, true)
	receive() // the message many-3
	v.opened(work+"?tab=locked", "many-3")
	v.done(do("break-lock"), "The lock is broken")
	v.counted("work", 6, 0, 1, 4, 1)
}

func formsOfOneMessage(v *visit) {
	v.opened(work, "many-4")
	v.done(`main [formaction$="/extend"][value="1m"]`, "It now runs out at")
	v.click(to("extend"))
	v.fill("by", "-30m")
	v.done(submits, "It now runs out at")
	v.click(to("delete"))
	v.done(submits, "Deleted")
	v.opened(work, "many-5")
	v.click(to("dead-letter"))
	v.fill("reason", "By hand")
	v.done(submits, "Dead-lettered")

	v.opened("/n/default/deferred", "2") // many-1 has the number 2
	v.equal(`document.querySelector("h1").textContent.trim()`, "many-1")
	v.done(do("fetch"), "You hold the lock")
	v.done(do("abandon"), "Given back")
	v.visit("/n/default/deferred")
	v.done(do("return"), "Active again")

	v.visit("/n/default/expirations")
	v.done(do("extend"), "It now runs out at")
	v.equal(`location.pathname`, "/n/default/expirations")
	v.counted("work", 5, 0, 0, 4, 2)
}

func formsOfDeadLetters(v *visit) {
	v.opened(dead, "many-2")
	v.done(do("resubmit-copy"), "A copy was resubmitted")
	v.opened(dead, "many-2")
	v.click(to("resubmit"))
	v.done(submits, "Resubmitted as")
	v.visit(dead)
	v.done(do("receive"), "You hold the lock")
	v.done(do("abandon"), "Given back")
	v.visit(dead)
	v.click(to("resubmit"))
	v.done(submits, "One message resubmitted")
	v.counted("work", 8, 0, 0, 4, 0)
}

func formsOfScheduled(v *visit) {
	const tab = work + "?tab=scheduled"
	v.opened(tab, "later-1")
	v.done(do("send-now"), "Active now")
	v.opened(tab, "later-2")
	v.click(to("reschedule"))
	v.do(chromedp.Click(chromedp.CSS(`[name=schedule][value=at]`)))
	v.fill("at", "2999-07-14T10:30")
	v.done(submits, "Rescheduled")
	v.opened(tab, "later-3")
	v.click(to("cancel"))
	v.done(submits, "Cancelled")
	v.counted("work", 9, 0, 0, 2, 0)
}

// formsOfMany selects rows, and purges by state.
func formsOfMany(v *visit) {
	choose := func(path string, n int) {
		v.visit(path)
		for i := range n {
			v.do(chromedp.Click(chromedp.JSPath(fmt.Sprintf(`document.querySelectorAll("[data-list=rows] [name=key]")[%d]`, i))))
		}
	}
	v.visit(work)
	v.equal(`getComputedStyle(document.querySelector("[data-all]")).display`, "none")
	v.equal(`document.querySelector("noscript meta")`, nil) // a reload would discard the selection
	choose(work, 3)
	v.equal(`getComputedStyle(document.querySelector(".bulk")).display !== "none"`, true)
	v.done(do("bulk/extend"), "3 messages got more time")
	choose(work, 2)
	v.click(do("bulk/dead-letter"))
	v.fill("reason", "All of them")
	v.done(submits, "2 messages dead-lettered")
	choose(dead, 2)
	v.done(do("bulk/resubmit"), "2 messages resubmitted")
	choose(work, 2)
	v.click(do("bulk/delete"))
	v.done(submits, "2 messages deleted")
	v.counted("work", 7, 0, 0, 2, 0)

	v.visit(work)
	v.click(to("purge"))
	v.js(`document.querySelectorAll("[name=state]").forEach((box) => { if (!box.disabled && !box.checked) box.click(); })`)
	v.equal(`document.querySelectorAll("[name=state]:checked").length`, 2)
	v.enter(`[name=state]:checked`) // presses the form's first button, which counts
	v.equal(`document.querySelectorAll("[name=state]:checked").length`, 2)
	v.counted("work", 7, 0, 0, 2, 0)
	v.done(`main form footer .final`, "Purged 9 messages from work") // the button before this one only counts
	v.counted("work", 0, 0, 0, 0, 0)
}

func formsOfTemporary(v *visit) {
	v.visit("/n/default/temporary")
	v.click(to("queues/new"))
	v.fill("name", "reply/one")
	v.fill("AutoDeleteOnIdle", "1h")
	v.done(`main button.primary`, "Created")
	v.visit("/n/default/temporary")
	v.done(do("touch"), "its clock starts again")
	v.done(do("pin"), "no longer deletes itself")
	v.done(do("unpin"), "deletes itself again")
	v.create("queue", "reply/two", `{"AutoDeleteOnIdle":"PT2S"}`)
	v.wantMeanwhile(`document.querySelector("[data-list=graves] [formaction]")`, func() { v.visit("/n/default/temporary") })
	v.done(do("restore"), "Restored")
	v.equal(`location.pathname`, "/n/default/q/"+url.PathEscape("reply/two"))
}

func formsOfTopic(v *visit) {
	v.visit("/n/default/topics")
	v.click(to("topics/new"))
	v.fill("name", "prices")
	v.done(`main button.primary`, "Created the topic prices")
	v.click(to("t/prices/new"))
	v.fill("name", "eu")
	v.done(`main button.primary`, "Created the subscription")
	v.visit("/n/default/t/prices")
	v.click(to("send"))
	v.fill("subject", "price.changed")
	v.done(`main .primary`, "Sent one message to prices")
	v.opened("/n/default/t/prices/s/eu", "price.changed")
	v.visit("/n/default/t/prices/s/eu/edit")
	v.fill("MaxDeliveryCount", "3")
	v.done(`main button.primary`, "Saved")
	v.visit("/n/default/t/prices/s/eu/edit")
	v.done(do("rules/remove?rule=%24Default")+`, main [formaction*="/rules/remove"]`, "lost the rule")
	v.visit("/n/default/t/prices/s/eu/edit")
	v.done(do("rules/add"), "got the rule")
	v.visit("/n/default/t/prices/edit")
	v.fill("AutoDeleteOnIdle", "1h")
	v.done(`main button.primary`, "Saved prices")
	for _, gone := range []string{"t/prices/s/eu", "t/prices", "q/work"} {
		v.visit("/n/default/" + gone)
		v.click(to("delete"))
		v.fill("confirm", gone[strings.LastIndex(gone, "/")+1:])
		v.done(submits, "Deleted")
	}
}
